/** The bytes behind an attachment's address: `data:`, `file:`, or fetched over guarded HTTP. */
import { readFile, stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { errorMessage, HookgateError } from "../errors.js";
import type { LostFile } from "../files/lost-file.js";
import { isTransientStatus, retryAfterMs } from "../retry-after.js";
import { systemClock } from "../time/clock.js";
import type { Destinations } from "./destinations.js";
import { guardedRequest } from "./request.js";

export interface FileLimits {
  maxBytes: number;
  timeoutMs: number;
  /** How long its server may send nothing. Absent: until the time is up. */
  silenceMs?: number;
  allow: Destinations;
  signal: AbortSignal;
  /** Asked once for another address when the file's own is answered with 403 or 404. Absent: its address does not expire. */
  freshLink?: (() => Promise<string | undefined>) | undefined;
}

/** The address of a file has expired, and no other was to be had. */
const EXPIRED = "FILE_EXPIRED";
/** The start of the messages of FILE_UNAVAILABLE and FILE_TOO_LARGE. */
const CANNOT_BE_HAD = "a file cannot be had: ";
const TOO_LARGE = "FILE_TOO_LARGE";
const UNREACHABLE = "FILE_UNREACHABLE";
const IN_PLAIN_WORDS: ReadonlySet<string> = new Set(["FILE_UNAVAILABLE", TOO_LARGE, EXPIRED, "OUTGOING_REFUSED"]);

/**
 * Rejects with OUTGOING_REFUSED, FILE_EXPIRED, FILE_TOO_LARGE, or FILE_UNAVAILABLE or FILE_UNREACHABLE: retryable, with the time of
 * Retry-After, when the network or the other server is in trouble or limits requests.
 */
export async function fileBytes(url: string, limits: FileLimits): Promise<Buffer> {
  const { maxBytes, signal } = limits;
  if (url.startsWith("data:")) return within(dataBytes(url), maxBytes);
  if (url.startsWith("file:")) return await localBytes(url, maxBytes, signal);
  if (/^https?:/.test(url)) return await current(url, limits);
  throw unavailable(`its address starts with "${url.slice(0, 12)}"; expected https:, http:, file: or data:`);
}

/** The line in place of a file that cannot be had, so that the message is not lost because of it. */
export interface MissingFile {
  line: string;
  lost: LostFile;
}

/** A web address that failed here may work for the reader, one that expired does not; one that was refused is not shown in the chat. */
export function missingFile(name: string, url: string, error: unknown): MissingFile {
  const lost = lostFile(name, error);
  if (isRefused(error)) return { line: `${name} (may not be fetched)`, lost };
  if (/^https?:/.test(url) && !isTemporary(error) && !isExpired(error))
    return { line: `${name} (${lost.why}): ${url}`, lost };
  return { line: `[file: ${name} could not be fetched: ${lost.why}]`, lost };
}

const isRefused = (error: unknown) => error instanceof HookgateError && error.code === "OUTGOING_REFUSED";
const isExpired = (error: unknown): error is HookgateError => error instanceof HookgateError && error.code === EXPIRED;

export function lostFile(name: string, error: unknown): LostFile {
  if (isRefused(error)) return { name, why: "its address may not be fetched" };
  if (isExpired(error) && !error.retryable) return { name, why: "its link has expired, or it was deleted" };
  const why = whyNotFetched(error);
  // The words of the network are for operators.
  if (error instanceof HookgateError && error.code === UNREACHABLE)
    return { name, why: "its server cannot be reached", detail: why };
  const isTooLarge = error instanceof HookgateError && error.code === TOO_LARGE;
  return { name, why, isTooLarge: isTooLarge || undefined };
}

/** Whether the file may be had later. */
export function isTemporary(error: unknown): error is HookgateError {
  return error instanceof HookgateError && error.retryable;
}

/** For people: the words of the other server or of the network. */
export function whyNotFetched(error: unknown): string {
  const why = errorMessage(error);
  return why.startsWith(CANNOT_BE_HAD) ? why.slice(CANNOT_BE_HAD.length) : why;
}

function dataBytes(url: string): Buffer {
  const comma = url.indexOf(",");
  if (comma < 0) throw unavailable("its data: address has no data");
  const data = url.slice(comma + 1);
  if (/;base64$/i.test(url.slice(0, comma))) return Buffer.from(data, "base64");
  try {
    return Buffer.from(decodeURIComponent(data));
  } catch {
    throw unavailable("its data: address is not well encoded");
  }
}

async function localBytes(url: string, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
  try {
    const path = fileURLToPath(url);
    const found = await stat(path);
    // Reading a pipe or a device may never end.
    if (!found.isFile()) throw unavailable("it is no file");
    if (found.size > maxBytes) throw tooLarge(maxBytes);
    return within(await readFile(path, { signal }), maxBytes);
  } catch (thrown) {
    signal.throwIfAborted();
    if (thrown instanceof HookgateError) throw thrown;
    // Node's own words hold the path, and these may be read in a chat.
    const why = thrown instanceof Error && "code" in thrown ? ` (${thrown.code})` : "";
    throw unavailable(`it cannot be read${why}`);
  }
}

/** From its address, or from the fresh one when that has expired. */
async function current(url: string, limits: FileLimits): Promise<Buffer> {
  try {
    return await fetched(url, limits);
  } catch (thrown) {
    if (!isExpired(thrown)) throw thrown;
    const fresh = await limits.freshLink?.().catch((error: unknown) => {
      limits.signal.throwIfAborted();
      const { retryable = false, retryAfterMs: askedMs } = error instanceof HookgateError ? error : {};
      const why = `${thrown.message}; no fresh address was given: ${errorMessage(error)}`;
      throw new HookgateError({ code: EXPIRED, message: why, retryable, retryAfterMs: askedMs });
    });
    if (fresh === undefined) throw thrown;
    return await fetched(fresh, limits);
  }
}

async function fetched(url: string, { freshLink, ...limits }: FileLimits): Promise<Buffer> {
  const { maxBytes, signal } = limits;
  try {
    const { status, headers, body, truncated } = await guardedRequest(url, limits);
    if (freshLink && (status === 403 || status === 404)) throw expired(`its server answered HTTP ${status}`);
    if (status !== 200) throw badAnswer(status, headers["retry-after"]);
    if (truncated) throw tooLarge(maxBytes);
    return body;
  } catch (thrown) {
    signal.throwIfAborted();
    if (!(thrown instanceof HookgateError) || IN_PLAIN_WORDS.has(thrown.code)) throw thrown;
    const { message, retryable } = thrown;
    throw new HookgateError({ code: UNREACHABLE, message: CANNOT_BE_HAD + message, retryable });
  }
}

function badAnswer(status: number, retryAfter: string | undefined): HookgateError {
  const isTrouble = isTransientStatus(status);
  const askedMs = isTrouble ? retryAfterMs(retryAfter, systemClock.now()) : undefined;
  return unavailable(`its server answered HTTP ${status}`, isTrouble, askedMs);
}

function within(bytes: Buffer, maxBytes: number): Buffer {
  if (bytes.length > maxBytes) throw tooLarge(maxBytes);
  return bytes;
}

export function tooLarge(maxBytes: number): HookgateError {
  const most = maxBytes < 1_000_000 ? `${maxBytes} bytes` : `${Math.floor(maxBytes / 1_000_000)} MB`;
  return new HookgateError({ code: TOO_LARGE, message: `${CANNOT_BE_HAD}larger than ${most}` });
}

function expired(message: string): HookgateError {
  return new HookgateError({ code: EXPIRED, message });
}

function unavailable(why: string, retryable = false, askedMs?: number): HookgateError {
  const message = CANNOT_BE_HAD + why;
  return new HookgateError({ code: "FILE_UNAVAILABLE", message, retryable, retryAfterMs: askedMs });
}
