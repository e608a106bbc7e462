/** The subject of an `/outbox` command: a delivery by its id, or an inbox row written `m12` (as in the ids of its dispatches). */

import type { Button } from "../../src/domain/chat/message.js";
import {
  DELETED_BEFORE,
  heldBehind,
  isAmbiguous,
  isLeftToPeople,
  isUntold,
} from "../../src/domain/deliveries/given-up.js";
import { MAY_HAVE_BEEN_HANDLED } from "../../src/domain/deliveries/letters.js";
import { purgeOf } from "../../src/domain/deliveries/purges.js";
import type { Delivery, InboxRow } from "../../src/domain/store.js";
import { HookgateError } from "../../src/lib/errors.js";
import { commandButton, missing, notFound } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { publicLinkText } from "../message-named.js";
import { ago, code, count, plain } from "../show/text.js";
import { operatorName } from "../who.js";

export type Letter =
  /** `asked`: the id of an older change of the same message, which this change replaced. */
  { kind: "delivery"; delivery: Delivery; asked?: string | undefined } | { kind: "inbox"; row: InboxRow };

export async function findLetter(deps: CommandDeps, given: unknown): Promise<Letter> {
  const { store } = deps;
  const id = typeof given === "string" ? given.trim() : "";
  if (id === "") throw missing("the id of a delivery, or m12 for an inbox message", "/outbox list shows them.", "id");
  const [, inboxId] = /^m(\d{1,15})$/.exec(id) ?? [];
  if (inboxId !== undefined) {
    const row = await store.inbox.get(Number(inboxId));
    if (row) return { kind: "inbox", row };
  } else {
    const delivery = await store.outbox.get(id);
    const newer = delivery?.status === "superseded" ? await letterAfter(delivery, deps) : undefined;
    if (newer) return { kind: "delivery", delivery: newer, asked: id };
    if (delivery) return { kind: "delivery", delivery };
  }
  const purge = await purgeOf(deps, id, 0);
  if (purge) {
    const correction = (await store.outbox.list({ targetId: id, limit: 5 })).find((one) => one.operation === "edit");
    const after = correction
      ? ` Its correction ${correction.id} is ${correction.status}.`
      : ` Nothing more of it is ${inboxId === undefined ? "sent" : "handled"}.`;
    throw new HookgateError({
      code: "PURGED",
      message: `${id} was purged by ${operatorName(purge.by)} ${ago(purge.at, deps.clock.now())}.${after}`,
      hint: `/hooks why ${id} shows what is on record about it.`,
    });
  }
  throw notFound(
    inboxId === undefined ? "delivery" : "inbox message",
    id,
    [],
    publicLinkText(id) ??
      "/outbox list shows what waits for an operator; settled ones are deleted after the retention.",
    "id",
  );
}

/** The newest change of its message, if that waits for an operator: a card that its chat refuses is tried again as it changes. */
async function letterAfter({ id, targetId = id }: Delivery, { store }: CommandDeps): Promise<Delivery | undefined> {
  const [newest] = await store.outbox.list({ targetId, limit: 1 });
  return newest?.status === "dead" || newest?.status === "held" ? newest : undefined;
}

/** The store would give it up again at once. */
export async function isUnreadable({ store }: CommandDeps, letter: string | number): Promise<boolean> {
  const row = await (typeof letter === "number" ? store.inbox.get(letter) : store.outbox.get(letter));
  return row?.isUnreadable === true;
}

export function unreadable(id: string): HookgateError {
  return new HookgateError({
    code: "UNREADABLE",
    message: `${id} cannot be sent or handled: its row in the database is damaged and cannot be read.`,
    hint: `/outbox purge ${id} deletes it.`,
  });
}

/** A change that would end in the same way again. */
export function leftToPeople({ id, reason = "" }: Pick<Delivery, "id" | "reason">): HookgateError {
  return new HookgateError({
    code: "LEFT_TO_PEOPLE",
    message: `${id} cannot be tried again: ${reason}.`,
    hint: `/outbox purge ${id} deletes it from the outbox.`,
  });
}

/** Names some of the messages that were left out because they cannot be read. */
export function unreadableText(ids: readonly string[]): string | undefined {
  if (ids.length === 0) return undefined;
  return `${count(ids.length, "message")} left out: damaged in the database, so ${ids.length === 1 ? "it" : "they"} cannot be read (${namedText(ids)}). ${code("/outbox purge ID")} deletes one.`;
}

/** The text about changes that are left out because Hookgate cannot make them. */
export function leftToPeopleText(ids: readonly string[]): string | undefined {
  if (ids.length === 0) return undefined;
  return `${count(ids.length, "message")} left out: ${ids.length === 1 ? "it" : "they"} cannot be tried again (${namedText(ids)}). ${code("/outbox show ID")} shows why; ${code("/outbox purge ID")} then deletes one from the outbox.`;
}

const namedText = (ids: readonly string[]): string =>
  `${ids.slice(0, MAX_NAMED).map(code).join(", ")}${ids.length > MAX_NAMED ? ", …" : ""}`;

const MAX_NAMED = 5;

/** The message may have been handled after the backup that was restored. */
export function isMaybeHandled({ status, error }: Pick<InboxRow, "status" | "error">): boolean {
  return status === "dead" && error?.startsWith(MAY_HAVE_BEEN_HANDLED) === true;
}

/** The message was given up, and is not handled any more. */
export const isDeletedByAuthor = ({ outcome }: Pick<InboxRow, "outcome">): boolean => outcome === "deleted";

/** Why it may have been posted. */
export function doubtText({ reason }: Pick<Delivery, "reason">): string {
  return reason !== undefined && isUntold(reason) ? plain(reason) : "it was sent and no answer came";
}

/** The delivery is not sent unless an operator decides so. */
const waitsForDecision = ({ status, isUnreadable }: Delivery): boolean =>
  (status === "held" || status === "dead") && isUnreadable !== true;

/** The text for a delivery that was to be sent, and was cancelled instead. */
export function notSentText({ id, reason }: Pick<Delivery, "id" | "reason">): string {
  return `${code(id)} is not sent: ${reason === DELETED_BEFORE ? "its author deleted the message" : reason}.`;
}

/** The number of these deliveries that their authors deleted meanwhile. */
export async function countCancelled({ store }: CommandDeps, ids: readonly string[]): Promise<number> {
  const after = await Promise.all(ids.map((id) => store.outbox.get(id)));
  return after.filter((one) => one?.status === "cancelled").length;
}

export function manyNotSentText(amount: number): string | undefined {
  if (amount === 0) return undefined;
  return `${count(amount, "message")} ${amount === 1 ? "is" : "are"} not sent: ${code("/outbox list cancelled")} shows why.`;
}

/** The id of the message that an edit or deletion changes, while that is held: its release decides about both. */
export async function heldTargetOf({ store }: CommandDeps, id: string): Promise<string | undefined> {
  const delivery = await store.outbox.get(id);
  const behind = delivery && heldBehind(delivery);
  return behind && (await store.outbox.get(behind))?.status === "held" ? behind : undefined;
}

/** The command that sends the delivery, as a clause; undefined for a delivery that waits for no operator. */
export function nextStepText(delivery: Delivery): string | undefined {
  if (!waitsForDecision(delivery)) return undefined;
  const { id, status, reason } = delivery;
  const behind = heldBehind(delivery);
  if (behind) return `${code(`/outbox release ${behind}`)} decides about that message, and this follows`;
  if (isLeftToPeople(reason)) return `${code(`/outbox purge ${id}`)} then deletes this from the outbox`;
  if (status === "dead") return `${code(`/outbox retry ${id}`)} tries it again`;
  const release = code(`/outbox release ${id}`);
  if (isAmbiguous(delivery)) return `look in the chat, then ${release} asks whether it is there`;
  return `${release} sends it${delivery.frozen ? "" : " if the hooks let it pass"}`;
}

/** Opens the first of these that waits for an operator. */
export function nextStepButtons(deliveries: readonly Delivery[]): Button[] {
  const first = deliveries.find(waitsForDecision);
  if (first === undefined) return [];
  const { id, status, cause } = first;
  const label = cause.kind === "reply" ? `The reply (${status})` : `What is ${status}`;
  return [commandButton(label, `/outbox show ${id}`)];
}

/** How often it was tried: a try without an answer is counted by its part alone. */
export function tries({ attempts, parts }: Delivery): number {
  return Math.max(attempts, ...parts.map((part) => part.attempts));
}
