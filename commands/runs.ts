/** `/runs [hook|failed|last]`: what fired lately, newest first. */
import { AUTOMATION_RUN_STATUSES } from "../src/domain/automation.js";
import type { DispatchFilter, DispatchRecord, RunRecord } from "../src/domain/journal.js";
import { formatDuration } from "../src/lib/duration.js";
import { answer, commandButton, word } from "./answer.js";
import { readableDispatch } from "./automations/owner-only.js";
import { automationFilter, listAutomationRuns } from "./automations/runs.js";
import { catchUp } from "./catch-up.js";
import { defineCommand } from "./define.js";
import type { CommandDeps } from "./deps.js";
import { whatCounted } from "./journey/counted.js";
import { unrecordedByKill } from "./journey/cut-off.js";
import { isBlock, isPutOff } from "./journey/put-off.js";
import { pageButtons, pageOf, pageText, sizeOf } from "./page.js";
import { resolveTarget } from "./resolve.js";
import { isOfCommand, lastDispatch, showDispatch } from "./run.js";
import { dispatchData, dispatchOutcome, failedRun, hasFailed, runOutcomeText } from "./show-dispatch.js";
import { clockTime, code, count, plain, table } from "./text.js";
import { conversationText } from "./who.js";

const PAGE_SIZE = 10;
/** How far the pages reach back. */
const REACH = 200;

export const runs = defineCommand({
  name: "runs",
  group: "hooks",
  summary: "What fired lately, and what came of it",
  role: "viewer",
  options: [
    {
      name: "filter",
      summary: "A hook, a point, failed, last (the newest, whole), all (of commands too), configured, or a status",
      type: "string",
      complete: "hooks-and-points",
      words: [
        "failed",
        "last",
        "all",
        "configured",
        ...AUTOMATION_RUN_STATUSES.filter((status) => status !== "failed"),
        "claimed",
        "cancelled",
        "overruled",
        "modified",
        "put-off",
      ],
    },
    { name: "page", summary: "Which page", type: "integer" },
    { name: "limit", summary: "How many on a page, 10 when absent", type: "integer" },
  ],
  async run(deps, context) {
    const asked = typeof context.options.filter === "string" ? context.options.filter.trim() : "";
    const configured = await automationFilter(deps, asked);
    if (configured) return listAutomationRuns(deps, context, asked, configured);
    const remark = await catchUp(deps);
    if (asked === "last") {
      const last = await lastDispatch(deps);
      if (last)
        return showDispatch(
          deps,
          context,
          await readableDispatch(deps, context, last),
          false,
          await whatCounted(deps, last),
        );
    }
    const isWanted = WITH_RUN[asked.toLowerCase().replaceAll(/[ _]/g, "-")];
    const { filter, hookId } = isWanted ? { filter: {} } : filterOf(deps, asked);
    const read = await deps.store.journal.list({ ...filter, limit: REACH });
    const all = isWanted ? read.filter(({ runs }) => runs.some(isWanted)) : read;
    // What operators' own commands set off would push out what they look for.
    const found = asked === "" ? all.filter((dispatch) => !isOfCommand(dispatch)) : all;
    if (all.length === 0) return nothing(deps, asked);
    const size = sizeOf(context.options.limit, PAGE_SIZE, REACH);
    const page = pageOf(found, Number(context.options.page ?? 1), size);
    const shown = await Promise.all(page.entries.map((dispatch) => readableDispatch(deps, context, dispatch)));
    const now = deps.clock.now();
    const at = (page.number - 1) * size;
    return answer({
      text: [
        `**${all.length === REACH ? `${found === all ? "" : `${found.length} of `}the last ${REACH} dispatches`.replace(/^t/, "T") : count(found.length, "dispatch", "dispatches")}**${asked ? ` of ${code(asked)}` : ""}${pageText(page)}`,
        table(
          [
            { title: "#", right: true },
            { title: "at" },
            { title: "point", maxCharacters: 18 },
            { title: "outcome" },
            { title: "hook", maxCharacters: 20 },
            { title: "took", right: true },
            { title: "failed", right: true },
          ],
          page.entries.map((dispatch, index) => [
            String(index + 1 + at),
            ...rowOf(dispatch, hookId, asked === "failed", now),
          ]),
        ),
        `${page.entries
          .map(
            ({ id, conversation }, index) =>
              `${index + 1 + at}. ${code(id)}${conversation === undefined ? "" : ` in ${conversationText(deps, conversation)}`}`,
          )
          .join("\n")}`,
        found.length < all.length &&
          `${count(all.length - found.length, "dispatch", "dispatches")} of commands left out: ${code("/runs all")}.`,
        remark && `⚠ ${plain(remark)}`,
        `${code("/run ID")} shows one.`,
      ],
      data: {
        dispatches: shown.map((dispatch) => dispatchData(dispatch, false)),
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
});

function filterOf(deps: CommandDeps, asked: string): { filter: Omit<DispatchFilter, "limit">; hookId?: string } {
  if (asked === "" || asked === "last" || asked === "all") return { filter: {} };
  if (asked === "failed") return { filter: { failed: true } };
  const target = resolveTarget(deps, asked, "filter");
  return target.kind === "hook"
    ? { filter: { hookId: target.hook.id }, hookId: target.hook.id }
    : { filter: { point: target.point.name } };
}

function rowOf(dispatch: DispatchRecord, hookId: string | undefined, isFailed: boolean, now: number): string[] {
  const own = hookId === undefined ? undefined : dispatch.runs.find((run) => run.hookId === hookId);
  const failures = dispatch.runs.filter(hasFailed).length;
  return [
    clockTime(dispatch.at, now),
    dispatch.phase ? `${dispatch.point} ${dispatch.phase}` : dispatch.point,
    `${own ? runOutcomeText(own) : dispatchOutcome(dispatch)}${dispatch.dryRun && dispatch.outcome !== "dry_run" ? " (dry)" : ""}`,
    hookId === undefined ? decider(dispatch, isFailed) : "",
    formatDuration(own?.latencyMs ?? dispatch.latencyMs),
    failures > 0 ? `${failures}/${dispatch.runs.length}` : "",
  ];
}

/** What a hook did in a dispatch, as the lists name it. What a configured hook's run became is another list. */
const WITH_RUN: Readonly<Record<string, (run: RunRecord) => boolean>> = {
  claimed: (run) => run.outcome === "claimed" && !isPutOff(run) && !isBlock(run),
  cancelled: ({ outcome }) => outcome === "cancelled",
  overruled: ({ outcome }) => outcome === "overruled",
  modified: ({ outcome }) => outcome === "modified",
  "put-off": isPutOff,
};

const DECIDING: ReadonlySet<string> = new Set(["claimed", "cancelled", "blocked", "deferred"]);

/** Who failed, where failures are looked for or one decided; else who decided; else who changed something, or ran. */
function decider({ runs, outcome }: DispatchRecord, isFailed: boolean): string {
  const ran = runs.filter((run) => run.outcome !== "skipped");
  const failed = ran.find(hasFailed) ?? failedRun({ runs, outcome });
  const decided = ran.find((run) => DECIDING.has(run.outcome));
  const isEnd = isFailed || outcome === "failed" || outcome === "timed_out";
  const one =
    (isEnd ? failed : undefined) ??
    decided ??
    failed ??
    ran.find((run) => run.outcome !== "passed" && run.outcome !== "backgrounded") ??
    (ran.length === 1 ? ran[0] : undefined);
  return one?.hookId ?? (ran.length === 0 ? "" : count(ran.length, "hook"));
}

function nothing(deps: CommandDeps, asked: string) {
  const lost = unrecordedByKill(deps, asked);
  return answer({
    text: [
      asked === "failed"
        ? "**No run failed**, as far back as the journal goes."
        : `**${lost ? "No firing is recorded" : "Nothing fired yet"}**${asked && asked !== "last" ? ` for ${code(asked)}` : ""}.`,
      asked === "failed"
        ? undefined
        : (lost ?? `Send the gateway a message, or try ${code("/fire-hook POINT example")}.`),
    ],
    data: { dispatches: [], runs: [], total: 0, page: 1, pages: 1 },
    buttons: [[commandButton("Hooks", "/hooks list")]],
  });
}
