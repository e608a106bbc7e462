/** Outgoing files: Telegram's own by reference, all others as bytes, fetched before anything is sent; and the text for a refused file. */
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
  tooLarge,
  whyNotFetched,
} from "../../src/lib/outgoing/file-bytes.js";
import { ATTACHED, type Caller, type Upload } from "./caller.js";
import { readFailure, requestError } from "./errors.js";

/** Telegram's names of kinds of files, by Hookgate's. A `file_id` keeps its kind: https://core.telegram.org/bots/api#sending-files */
const KINDS = { image: "photo", file: "document", audio: "audio", video: "video" } as const;
const FURTHER_KINDS = ["animation", "sticker", "voice", "video_note"] as const;
export type OwnKind = (typeof KINDS)[keyof typeof KINDS] | (typeof FURTHER_KINDS)[number];

/** https://core.telegram.org/bots/api#sending-files */
const PHOTO_MAX = 10_000_000;
/** https://core.telegram.org/bots/api#getfile */
const DOWNLOAD_MAX = 20_000_000;

/** Telegram refuses the file, or files of its kind in this chat, or its person takes none of them. Rights are per kind: https://core.telegram.org/bots/api#chatpermissions */
const FILE_REFUSED =
  /not enough rights to send (?!text)|CHAT_SEND_(?!PLAIN)\w+_FORBIDDEN|VOICE_MESSAGES_FORBIDDEN|restricted receiving of (voice|video)|(PHOTO|VIDEO|AUDIO|DOCUMENT|STICKER|GIF|MEDIA|FILE|IMAGE)_\w*(INVALID|FAILED|EMPTY|TOO_BIG)|too big for a photo|file is too big|wrong (remote )?file|file must be non-empty|can't use file of type|type of file mismatch/i;
const TOO_LARGE = 413;

export interface FileAccess {
  limits: FileLimits;
  /** Asked for the bytes of Telegram's own. */
  caller: Caller;
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
  method: OwnKind;
  /** A file_id, which keeps its kind, or the name of the upload. */
  media: string;
  upload?: Upload;
}

/**
 * Posts with the file; when Telegram refuses its file_id, with the bytes; when it refuses those, as a document; when that is refused as
 * well, with a line instead of the file. A refusal posts nothing, so each is one message. Throws FileNotYet when the file may be had
 * later, unless this is the last attempt.
 */
export async function withFile<T>(
  file: Attachment,
  access: FileAccess,
  post: (file: OutgoingFile | MissingFile) => Promise<T>,
): Promise<T> {
  let next = await fileOrLine(file, access, isOwn(file) ? undefined : () => fileBytes(file.url, access.limits));
  access.onEnd();
  for (;;)
    try {
      return await post(next);
    } catch (thrown) {
      if ("line" in next || !isFileRefused(thrown)) throw thrown;
      if (!next.upload) next = await fileOrLine(file, access, () => ownBytes(file, access.caller, access.limits));
      else if (next.method !== "document") next = { ...next, method: "document" };
      else next = unattached(file);
    }
}

/** The line in place of a file that Telegram does not take. */
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

/** The file, or a line in its place when it cannot be had. */
async function fileOrLine(
  file: Attachment,
  { isLastAttempt, logger }: FileAccess,
  fetch: (() => Promise<Buffer>) | undefined,
): Promise<OutgoingFile | MissingFile> {
  try {
    return fetch ? uploadOf(file, await fetch()) : { method: ownKind(file), media: file.ref };
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

/** Telegram's own files have no address. */
const isOwn = ({ url }: Attachment) => url === "";

/** Rejects with FILE_UNAVAILABLE or FILE_TOO_LARGE. */
export async function ownBytes(
  { ref }: Attachment,
  caller: Caller,
  { maxBytes, signal }: Pick<FileLimits, "maxBytes" | "signal">,
): Promise<Buffer> {
  try {
    const { file_path: path } = await caller.call("getFile", { file_id: ref }, signal);
    if (path === undefined)
      throw new HookgateError({ code: "FILE_UNAVAILABLE", message: "Telegram gives no way to the file" });
    return await caller.download(path, Math.min(maxBytes, DOWNLOAD_MAX), signal);
  } catch (thrown) {
    const failure = readFailure(thrown);
    if (failure.kind === "refused" && /file is too big/i.test(failure.description)) throw tooLarge(DOWNLOAD_MAX);
    throw requestError(thrown, "FILE_UNAVAILABLE", "Telegram does not give the file");
  }
}

/** Throws FILE_UNAVAILABLE. */
function uploadOf(file: Attachment, bytes: Buffer): OutgoingFile {
  // Telegram refuses empty files.
  if (bytes.length === 0) throw new HookgateError({ code: "FILE_UNAVAILABLE", message: "a file to send is empty" });
  const name = fileName(file);
  return { method: methodOf(file, bytes.length), media: ATTACHED, upload: { bytes, name } };
}

/** The method for a file: by kind for files that Telegram shows in place; the rest are documents. */
function methodOf({ type, mimeType }: Attachment, sizeBytes: number): OwnKind {
  if (type === "image" && /^image\/(jpeg|png|webp)$/i.test(mimeType) && sizeBytes <= PHOTO_MAX) return "photo";
  if (type === "image" && /^image\/gif$/i.test(mimeType)) return "animation";
  if (type === "video" && /^video\/mp4$/i.test(mimeType)) return "video";
  if (type === "audio" && /^audio\/(mpeg|mp3|mp4|m4a|x-m4a)$/i.test(mimeType)) return "audio";
  return "document";
}

function ownKind({ type, kind }: Attachment): OwnKind {
  return [...Object.values(KINDS), ...FURTHER_KINDS].find((known) => known === kind) ?? KINDS[type];
}

/** Telegram's own file is sent on as a kind that takes no caption. */
export function takesNoCaption(file: Attachment): boolean {
  return isOwn(file) && /^(sticker|video_note)$/.test(ownKind(file));
}

function fileName({ filename, url, mimeType }: Attachment): string {
  const named = filename ?? (/^(https?|file):/.test(url) ? basename(new URL(url).pathname) : "");
  const clean = named.replace(/[\r\n"/\\]+/g, "_").trim();
  return clean || `file.${mimeType.split("/")[1]?.replace(/[^a-z0-9].*$/i, "") || "bin"}`;
}
