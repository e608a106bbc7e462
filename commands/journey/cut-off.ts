/**
 * Messages whose handling the end of the process cut off. A dispatch is recorded at its end, so nothing on disk shows which hooks had
 * started then; only configured hooks, and hooks in the background, have a row from their start.
 */
import type { AutomationRun } from "../../src/domain/automation.js";
import { HOOKS_MAY_CRASH, MAY_CRASH } from "../../src/domain/deliveries/letters.js";
import type { Delivery, InboxRow } from "../../src/domain/store.js";
import { statusText } from "../automations/show-run.js";
import type { CommandDeps } from "../deps.js";
import { code, plain } from "../show/text.js";
import type { Decision } from "./audit.js";
import { isFiringAt } from "./background.js";
import type { Journey } from "./find.js";

/** How often, at least: starts of its handling that ended in no other way. A retry by a person starts a new count. */
export function cutOffsOf({ status, attempts, deferrals, round, error }: InboxRow): number {
  const byCrash = error?.includes(MAY_CRASH) === true;
  const isLastKnown = status === "done" || status === "running" || (status === "dead" && !byCrash);
  const ended = Math.max(deferrals, round - 1) + (isLastKnown ? 1 : 0);
  return Math.max(byCrash ? 1 : 0, attempts - ended);
}

/** How often, at least, hooks were asked whether it may go, and the end of the process came before they had decided. */
export function undecidedOf({ status, reason, asked, parts }: Delivery): number {
  if (parts.length > 0) return 0;
  if (status === "held" && reason?.includes(HOOKS_MAY_CRASH) === true) return asked;
  // They may be at work on it now.
  return status === "waiting" ? Math.max(0, asked - 1) : 0;
}

/**
 * Hooks were asked again, as after an end of the process before they had decided. They may have decided since. A release starts a new
 * count.
 */
export function wasUndecided({ id, asked }: Delivery, decisions: readonly Decision[]): boolean {
  return asked > 1 || decisions.some((one) => one.id === id && one.was?.reason?.includes(HOOKS_MAY_CRASH) === true);
}

/** A sentence. */
export function cutOffText(times: number): string {
  return `The end of the process cut that off${times > 1 ? ` ${times} times` : ""}, before it was recorded which hooks had started. Where a plugin ended the process itself, the log names its hook.`;
}

/**
 * Why a point may have fired, and left no record, before the process was killed: its record waits for hooks that nothing else waits for. A
 * sentence; undefined where it waits for no more than the message does.
 */
export function unrecordedByKill({ registry }: CommandDeps, point: string): string | undefined {
  if (!registry.points.some(({ name }) => name === point)) return undefined;
  const awaited = registry.order(point).filter((hook) => hook.enabled && hook.execution === "fire_and_record");
  if (awaited.length === 0) return undefined;
  const names = awaited.map(({ id }) => code(id)).join(", ");
  return `${code(point)} is recorded when all its hooks have ended, also ${names} (${code("fire_and_record")}). If the gateway is killed before that, nothing of it is recorded.`;
}

/**
 * An earlier process handled the message, and may have been killed before the point was recorded, which happens a moment after its end: a
 * point without a record may have fired all the same, where it has a hook.
 */
export function mayBeKilled({ registry, about }: CommandDeps, point: string, at: number): boolean {
  return at < about.startedAt && registry.order(point).some(({ enabled }) => enabled);
}

/** A sentence, in Markdown, about a point whose runs are on record, and whose firing is not; undefined where no runs are. */
export function unrecordedText(
  deps: CommandDeps,
  point: string,
  { unrecorded, running }: Pick<Journey, "unrecorded" | "running">,
): string | undefined {
  if (unrecorded.every(({ event }) => event !== point)) return undefined;
  if (running.some(isFiringAt(point))) return `${code(point)} is recorded when all its hooks have ended.`;
  const why =
    unrecordedByKill(deps, point) ??
    "It is not written yet, the process ended before that, or it was deleted after the retention.";
  return `What else ran at ${code(point)} is not on record. ${why}`;
}

/** The fate of a run whose dispatch is not on record: sentences, in Markdown. */
export function cutOffRunText(run: AutomationRun): string {
  return `${endOf(run)} ${code(`/run ${run.id}`)} shows it.`;
}

function endOf({ status, statusReason }: AutomationRun): string {
  const why = statusReason === undefined ? "." : `: ${plain(statusReason)}.`;
  switch (status) {
    case "interrupted":
      return `It started, and was **interrupted**${why}`;
    case "queued":
    case "backgrounded":
      return `It waits in the background${why}`;
    case "running":
      return "It started, and has not ended.";
    case "skipped":
      return `It did **not** run${why}`;
    default:
      return `It ran, ${statusText(status)}${why}`;
  }
}
