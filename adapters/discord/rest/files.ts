/** The bytes of outgoing attachments, for a multipart upload. */
import type { GatewayPort } from "../../../src/domain/chat/adapter.js";
import type { Attachment } from "../../../src/domain/chat/message.js";
import { errorMessage } from "../../../src/lib/errors.js";
import type { Logger } from "../../../src/lib/logger.js";
import type { Destinations } from "../../../src/lib/outgoing/destinations.js";
import { fileBytes, isTemporary, type MissingFile, missingFile } from "../../../src/lib/outgoing/file-bytes.js";
import { systemClock } from "../../../src/lib/time/clock.js";
import type { UploadedFile } from "../caller.js";

/** The largest upload of a bot on a server without boosts. https://discord.com/developers/docs/reference#uploading-files */
const MAX_BYTES = 10 * 1024 * 1024;
const FETCH_TIMEOUT_MS = 15_000;

export interface FileAccess {
  /** Where the bytes may be fetched. */
  allow: Destinations;
  freshLink: GatewayPort["freshLink"];
  logger: Logger;
}

/**
 * The files that could be read, and lines in place of the others: a message is not lost because of its attachment. Throws a retryable
 * `HookgateError` when a file may be had later, unless this is the last attempt. `withinMs`: for all of them.
 */
export async function readFiles(
  attachments: readonly Attachment[],
  { allow, freshLink, logger }: FileAccess,
  { isLastAttempt, withinMs, signal }: { isLastAttempt: boolean; withinMs: number; signal: AbortSignal },
): Promise<{ files: UploadedFile[]; missing: MissingFile[] }> {
  const files: UploadedFile[] = [];
  const missing: MissingFile[] = [];
  let total = 0;
  const until = systemClock.monotonic() + withinMs;
  for (const [index, attachment] of attachments.entries()) {
    const name = attachment.filename ?? defaultName(attachment, index);
    const renew = attachment.platform === undefined || !freshLink ? undefined : () => freshLink(attachment, signal);
    try {
      const timeoutMs = Math.max(1, Math.min(FETCH_TIMEOUT_MS, until - systemClock.monotonic()));
      const limits = { maxBytes: MAX_BYTES - total, timeoutMs, allow, signal, freshLink: renew };
      const data = await fileBytes(attachment.url, limits);
      total += data.length;
      files.push({ name, data, contentType: attachment.mimeType });
    } catch (error) {
      if (signal.aborted || (isTemporary(error) && !isLastAttempt)) throw error;
      logger.warn(
        { file: name, error: errorMessage(error) },
        "a file could not be fetched; a line of text replaces it",
      );
      missing.push(missingFile(name, attachment.url, error));
    }
  }
  return { files, missing };
}

function defaultName({ mimeType }: Attachment, index: number): string {
  const suffix = mimeType.split("/")[1]?.replace(/[^a-z0-9].*$/i, "") || "bin";
  return `file-${index + 1}.${suffix}`;
}
