/** Background runs: the journal has the dispatch that stored one and each attempt; its stored run says what became of it. */
import type { AttemptRecord, AutomationRun } from "../../src/domain/automation.js";
import { isUnfinished } from "../../src/domain/automation.js";
import { type DispatchRecord, numberedDispatch, type RunRecord } from "../../src/domain/journal.js";
import type { Delivery, InboxRow } from "../../src/domain/store.js";
import { formatDuration } from "../../src/lib/duration.js";
import { statusText, tookMs } from "../automations/show-run.js";
import type { CommandDeps } from "../deps.js";
import { clockTime, plain } from "../text.js";
import { nameIn } from "../who.js";
import { cutOffsOf, undecidedOf } from "./cut-off.js";

/** Hooks of one point whose runs are looked for where the journal does not have the dispatch. */
const MAX_HOOKS = 100;
/** Points that handling a message fires. */
const OF_HANDLING = [
  "message_received",
  "inbound_claim",
  "command_invoked",
  "message_edited",
  "message_deleted",
  "reaction_added",
];
const OF_DECIDING = ["before_dispatch", "message_sending"];

/** By the id that the dispatch gave the run. */
export type StoredRuns = ReadonlyMap<string, AutomationRun>;

export async function storedRunsOf(
  { automations }: CommandDeps,
  dispatches: readonly DispatchRecord[],
  row: InboxRow | undefined,
  deliveries: readonly Delivery[],
): Promise<StoredRuns> {
  const ids = dispatches.flatMap(({ runs }) =>
    runs.filter(({ outcome }) => outcome === "backgrounded").map(({ id }) => id),
  );
  const found = await Promise.all(
    [...ids, ...cutOffIds(dispatches, row, deliveries)].map((id) => automations?.runs.get(id)),
  );
  return new Map(found.flatMap((run) => (run === undefined ? [] : [[run.id, run] as const])));
}

/** Ids that runs may have whose dispatch was cut off: configured hooks have their row before the journal has the dispatch. */
function cutOffIds(
  dispatches: readonly DispatchRecord[],
  row: InboxRow | undefined,
  deliveries: readonly Delivery[],
): string[] {
  const handling =
    row === undefined || (cutOffsOf(row) === 0 && deliveries.every(({ asked }) => asked <= 1))
      ? []
      : OF_HANDLING.map((point) => numberedDispatch(`m${row.id}`, point, row.round));
  const deciding = deliveries
    .filter((one) => undecidedOf(one) > 0)
    .flatMap(({ id, round }) => OF_DECIDING.map((point) => numberedDispatch(id, point, round)));
  return [...handling, ...deciding]
    .filter((id) => dispatches.every((one) => one.id !== id))
    .flatMap((id) => Array.from({ length: MAX_HOOKS }, (_, index) => `${id}/${index + 1}`));
}

/** A dispatch of one attempt of a background run, and not of the whole point. */
export function isAttempt({ id, cause }: DispatchRecord): boolean {
  return cause?.kind === "hook" && id.startsWith(`${cause.id}/`);
}

/** By the id of an attempt, `m5:message_received/3:1`: the message does not wait for it. */
export const isOfBackground = (dispatchId: string) => dispatchId.includes("/");

/** The attempt that ended the run is in the journal, with more than the stored run has. */
export function isJournalled(
  run: RunRecord,
  stored: AutomationRun | undefined,
  all: readonly DispatchRecord[],
): boolean {
  if (run.outcome !== "backgrounded" || (stored && isUnfinished(stored.status))) return false;
  return all.some(({ id }) => (stored ? id === `${run.id}:${stored.attempt}` : id.startsWith(`${run.id}:`)));
}

/** It waits for its first attempt, or it ended without one. */
export function hasNotRun(run: RunRecord, stored: AutomationRun | undefined): boolean {
  if (run.outcome === "skipped") return true;
  if (run.outcome !== "backgrounded" || stored === undefined) return false;
  return stored.status === "backgrounded" || (stored.status === "skipped" && !stored.attempts.some(hasTried));
}

/** A `skip_if` that holds ends an attempt before the hook has run. */
export const hasTried = ({ status }: AttemptRecord): boolean => status !== "skipped";

/** A sentence, in Markdown. */
export function backgroundText({ automations }: CommandDeps, stored: AutomationRun | undefined, now: number): string {
  if (stored === undefined)
    return "It was stored as a background run, and what became of the run is no longer on record.";
  const { status, statusReason, dueAt } = stored;
  const why = statusReason === undefined ? "." : `: ${plain(statusReason.replace(/^gone: /, ""))}.`;
  const took = tookMs(stored, now);
  const paused = automations?.paused();
  switch (status) {
    case "backgrounded":
      return paused
        ? `It has **not run yet**: it waits in the background, because ${nameIn(paused.by)} paused all hooks.`
        : "It has **not run yet**: it waits in the background for its turn.";
    case "queued":
      return `It is tried again at ${clockTime(dueAt, now)}${why}`;
    case "running":
      return `It is running now, in the background${took === undefined ? "" : `, for ${formatDuration(took)}`}.`;
    case "skipped":
      return `It did **not** run${why}`;
    case "interrupted":
      return `It was **interrupted**${why}`;
    default:
      return `It ran in the background, ${statusText(status)}${took === undefined ? "" : `, ${formatDuration(took)}`}${why}`;
  }
}
