/** Why a message did not reach a hook point; undefined where it did, and no hook was enabled there. */
import { maySeeIt, saysInDoubt } from "../../src/domain/deliveries/given-up.js";
import { HOOKS_MAY_CRASH, MAY_CRASH } from "../../src/domain/deliveries/letters.js";
import { type DispatchRecord, numberedDispatch, rootOf } from "../../src/domain/journal.js";
import type { Delivery, InboxRow } from "../../src/domain/store.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import { ago, clockTime, code, plain } from "../show/text.js";
import { isAttempt, isOfBackground } from "./background.js";
import { cutOffsOf, undecidedOf, wasUndecided } from "./cut-off.js";
import { type Gone, type Journey, POINT_OF_CHANGE, posterOf } from "./find.js";
import { wasGivenUpText } from "./given-up.js";
import { isLedTo } from "./led-to.js";
import { putOffs } from "./put-off.js";
import { isInCommandLane, routeText, runningText } from "./surroundings.js";

const OUTBOUND = ["before_dispatch", "message_sending", "message_sent", "delivery_failed"] as const;
type OutboundPoint = (typeof OUTBOUND)[number];
const CHANGES: Readonly<Record<string, string>> = {
  message_edited: "edit",
  message_deleted: "deletion",
  reaction_added: "reaction",
};

export function whyNotReached(point: string, journey: Journey, now: number): string | undefined {
  const outbound = OUTBOUND.find((one) => one === point);
  if (outbound) return whyNotOutbound(outbound, journey, now);
  if (isLedTo(point)) return whyUnhandled(journey, now);
  const { row, own } = journey;
  const change = CHANGES[point];
  if (change !== undefined && row && POINT_OF_CHANGE[row.event.kind] === point) return whyUnhandled(journey, now);
  if (change !== undefined) {
    const last = journey.changes.findLast(({ event }) => POINT_OF_CHANGE[event.kind] === point);
    if (last) return whyChangeUnhandled(change, last, journey, now);
    return `The gateway recorded no ${change} of this message: the platform reported none${point === "reaction_added" ? `, or no hook was enabled at ${code(point)} when it did` : ""}.`;
  }
  if (own && !row) return `The gateway sent this message on its own. ${code(point)} fires for messages of people.`;
  if (!row) return whyGone(journey, now);
  const isCommandEnded = point === "command_invoked" && row.status !== "dead";
  return whyNever(point, row) ?? (isCommandEnded ? undefined : whyUnhandled(journey, now));
}

/**
 * How often the handling in which the point fires was cut off, when the journal does not have its last firing there: then it is not
 * known whether the point fired. 0 where that is known.
 */
export function cutOffsAt(point: string, journey: Journey): number {
  const { dispatches, deliveries } = journey;
  if (point === "before_dispatch" || point === "message_sending")
    return Math.max(
      hasPurgedCutOff(point, journey) ? 1 : 0,
      ...deliveries
        .filter(({ id, round }) => dispatches.every((one) => one.id !== numberedDispatch(id, point, round)))
        .map(undecidedOf),
    );
  const handled = handledAt(point, journey);
  if (handled === undefined) return hasPurgedCutOff(point, journey) ? 1 : 0;
  return isRecorded(point, handled, dispatches) ? 0 : cutOffsOf(handled);
}

/** Points that each try of a message or a delivery fires: a firing on record is that of another try. */
const OF_EACH_TRY: ReadonlySet<string> = new Set(["inbound_claim", "message_sending"]);

/**
 * The row that was cut off there was deleted since, and the audit keeps the reason. With the row gone, it may have been a message or, for
 * example, an edit of one.
 */
function hasPurgedCutOff(point: string, { gone, dispatches }: Journey): boolean {
  const isOutbound = OUTBOUND.some((one) => one === point);
  const isInbound = ["message_received", "inbound_claim", "command_invoked"].includes(point);
  if (!isOutbound && !isInbound && !(point in CHANGES) && !isLedTo(point)) return false;
  if (!OF_EACH_TRY.has(point) && dispatches.some((one) => one.point === point && !isAttempt(one))) return false;
  const words = isOutbound ? HOOKS_MAY_CRASH : MAY_CRASH;
  return gone.some(({ purge }) => purge?.was?.reason?.includes(words) === true);
}

function isRecorded(point: string, { id, round }: InboxRow, dispatches: readonly DispatchRecord[]): boolean {
  // A message that is tried again in one process was received before, under an earlier number.
  if (isLedTo(point)) return dispatches.some((one) => one.point === point);
  return dispatches.some((one) =>
    point === "message_received"
      ? one.point === point && rootOf(one.id) === `m${id}` && !isAttempt(one)
      : one.id === numberedDispatch(`m${id}`, point, round),
  );
}

/**
 * Why the journal does not have the firing of a point for a message that was handled: the process ended before it was written. A sentence;
 * undefined where nothing speaks for that. A dispatch is on disk a moment after its end, and the answer may be on its way out by then.
 */
export function lostAt(point: string, journey: Journey): string | undefined {
  const { row, deliveries, dispatches, decisions } = journey;
  if (point in CHANGES || row?.status !== "done" || handledAt(point, journey) === undefined) return undefined;
  if (isRecorded(point, row, dispatches)) return undefined;
  const by = point === "inbound_claim" ? claimerOf(row) : undefined;
  const claim = by === undefined ? "" : `${code(by)} claimed the message there. `;
  const cut = deliveries.find((one) => wasUndecided(one, decisions) && row.deliveryIds?.includes(one.id));
  if (cut)
    return `${claim}The process ended soon after that, while hooks decided about ${code(cut.id)}, and what ran before its end is not recorded.`;
  return by === undefined
    ? undefined
    : `${claim}What else ran there is not recorded: the process ended before it was written, or the record was deleted.`;
}

/** The hook that claimed it: its point fired, whatever is recorded. */
export function claimerOf({ outcome, claimedBy }: InboxRow): string | undefined {
  return outcome === "claimed" ? claimedBy : undefined;
}

/** The row whose handling fires the point. */
function handledAt(point: string, { row, changes }: Journey): InboxRow | undefined {
  if (point in CHANGES)
    return [row, ...changes].findLast((one) => one !== undefined && POINT_OF_CHANGE[one.event.kind] === point);
  return row && whyNever(point, row) === undefined ? row : undefined;
}

/** Why handling this row does not come to the point, however it ends. */
function whyNever(point: string, row: InboxRow): string | undefined {
  switch (point) {
    case "message_received":
      return whyNotReceived(row);
    case "inbound_claim":
      return whyNotOffered(row);
    case "command_invoked":
      return mayBeCommand(row) ? undefined : `This message is no command, and ${code(point)} fires for commands only.`;
    default:
      return isLedTo(point) ? undefined : `${code(point)} does not fire for messages.`;
  }
}

/** A message that was not handled to its end has no outcome. */
export const mayBeCommand = (row: InboxRow): boolean =>
  row.outcome === "command" || row.event.kind === "command" || (row.outcome === undefined && isInCommandLane(row));

function whyNotReceived({ event: { kind } }: InboxRow): string | undefined {
  return kind === "message" || kind === "command" ? undefined : `It is ${NAMES[kind]}, and not a message.`;
}

function whyNotOffered({ event, outcome, reason }: InboxRow): string | undefined {
  if (outcome === "denied") return `The message was denied: ${deniedText(reason)}. No hook can claim a denied message.`;
  if (event.kind === "command" || outcome === "command")
    return "The message is a command. No hook can claim a command.";
  if (outcome === "form") return "The message answers a question of a button. No hook can claim such an answer.";
  return event.kind === "message" ? undefined : `It is ${NAMES[event.kind]}, and not a message.`;
}

const NAMES: Readonly<Record<InboxRow["event"]["kind"], string>> = {
  message: "a message",
  command: "a command",
  action: "a press on a button",
  edited: "an edit",
  deleted: "a deletion",
  reaction: "a reaction",
  moved: "a move of a chat",
};

/** Undefined when the change was handled: it passed its point then. */
function whyChangeUnhandled(name: string, row: InboxRow, journey: Journey, now: number): string | undefined {
  const { running, aheadOfChanges, putOffBy } = journey;
  const ahead = aheadOfChanges?.id === row.id ? undefined : aheadOfChanges;
  const own = { row, ahead, running, putOffBy, dispatches: [], route: undefined, turn: undefined };
  const why = unhandledText(`The ${name}`, own, now);
  return why === undefined ? undefined : `The ${name} of this message is on record (${code(`m${row.id}`)}). ${why}`;
}

/** Undefined when the row was settled, or is not known. */
export function whyUnhandled(journey: Journey, now: number): string | undefined {
  return journey.row && unhandledText("The message", { ...journey, row: journey.row }, now);
}

/** The message itself was deleted. */
function whyGone(journey: Journey, now: number): string | undefined {
  const own = journey.gone.find((one) => one.id === rootOf(journey.id) && one.id.startsWith("m"));
  return own && goneText(own, journey.dispatches, now);
}

function unhandledText(
  subject: string,
  {
    row,
    ahead,
    running,
    putOffBy,
    dispatches,
    route,
    turn,
  }: Pick<Journey, "ahead" | "running" | "putOffBy" | "dispatches" | "route" | "turn"> & { row: InboxRow },
  now: number,
): string | undefined {
  const why = row.error === undefined ? "" : `: ${plain(row.error)}`;
  const awaited = running.filter(({ dispatchId }) => !isOfBackground(dispatchId));
  switch (row.status) {
    case "done":
      return undefined;
    case "waiting":
      return ahead
        ? `${subject} waits for ${code(`m${ahead.id}`)}, which ${stateOf(ahead, putOffBy.get(ahead.id), now)}.`
        : `${subject} waits for ${turn ?? "the messages before it"}.`;
    case "running":
      return `${subject} is being handled now${route ? `: ${routeText(route)}` : awaited.length > 0 ? `: ${runningText(awaited)}` : ""}.${why && ` The attempt before failed${why}.`}`;
    case "deferred": {
      const last = why === "" ? putOffs(dispatches).at(-1) : undefined;
      if (last) return `${subject} was put off by ${last.by}, ${untilText(row.dueAt, now)}.`;
      return `${subject} is handled again ${atText(row.dueAt, now)}${why}.`;
    }
    case "dead":
      return `Handling ${subject.toLowerCase()} was given up after ${row.attempts - row.deferrals} attempts${why}.`;
  }
}

function stateOf({ status, error, dueAt }: InboxRow, hookId: string | undefined, now: number): string {
  if (status === "running")
    return `is being handled now${error === undefined ? "" : `, after an attempt that failed (${plain(error)})`}`;
  if (status !== "deferred") return "waits itself";
  return error === undefined
    ? `${hookId === undefined ? "a hook" : code(hookId)} put off, ${untilText(dueAt, now)}`
    : `failed (${plain(error)}) and is handled again ${atText(dueAt, now)}`;
}

/** `at 12:00:01 (in 3 s)`. */
const atText = (at: number, now: number) => untilText(at, now).replace("until", "at");

/** `until 12:00:01 (in 3 s)`. */
function untilText(at: number, now: number): string {
  return `until ${clockTime(at, now)}${at > now ? ` (in ${formatDuration(at - now)})` : ""}`;
}

/** The meaning of each reason of `decideAccess`, and what changes it. */
const DENIALS: Readonly<Record<string, string>> = {
  "not addressed": "it does not mention the gateway, and messages in this chat must (`access.mention`)",
  "this place is not listed":
    "the chat is not in the access list (`access.chats`); `/whoami` in this chat shows the lines to add",
  "direct messages are for operators": "the sender has no role (`access.dms: everyone` opens direct messages)",
  "direct messages are off": "the configuration turns them off (`access.dms: off`)",
  "written by a bot account": "bots are never answered, so that two bots cannot talk forever",
};

export function deniedText(reason: string | undefined): string {
  if (reason === undefined) return "the sender may not talk to the gateway here";
  const meaning = DENIALS[reason];
  return meaning === undefined ? plain(reason) : `**${plain(reason)}** (${meaning})`;
}

/** Lines about all deleted messages and deliveries, each at its time where that is on record. */
export function goneLines(journey: Journey, now: number): { at: number; text: string }[] {
  return journey.gone.map((one) => {
    const at = one.purge?.at;
    const text = goneText(one, journey.dispatches, now, journey.deliveries);
    return at === undefined ? { at: Number.POSITIVE_INFINITY, text } : { at, text: `${clockTime(at, now)} ${text}` };
  });
}

/** A deleted message or delivery: how it had ended, and who deleted it. `deliveries`: its corrections are among them. */
export function goneText(
  { id, purge }: Gone,
  dispatches: readonly DispatchRecord[],
  now: number,
  deliveries: readonly Delivery[] = [],
): string {
  const about = dispatches.filter((one) => rootOf(one.id) === id);
  const end = recordedEnd(about) ?? (purge?.was && endText(purge.was, about));
  const before = end === undefined ? "" : ` ${end}, and`;
  if (purge === undefined) return `${code(id)} was${before} deleted after the retention.`;
  const by = plain(purge.by.displayName ?? `${purge.by.platform}:${purge.by.userId}`, 64);
  const correction = deliveries.findLast(({ targetId, operation }) => targetId === id && operation === "edit");
  const after = correction
    ? `. Its correction ${code(correction.id)} is **${correction.status}**`
    : `: nothing more of it is ${id.startsWith("m") ? "handled" : "sent"}`;
  return `${code(id)} was${before} **purged** by ${by} ${ago(purge.at, now)} (${code(`/outbox purge ${purge.what}`)})${after}.`;
}

/** How a delivery ended, by the last of its dispatches that shows it. */
function recordedEnd(dispatches: readonly DispatchRecord[]): string | undefined {
  const ends = dispatches.flatMap(({ point, runs }) => {
    if (point === "message_sent") return ["**sent**"];
    const [outcome, status] = point === "before_dispatch" ? ["claimed", "suppressed"] : ["cancelled", "cancelled"];
    const by = OUTBOUND.some((one) => one === point) && runs.find((run) => run.outcome === outcome);
    return by ? [`**${status}** by ${code(by.hookId)}${by.reason ? `: ${plain(by.reason)}` : ""}`] : [];
  });
  return ends.at(-1);
}

function whyNotOutbound(point: OutboundPoint, journey: Journey, now: number): string | undefined {
  const { row, deliveries, gone } = journey;
  if (deliveries.length === 0 && gone.length > 0)
    return gone.map((one) => goneText(one, journey.dispatches, now)).join("\n");
  if (deliveries.length === 0) {
    if (!row) return undefined;
    return (
      whyUnhandled(journey, now) ??
      (row.outcome === "denied"
        ? `The message was denied: ${deniedText(row.reason)}. Nothing was sent in answer.`
        : `Nothing was sent in answer: the message ended as **${plain(row.outcome ?? "unknown")}**${row.claimedBy ? ` by ${code(row.claimedBy)}` : ""}, without a reply.`)
    );
  }
  const reasons = deliveries.map((delivery) => whyNotAt(point, delivery, journey, now));
  if (reasons.some((reason) => reason === undefined)) return undefined;
  return deliveries
    .map((delivery, index) => {
      const poster = row && posterOf(delivery, journey.dispatches);
      return `${code(delivery.id)}${poster ? `, which ${poster} posted because of the message` : ""}: ${reasons[index]}`;
    })
    .join("\n");
}

/** `**suppressed** by x: reason`; a status at the start of the reason is not repeated. */
function statusText({ status, reason }: Pick<Delivery, "status" | "reason">): string {
  return `**${status}**${reasonText({ status, reason })}`;
}

/** The status and reason, with the hook that cancelled the delivery. */
export function endText(delivery: Pick<Delivery, "status" | "reason">, dispatches: readonly DispatchRecord[]): string {
  const by = dispatches.flatMap(({ runs }) => runs).find(({ outcome }) => outcome === "cancelled");
  if (by === undefined || delivery.status !== "cancelled") return statusText(delivery);
  const reason = delivery.reason === "a hook cancelled it" ? undefined : delivery.reason;
  return `**cancelled** by ${code(by.hookId)}${reason === undefined ? "" : `: ${plain(reason)}`}`;
}

function reasonText({ status, reason }: Pick<Delivery, "status"> & { reason: string | undefined }): string {
  if (reason === undefined) return "";
  if (status === "sent") return `; a try before that failed: ${plain(reason)}`;
  return reason.startsWith(`${status} by `) ? ` ${plain(reason.slice(status.length + 1))}` : `: ${plain(reason)}`;
}

/** Names the blocker that a delivery waits behind: a delivery in doubt, or one that is tried again. */
export function behindText(blocker: Delivery): string {
  const why = blocker.reason === undefined ? "" : ` (${plain(blocker.reason)})`;
  return `waits behind ${code(blocker.id)}, which is **${blocker.status}**${why}`;
}

/** Written to the wire without a clear answer: ended, or about to be repeated where that cannot show twice. */
function mayBeThere(delivery: Delivery): boolean {
  return maySeeIt(delivery) || (delivery.status === "sending" && saysInDoubt(delivery.reason));
}

/** Undefined when the delivery came as far as this point. */
function whyNotAt(point: OutboundPoint, delivery: Delivery, journey: Journey, now: number): string | undefined {
  const { blockers, dispatches } = journey;
  const { id, status, operation, reason } = delivery;
  const blocker = blockers.get(id);
  const pause = journey.pauses.get(id);
  const why = reasonText({ status, reason });
  if (operation === "delete" && point !== "delivery_failed") return "it deletes a message; deletions pass no hooks.";
  if (point === "message_sent" && status === "sent") return undefined;
  if (point === "delivery_failed" && (status === "dead" || status === "cancelled")) return undefined;
  if (mayBeThere(delivery) && (point === "message_sent" || point === "delivery_failed"))
    return `whether it arrived is not known. It is **${status}**${status === "held" ? " until an operator decides" : status === "sending" ? " and is tried again" : ""}${why}.`;
  if (blocker) return `it ${behindText(blocker)}${pause && blocker.reason === undefined ? `; ${pause}` : ""}.`;
  if (point === "message_sent") {
    const isOpen = status === "waiting" || status === "sending";
    return `it was not sent${isOpen ? " yet" : ""}. It is ${endText(
      delivery,
      dispatches.filter((one) => rootOf(one.id) === id),
    )}${pause && reason === undefined ? `: ${pause}` : ""}.`;
  }
  if (point === "delivery_failed") {
    const state = status === "sent" ? "then it was sent" : `it is **${status}** now${why}`;
    const givenUp = wasGivenUpText(delivery, state, journey, now);
    if (givenUp !== undefined) return givenUp;
    return status === "sent" ? "it was sent, so nothing failed." : `it is **${status}**${why}. That is no failure.`;
  }
  if (delivery.skipsHooks) return "it is a notice of the gateway's own, which no hook decides about.";
  if (delivery.parts.length > 0) return undefined; // the decision of the hooks is frozen in it
  switch (status) {
    case "suppressed":
      return point === "before_dispatch" ? undefined : `it was **suppressed** at ${code("before_dispatch")}${why}.`;
    case "held":
      return reason?.includes(HOOKS_MAY_CRASH) === true ? `it is **held**${why}.` : undefined;
    case "waiting":
      return `it waits${pause ? `: ${pause}` : why}. Hooks are asked just before it is sent.`;
    case "superseded":
    case "dead":
      return `it ended as **${status}** before any hook was asked${why}.`;
    default:
      return undefined;
  }
}
