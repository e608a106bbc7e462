/** Files on their way out: Telegram's own by reference, all others as bytes. Fetched before anything is sent. What becomes of a refused one. */
import { basename } from "node:path";
import type { Attachment } from "../../src/domain/chat/message.js";
import { HookgateError } from "../../src/lib/errors.js";
import type { Logger } from "../../src/lib/logger.js";
import {
  type FileLimits,
  fileBytes,
  isTemporary,
  type MissingFile,
  missingFile,
  whyNotFetched,
} from "../../src/lib/outgoing/file-bytes.js";
import { ATTACHED, type Upload } from "./caller.js";
import { readFailure } from "./errors.js";

export type FileMethod = "photo" | "document" | "audio" | "video" | "animation" | "sticker";

/** https://core.telegram.org/bots/api#sending-files */
const PHOTO_MAX = 10_000_000;

/** Telegram refuses the file, or files of its kind in this chat, or its person takes none of them. Rights are per kind: https://core.telegram.org/bots/api#chatpermissions */
const FILE_REFUSED =
  /not enough rights to send (?!text)|CHAT_SEND_(?!PLAIN)\w+_FORBIDDEN|VOICE_MESSAGES_FORBIDDEN|restricted receiving of (voice|video)|(PHOTO|VIDEO|AUDIO|DOCUMENT|STICKER|GIF|MEDIA|FILE|IMAGE)_\w*(INVALID|FAILED|EMPTY|TOO_BIG)|too big for a photo|file is too big|wrong (remote )?file|file must be non-empty|can't use file of type/i;
const TOO_LARGE = 413;

export interface FileAccess {
  limits: FileLimits;
  /** A file that may be had later is named as well. */
  isLastAttempt: boolean;
  /** Called when no more is fetched. */
  onEnd(): void;
  logger: Logger;
}

/** A file that is to be sent could not be fetched, and may be had later. Nothing was sent. */
export class FileNotYet extends Error {
  readonly afterMs: number | undefined;

  constructor(cause: HookgateError) {
    super(`a file could not be fetched: ${whyNotFetched(cause)}`, { cause });
    this.afterMs = cause.retryAfterMs;
  }
}

export interface OutgoingFile {
  method: FileMethod;
  /** A file_id, which keeps its kind, or what names the upload. */
  media: string;
  upload?: Upload;
}

/**
 * Posts with the file; when Telegram refuses it, as a document; when that is refused as well, with a line instead of the file. A
 * refusal posts nothing, so each is one message. Throws FileNotYet when the file may be had later, unless this is the last attempt.
 */
export async function withFile<T>(
  file: Attachment,
  access: FileAccess,
  post: (file: OutgoingFile | MissingFile) => Promise<T>,
): Promise<T> {
  const opened = await fileOrLine(file, access);
  access.onEnd();
  try {
    return await post(opened);
  } catch (thrown) {
    if ("line" in opened || !isFileRefused(thrown)) throw thrown;
  }
  if (opened.method !== "document" && opened.upload)
    try {
      return await post({ ...opened, method: "document" });
    } catch (thrown) {
      if (!isFileRefused(thrown)) throw thrown;
    }
  return post(unattached(file));
}

/** What stands for a file that Telegram does not take. */
export function unattached(file: Attachment): MissingFile {
  const name = fileName(file);
  return { line: `[file: ${name} could not be attached]`, lost: { name, why: "Telegram does not accept it" } };
}

function isFileRefused(thrown: unknown): boolean {
  const failure = readFailure(thrown);
  if (failure.kind === "unanswered") return false;
  // Telegram's own server refuses large uploads with a page.
  if (failure.status === TOO_LARGE) return true;
  return failure.kind === "refused" && failure.status < TOO_LARGE && FILE_REFUSED.test(failure.description);
}

/** The file, or a line that stands for it when it cannot be had. */
async function fileOrLine(
  file: Attachment,
  { limits, isLastAttempt, logger }: FileAccess,
): Promise<OutgoingFile | MissingFile> {
  try {
    return await openFile(file, limits);
  } catch (thrown) {
    if (!(thrown instanceof HookgateError)) throw thrown;
    if (isTemporary(thrown) && !isLastAttempt) throw new FileNotYet(thrown);
    logger.warn(
      { file: fileName(file), error: thrown.message },
      "a file could not be fetched; a line of text replaces it",
    );
    return missingFile(fileName(file), file.url, thrown);
  }
}

/** Throws FILE_UNAVAILABLE (retryable when it was the network) or OUTGOING_REFUSED. */
async function openFile(file: Attachment, limits: FileLimits): Promise<OutgoingFile> {
  // Telegram's own files have no address; a file_id keeps its kind, so it goes as what it came.
  if (file.url === "") return { method: ownMethod(file), media: file.ref };
  const bytes = await fileBytes(file.url, limits);
  // Telegram refuses empty files.
  if (bytes.length === 0) throw new HookgateError({ code: "FILE_UNAVAILABLE", message: "a file to send is empty" });
  const name = fileName(file);
  return { method: methodOf(file, bytes.length), media: ATTACHED, upload: { bytes, name } };
}

/** What Telegram shows in place; the rest are documents. */
function methodOf({ type, mimeType }: Attachment, sizeBytes: number): FileMethod {
  if (type === "image" && /^image\/(jpeg|png|webp)$/i.test(mimeType) && sizeBytes <= PHOTO_MAX) return "photo";
  if (type === "image" && /^image\/gif$/i.test(mimeType)) return "animation";
  if (type === "video" && /^video\/mp4$/i.test(mimeType)) return "video";
  if (type === "audio" && /^audio\/(mpeg|mp3|mp4|m4a|x-m4a)$/i.test(mimeType)) return "audio";
  return "document";
}

function ownMethod({ type, mimeType }: Attachment): FileMethod {
  if (mimeType === "image/webp" || mimeType === "application/x-tgsticker" || mimeType === "video/webm")
    return "sticker";
  if (type === "image" && mimeType === "image/jpeg") return "photo";
  if (type === "video") return "video";
  if (type === "audio") return "audio";
  return "document";
}

/** A sticker of Telegram's own, sent on as what it is. */
export function isSticker(file: Attachment): boolean {
  return file.url === "" && ownMethod(file) === "sticker";
}

function fileName({ filename, url, mimeType }: Attachment): string {
  const named = filename ?? (/^(https?|file):/.test(url) ? basename(new URL(url).pathname) : "");
  const clean = named.replace(/[\r\n"/\\]+/g, "_").trim();
  return clean || `file.${mimeType.split("/")[1]?.replace(/[^a-z0-9].*$/i, "") || "bin"}`;
}
