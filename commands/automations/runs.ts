/** `/runs` of configured hooks: every run with its outcome, also runs that a gate refused. */
import {
  AUTOMATION_RUN_STATUSES,
  type AutomationRun,
  type AutomationRunFilter,
  type BriefRun,
} from "../../src/domain/automation.js";
import type { DispatchRecord } from "../../src/domain/journal.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { answer, commandButton, word } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { isAttempt } from "../journey/background.js";
import { pageButtons, pageOf, pageText, sizeOf } from "../page.js";
import { dispatchRow } from "../runs/dispatch-row.js";
import { oneByOne } from "../runs/one-by-one.js";
import { NOBODY, type RunRow, rowButtons, rowLine, whoseIt } from "../runs/run-row.js";
import { MAX_ROWS, rememberRows } from "../runs/seen-runs.js";
import { listedData } from "../runs/show-dispatch.js";
import { flushJournal } from "../show/flush-journal.js";
import { code, count } from "../show/text.js";
import { type Effect, effectData, effectOf } from "./effect.js";
import { listedDispatch, readableRun, readingOf } from "./owner-only.js";
import { automationRunData, hasFailedRun, statusText } from "./show-run.js";

const PAGE_SIZE = 10;
/** How often as many are read to find those of configured hooks. */
const MAX_READS = 10;
/** All runs of configured hooks, whatever their status. */
const ALL = "configured";

/** Undefined when the filter is not about configured hooks: then the journal answers. */
export async function automationFilter(
  { automations, registry }: CommandDeps,
  asked: string,
): Promise<Omit<AutomationRunFilter, "limit"> | undefined> {
  if (automations === undefined) return undefined;
  if (asked === ALL) return {};
  if (automations.get(asked)) return { hookId: asked };
  // The file of the hook is gone or broken; its runs are still known.
  if (!registry.get(asked) && (await automations.runs.brief({ hookId: asked, limit: 1 })).length > 0)
    return { hookId: asked };
  const status = AUTOMATION_RUN_STATUSES.find((one) => one === asked);
  // `/status` counts these runs as waiting to be started, for the first time or again.
  if (status === "queued") return { status: ["queued", "backgrounded"] };
  // The journal lists failures: it knows failures of plugins too.
  return status === undefined || status === "failed" ? undefined : { status };
}

export async function listAutomationRuns(
  deps: CommandDeps,
  context: CommandContext,
  asked: string,
  filter: Omit<AutomationRunFilter, "limit">,
): Promise<CommandAnswer> {
  const runs =
    asked === ALL
      ? await configuredRuns(deps)
      : ((await deps.automations?.runs.brief({ ...filter, limit: MAX_ROWS })) ?? []);
  const beside = filter.status === "interrupted" ? await interruptedOfPlugins(deps) : [];
  const found = [...runs, ...beside].sort((one, other) => timeOf(other) - timeOf(one)).slice(0, MAX_ROWS);
  if (found.length === 0) return noRuns(asked, filter);
  const size = sizeOf(context.options.limit, PAGE_SIZE, MAX_ROWS);
  const page = pageOf(found, Number(context.options.page ?? 1), size);
  const hook = filter.hookId;
  const first = (page.number - 1) * size + 1;
  const entries = (
    await oneByOne(page.entries, (one) =>
      isDispatch(one) ? dispatchEntry(deps, context, one, asked) : runEntry(deps, context, one.id, hook),
    )
  ).filter((one) => one !== undefined);
  const rows = entries.map(({ row }) => row);
  const now = deps.clock.now();
  const line = `/runs ${word(asked)}`;
  const hasNumbers = await rememberRows(deps, context, line, rows, first);
  return answer({
    text: [
      `**${found.length === MAX_ROWS ? `The last ${MAX_ROWS} runs` : count(found.length, "run")}** of ${code(asked)}${typeof filter.status === "object" ? `: ${found.length === 1 ? "it waits" : "they wait"} to be started` : ""}${pageText(page)}`,
      rows.map((row, index) => rowLine(deps, context, row, first + index, now)).join("\n"),
      hasNumbers ? `${code(`/run ${first}`)} opens number ${first}.` : `${code("/run ID")} opens one.`,
    ],
    data: {
      runs: entries.flatMap(({ run }) => run ?? []),
      dispatches: entries.flatMap(({ dispatch }) => dispatch ?? []),
      total: found.length,
      page: page.number,
      pages: page.pages,
    },
    buttons: [
      rowButtons(rows, first),
      [
        ...pageButtons(page, line),
        ...(hook === undefined ? [] : [commandButton("The hook", `/hooks show ${word(hook)}`)]),
        commandButton("Failed", "/runs failed"),
      ],
    ],
  });
}

const isDispatch = (one: BriefRun | DispatchRecord): one is DispatchRecord => "runs" in one;
const timeOf = (one: BriefRun | DispatchRecord) => (isDispatch(one) ? one.at : one.createdAt);

/** A row, and its data for programs. */
interface Entry {
  row: RunRow;
  run?: Record<string, unknown>;
  dispatch?: Record<string, unknown>;
}

async function dispatchEntry(
  deps: CommandDeps,
  context: CommandContext,
  one: DispatchRecord,
  asked: string,
): Promise<Entry | undefined> {
  const dispatch = listedData(await listedDispatch(deps, context, one));
  return { row: await dispatchRow(deps, one, asked, undefined), dispatch };
}

/** Undefined when it was deleted meanwhile. */
async function runEntry(
  deps: CommandDeps,
  context: CommandContext,
  id: string,
  hook: string | undefined,
): Promise<Entry | undefined> {
  const whole = await deps.automations?.runs.get(id);
  if (whole === undefined) return undefined;
  const run = await readableRun(deps, context, whole);
  const effect = await effectOf(deps, context, run);
  const { payload: _, ...data } = automationRunData(run, readingOf(deps, context, run.hookId, false));
  return { row: await rowOf(deps, run, hook, effect), run: { ...data, ...effectData(effect) } };
}

/** Firings in which a stop cut off a plugin's hook. Its runs in the background are stored ones. */
async function interruptedOfPlugins(deps: CommandDeps): Promise<DispatchRecord[]> {
  await flushJournal(deps);
  const cut = await deps.store.journal.list({ outcome: "interrupted", limit: MAX_ROWS });
  return cut.filter(
    (one) => !isAttempt(one) && one.runs.some((run) => run.outcome === "interrupted" && run.pluginId !== undefined),
  );
}

async function rowOf(
  deps: CommandDeps,
  run: AutomationRun,
  hook: string | undefined,
  effect: Effect | undefined,
): Promise<RunRow> {
  const { id, createdAt: at, status, statusReason, reason, hookId, event, trigger, dispatchId = id } = run;
  // The payload of a test may name anyone, and a chat that does not exist.
  const isManual = trigger === "manual";
  const whose = isManual ? NOBODY : await whoseIt(deps, { ...run, id: dispatchId, payload: undefined });
  const isKnown = whose.person !== undefined || whose.conversation !== undefined;
  return {
    id,
    at,
    outcome: effect?.instead ?? statusText(status),
    isFailure: hasFailedRun(run),
    subject: code(hook === undefined ? hookId : (event ?? trigger)),
    ...whose,
    note: isManual
      ? [reason, statusReason].filter(Boolean).join(": ")
      : (statusReason ?? (isKnown ? undefined : reason)),
  };
}

/** The answer when there is no such run: what was searched, and what to do. */
function noRuns(asked: string, { hookId }: Omit<AutomationRunFilter, "limit">): CommandAnswer {
  return answer({
    text: [
      hookId !== undefined
        ? notRunText(hookId)
        : asked === ALL
          ? `**No configured hook has run yet.** ${code("/hooks next")} shows which hooks wait for a time.`
          : `**No run ${asked === "interrupted" ? "" : "of a configured hook "}is ${asked.replaceAll("_", " ")}.** ${code("/runs configured")} lists all their runs.`,
    ],
    data: { runs: [], dispatches: [], total: 0, page: 1, pages: 1 },
    buttons: [
      hookId === undefined
        ? [commandButton("Hooks", "/hooks list")]
        : [
            commandButton("Why", `/hooks why ${word(hookId)}`),
            commandButton("The hook", `/hooks show ${word(hookId)}`),
          ],
    ],
  });
}

/** The text for a hook without a run on record. It may have run: old records are deleted, and a killed process may lose the newest. */
export const notRunText = (hookId: string): string =>
  `**No run of ${code(hookId)} is on record.** ${code(`/hooks why ${word(hookId)}`)} shows why.`;

/** Background runs of plugins' hooks are stored, too, and there may be many between those of configured hooks. */
async function configuredRuns({ automations, registry }: CommandDeps): Promise<BriefRun[]> {
  const found: BriefRun[] = [];
  let before: string | undefined;
  for (let read = 0; read < MAX_READS && found.length < MAX_ROWS; read++) {
    const runs =
      (await automations?.runs.brief(before === undefined ? { limit: MAX_ROWS } : { limit: MAX_ROWS, before })) ?? [];
    found.push(...runs.filter(({ hookId }) => registry.get(hookId)?.pluginId === undefined));
    before = runs.at(-1)?.id;
    if (runs.length < MAX_ROWS) break;
  }
  return found.slice(0, MAX_ROWS);
}
