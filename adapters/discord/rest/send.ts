/**
 * Turns one SendOperation into one Discord request, and its answer into a SendResult.
 *
 * A public answer beyond the first goes to the channel with a nonce, not through the interaction's webhook: follow-ups have
 * no nonce, so an unknown outcome could not be repeated. A private one has no other way, nor has one in a channel that refuses the bot.
 */

import { Routes } from "discord-api-types/v10";
import type { SendOperation, SendResult } from "../../../src/domain/chat/adapter.js";
import type { InteractionRef } from "../../../src/domain/chat/event.js";
import type { Aborts } from "../../../src/fast/aborts.js";
import type { Caller } from "../caller.js";
import type { Channels } from "../channels.js";
import { EPHEMERAL, FORBIDDEN } from "../codes.js";
import { channelPayload } from "../decode/payloads.js";
import { DM_PREFIX } from "../dm.js";
import { postInForum } from "../forum-post.js";
import { idOf, Refusal } from "./errors.js";
import type { FileAccess } from "./files.js";
import { failed, isOriginalGone, sentMessage } from "./outcome.js";
import {
  CARD_REFUSED,
  isCardKnownRefused,
  lighter,
  noteCard,
  plainText,
  prepare,
  traitsOf,
  type Upload,
  whole,
  without,
} from "./upload.js";

/** Cannot send messages in a non-text channel: a forum takes threads. */
const NOT_A_TEXT_CHANNEL = 50008;
/** Cannot reply without permission to read message history. */
const NO_HISTORY = 160002;
const ARCHIVED = 50083;
const LOCKED =
  "it is locked, so the bot cannot reopen it. Unlock the thread, or give the bot the permission Manage Threads";
/** Cannot edit a message of another author. */
const NOT_OURS = 50005;

export interface SendContext {
  caller: Caller;
  channels: Channels;
  applicationId: string;
  files: FileAccess;
  /** Settles with the acknowledgement of an interaction; undefined when none is under way. */
  acknowledged(interactionId: string): Promise<void> | undefined;
  /** A request's token was refused. */
  unauthorized(): void;
  /** This request has reopened its thread once. */
  hasReopened?: true;
}

/** Nothing was written, and waiting uses up no attempts: the connection comes back or the delivery expires. */
export function notConnected(error: string): SendResult {
  return { kind: "retry", error, afterMs: 1000, scope: "bot", isUntried: true };
}

/** Makes one request. Resolves with the result of its answer; when the signal aborts first, with the result known by then. */
export function send(
  context: SendContext,
  operation: SendOperation,
  signal: AbortSignal,
  aborts: Aborts,
): Promise<SendResult> {
  if (signal.aborted) return Promise.resolve(notConnected("the adapter is stopping"));
  return new Promise((resolve, reject) => {
    // A request without files goes on until its own timeout, or until the pool is closed.
    const off = aborts.on(signal, () => resolve(interrupted(operation)));
    acknowledgedFirst(context, operation, signal).then(
      (result) => {
        off();
        resolve(result);
      },
      (error) => {
        off();
        reject(error);
      },
    );
  });
}

/** After the acknowledgement of the interaction that the operation answers through. */
async function acknowledgedFirst(
  context: SendContext,
  operation: SendOperation,
  signal: AbortSignal,
): Promise<SendResult> {
  const pending = operation.interaction && context.acknowledged(operation.interaction.id);
  if (!pending) return request(context, operation, signal);
  await pending;
  return signal.aborted ? notConnected("the adapter is stopping") : request(context, operation, signal);
}

async function request(context: SendContext, asked: SendOperation, signal: AbortSignal): Promise<SendResult> {
  const result = await perform(context, inItsThread(asked), signal);
  // Only a change of a message waits apart from its chat; a new message may need a channel that is opened or found first.
  const isNew = asked.kind === "create" && result.kind === "retry" && result.scope === "delivery";
  return isNew ? { ...result, scope: "chat" } : result;
}

function perform(context: SendContext, operation: SendOperation, signal: AbortSignal): Promise<SendResult> {
  if (operation.address.chatId.startsWith(DM_PREFIX)) return openDm(context, operation);
  switch (operation.kind) {
    case "create":
      return create(context, operation, signal);
    case "edit":
      return edit(context, operation, signal);
    case "delete":
      return remove(context, operation);
  }
}

/** A thread is a channel of its own. */
function inItsThread(operation: SendOperation): SendOperation {
  const { threadId, ...address } = operation.address;
  return threadId === undefined ? operation : { ...operation, address: { ...address, chatId: threadId } };
}

/** The result of a request whose answer is not waited for any more. */
function interrupted(operation: SendOperation): SendResult {
  const error = "stopped before Discord answered";
  if (operation.kind === "delete") return { kind: "retry", error, scope: "bot" };
  if (operation.kind === "edit") return { kind: "ambiguous", error };
  const { interaction } = operation;
  if (interaction?.isPrivate && !interaction.first) return { kind: "ambiguous", error, mayRepeat: false };
  return { kind: "ambiguous", error };
}

/* ── create ────────────────────────────────────────────────────────────────────────────────────────────────────── */

type Create = SendOperation & { kind: "create" };

function create(context: SendContext, operation: Create, signal: AbortSignal): Promise<SendResult> {
  const upload = plainText(operation.part.body);
  if (upload) return created(context, operation, upload);
  return prepare(context.files, operation, signal).then(async (prepared) =>
    "kind" in prepared ? prepared : without(prepared.lostFiles, await created(context, operation, prepared)),
  );
}

function created(context: SendContext, operation: Create, upload: Upload): Promise<SendResult> {
  const { interaction } = operation;
  if (interaction?.first) return answer(context, operation, interaction, upload);
  if (interaction?.isPrivate) return followUp(context, interaction, upload);
  return post(context, operation, upload);
}

async function post(context: SendContext, operation: Create, upload: Upload): Promise<SendResult> {
  const { address, firstMessageId } = operation;
  if (isCardKnownRefused(context.channels, address.chatId, upload)) return CARD_REFUSED;
  const isForum = context.channels.isForum(address.chatId);
  if (isForum && firstMessageId === undefined) return postInForum(context, address.chatId, upload);
  // Parts that do not fit into the first message of a post follow in its thread.
  const chatId = isForum && firstMessageId !== undefined ? firstMessageId : address.chatId;
  const replyToId = context.channels.mayReplyIn(chatId) ? upload.body.replyToId : undefined;
  const body = {
    nonce: operation.nonce,
    enforce_nonce: true,
    ...upload.request,
    message_reference: replyToId === undefined ? undefined : { message_id: replyToId, fail_if_not_exists: false },
  };
  try {
    return sentMessage(await context.caller.post(Routes.channelMessages(chatId), { body, ...upload.extra }));
  } catch (error) {
    // A request that follows one in doubt keeps its nonce: else Discord could not drop it.
    const mayGoAnotherWay = error instanceof Refusal && !operation.mayHaveArrived;
    if (mayGoAnotherWay && error.code === NOT_A_TEXT_CHANNEL) return postInForum(context, chatId, upload);
    if (replyToId !== undefined && isReferenceRefused(error)) {
      if (error.code === NO_HISTORY) context.channels.noteNoHistory(chatId);
      return post(context, operation, withoutReply(upload));
    }
    const outcome = () => failed(context, error, { repeat: "by-nonce", isInteraction: false, ...traitsOf(upload) });
    if (isArchived(error)) return reopened(context, chatId, (then) => post(then, operation, upload), outcome);
    if (operation.interaction && mayGoAnotherWay && FORBIDDEN.has(error.code))
      return followUp(context, operation.interaction, upload);
    const less = lighter(upload, error);
    if (less) return post(context, operation, less);
    noteCard(context.channels, chatId, upload, error);
    return outcome();
  }
}

function isReferenceRefused(error: unknown): error is Refusal {
  if (!(error instanceof Refusal)) return false;
  return error.code === NO_HISTORY || JSON.stringify(error.rawError).includes('"message_reference"');
}

function withoutReply(upload: Upload): Upload {
  const { replyToId: _, ...body } = upload.body;
  return { ...upload, body };
}

/** The deferred answer: edited in, so repeating it is harmless. */
async function answer(
  context: SendContext,
  operation: Create,
  interaction: InteractionRef,
  upload: Upload,
): Promise<SendResult> {
  const { address, mayHaveArrived } = operation;
  const route = Routes.webhookMessage(context.applicationId, interaction.token, "@original");
  try {
    return sentMessage(await context.caller.patch(route, { body: whole(upload), ...upload.extra, auth: false }));
  } catch (error) {
    if (isOriginalGone(error)) return answerDismissed(context, operation, interaction, upload);
    const less = lighter(upload, error);
    if (less) return answer(context, operation, interaction, less);
    const outcome = failed(context, error, { repeat: "in-place", isInteraction: true, ...traitsOf(upload) });
    const again = (then: SendContext) => answer(then, operation, interaction, upload);
    if (isArchived(error)) return reopened(context, address.chatId, again, () => outcome);
    // A card is refused when the permission to embed links is missing: the gateway encodes it as text first.
    const isForbidden = error instanceof Refusal && FORBIDDEN.has(error.code) && outcome.kind === "permanent";
    if (!isForbidden || mayHaveArrived) return outcome;
    return answerApart(context, interaction, upload);
  }
}

/** The interaction's message was deleted, and the interaction is still open: a private answer is a follow-up, if Discord takes that. */
async function answerDismissed(
  context: SendContext,
  { mayHaveArrived }: Create,
  interaction: InteractionRef,
  upload: Upload,
): Promise<SendResult> {
  const closed = { kind: "interaction-closed" as const, error: "its message was deleted (10008)" };
  if (!interaction.isPrivate || mayHaveArrived) return closed;
  const result = await followUp(context, interaction, upload);
  return result.kind === "permanent" || result.kind === "gone" ? closed : result;
}

/**
 * Answers by a follow-up, which takes the place of "thinking…". Where that is refused, too, "thinking…" is deleted, and the gateway
 * notifies the person.
 */
async function answerApart(context: SendContext, interaction: InteractionRef, upload: Upload): Promise<SendResult> {
  const result = await followUp(context, { ...interaction, isPrivate: true }, upload);
  if (result.kind !== "permanent") return result;
  const route = Routes.webhookMessage(context.applicationId, interaction.token, "@original");
  await context.caller.delete(route, { auth: false }).catch(() => {}); // the refusal above counts
  return result;
}

async function followUp(context: SendContext, interaction: InteractionRef, upload: Upload): Promise<SendResult> {
  const flags = (upload.body.flags ?? 0) | (interaction.isPrivate ? EPHEMERAL : 0);
  const route = Routes.webhook(context.applicationId, interaction.token);
  try {
    const body = { ...upload.request, flags };
    return sentMessage(await context.caller.post(route, { body, ...upload.extra, auth: false }));
  } catch (error) {
    const less = lighter(upload, error);
    if (less) return followUp(context, interaction, less);
    return failed(context, error, { repeat: "harmful", isInteraction: true, isPlain: upload.isPlain });
  }
}

/* ── edit, delete ──────────────────────────────────────────────────────────────────────────────────────────────── */

async function edit(
  context: SendContext,
  operation: SendOperation & { kind: "edit" },
  signal: AbortSignal,
): Promise<SendResult> {
  const upload = await prepare(context.files, operation, signal);
  return "kind" in upload ? upload : without(upload.lostFiles, await change(context, operation, upload));
}

async function change(
  context: SendContext,
  operation: SendOperation & { kind: "edit" },
  upload: Upload,
): Promise<SendResult> {
  const { route, isInteraction } = messageRoute(context, operation);
  const chatId = chatOf(context, operation);
  if (!isInteraction && isCardKnownRefused(context.channels, chatId, upload)) return CARD_REFUSED;
  try {
    idOf(await context.caller.patch(route, { body: whole(upload), ...upload.extra, auth: !isInteraction }));
    return { kind: "sent", messageId: operation.messageId };
  } catch (error) {
    if (isArchived(error))
      return reopened(
        context,
        chatId,
        (then) => change(then, operation, upload),
        // To post in it reopens a thread that is not locked.
        () => ({ kind: "gone", error: "its thread is archived", isLeft: true }),
      );
    if (error instanceof Refusal && error.code === NOT_OURS) return { kind: "gone", error: "the bot did not write it" };
    const less = lighter(upload, error);
    if (less) return change(context, operation, less);
    if (!isInteraction) noteCard(context.channels, chatId, upload, error);
    return failed(context, error, { repeat: "in-place", isInteraction, ...traitsOf(upload) });
  }
}

async function remove(context: SendContext, operation: SendOperation & { kind: "delete" }): Promise<SendResult> {
  const { route, isInteraction } = messageRoute(context, operation);
  try {
    await context.caller.delete(route, { auth: !isInteraction });
    return { kind: "sent", messageId: operation.messageId };
  } catch (error) {
    const outcome = () => failed(context, error, { repeat: "harmless", isInteraction, isPlain: true });
    if (!isArchived(error)) return outcome();
    return reopened(context, chatOf(context, operation), (then) => remove(then, operation), outcome);
  }
}

/** Through the interaction while it is open (a private message has no other handle); a forum's post is in its own thread. */
function messageRoute(
  context: SendContext,
  operation: SendOperation & { kind: "edit" | "delete" },
): { route: `/${string}`; isInteraction: boolean } {
  const { messageId, interaction } = operation;
  if (interaction)
    return { route: Routes.webhookMessage(context.applicationId, interaction.token, messageId), isInteraction: true };
  const chatId = chatOf(context, operation);
  return { route: Routes.channelMessage(chatId, messageId), isInteraction: false };
}

function chatOf(
  { channels }: SendContext,
  { address, messageId, firstMessageId = messageId }: SendOperation & { kind: "edit" | "delete" },
): string {
  return channels.isForum(address.chatId) ? firstMessageId : address.chatId;
}

const isArchived = (error: unknown) => error instanceof Refusal && error.code === ARCHIVED;

/** Reopens an archived thread and sends again, once. `refused`: it is archived all the same, because it is locked, or because it was archived again. */
async function reopened(
  context: SendContext,
  threadId: string,
  again: (then: SendContext) => Promise<SendResult>,
  refused: () => SendResult,
): Promise<SendResult> {
  if (context.hasReopened) return refused();
  try {
    await context.caller.patch(Routes.channel(threadId), { body: { archived: false } });
  } catch (error) {
    // Discord refused the message, so nothing was posted.
    const outcome = failed(context, error, { repeat: "harmless", isInteraction: false, isPlain: true });
    if (outcome.kind !== "permanent") return outcome;
    const result = refused();
    return result.kind === "permanent" ? { ...result, error: `${result.error}: ${LOCKED}` } : result;
  }
  return again({ ...context, hasReopened: true });
}

/* ── shared ────────────────────────────────────────────────────────────────────────────────────────────────────── */

/** A person's DM channel, found or opened; the gateway then sends to it. */
async function openDm(context: SendContext, { address }: SendOperation): Promise<SendResult> {
  const userId = address.chatId.slice(DM_PREFIX.length);
  const known = context.channels.dmOf(userId);
  if (known !== undefined) return { kind: "moved", toChatId: known };
  try {
    const opened = await context.caller.post(Routes.userChannels(), { body: { recipient_id: userId } });
    const id = idOf(opened);
    const { data } = channelPayload.safeParse(opened);
    context.channels.learnDm(id, { ...data?.recipients?.find((person) => person.id === userId), id: userId });
    return { kind: "moved", toChatId: id };
  } catch (error) {
    return failed(context, error, { repeat: "harmless", isInteraction: false, isPlain: true });
  }
}
