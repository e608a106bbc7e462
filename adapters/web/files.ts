/** Files that are elsewhere: the page shows none of another server, and links of a platform expire, so their bytes are kept here. */
import type { EncodedPart, GatewayPort, SendOperation, SendResult } from "../../src/domain/chat/adapter.js";
import { type Attachment, isSameFile } from "../../src/domain/chat/message.js";
import { errorMessage } from "../../src/lib/errors.js";
import type { LostFile } from "../../src/lib/files/lost-file.js";
import type { Logger } from "../../src/lib/logger.js";
import { literalMarkdown } from "../../src/lib/markdown/escape.js";
import type { Destinations } from "../../src/lib/outgoing/destinations.js";
import {
  fileBytes,
  isTemporary,
  type MissingFile,
  missingFile,
  whyNotFetched,
} from "../../src/lib/outgoing/file-bytes.js";
import { systemClock } from "../../src/lib/time/clock.js";
import { isElsewhere } from "./body.js";
import { decodeBody } from "./encode.js";
import { writtenHtml } from "./format.js";
import { fileName } from "./view.js";

/** A server that sends nothing for this long is asked again later. */
const SILENCE_MS = 15_000;

export interface FileOptions {
  /** Where the bytes may be fetched. */
  allow: Destinations;
  /** The largest file that is kept. */
  maxBytes: number;
  /** Resolves with the address of the kept file. */
  keep(bytes: Uint8Array): Promise<string>;
}

export interface FileAccess extends FileOptions {
  freshLink: GatewayPort["freshLink"];
  logger: Logger;
}

/**
 * The part with its files kept, and lines in place of the files that could not be fetched. A retry when a file may be had later, unless
 * this is the last attempt. `before`: the files of the message that an edit replaces.
 */
export async function withKeptFiles(
  { part, isLastAttempt = false, fetch }: Extract<SendOperation, { kind: "create" | "edit" }>,
  before: readonly Attachment[],
  { keep, freshLink, logger, ...limits }: FileAccess,
  signal: AbortSignal,
): Promise<{ part: EncodedPart; lostFiles: LostFile[] } | SendResult> {
  const body = decodeBody(part);
  const attachments: Attachment[] = [];
  const missing: MissingFile[] = [];
  const until = systemClock.monotonic() + (fetch?.withinMs ?? SILENCE_MS);
  for (const [index, file] of (body.attachments ?? []).entries()) {
    const kept = isElsewhere(file) ? before.find((other) => isCopyOf(other, file)) : file;
    if (kept) {
      attachments.push(kept);
      continue;
    }
    const renew = file.platform === undefined || !freshLink ? undefined : () => freshLink(file, signal);
    try {
      const timeoutMs = Math.max(1, until - systemClock.monotonic());
      const times = { timeoutMs, silenceMs: SILENCE_MS, signal };
      const bytes = await fileBytes(file.url, { ...limits, ...times, freshLink: renew });
      attachments.push({ ...file, url: await keep(bytes), sizeBytes: bytes.length });
    } catch (error) {
      if (signal.aborted || (isTemporary(error) && !isLastAttempt)) {
        const why = `a file could not be fetched: ${whyNotFetched(error)}`;
        return {
          kind: "retry",
          error: why,
          afterMs: isTemporary(error) ? error.retryAfterMs : undefined,
          scope: "file",
        };
      }
      const name = fileName(file, index);
      logger.warn(
        { file: name, error: errorMessage(error) },
        "a file could not be fetched; a line of text replaces it",
      );
      missing.push(missingFile(name, file.url, error));
    }
  }
  const lines = missing.map(({ line }) => line);
  const html = [body.html ?? "", ...lines.map((line) => writtenHtml(literalMarkdown(line)))].join("");
  return {
    part: {
      ...part,
      text: [part.text, ...lines].filter((line) => line !== "").join("\n"),
      body: { ...body, html, attachments: attachments.length > 0 ? attachments : undefined },
    },
    lostFiles: missing.map(({ lost }) => lost),
  };
}

/** The file was kept when the message was posted. Only ids of a platform are sure to identify one file. */
function isCopyOf(kept: Attachment, file: Attachment): boolean {
  return file.platform !== undefined && kept.platform === file.platform && isSameFile(kept, file) && !isElsewhere(kept);
}
