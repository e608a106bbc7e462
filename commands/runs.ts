/** `/runs [hook|failed|last]`: the latest firings, newest first, as one numbered list. */
import { AUTOMATION_RUN_STATUSES } from "../src/domain/automation.js";
import type { DispatchFilter, RunRecord } from "../src/domain/journal.js";
import { answer, commandButton, word } from "./answer.js";
import { listedDispatch, readableDispatch } from "./automations/owner-only.js";
import { automationFilter, listAutomationRuns, notRunText } from "./automations/runs.js";
import { defineCommand } from "./define.js";
import type { CommandDeps } from "./deps.js";
import { whatCounted } from "./journey/counted.js";
import { unrecordedByKill } from "./journey/cut-off.js";
import { isBlock, isPutOff } from "./journey/put-off.js";
import { pageButtons, pageOf, pageText, sizeOf } from "./page.js";
import { resolveTarget, type Target } from "./resolve.js";
import { isOfCommand, lastDispatch, showDispatch } from "./run.js";
import { dispatchRow } from "./runs/dispatch-row.js";
import { oneByOne } from "./runs/one-by-one.js";
import { rowButtons, rowLine } from "./runs/run-row.js";
import { MAX_ROWS, rememberRows } from "./runs/seen-runs.js";
import { listedData } from "./runs/show-dispatch.js";
import { flushJournal } from "./show/flush-journal.js";
import { code, count, plain } from "./show/text.js";

const PAGE_SIZE = 10;

const FILTERS = [
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
];

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
      words: FILTERS,
    },
    { name: "page", summary: "Which page", type: "integer" },
    { name: "limit", summary: "How many on a page, 10 when absent", type: "integer" },
  ],
  async run(deps, context) {
    const asked = typeof context.options.filter === "string" ? context.options.filter.trim() : "";
    const configured = await automationFilter(deps, asked);
    if (configured) return listAutomationRuns(deps, context, asked, configured);
    const remark = await flushJournal(deps);
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
    const target = isWanted || WORDS.has(asked) ? undefined : resolveTarget(deps, asked, "filter", FILTERS);
    const read = await deps.store.journal.list({ ...filterOf(asked, target), limit: MAX_ROWS });
    const all = isWanted ? read.filter(({ runs }) => runs.some(isWanted)) : read;
    // Dispatches because of operators' own commands would push out those that they look for.
    const found = asked === "" ? all.filter((dispatch) => !isOfCommand(dispatch)) : all;
    const leftOut =
      found.length < all.length &&
      `${count(all.length - found.length, "dispatch", "dispatches")} of commands left out: ${code("/runs all")}.`;
    if (found.length === 0) return nothing(deps, asked, target, leftOut);
    const size = sizeOf(context.options.limit, PAGE_SIZE, MAX_ROWS);
    const page = pageOf(found, Number(context.options.page ?? 1), size);
    const shown = await oneByOne(page.entries, (dispatch) => listedDispatch(deps, context, dispatch));
    const now = deps.clock.now();
    const first = (page.number - 1) * size + 1;
    const rows = await oneByOne(page.entries, (dispatch) => dispatchRow(deps, dispatch, asked, target));
    const line = `/runs${asked ? ` ${word(asked)}` : ""}`;
    const hasNumbers = await rememberRows(deps, context, line, rows, first);
    return answer({
      text: [
        `**${all.length === MAX_ROWS ? `${found === all ? "The" : `${found.length} of the`} last ${MAX_ROWS} dispatches` : count(found.length, "dispatch", "dispatches")}**${asked ? ` of ${code(asked)}` : ""}${pageText(page)}`,
        rows.map((row, index) => rowLine(deps, context, row, first + index, now)).join("\n"),
        leftOut,
        remark && `⚠ ${plain(remark)}`,
        hasNumbers ? `${code(`/run ${first}`)} opens number ${first}.` : `${code("/run ID")} opens one.`,
      ],
      data: {
        dispatches: shown.map((dispatch) => listedData(dispatch)),
        runs: [],
        total: found.length,
        page: page.number,
        pages: page.pages,
      },
      buttons: [
        rowButtons(rows, first),
        [...pageButtons(page, line), ...(asked === "failed" ? [] : [commandButton("Failed", "/runs failed")])],
      ],
    });
  },
});

/** Filters that name no hook and no point. */
const WORDS: ReadonlySet<string> = new Set(["", "last", "all", "failed"]);

function filterOf(asked: string, target: Target | undefined): Omit<DispatchFilter, "limit"> {
  if (target === undefined) return asked === "failed" ? { failed: true } : {};
  return target.kind === "hook" ? { hookId: target.hook.id } : { point: target.point.name };
}

/** The outcomes of a hook in a dispatch, by their names in the lists. The fates of configured hooks' runs are another list. */
const WITH_RUN: Readonly<Record<string, (run: RunRecord) => boolean>> = {
  claimed: (run) => run.outcome === "claimed" && !isPutOff(run) && !isBlock(run),
  cancelled: ({ outcome }) => outcome === "cancelled",
  overruled: ({ outcome }) => outcome === "overruled",
  modified: ({ outcome }) => outcome === "modified",
  "put-off": isPutOff,
};

/** The answer when nothing was found: what was searched, and what to do. `leftOut`: there are dispatches, which were left out. */
function nothing(deps: CommandDeps, asked: string, target: Target | undefined, leftOut: string | false) {
  return answer({
    text: leftOut ? ["**Only commands fired lately.**", leftOut] : nothingText(deps, asked, target),
    data: { dispatches: [], runs: [], total: 0, page: 1, pages: 1 },
    buttons: [[commandButton("Hooks", "/hooks list")]],
  });
}

function nothingText(deps: CommandDeps, asked: string, target: Target | undefined): string[] {
  if (asked === "failed") return ["**No run failed**, as far back as the journal goes."];
  if (target?.kind === "hook") return [notRunText(target.hook.id)];
  if (target?.kind === "point") {
    const { name } = target.point;
    return [
      `**No firing of ${code(name)} is on record.** ${code(`/hooks order ${name}`)} lists its hooks; ${code(`/fire-hook ${name} example`)} tries them.`,
      unrecordedByKill(deps, name) ?? "",
    ];
  }
  if (!WORDS.has(asked))
    return [
      `**No run of a hook ended as ${code(asked)}** in the last ${MAX_ROWS} dispatches. ${code("/runs HOOK")} reaches further back for one hook.`,
    ];
  return ["**Nothing fired yet.**", `Send the gateway a message, or try ${code("/fire-hook POINT example")}.`];
}
