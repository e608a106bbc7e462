/** Files on their way out: Telegram's own by reference, all others as bytes. Fetched before anything is sent. */
import { readFile, stat } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { InputFile } from "grammy";
import { request } from "undici";
import type { Attachment } from "../../src/domain/message.js";
import { errorMessage, HookgateError } from "../../src/lib/errors.js";

export type FileMethod = "photo" | "document" | "audio" | "video" | "animation" | "sticker";

/** https://core.telegram.org/bots/api#sending-files */
const PHOTO_MAX = 10_000_000;
const REDIRECTS_MAX = 3;

export interface OutgoingFile {
  method: FileMethod;
  media: InputFile | string;
}

export interface FileLimits {
  maxBytes: number;
  timeoutMs: number;
  signal: AbortSignal;
}

/** Throws TELEGRAM_FILE_UNAVAILABLE; retryable when it was the network. */
export async function openFile(file: Attachment, asDocument: boolean, limits: FileLimits): Promise<OutgoingFile> {
  // Telegram's own files have no address; a file_id keeps its kind, so it goes as what it came.
  if (file.url === "") return { method: ownMethod(file), media: file.ref };
  const bytes = await read(file.url, limits);
  if (bytes.length === 0) throw unavailable("it is empty");
  const name = fileName(file);
  return { method: asDocument ? "document" : methodOf(file, bytes.length), media: new InputFile(bytes, name) };
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

function fileName({ filename, url, mimeType }: Attachment): string {
  const named = filename ?? (/^(https?|file):/.test(url) ? basename(new URL(url).pathname) : "");
  const clean = named.replace(/[\r\n"/\\]+/g, "_").trim();
  return clean || `file.${mimeType.split("/")[1]?.replace(/[^a-z0-9].*$/i, "") || "bin"}`;
}

async function read(url: string, limits: FileLimits): Promise<Buffer> {
  try {
    if (url.startsWith("data:")) return within(readData(url), limits.maxBytes);
    if (url.startsWith("file:")) return await readLocal(fileURLToPath(url), limits.maxBytes);
    if (/^https?:/.test(url)) return await download(url, limits);
  } catch (thrown) {
    if (thrown instanceof HookgateError) throw thrown;
    throw unavailable(errorMessage(thrown), !url.startsWith("file:"));
  }
  throw unavailable(`its address begins with "${url.slice(0, 12)}"; expected https:, http:, file: or data:`);
}

function readData(url: string): Buffer {
  const comma = url.indexOf(",");
  if (comma < 0) throw unavailable("its data: address has no data");
  const isBase64 = /;base64$/i.test(url.slice(0, comma));
  const data = url.slice(comma + 1);
  return isBase64 ? Buffer.from(data, "base64") : Buffer.from(decodeURIComponent(data));
}

async function readLocal(path: string, maxBytes: number): Promise<Buffer> {
  const { size } = await stat(path);
  if (size > maxBytes) throw tooLarge(maxBytes);
  return readFile(path);
}

async function download(url: string, { maxBytes, timeoutMs, signal }: FileLimits): Promise<Buffer> {
  let place = url;
  for (let hop = 0; hop <= REDIRECTS_MAX; hop++) {
    const answer = await request(place, { signal, headersTimeout: timeoutMs, bodyTimeout: timeoutMs });
    const { location } = answer.headers;
    if (answer.statusCode >= 300 && answer.statusCode < 400 && typeof location === "string") {
      await answer.body.dump();
      place = new URL(location, place).href;
      continue;
    }
    if (answer.statusCode !== 200) {
      await answer.body.dump();
      throw unavailable(`its server answered HTTP ${answer.statusCode}`, answer.statusCode >= 500);
    }
    const chunks: Buffer[] = [];
    let sizeBytes = 0;
    for await (const chunk of answer.body) {
      if (!Buffer.isBuffer(chunk)) continue;
      sizeBytes += chunk.length;
      if (sizeBytes > maxBytes) throw tooLarge(maxBytes);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }
  throw unavailable("it redirects in a circle");
}

function within(bytes: Buffer, maxBytes: number): Buffer {
  if (bytes.length > maxBytes) throw tooLarge(maxBytes);
  return bytes;
}

function tooLarge(maxBytes: number): HookgateError {
  return unavailable(`it is larger than ${maxBytes} bytes`);
}

function unavailable(why: string, retryable = false): HookgateError {
  return new HookgateError({
    code: "TELEGRAM_FILE_UNAVAILABLE",
    message: `a file to send cannot be had: ${why}`,
    retryable,
  });
}
