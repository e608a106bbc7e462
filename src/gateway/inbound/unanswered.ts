/**
 * A word instead of silence. In direct messages: to people with a role when no hook claimed their message. In rooms: to operators who
 * mentioned the gateway. In both, once, to a person without a role, who cannot know what this account is; not
 * in direct messages that are open to everyone.
 */

import { isUnfinished } from "../../domain/automation.js";
import { formatAddress } from "../../domain/chat/address.js";
import { conversationOf } from "../../domain/chat/event.js";
import { hasRole, type Operator, type Role } from "../../domain/chat/identity.js";
import type { InboundMessage } from "../../domain/chat/message.js";
import { saysNothing } from "../../domain/chat/says-nothing.js";
import { fateOf } from "../../domain/deliveries/fates.js";
import { queueOf } from "../../domain/deliveries/outbox-queue.js";
import { rootOf } from "../../domain/journal.js";
import { LATE_NOTE, type NewPending, type PendingItem } from "../../domain/pending.js";
import type { Delivery, NewDelivery } from "../../domain/store.js";
import type { LaneRow } from "../conversation.js";
import { note, orOpenly } from "./answer-command.js";
import { isOurs, type Origin } from "./forward.js";
import { type Handling, settled } from "./handling.js";
import { unknownAt } from "./note-arrival.js";
import { afterMove, causeId, type Inbound, isWhereCopiesGo, messageAddress, referenceTo } from "./receiving.js";
import { reply } from "./reply.js";
import { senderOf } from "./sender.js";

/** People who got the introduction once; plugins share the store, and their ids cannot start so. */
const SCOPE = "@introduced";

/**
 * An answer to a message is posted soon after the message was handled, so it is among the newest deliveries of its conversation. A message
 * leads to fewer runs.
 */
const RECENT = 100;

/**
 * For a note that waits for hooks in the background or for the messages that they post: how long after its message it is decided, and the
 * longest pause between two decisions.
 */
const FIRST_LOOK_MS = 100;
const LONGEST_LOOK_MS = 5 * 60_000;

/** When operators were notified in a room, by its address. */
const ROOMS = "@unanswered";
const ROOM_PAUSE_MS = 3_600_000;

/**
 * A message that nothing else answered ends as unrouted; of one to the gateway, with a note to its sender or the reason why there is
 * none.
 */
export async function unanswered(
  row: LaneRow,
  message: InboundMessage,
  operator: Operator,
  inbound: Inbound,
): Promise<Handling> {
  if (!inbound.config.unanswered_note || !(message.isDm || message.isGroupMention)) return settled("unrouted");
  // Nothing waits for a note that is not due, such as the messages of customers where everyone may write.
  if (!(await isDue(row, message, operator, inbound))) return settled("unrouted");
  const answering = await answeringHook(row, message, inbound);
  if (answering === undefined) return settled("unrouted", await noteTo(row, message, operator, inbound));
  return withoutNote(row, answering, inbound);
}

/** The conversation does not wait for a hook that may still answer: its note is decided later. */
function withoutNote(row: LaneRow, answering: Answering, { clock }: Inbound): Handling {
  const handling: Handling = { kind: "settled", outcome: "unrouted", deliveries: [] };
  if (row.passedOver === undefined) handling.reason = reasonOf(answering);
  if (answering.isOpen) handling.pending = [lateNote(row, clock.now() + FIRST_LOOK_MS)];
  return handling;
}

/** The facts that the note needs and the row does not keep. */
interface LateNote {
  rowId: number;
  passedOver?: LaneRow["passedOver"];
}

function lateNote({ id: rowId, conversation, passedOver }: LaneRow, dueAt: number): NewPending {
  const payload: LateNote = passedOver === undefined ? { rowId } : { rowId, passedOver };
  return { id: `${LATE_NOTE} m${rowId}`, kind: LATE_NOTE, key: conversation, dueAt, payload };
}

/** When no hook may answer any more: the note, if none did. Until then, resolves with the next time to decide. */
export async function decideNote({ payload }: PendingItem, inbound: Inbound): Promise<NewPending[] | undefined> {
  const { store, clock } = inbound;
  const { rowId, passedOver } = payload as LateNote;
  const stored = await store.inbox.get(rowId);
  if (stored === undefined) return undefined;
  const event = afterMove(stored.event, inbound);
  if (!("message" in event)) return undefined;
  const row: LaneRow = { ...stored, conversation: conversationOf(event), isStarted: false };
  if (passedOver) row.passedOver = passedOver;
  // The message was to the gateway, maybe as a reply to a copy.
  const message = { ...event.message, isGroupMention: !event.message.isDm };
  const answering = await answeringHook(row, message, inbound);
  const now = clock.now();
  // Each pause is as long as all before it together.
  const waitedMs = now - (stored.settledAt ?? now);
  const deliveries = answering === undefined ? await lateNotes(row, message, inbound) : [];
  const reason = passedOver?.reason ?? (answering && reasonOf(answering));
  if (!answering?.isOpen || reason !== stored.reason) await store.inbox.complete(rowId, { reason, deliveries }, now);
  if (answering?.isOpen) return [lateNote(row, now + Math.min(Math.max(waitedMs, FIRST_LOOK_MS), LONGEST_LOOK_MS))];
  for (const delivery of deliveries) inbound.wakeOutbox(queueOf(delivery));
  return undefined;
}

async function lateNotes(row: LaneRow, message: InboundMessage, inbound: Inbound): Promise<NewDelivery[]> {
  const misdirected = isForNoOneElse(message, inbound) ? await misdirectedText(message, inbound) : undefined;
  if (misdirected !== undefined) return reply(row, message, misdirected, inbound);
  const { operator } = senderOf(message, inbound);
  if (!inbound.config.unanswered_note || !(await isDue(row, message, operator, inbound))) return [];
  return noteTo(row, message, operator, inbound);
}

const reasonOf = ({ text, isOpen }: Answering) => `no note was sent${isOpen ? " yet" : ""}: ${text}`;

/** Whether the sender gets a note, provided that no hook answers. */
async function isDue(row: LaneRow, message: InboundMessage, { role }: Operator, inbound: Inbound): Promise<boolean> {
  if (role !== undefined) return message.isDm || isRoomDue(row, message, role, inbound);
  // Where everyone may write, people without a role are expected: hooks, or operators, answer them.
  const isOpen = inbound.access[message.platform]?.dms === "everyone";
  if (message.isDm && isOpen && !isStart(message)) return false;
  return isIntroductionDue(row, message, inbound);
}

async function noteTo(
  row: LaneRow,
  message: InboundMessage,
  { role }: Operator,
  inbound: Inbound,
): Promise<NewDelivery[]> {
  if (role === undefined) return introduced(row, message, inbound);
  if (!message.isDm) return inRoom(row, message, inbound);
  // Later messages may be between the note and a message that was settled before.
  const isLate = row.settledAt !== undefined;
  const text = `${whatHappened(row, "")}${helpFor(message)} \`/hooks why ${isLate ? causeId(row) : "last"}\` shows why.`;
  const notice = note(row, message, undefined, text, inbound);
  return [isLate ? { ...notice, message: { text, replyToId: referenceTo(row, message) } } : notice];
}

/**
 * Where copies of customers' messages or cards about them are posted, a reply to a message of ours, or a mention, is mostly meant as an
 * answer to a customer, a mention in a reply to a colleague included. When it answers no copy, or one that is known no more, its author
 * is notified each time. Undefined for every other message.
 */
export async function misdirectedReply(
  row: LaneRow,
  message: InboundMessage,
  inbound: Inbound,
): Promise<Handling | undefined> {
  const text = isForNoOneElse(message, inbound) ? await misdirectedText(message, inbound) : undefined;
  if (text === undefined) return undefined;
  const answering = await answeringHook(row, message, inbound);
  if (answering === undefined) return settled("reply", reply(row, message, text, inbound));
  return answering.isOpen ? withoutNote(row, answering, inbound) : undefined;
}

/** No one else reads messages that people write there: without a route, and where the copies go. */
function isForNoOneElse(message: InboundMessage, inbound: Inbound): boolean {
  return inbound.config.default_route === "none" || isWhereCopiesGo(message, inbound);
}

async function misdirectedText(message: InboundMessage, inbound: Inbound): Promise<string | undefined> {
  const { replyToId, replyToUserId, botId } = message;
  if (replyToId === undefined) return mentionWhereCopiesGo(message, inbound);
  const to = await inbound.store.outbox.findByMessage(messageAddress(message), replyToId);
  // The platform knows that we wrote the message that is replied to, when we do not.
  if (to === undefined && replyToUserId !== botId) return mentionWhereCopiesGo(message, inbound);
  if (!(await isForAnswers(message, to, inbound))) return undefined;
  return to !== undefined && to.mirrors === undefined ? MISDIRECTED : notLinked(message, inbound);
}

/**
 * An answer that has nothing for the customer, such as a mention of the gateway alone, is no answer. Undefined when it has something, and
 * for a customer's own words.
 */
export async function emptyAnswer(
  row: LaneRow,
  message: InboundMessage,
  { role }: Operator,
  origin: Origin,
  inbound: Inbound,
): Promise<Handling | undefined> {
  if (!saysNothing(message) || !(await isOurs(message, role, origin, inbound))) return undefined;
  return settled("reply", reply(row, message, message.isEdit ? EMPTY_CORRECTION : EMPTY, inbound));
}

/** A person who mentions the gateway where the copies are means a customer, too, and has to name which one. */
function mentionWhereCopiesGo(message: InboundMessage, inbound: Inbound): string | undefined {
  const isMeant = inbound.config.unanswered_note && message.isGroupMention && isWhereCopiesGo(message, inbound);
  return isMeant ? `${NOT_A_REPLY}${helpFor(message)}` : undefined;
}

const TO_ANSWER = "To answer a customer, reply to the copy of the customer's message.";

const NOT_A_REPLY = `Your message was not sent to anyone. ${TO_ANSWER}`;

const EMPTY = `Your message was not sent to anyone: it has no text and no file that Hookgate can read. ${TO_ANSWER}`;

const EMPTY_CORRECTION =
  "Your correction was not passed on: it has no text and no file that Hookgate can read. Your message stays as it was before. To change it, edit it again; to remove it, delete it.";

const MISDIRECTED = `Your reply was not sent to anyone: you replied to a message of Hookgate's own. ${TO_ANSWER}`;

const NO_LONGER_LINKED =
  "Your reply was not sent to anyone: the message that you replied to is no longer linked with a conversation, because it is too old, or newer than a backup that was restored. Reply to a newer copy, or write to the person yourself.";

/** Why the message that is replied to leads to no one, and what to do. */
async function notLinked(message: InboundMessage, inbound: Inbound): Promise<string> {
  const [unknown] = (await unknownAt(message, inbound)).map(({ delivery }) => delivery);
  if (unknown === undefined) return NO_LONGER_LINKED;
  const next = {
    sending: "Hookgate is still trying to find out: reply again in a few minutes.",
    held: `\`/outbox release ${unknown.id} confirmed=false\` sends it again (operators). Then reply to its newest copy.`,
  }[unknown.status as string];
  return `Your reply was not sent to anyone: the platform gave no answer when the message that you replied to was posted, so it is not linked with a conversation. ${next ?? "Reply to another copy, or write to the person yourself."}`;
}

/** A reply to this message of ours (undefined: one that is known no more) is mostly meant for a customer. */
async function isForAnswers(message: InboundMessage, to: Delivery | undefined, inbound: Inbound): Promise<boolean> {
  if (isWhereCopiesGo(message, inbound)) return true;
  if (message.isDm) return false;
  const conversation = formatAddress(messageAddress(message));
  const posted = to === undefined ? await inbound.store.outbox.list({ conversation, limit: RECENT }) : [to];
  return posted.some(({ cause, mirrors }) => mirrors !== undefined || cause.kind === "alert");
}

/** `where`: which message is meant, when the note is not beside it. */
function whatHappened({ passedOver, deferrals }: LaneRow, where: string): string {
  if (passedOver === undefined) return where === "" ? "No hook answered." : `No hook answered your message${where}.`;
  const times = deferrals === 1 ? "once" : `${deferrals} times`;
  return `Your message${where} was not answered: the hook \`${passedOver.by}\` deferred it ${times} and would have deferred it again, which \`gateway.max_deferrals\` does not allow. Send it again later, or change the hook.`;
}

const ASKS_FOR_HELP = /^\/+$|^\W*(help( me)?|commands|what can (you|i|we) do( here)?|what do you do)\W*$/i;

function helpFor(message: InboundMessage): string {
  return ASKS_FOR_HELP.test(message.text) ? " `/help` shows what I can do." : "";
}

/** `isOpen`: a moment later there may be no such hook any more. */
interface Answering {
  text: string;
  isOpen: boolean;
}

/**
 * A hook that claims nothing may have answered, or may still answer: it posted in the conversation, or it has not ended and may
 * post there. A run that cannot post in the conversation answers nothing, and neither does one whose posts there were all withheld.
 */
async function answeringHook(row: LaneRow, message: InboundMessage, inbound: Inbound): Promise<Answering | undefined> {
  const { store, registry, mayPost } = inbound;
  const conversation = formatAddress(messageAddress(message));
  const started = await store.automation.runs.ledTo(causeId(row), RECENT);
  const running = registry.running().filter(({ dispatchId }) => rootOf(dispatchId) === causeId(row));
  const open = [...started.filter(({ status }) => isUnfinished(status)), ...running].find(({ hookId }) =>
    mayPost(hookId, conversation),
  );
  if (open)
    return {
      text: `the hook ${open.hookId} had not finished in the background by then, and could still answer here`,
      isOpen: true,
    };
  const posts = (await store.outbox.list({ conversation, limit: RECENT })).flatMap((delivery) => {
    const by = started.find(({ id }) => delivery.cause.id === id)?.hookId;
    const isOfPlugin = delivery.plugin !== undefined && rootOf(delivery.cause.id) === causeId(row);
    if (delivery.operation === "delete" || (by === undefined && !isOfPlugin)) return [];
    return [{ fate: fateOf(delivery), by: by === undefined ? `the plugin ${delivery.plugin}` : `the hook ${by}` }];
  });
  const [arrived, waiting, inDoubt] = (["sent", "waiting", "in_doubt"] as const).map(
    (fate) => posts.find((post) => post.fate === fate)?.by,
  );
  if (arrived) return { text: `${arrived} answered`, isOpen: false };
  if (waiting) return { text: `an answer of ${waiting} had not been sent by then`, isOpen: true };
  if (inDoubt) return { text: `an answer of ${inDoubt} may or may not have arrived by then`, isOpen: false };
  return undefined;
}

/**
 * Once per person, privately; in the room where the person cannot be reached privately (Telegram, before they wrote first), and then once
 * more when they write privately; and each time at START. The note is stored before it is sent, so a crash in between loses it rather than
 * repeating it.
 */
export async function introduced(row: LaneRow, message: InboundMessage, inbound: Inbound): Promise<NewDelivery[]> {
  if (!inbound.config.unanswered_note || !(await isIntroductionDue(row, message, inbound))) return [];
  if (isStart(message)) inbound.perMinute.add(startsOf(message));
  await inbound.store.keyValue.set(SCOPE, personOf(message), introductionId(row));
  const text = introduction(message, inbound);
  const openText =
    inbound.access[message.platform]?.dms === "everyone"
      ? text
      : `I am ${nameOn(message, inbound)}, an automatic account. I answer people who have a role here. To learn more, send me \`/whoami\` in a direct message.`;
  return [
    orOpenly(row, note(row, message, undefined, text, inbound), message, messageAddress(message), inbound, openText),
  ];
}

async function isIntroductionDue(row: LaneRow, message: InboundMessage, inbound: Inbound): Promise<boolean> {
  const known = await inbound.store.keyValue.get(SCOPE, personOf(message));
  // A message that is handled again after a crash introduces the gateway again under the same delivery id.
  if (known === undefined || known === introductionId(row)) return true;
  if (isStart(message) && inbound.perMinute.count(startsOf(message)) < MAX_STARTS) return true;
  return message.isDm && (await wasOutOfReach(known, inbound));
}

const personOf = ({ platform, userId }: InboundMessage) => `${platform}:${userId}`;
const startsOf = (message: InboundMessage) => `start:${personOf(message)}`;
const introductionId = (row: LaneRow) => `d_m${row.id}a`;

/** The introduction for a person without a role. Where everyone may write privately, it suggests that: no one needs a role for it. */
export function introduction(message: InboundMessage, inbound: Inbound): string {
  const { access, config, claims } = inbound;
  const who = `I am ${nameOn(message, inbound)}, an automatic account.`;
  // The first to write is mostly the person who has just started it.
  const isUnclaimed = message.isDm && claims?.hasCode === true && claims.owners.size === 0;
  const toOwner = isUnclaimed
    ? " If you run me, send `/claim CODE` with the code that `npx hookgate claim` prints on my machine."
    : "";
  if (access[message.platform]?.dms !== "everyone")
    return `${who} I answer people who have a role here, and you have none. To ask for one, send \`/whoami\` and pass the answer on to the person who runs me.${toOwner}`;
  const where = message.isDm ? "Write your message here" : "Write to me in a direct message";
  const isForwarded = typeof config.default_route === "object" && "forward" in config.default_route;
  return isForwarded
    ? `${who} ${where}: people read it, and their answer comes ${message.isDm ? "here" : "there"}.`
    : `${who} ${where}. What answers it is up to the people who run me.`;
}

const nameOn = ({ platform }: InboundMessage, { adapters }: Inbound) => adapters.name(platform) ?? "Hookgate";

/**
 * Telegram's button in a chat that is new or was emptied, where nothing else is to be seen. Answered each time, unless there is a flood
 * of them.
 */
const isStart = ({ isDm, text }: InboundMessage): boolean => isDm && /^\/start(\s|$)/i.test(text);

const MAX_STARTS = 3;

/** The note was a line in a room, which asks the person to write privately. */
async function wasOutOfReach(deliveryId: unknown, { store }: Inbound): Promise<boolean> {
  const delivery = await store.outbox.get(String(deliveryId));
  return delivery?.openly !== undefined && delivery.status !== "sent" && delivery.status !== "waiting";
}

/** An operator who mentions the gateway in a room and meets silence: a private note, once per hour and room. */
async function inRoom(row: LaneRow, message: InboundMessage, inbound: Inbound): Promise<NewDelivery[]> {
  await inbound.store.keyValue.set(ROOMS, roomOf(message), { rowId: row.id, at: inbound.clock.now() });
  // The note may arrive in a direct message, where `last` is another message: so it names this one.
  const text = `${whatHappened(row, " in the room")}${helpFor(message)} \`/hooks why m${row.id}\` shows why.`;
  const notice = note(row, message, undefined, text, inbound);
  return [orOpenly(row, notice, message, messageAddress(message), inbound, text)];
}

async function isRoomDue(row: LaneRow, message: InboundMessage, role: Role, inbound: Inbound): Promise<boolean> {
  if (!hasRole(role, "operator")) return false;
  const known = (await inbound.store.keyValue.get(ROOMS, roomOf(message))) as { rowId: number; at: number } | undefined;
  // A message that is handled again after a crash is answered again under the same delivery id.
  return !known || known.rowId === row.id || Math.abs(inbound.clock.now() - known.at) >= ROOM_PAUSE_MS;
}

const roomOf = ({ platform, botId, chatId }: InboundMessage) => formatAddress({ platform, botId, chatId });
