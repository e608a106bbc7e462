/**
 * Turns a failed REST request into a result for the gateway. Codes:
 * https://discord.com/developers/docs/topics/opcodes-and-status-codes#json
 */

import { z } from "zod";
import type { SendResult } from "../../../src/domain/chat/adapter.js";
import { PAGE_PAUSE_MS } from "../../../src/domain/chat/platform-defaults.js";
import { ExchangeError } from "../../../src/fast/exchange.js";
import { errorMessage } from "../../../src/lib/errors.js";
import type { LostFile } from "../../../src/lib/files/lost-file.js";
import { MISSING_PERMISSIONS } from "../codes.js";
import { idOf, Limited, OwnLimit, Refusal, ServerFault, UnreadableAnswer } from "./errors.js";
import { InvalidRequestPause } from "./refusals.js";

/** Facts about the request that decide how its failure reads. */
export interface Sent {
  /**
   * Whether doing it twice does harm: never (it shows no text), not in its place (edits, the deferred answer), not with its nonce
   * (creates), or it does.
   */
  repeat: "harmless" | "in-place" | "by-nonce" | "harmful";
  /** The request answers through an interaction's token. */
  isInteraction: boolean;
  /** The part's formatting is off already. */
  isPlain: boolean;
  /** The message has a card, which takes a permission of its own. */
  hasEmbed?: boolean;
}

const UNKNOWN_CHANNEL = 10003;
const UNKNOWN_MESSAGE = 10008;
const INVALID_FORM = 50035;
const TITLE_BLOCKED = 200001;
const TOO_LARGE = 413;
/** A file, or all that is uploaded together, is too large. */
const FILE_TOO_LARGE: ReadonlySet<number | string> = new Set([40005, 50045]);
/**
 * Explicit content, which some people do not take; too many attachments; invalid file uploaded; the provided file is invalid, of an
 * invalid type, too long; uploaded file not found; the file has no valid duration.
 */
const FILE_INVALID: ReadonlySet<number | string> = new Set([20009, 30015, 50046, 50110, 50123, 50124, 50146, 50192]);
/** Access to file uploads has been limited for this guild. */
const UPLOADS_LIMITED = 400001;
/**
 * Sending or a feature is disabled for a while; an error inside Discord; the bot is not available yet; Discord is overloaded; limits that
 * come without the status 429: of active threads, of a channel's slow mode, of changes of announcements, of writes, of direct messages, of edits, of a service.
 */
const TEMPORARY: ReadonlySet<number | string> = new Set([
  40004, 40006, 40333, 110001, 130000, 20016, 20022, 20028, 20029, 30046, 40003, 40062, 160006,
]);
/** Unknown webhook, unknown interaction, already acknowledged, invalid webhook token, too many follow-ups. */
const INTERACTION_CLOSED: ReadonlySet<number | string> = new Set([10015, 10062, 40060, 50027, 40094]);
/** With a time given, waiting for the network or for a new token uses up no attempts of the delivery. */
const UNREACHABLE_PAUSE_MS = 5000;

/** A check of the token is done by then. */
const TOKEN_CHECK_MS = 1000;

/** False for the page of a server between Discord and us, with any status. */
export function isDiscordsOwn({ code }: Refusal): boolean {
  return typeof code === "number";
}

/** Discord itself reports that a resource is hidden from us or gone. A proxy's page shows nothing about it. */
export function isHiddenOrGone(error: unknown): boolean {
  return error instanceof Refusal && isDiscordsOwn(error) && (error.status === 403 || error.status === 404);
}

/** Discord reports that a resource is gone (404), not that it is hidden from us (403). */
export const isGone = (error: unknown): boolean => isHiddenOrGone(error) && (error as Refusal).status === 404;

export function isTokenRefused(error: unknown): boolean {
  return error instanceof Refusal && error.status === 401 && isDiscordsOwn(error);
}

/** Why a request failed, in words for the operator. */
export function describeFailure(error: unknown): string {
  if (error instanceof Refusal && !isDiscordsOwn(error)) return notDiscordsAnswer(error.status);
  if (isUnreadable(error)) return "the answer cannot be read: a proxy may be in between";
  return errorMessage(error);
}

/** Why Discord refuses the files of an upload; undefined when the refusal is not about them. */
export function fileRefusal(error: unknown): Omit<LostFile, "name"> | undefined {
  if (!(error instanceof Refusal)) return undefined;
  if (error.status === TOO_LARGE || FILE_TOO_LARGE.has(error.code))
    return { why: "it is too large for Discord", isTooLarge: true };
  if (FILE_INVALID.has(error.code) || isOfAttachments(error)) return { why: "Discord does not accept it" };
  if (error.code === MISSING_PERMISSIONS) return { why: "the bot needs the permission Attach Files" };
  if (error.code === UPLOADS_LIMITED) return { why: "Discord limits uploads of files in this server" };
  return undefined;
}

/** A form error (50035) at `attachments`: the name of a file, for example. */
const isOfAttachments = (error: Refusal) => wrongFields(error).includes("attachments");

/** The title of a post or a thread: automatic moderation blocks it, or Discord finds an error in it. */
export function isTitleRefused(error: unknown): boolean {
  return error instanceof Refusal && (error.code === TITLE_BLOCKED || wrongFields(error).includes("name"));
}

/** A form error at the buttons alone; in a forum's post they are a field of its message. */
export function isOfButtons(error: unknown): boolean {
  const wrong = error instanceof Refusal ? wrongFields(error) : [];
  return wrong.length === 1 && wrong[0] === "components";
}

function wrongFields({ code, rawError }: Refusal): string[] {
  if (code !== INVALID_FORM || !("errors" in rawError)) return [];
  const { errors } = rawError;
  if (typeof errors !== "object" || errors === null) return [];
  return Object.entries(errors).flatMap(([field, inner]) =>
    field === "message" && typeof inner === "object" && inner !== null ? Object.keys(inner) : [field],
  );
}

/** The original message was deleted. This can also be the message of a button, or one that shows "thinking…". */
export function isOriginalGone(error: unknown): boolean {
  return error instanceof Refusal && error.code === UNKNOWN_MESSAGE;
}

export function isCardRefused(error: unknown): boolean {
  return error instanceof Refusal && error.code === MISSING_PERMISSIONS;
}

/** The answer could not be parsed, or fields are missing. */
function isUnreadable(error: unknown): boolean {
  return error instanceof UnreadableAnswer || error instanceof TypeError || error instanceof z.ZodError;
}

export function outcomeOf(error: unknown, sent: Sent): SendResult {
  if (error instanceof Limited)
    return {
      kind: "retry",
      error: error instanceof OwnLimit ? error.message : "rate limited by Discord",
      // The gateway shortens the pause, and shows the pause that Discord asked for.
      afterMs: error.askedMs,
      scope: error.isGlobal ? "bot" : limitedBy(sent),
      isUntried: error.wasAsked ? undefined : true,
    };
  if (error instanceof InvalidRequestPause)
    return { kind: "retry", error: error.message, afterMs: error.afterMs, scope: "bot", isUntried: true };
  if (error instanceof Refusal) return refused(error, sent);
  if (error instanceof ServerFault) return unknownOutcome(error.message, sent);
  if (error instanceof UnreadableAnswer || error instanceof z.ZodError)
    return unknownOutcome("Discord's answer cannot be read", sent);
  const why = (error instanceof ExchangeError && error.code) || errorMessage(error);
  if (error instanceof ExchangeError && !error.isWritten)
    return { kind: "retry", error: `Discord cannot be reached (${why})`, afterMs: UNREACHABLE_PAUSE_MS, scope: "bot" };
  return unknownOutcome(`no answer from Discord (${why})`, sent);
}

/** Edits and deletions have limits of their own, as the edits of a message older than an hour (30046). */
const limitedBy = ({ repeat }: Sent) => (repeat === "harmless" || repeat === "in-place" ? "delivery" : "chat");

function refused(refusal: Refusal, sent: Sent): SendResult {
  const { code, status, message, rawError } = refusal;
  if (!isDiscordsOwn(refusal)) return notDiscords(status, sent);
  const error = `${message} (${code})`;
  if (sent.isInteraction && INTERACTION_CLOSED.has(code)) return { kind: "interaction-closed", error };
  if (TEMPORARY.has(code)) return { kind: "retry", error, scope: "chat" };
  if (code === UNKNOWN_MESSAGE) return { kind: "gone", error };
  if (code === UNKNOWN_CHANNEL) return { kind: "permanent", error, isChatGone: true };
  // The token is checked at once, and everything stops when it is refused again. A single refusal proves nothing for other chats.
  if (status === 401)
    return {
      kind: "retry",
      error: "Discord refused the token (401) for this request",
      afterMs: TOKEN_CHECK_MS,
      isGrowing: true,
      scope: "chat",
    };
  if (status === 408) return unknownOutcome(error, sent);
  if (code === INVALID_FORM) {
    const isFormatting = /"(content|embeds|components)"/.test(JSON.stringify(rawError));
    return isFormatting && !sent.isPlain ? { kind: "format", error } : { kind: "permanent", error };
  }
  // Embed Links is often missing: as text it may go.
  if (code === MISSING_PERMISSIONS && sent.hasEmbed && !sent.isPlain) return { kind: "format", error };
  return { kind: "permanent", error };
}

/** The request did not get through to Discord, so nothing was posted. */
function notDiscords(status: number, sent: Sent): SendResult {
  const error = notDiscordsAnswer(status);
  if (status === 408) return unknownOutcome(error, sent);
  return { kind: "retry", error, afterMs: PAGE_PAUSE_MS, scope: "chat" };
}

function notDiscordsAnswer(status: number): string {
  return `the answer was not Discord's (HTTP ${status}): a proxy or a login page of the network may be in between`;
}

/** Discord may have done what was requested. */
function unknownOutcome(error: string, { repeat }: Sent): SendResult {
  switch (repeat) {
    case "harmless":
      return { kind: "retry", error, scope: "chat" };
    case "in-place":
    case "by-nonce":
      return { kind: "ambiguous", error };
    case "harmful":
      return { kind: "ambiguous", error, mayRepeat: false };
  }
}

export function sentMessage(message: unknown): SendResult {
  return { kind: "sent", messageId: idOf(message) };
}

export function failed(context: { unauthorized(): void }, error: unknown, sent: Sent): SendResult {
  if (isTokenRefused(error) && !sent.isInteraction) context.unauthorized();
  return outcomeOf(error, sent);
}
