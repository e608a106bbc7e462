/** The bytes of outgoing attachments, for a multipart upload. */
import { readFile, stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { RawFile } from "@discordjs/rest";
import { request } from "undici";
import type { Attachment } from "../../src/domain/message.js";
import { errorMessage } from "../../src/lib/errors.js";

/** What a bot may upload without server boosts. https://discord.com/developers/docs/reference#uploading-files */
const MAX_BYTES = 10 * 1024 * 1024;
const FETCH_TIMEOUT_MS = 15_000;

/** The files that could be read, and lines that stand for the others: a message is not lost to its attachment. */
export async function readFiles(
  attachments: readonly Attachment[],
  signal: AbortSignal,
): Promise<{ files: RawFile[]; missing: string[] }> {
  const files: RawFile[] = [];
  const missing: string[] = [];
  let total = 0;
  for (const [index, attachment] of attachments.entries()) {
    const name = attachment.filename ?? defaultName(attachment, index);
    try {
      const data = await readBytes(attachment, MAX_BYTES - total, signal);
      total += data.length;
      files.push({ name, data, contentType: attachment.mimeType });
    } catch (error) {
      if (signal.aborted) throw error;
      const isWeb = /^https?:/.test(attachment.url);
      missing.push(isWeb ? `${name}: ${attachment.url}` : `${name} (${errorMessage(error)})`);
    }
  }
  return { files, missing };
}

async function readBytes({ url }: Attachment, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
  if (url.startsWith("data:")) return bounded(dataUrlBytes(url), maxBytes);
  if (url.startsWith("file:")) {
    const path = fileURLToPath(url);
    if ((await stat(path)).size > maxBytes) throw tooLarge();
    return bounded(await readFile(path, { signal }), maxBytes);
  }
  if (!/^https?:/.test(url)) throw new Error("the file cannot be fetched from here");
  const { statusCode, body } = await request(url, {
    signal: AbortSignal.any([signal, AbortSignal.timeout(FETCH_TIMEOUT_MS)]),
  });
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxBytes) throw tooLarge();
  }
  if (statusCode !== 200) throw new Error(`fetching it gave ${statusCode}`);
  return Buffer.concat(chunks);
}

function dataUrlBytes(url: string): Buffer {
  const comma = url.indexOf(",");
  const head = url.slice(0, comma);
  const payload = url.slice(comma + 1);
  return head.endsWith(";base64") ? Buffer.from(payload, "base64") : Buffer.from(decodeURIComponent(payload));
}

function bounded(bytes: Buffer, maxBytes: number): Buffer {
  if (bytes.length > maxBytes) throw tooLarge();
  return bytes;
}

const tooLarge = () => new Error("too large for Discord");

function defaultName({ mimeType }: Attachment, index: number): string {
  const suffix = mimeType.split("/")[1]?.replace(/[^a-z0-9].*$/i, "") || "bin";
  return `file-${index + 1}.${suffix}`;
}
