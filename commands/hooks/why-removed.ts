/** A hook that is not there any more: when it last ran, and when it was skipped since, as far as the journal and the stored runs go. */
import { type AutomationRun, STARTED_STATUSES } from "../../src/domain/automation.js";
import type { DispatchRecord, RunRecord } from "../../src/domain/journal.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { answer, commandButton, word } from "../answer.js";
import { effectData, lastEffect } from "../automations/effect.js";
import { readableDispatch, readableRun } from "../automations/owner-only.js";
import { statusText } from "../automations/show-run.js";
import type { CommandDeps } from "../deps.js";
import { awaitedText, cutOffAttempts, isInJournal } from "../journey/background.js";
import { flushJournal } from "../show/flush-journal.js";
import { ago, code, count, plain } from "../show/text.js";

/** Dispatches in which its last run is looked for. */
const LAST_DISPATCHES = 100;

/** A sentence. A definition that is broken now may hold the hook. */
export const notRegisteredText = ({ automations }: CommandDeps, hookId: string): string =>
  automations?.isAwaited(hookId)
    ? `This hook is **not registered now**: what is broken may hold it (${code("/hooks broken")}).`
    : "This hook is **no longer registered**.";

const WAITS = ["queued", "backgrounded"] as const;
/** Runs that wait are counted up to so many. */
const MAX_WAITING = 100;

/**
 * Undefined when nothing is on record of the hook. `messageId`: the message that was asked for, for which no run of the hook is on record.
 */
export async function explainRemoved(
  deps: CommandDeps,
  context: CommandContext,
  hookId: string,
  messageId?: string,
): Promise<CommandAnswer | undefined> {
  await flushJournal(deps);
  const { automations, store } = deps;
  const recorded = (await store.journal.list({ hookId, limit: LAST_DISPATCHES })).filter(({ dryRun }) => !dryRun);
  // Only the stored runs show what the end of the process cut off.
  const [begun] = (await automations?.runs.list({ hookId, status: STARTED_STATUSES, limit: 1 })) ?? [];
  const newest = recorded[0]?.id ?? begun?.id ?? (await automations?.runs.list({ hookId, limit: 1 }))?.[0]?.id;
  if (newest === undefined) return undefined;
  const now = deps.clock.now();
  const waiting = (await automations?.runs.list({ hookId, status: WAITS, limit: MAX_WAITING })) ?? [];
  const awaited = waiting.length === 0 ? undefined : awaitedText(deps, hookId);
  const cutOff = waiting.map(cutOffAttempts).find((text) => text !== "");
  const ran = recorded.find((one) => one.runs.some((run) => run.hookId === hookId && hasRun(run)));
  const skipped = recorded.find((one) => skipOf(hookId, one) !== undefined);
  // The counts of the journal go back further than its records; they leave out skips, as this does.
  const journalledAt = ran?.at ?? (await store.journal.stats()).get(hookId)?.lastFiredAt;
  const begunAt = begun === undefined ? 0 : (begun.startedAt ?? begun.createdAt);
  const stored =
    begun !== undefined && begunAt > (journalledAt ?? 0) && !(await isInJournal(deps, begun)) ? begun : undefined;
  const lastRunAt = stored === undefined ? journalledAt : begunAt;
  const where = ran === undefined ? "" : `, at ${code(ran.point)}`;
  const effect = await lastEffect(deps, context, hookId);
  const how = stored === undefined ? where : storedText(await readableRun(deps, context, stored), effect?.instead);
  const reason = skipped && skipOf(hookId, await readableDispatch(deps, context, skipped))?.reason;
  const lastId = stored?.id ?? ran?.id ?? newest;
  return answer({
    text: [
      `${notRegisteredText(deps, hookId).replace("This hook", code(hookId))} ${
        lastRunAt === undefined
          ? `${awaited ? "**No run** of it has ended" : "**No run** of it is on record"}.`
          : `It last ran ${ago(lastRunAt, now)}${how}.`
      }`,
      awaited &&
        `${waiting.length === MAX_WAITING ? "At least " : ""}${count(waiting.length, "run")} of it ${waiting.length === 1 ? "waits" : "wait"}: ${awaited}.${cutOff ? ` Of the newest, ${cutOff}.` : ""}`,
      skipped !== undefined &&
        skipped.at > (lastRunAt ?? 0) &&
        `It was last skipped ${ago(skipped.at, now)}, at ${code(skipped.point)}${reason ? `: ${plain(reason)}` : ""}.`,
      effect?.text,
      messageId === undefined
        ? `${code(`/hooks why ${hookId} MESSAGE`)} answers for one message.`
        : `No run of it is on record for ${code(messageId)}.`,
    ],
    data: { id: hookId, registered: false, lastRunAt, lastDispatchId: lastId, ...effectData(effect) },
    buttons: [[commandButton(stored ? "The run" : "The dispatch", `/run ${word(lastId)}`)]],
  });
}

/** `, at inbound_claim: ✗ interrupted (the gateway ended while it ran)`. */
function storedText({ event, status, statusReason }: AutomationRun, instead = statusText(status)): string {
  const why = statusReason === undefined ? "" : ` (${plain(statusReason)})`;
  return `${event === undefined ? "" : `, at ${code(event)}`}: ${instead}${why}`;
}

/** The attempts of a background run are dispatches of their own. */
const hasRun = ({ outcome, unanswered }: RunRecord): boolean =>
  outcome !== "skipped" && outcome !== "backgrounded" && !unanswered;

const skipOf = (id: string, { runs }: DispatchRecord): RunRecord | undefined =>
  runs.find(({ hookId, outcome }) => hookId === id && outcome === "skipped");
