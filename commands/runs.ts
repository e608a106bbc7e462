/** `/runs [hook|failed|last]`: what fired lately, newest first. */
import { AUTOMATION_RUN_STATUSES } from "../src/domain/automation.js";
import type { CommandSpec } from "../src/domain/command.js";
import type { DispatchFilter, DispatchRecord } from "../src/domain/journal.js";
import type { Command } from "../src/gateway/commands.js";
import { formatDuration } from "../src/lib/duration.js";
import { answer, commandButton, word } from "./answer.js";
import { readableDispatch } from "./automations/owner-only.js";
import { automationFilter, listAutomationRuns } from "./automations/runs.js";
import { catchUp } from "./catch-up.js";
import type { CommandDeps } from "./deps.js";
import { pageButtons, pageOf, sizeOf } from "./page.js";
import { resolveTarget } from "./resolve.js";
import { showDispatch } from "./run.js";
import { dispatchData, hasFailed, outcomeText } from "./show-dispatch.js";
import { clockTime, code, count, plain, table } from "./text.js";

const PAGE_SIZE = 10;
/** How far the pages reach back. */
const REACH = 200;

export const runsSpec: CommandSpec = {
  name: "runs",
  summary: "What fired lately, and what came of it",
  role: "viewer",
  options: [
    {
      name: "filter",
      summary: "A hook, a hook point, failed, last (the newest one, whole), configured, or a status such as running",
      type: "string",
      complete: "hooks-and-points",
      words: ["failed", "last", "configured", ...AUTOMATION_RUN_STATUSES.filter((status) => status !== "failed")],
    },
    { name: "page", summary: "Which page", type: "integer" },
    { name: "limit", summary: "How many on a page, 10 when absent", type: "integer" },
  ],
};

export function runs(deps: CommandDeps): Command {
  return {
    ...runsSpec,
    async run(context) {
      const asked = typeof context.options.filter === "string" ? context.options.filter.trim() : "";
      const configured = await automationFilter(deps, asked);
      if (configured) return listAutomationRuns(deps, context, asked, configured);
      const remark = await catchUp(deps);
      if (asked === "last") {
        const [last] = await deps.store.journal.list({ limit: 1 });
        if (last) return showDispatch(deps, readableDispatch(deps, context, last), false);
      }
      const { filter, hookId } = filterOf(deps, asked);
      const found = await deps.store.journal.list({ ...filter, limit: REACH });
      if (found.length === 0) return nothing(asked);
      const size = sizeOf(context.options.limit, PAGE_SIZE, REACH);
      const page = pageOf(found, Number(context.options.page ?? 1), size);
      const now = deps.clock.now();
      const at = (page.number - 1) * size;
      return answer({
        text: [
          `**${found.length === REACH ? `The last ${REACH} dispatches` : count(found.length, "dispatch", "dispatches")}**${asked ? ` of ${code(asked)}` : ""}${page.pages > 1 ? ` · page ${page.number} of ${page.pages}` : ""}`,
          table(
            [
              { title: "at" },
              { title: "point", maxCharacters: 18 },
              { title: "outcome" },
              { title: "took", right: true },
              { title: "failed", right: true },
            ],
            page.entries.map((dispatch) => rowOf(dispatch, hookId, now)),
          ),
          `${page.entries.map((dispatch, index) => `${index + 1 + at}. ${code(dispatch.id)}`).join("\n")}`,
          remark && `⚠ ${plain(remark)}`,
          `${code("/run ID")} shows one.`,
        ],
        data: {
          dispatches: page.entries.map((dispatch) => dispatchData(readableDispatch(deps, context, dispatch), false)),
          runs: [],
          total: found.length,
          page: page.number,
          pages: page.pages,
        },
        buttons: [
          [
            ...pageButtons(page, `/runs${asked ? ` ${word(asked)}` : ""}`),
            ...(page.entries[0] ? [commandButton("The newest", `/run ${word(page.entries[0].id)}`)] : []),
            ...(asked === "failed" ? [] : [commandButton("Failed", "/runs failed")]),
          ],
        ],
      });
    },
  };
}

function filterOf(deps: CommandDeps, asked: string): { filter: Omit<DispatchFilter, "limit">; hookId?: string } {
  if (asked === "" || asked === "last") return { filter: {} };
  if (asked === "failed") return { filter: { failed: true } };
  const target = resolveTarget(deps.registry, asked, "filter");
  return target.kind === "hook"
    ? { filter: { hookId: target.hook.id }, hookId: target.hook.id }
    : { filter: { point: target.point.name } };
}

function rowOf(dispatch: DispatchRecord, hookId: string | undefined, now: number): string[] {
  const own = hookId === undefined ? undefined : dispatch.runs.find((run) => run.hookId === hookId);
  const failures = dispatch.runs.filter(hasFailed).length;
  return [
    clockTime(dispatch.at, now),
    dispatch.phase ? `${dispatch.point} ${dispatch.phase}` : dispatch.point,
    `${outcomeText(own?.outcome ?? dispatch.outcome)}${dispatch.dryRun ? " (dry)" : ""}`,
    formatDuration(own?.latencyMs ?? dispatch.latencyMs),
    failures > 0 ? `${failures}/${dispatch.runs.length}` : "",
  ];
}

function nothing(asked: string) {
  return answer({
    text: [
      asked === "failed"
        ? "**No run failed**, as far back as the journal goes."
        : `**Nothing fired yet**${asked && asked !== "last" ? ` for ${code(asked)}` : ""}.`,
      asked === "failed"
        ? undefined
        : `Send the gateway a message, or try ${code("/fire-hook POINT example dry-run=true")}.`,
    ],
    data: { dispatches: [], runs: [], total: 0, page: 1, pages: 1 },
    buttons: [[commandButton("Hooks", "/hooks list")]],
  });
}
