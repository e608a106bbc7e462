/**
 * Bridges: a message is posted at another address under its author's name. The pair is stored as a link when it is sent, so
 * that replies find their counterpart on either side, and edits and deletions of the original reach the copy.
 */

import { type Address, formatAddress } from "../../domain/chat/address.js";
import { addressOf } from "../../domain/chat/event.js";
import type { Role } from "../../domain/chat/identity.js";
import { lostFilesOf } from "../../domain/chat/lost-files.js";
import { type Attachment, type InboundMessage, isSameFile, type OutboundMessage } from "../../domain/chat/message.js";
import { wasPurged } from "../../domain/deliveries/purges.js";
import { COPY_MARK, copyId } from "../../domain/journal.js";
import type { Corrected, Delivery, NewDelivery } from "../../domain/store.js";
import { errorMessage, HookgateError } from "../../lib/errors.js";
import type { LostFile } from "../../lib/files/lost-file.js";
import { escapeMarkdown, literalMarkdown } from "../../lib/markdown/escape.js";
import { lostFile } from "../../lib/outgoing/file-bytes.js";
import { shownName } from "../../lib/text/person-name.js";
import { withoutUndefined } from "../../lib/without-undefined.js";
import { completeAddress } from "../complete-address.js";
import type { AnswersTo } from "../contract.js";
import type { LaneRow } from "../conversation.js";
import { MAX_CORRECTIONS } from "../outbound/corrected-with.js";
import {
  answeredBy,
  causeOf,
  type Inbound,
  isWhereCopiesGo,
  messageAddress,
  newDelivery,
  startsSeen,
} from "./receiving.js";
import { senderOf } from "./sender.js";
import { withCopySight } from "./sights-of.js";

/** The address is the message's own conversation. */
export function isEcho(message: InboundMessage, to: Address, inbound: Inbound): boolean {
  return formatAddress(completeAddress(to, inbound)) === formatAddress(messageAddress(message));
}

/** Where a message is passed on to, and the message that it answers there; without an id when that has none yet. */
export interface Origin {
  address: Address;
  messageId: string | undefined;
  /** The message continues an answer that named no room. */
  isPrivate?: boolean;
}

/** Undefined when the address is the message's own conversation: that would be an echo. `answering`: the message that it answers there. */
export async function forward(
  row: LaneRow,
  message: InboundMessage,
  to: Address,
  inbound: Inbound,
  answering?: Origin,
): Promise<NewDelivery | undefined> {
  const from = messageAddress(message);
  const address = completeAddress(to, inbound);
  if (isEcho(message, to, inbound)) {
    inbound.logger.warn({ row: row.id, to: formatAddress(to) }, "a message cannot be forwarded to where it came from");
    return undefined;
  }
  // The message that it answers was written before the chat moved: in the new chat, its id is another message's.
  const isOutOfReach = answering !== undefined && address.chatId !== to.chatId;
  const answered = answering ? answering.messageId : await counterpart(message, from, address, inbound);
  const replyToId = isOutOfReach ? undefined : answered;
  const { role } = senderOf(message, inbound).operator;
  const isAnswer = answering !== undefined && (role !== undefined || (await isToDirect(answering, inbound)));
  const { attachments, lostFiles } = await withAddresses(row, message, address, inbound);
  const copy = newDelivery(
    row,
    COPY_MARK,
    {
      address,
      operation: "send",
      message: {
        ...asCopy({ ...message, attachments }, { ...address, isPlaced: !isAnswer, lostFiles }, inbound),
        ...withoutUndefined({ replyToId }),
      },
      cause: causeOf(row, "forward"),
      mirrors: { address: addressOf(row.event), messageId: message.messageId },
      lostFiles: lostFiles.length > 0 ? lostFiles : undefined,
    },
    inbound,
  );
  if (await isOurs(message, role, answering, inbound)) copy.answers = { role, author: message.userId };
  return withCopySight(row, message, copy, inbound);
}

/** A customer does not see decisions of hooks; one of us, with or without a role, has to know that the customer got no answer. */
export async function isOurs(
  message: InboundMessage,
  role: Role | undefined,
  answering: Origin | undefined,
  inbound: Inbound,
): Promise<boolean> {
  if (role !== undefined) return true;
  if (answering === undefined || message.isDm) return false;
  return isWhereCopiesGo(message, inbound) || isToDirect(answering, inbound);
}

/**
 * Files that only their own platform can read are copied. A file that cannot be read now is tried again with its message, so this throws. A
 * file that can never be read, or not at the last attempt, is named in the text instead. `before`: versions of the copy, whose files are
 * not read again.
 */
async function withAddresses(
  row: LaneRow,
  message: InboundMessage,
  to: Address,
  inbound: Inbound,
  before: readonly Delivery[] = [],
): Promise<Pick<InboundMessage, "attachments"> & { lostFiles: LostFile[] }> {
  const { adapters, keepFile, config, logger } = inbound;
  const isOutOfReach = (file: Attachment) => file.url === "" && message.platform !== to.platform;
  const adapter = adapters.get(message.platform);
  const copied = before.flatMap((version) => version.message?.attachments ?? []);
  const alreadyLost = before.flatMap((version) => version.lostFiles ?? []);
  const attachments: Attachment[] = [];
  const lostFiles: LostFile[] = [];
  for (const file of message.attachments) {
    const known = isOutOfReach(file) ? copied.find((other) => isSameFile(other, file)) : file;
    const lost = known ? undefined : alreadyLost.find(isOf(file));
    if (known || lost) {
      attachments.push(known ?? file);
      if (lost) lostFiles.push(lost);
      continue;
    }
    try {
      if (!keepFile || !adapter?.fetchAttachment) throw new Error(`${message.platform} does not give it`);
      const bytes = await adapter.fetchAttachment(file, AbortSignal.timeout(config.upload_timeout));
      attachments.push({ ...file, url: await keepFile(bytes) });
    } catch (error) {
      const mayWorkLater = error instanceof HookgateError && error.retryable;
      if (mayWorkLater && startsSeen(row) < config.inbox_attempts) throw error;
      logger.warn(
        { platform: message.platform, error: errorMessage(error) },
        "a file could not be copied for a forward",
      );
      attachments.push(file);
      lostFiles.push({ ...lostFile(nameOfFile(file), error), id: file.id ?? file.ref });
    }
  }
  return { attachments, lostFiles };
}

async function isToDirect({ address, messageId, isPrivate }: Origin, { store }: Inbound): Promise<boolean> {
  if (isPrivate !== undefined) return isPrivate;
  const event = messageId === undefined ? undefined : (await store.inbox.find(address, messageId))?.event;
  return event !== undefined && "message" in event && event.message.isDm;
}

/**
 * The message as its copy shows it: author first, then, when all of a room can read the original and so the replies to the copy, the
 * room (`isPlaced`). On another platform, names replace ids that only its own can show. `lostFiles`: the known facts of the files that
 * have no address.
 */
export function asCopy(
  message: InboundMessage,
  to: Pick<Address, "platform"> & { isPlaced: boolean; lostFiles: readonly LostFile[] },
  { adapters, offers }: Pick<Inbound, "adapters" | "offers">,
): OutboundMessage {
  const isElsewhere = message.platform !== to.platform;
  const readable = isElsewhere ? adapters.get(message.platform)?.traits.readableText?.(message) : undefined;
  const author = nameOf(message);
  const reachable = message.attachments.filter((file) => file.url !== "" || message.platform === to.platform);
  const lost = message.attachments.filter((file) => !reachable.includes(file)).map((file) => named(file, to));
  const written = message.format === "plain" ? literalMarkdown(message.text) : (readable ?? message.text);
  const text = [written, ...lost].filter((line) => line !== "").join("\n");
  const nothing = message.isGroupMention ? "(mentioned the bot without a text)" : "(no text)";
  const place = to.isPlaced && !message.isDm ? ` in ${escapeMarkdown(roomOf(message, to, offers))}` : "";
  return {
    text: `**${escapeMarkdown(author)}**${place}:${nested(text === "" && reachable.length === 0 ? nothing : text)}`,
    showAddresses: true,
    attachments: reachable.length > 0 ? reachable.map((file) => ({ ...file, platform: message.platform })) : undefined,
  };
}

/** The copy of a message after a correction. Only files that are new in it are fetched. A copy that is not posted keeps its reference. */
export async function correctedCopy(
  row: LaneRow,
  message: InboundMessage,
  copy: Delivery,
  inbound: Inbound,
): Promise<Corrected> {
  const { address, status, message: before } = copy;
  const versions = [copy, ...(await inbound.store.outbox.list({ targetId: copy.id, limit: MAX_CORRECTIONS }))];
  const { attachments: given, lostFiles } = await withAddresses(row, message, address, inbound, versions);
  // After a change that may or may not have been made, none is sure to be there.
  const isKept = (status === "sent" && versions.every((version) => showsJust(given, version))) || undefined;
  const attachments = given.map((file) => ({ ...file, isKept }));
  const to = { ...address, isPlaced: namesPlace(copy), lostFiles };
  const replyToId = status === "sent" ? undefined : before?.replyToId;
  const corrected = asCopy({ ...message, attachments }, to, inbound);
  // The files that the copy shows are removed.
  if (versions.some((version) => version.message?.attachments?.length)) corrected.attachments ??= [];
  return {
    message: { ...corrected, ...withoutUndefined({ replyToId }) },
    lostFiles: lostFiles.length > 0 ? lostFiles : undefined,
  };
}

function showsJust(files: readonly Attachment[], version: Delivery): boolean {
  const shown = (version.frozen ?? version.message)?.attachments ?? [];
  const isSame = (file: Attachment, i: number) => shown[i] !== undefined && isSameFile(shown[i], file);
  return shown.length === files.length && files.every(isSame) && lostFilesOf(version).length === 0;
}

/**
 * Where an answer to one of our messages goes, when that is a copy: to its author, or for all to read into the room where it was written.
 */
export async function answersTo(
  at: Address,
  messageId: string,
  { store, offers }: Pick<Inbound, "store" | "offers">,
): Promise<AnswersTo | undefined> {
  const origin = (await store.links.find(at, messageId)).find((link) => link.isOrigin);
  if (origin === undefined) return undefined;
  const event = (await store.inbox.find(origin.address, origin.messageId))?.event;
  if (event === undefined || !("message" in event)) return { author: "its author" }; // deleted after the retention
  const { message } = event;
  return { author: nameOf(message), room: message.isDm ? undefined : roomOf(message, at, offers) };
}

const nameOf = ({ displayName, username, userId }: InboundMessage) => displayName ?? username ?? userId;

function roomOf(message: InboundMessage, { platform }: Pick<Address, "platform">, offers: Inbound["offers"]): string {
  const name = shownName(offers.placeName(messageAddress(message)) ?? "") ?? "a room";
  return message.platform === platform ? name : `${name} on ${message.platform}`;
}

/** True when the copy names the place, as `asCopy` writes it; an author's name has no bare `*` in it. */
export function namesPlace({ message }: Pick<Delivery, "message">): boolean {
  return message !== undefined && !/^\*\*(\\.|[^*\\])+\*\*:/.test(message.text);
}

/** Each line is quoted: none of them can look like the line of another author. */
function nested(text: string): string {
  const lines = text.split(/\r\n|[\n\r\u2028\u2029]/);
  return lines.length === 1 ? ` ${text}` : ["", ...lines].join("\n> ");
}

/** The copies of a message, as deliveries that an edit or deletion can address; those on their way included. */
export async function copiesOf(at: Address, messageId: string, inbound: Inbound): Promise<Delivery[]> {
  const { links, outbox, inbox } = inbound.store;
  const ids = new Set<string>();
  for (const link of await links.find(at, messageId)) if (!link.isOrigin) ids.add(link.deliveryId);
  const original = await inbox.find(at, messageId);
  if (original) ids.add(copyId(original));
  const copies = new Map<string, Delivery>();
  for (const id of ids) {
    const found = await outbox.get(id);
    // A part that an edit added is a copy too; the edit's own target is the message to address.
    const target = found?.operation === "edit" ? await outbox.get(found.targetId ?? "") : found;
    // An operator may have deleted the message that it corrected: then it posted all that is there.
    const root = target ?? (found?.parts.every(({ operation }) => operation === "create") ? found : undefined);
    if (root?.mirrors) copies.set(root.id, root);
  }
  return [...copies.values()];
}

/** The message answers a customer, but it is not known any more which one. */
export const LOST = "lost";

/** Own answers that continue each other and were not passed on: far more than a person writes. */
const MAX_CONTINUED = 50;

/**
 * Where a reply to one of our copies is meant for, given as it was written. A message in a thread on a copy is a reply to the copy. So is a
 * person's reply to an own answer: a correction, or more of it. An answer that was not passed on leads to where it was meant for. The reply
 * of a colleague is talk.
 */
export async function originOf(
  written: InboundMessage,
  inbound: Inbound,
  continued = MAX_CONTINUED,
): Promise<Origin | typeof LOST | undefined> {
  const { links, inbox, outbox } = inbound.store;
  for (const [at, messageId] of answeredBy(written)) {
    const origin = (await links.find(at, messageId)).find((link) => link.isOrigin);
    if (origin) return origin;
  }
  const { replyToId } = written;
  if (replyToId === undefined || continued === 0) return undefined;
  const answer = await inbox.find(messageAddress(written), replyToId);
  if (answer === undefined) return (await isForgotten(written, replyToId, inbound)) ? LOST : undefined;
  if (!("message" in answer.event) || answer.event.message.userId !== written.userId) return undefined;
  // Nothing of a command is meant for a customer.
  if (inbound.commands.read(answer.event.message.text)) return undefined;
  const copy = answer.outcome === "returned" ? await outbox.get(copyId(answer)) : undefined;
  if (!copy) return originOf(answer.event.message, inbound, continued - 1);
  const messageId = copy.parts.find((part) => part.messageId)?.messageId;
  return { address: copy.address, messageId, isPrivate: !namesPlace(copy) };
}

/**
 * Where only answers to customers are written, it replied to a message of ours that is known no more, or to a message of the same person
 * that an operator deleted.
 */
async function isForgotten(written: InboundMessage, replyToId: string, inbound: Inbound): Promise<boolean> {
  const { userId, replyToUserId, botId } = written;
  const at = messageAddress(written);
  if (!isWhereCopiesGo(written, inbound)) return false;
  if (replyToUserId === botId) return (await inbound.store.outbox.findByMessage(at, replyToId)) === undefined;
  const rowId = replyToUserId === userId ? await inbound.store.inbox.formerId(at, replyToId) : undefined;
  return rowId !== undefined && wasPurged(inbound, `m${rowId}`, 0);
}

/**
 * A reply to a copy is to us, as all platforms show; so is a message in a thread on one, or one that continues an answer, which none shows.
 */
export function withAddressing(message: InboundMessage, origin: Origin | typeof LOST | undefined): InboundMessage {
  if (message.isDm || message.isGroupMention || origin === undefined) return message;
  return { ...message, isGroupMention: true };
}

/** The id, at `to`, of the message that this one replies to. */
async function counterpart(
  message: InboundMessage,
  from: Address,
  to: Address,
  inbound: Inbound,
): Promise<string | undefined> {
  if (message.replyToId === undefined) return undefined;
  const links = await inbound.store.links.find(from, message.replyToId);
  const wanted = formatAddress(to);
  return links.find((link) => formatAddress(link.address) === wanted)?.messageId;
}

const nameOfFile = ({ type, filename }: Attachment) => filename ?? type;

const isOf =
  ({ id, ref }: Attachment) =>
  (lost: LostFile) =>
    lost.id === (id ?? ref);

function named(file: Attachment, { lostFiles }: { lostFiles: readonly LostFile[] }): string {
  const lost = lostFiles.find(isOf(file));
  const name = file.filename ? `: ${escapeMarkdown(file.filename)}` : "";
  return `[${file.type}${name}${lost ? ` was not passed on: ${escapeMarkdown(lost.why)}` : ""}]`;
}
