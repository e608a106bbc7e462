/**
 * Files that people send in the web chat: on disk before the message that names them, each under an id that cannot be guessed, with its
 * facts beside it. Only the sender of a file may put it into a message.
 */
import { createWriteStream, existsSync } from "node:fs";
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { z } from "zod";
import type { Attachment } from "../domain/chat/message.js";
import { HookgateError } from "../lib/errors.js";
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../lib/files/private-files.js";
import { newToken } from "../lib/id.js";
import { shownName } from "../lib/text/person-name.js";

const facts = z.object({
  ownerId: z.string(),
  filename: z.string(),
  mimeType: z.string(),
  sizeBytes: z.number(),
});
/** The person's id and a part that cannot be guessed. */
const ID = /^[\w-]{20,60}$/;
/** How long a large file may take on a slow line. */
export const UPLOAD_WITHIN_MS = 10 * 60_000;

export interface Uploads {
  /** Resolves when the bytes are on disk. Rejects with TOO_LARGE, with QUOTA when the person has too much here, with DISK_FULL, or with UPLOADS_UNAVAILABLE. Then nothing of the file stays. */
  save(ownerId: string, file: { filename: string; mimeType: string; bytes: Readable }): Promise<Attachment>;
  /** Rejects with FILE_NOT_FOUND, also when it is another person's, or with UPLOADS_UNAVAILABLE. */
  take(ownerId: string, id: string): Promise<Attachment>;
  /** Removes sent files older than `before`, and those older than `unsentBefore` that are in no message; resolves with how many. */
  sweep(times: { before: number; unsentBefore: number }): Promise<number>;
}

export function createUploads(
  folder: string,
  { maxBytes, quotaBytes }: { maxBytes: number; quotaBytes: number },
): Uploads {
  const pathOf = (id: string) => join(folder, id);
  const unsent = (id: string) => pathOf(`${id}.unsent.json`);

  async function checkQuota(ownerId: string): Promise<void> {
    let usedBytes = 0;
    for (const name of await readdir(folder))
      if (name.startsWith(`${ownerId}-`)) usedBytes += (await stat(pathOf(name)).catch(() => ({ size: 0 }))).size;
    if (usedBytes <= quotaBytes) return;
    throw new HookgateError({
      code: "QUOTA",
      message: `your files have ${Math.floor(quotaBytes / 1_000_000)} MB together at most`,
      hint: "Old ones are removed after http.uploads_keep; http.uploads_quota_mb in hookgate.yaml sets the limit.",
    });
  }

  return {
    async save(ownerId, { filename, mimeType, bytes }) {
      try {
        await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER });
        await checkQuota(ownerId);
      } catch (error) {
        throw asAnswered(error);
      }
      const id = `${ownerId}-${newToken(18)}`;
      const partial = pathOf(`${id}.part`);
      let sizeBytes = 0;
      const counter = new Transform({
        transform(chunk: Buffer, _encoding, done) {
          sizeBytes += chunk.length;
          done(sizeBytes > maxBytes ? tooLarge(maxBytes) : null, chunk);
        },
      });
      try {
        await pipeline(bytes, counter, createWriteStream(partial, { mode: PRIVATE_FILE }));
        await sync(partial);
        // Checked again with this file, and with those that came beside it.
        await checkQuota(ownerId);
        const kept = { ownerId, filename: safeName(filename), mimeType, sizeBytes };
        await writeFile(unsent(id), JSON.stringify(kept), { mode: PRIVATE_FILE });
        await rename(partial, pathOf(id));
        return attachmentOf(id, pathOf(id), kept);
      } catch (error) {
        for (const path of [partial, unsent(id), pathOf(id)]) await rm(path, { force: true }).catch(() => {}); // as the error reports
        throw asAnswered(error);
      }
    },

    async take(ownerId, id) {
      const sent = pathOf(`${id}.json`);
      const kept = ID.test(id) ? ((await readFacts(sent)) ?? (await readFacts(unsent(id)))) : undefined;
      if (kept?.ownerId === ownerId) {
        await rename(unsent(id), sent).catch((error: unknown) => {
          // Sent before. After any other error the file would count as unsent, and be swept away while a message names it.
          if (!isGone(error)) throw asAnswered(error);
        });
        return attachmentOf(id, pathOf(id), kept);
      }
      throw new HookgateError({
        code: "FILE_NOT_FOUND",
        message: "there is no such upload",
        hint: "Choose the file again.",
      });
    },

    async sweep({ before, unsentBefore }) {
      let removed = 0;
      for (const name of await readdir(folder).catch(() => [])) {
        const path = join(folder, name);
        const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY })); // gone meanwhile
        const isUnsent = name.endsWith(".unsent.json");
        if (mtimeMs >= (isUnsent || name.endsWith(".part") ? unsentBefore : before)) continue;
        await rm(path, { force: true });
        if (isUnsent) await rm(pathOf(name.replace(".unsent.json", "")), { force: true });
        if (isUnsent || ID.test(name)) removed++;
      }
      return removed;
    },
  };
}

/** The bytes of an attachment that is kept here, or undefined when it lies elsewhere. */
export async function openAttachment({ url }: Attachment): Promise<Readable | undefined> {
  if (url.startsWith("data:")) {
    const [, base64, data = ""] = /^data:[^,]*?(;base64)?,(.*)$/s.exec(url) ?? [];
    return Readable.from([base64 ? Buffer.from(data, "base64") : Buffer.from(decodeURIComponent(data))]);
  }
  if (!url.startsWith("file:")) return undefined;
  const path = fileURLToPath(url);
  try {
    const found = await stat(path);
    if (found.isFile()) return (await open(path)).createReadStream();
  } catch (error) {
    if (!isGone(error) || !existsSync(dirname(path))) throw unavailable(error);
  }
  throw new HookgateError({ code: "FILE_NOT_FOUND", message: "this file is no longer kept" });
}

async function readFacts(path: string) {
  try {
    return facts.parse(JSON.parse(await readFile(path, "utf8")));
  } catch (error) {
    if (isDenied(error)) throw unavailable(error);
    return undefined; // missing or damaged: there is no such upload
  }
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, "r+");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function attachmentOf(id: string, path: string, { filename, mimeType, sizeBytes }: z.infer<typeof facts>): Attachment {
  return { type: typeOf(mimeType), ref: id, url: pathToFileURL(path).href, mimeType, filename, sizeBytes };
}

function typeOf(mimeType: string): Attachment["type"] {
  const family = mimeType.split("/")[0];
  return family === "image" || family === "audio" || family === "video" ? family : "file";
}

/** The last part of a path, without invisible signs and signs that turn the direction of the text. */
function safeName(name: string): string {
  return shownName(name.split(/[\\/]/).at(-1) ?? "")?.slice(0, 200) ?? "file";
}

const hasCode = (error: unknown, codes: readonly string[]) =>
  error instanceof Error && "code" in error && codes.includes(String(error.code));
const isFull = (error: unknown) => hasCode(error, ["ENOSPC", "EDQUOT"]);
const isGone = (error: unknown) => hasCode(error, ["ENOENT"]);
/** The folder, or a file in it, is not the gateway's to use: rights, a read-only disk, a file in the folder's place. */
const isDenied = (error: unknown) => hasCode(error, ["EACCES", "EPERM", "EROFS", "ENOTDIR", "EEXIST", "ELOOP", "EIO"]);

/** For people: DISK_FULL or UPLOADS_UNAVAILABLE where the folder is the reason. */
export function asAnswered(error: unknown): unknown {
  if (isFull(error)) return diskFull(error);
  return isDenied(error) || isGone(error) ? unavailable(error) : error;
}

function unavailable(cause: unknown): HookgateError {
  return new HookgateError({
    code: "UPLOADS_UNAVAILABLE",
    message: "the gateway cannot use its folder of files at the moment",
    hint: isGone(cause)
      ? "The folder was deleted, or its disk is not mounted: the operator of the gateway has to restore it. Then try again later."
      : "The operator of the gateway has to give it access: /status names the reason. Then try again later.",
    retryable: true,
    cause,
  });
}

function diskFull(cause: unknown): HookgateError {
  return new HookgateError({
    code: "DISK_FULL",
    message: "the file was not kept: the gateway's disk is full",
    hint: "Ask the operator to free space on the gateway's disk, then send the file again.",
    retryable: true,
    cause,
  });
}

function tooLarge(maxBytes: number): HookgateError {
  return new HookgateError({
    code: "TOO_LARGE",
    message: `a file may have ${Math.floor(maxBytes / 1_000_000)} MB at most`,
    hint: "http.max_upload_mb in hookgate.yaml sets the limit.",
  });
}
