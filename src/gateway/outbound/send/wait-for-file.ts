/**
 * A file of a message could not be fetched from another server: it is tried again while there are attempts and time, then the words go
 * without it.
 */
import type { Delivery } from "../../../domain/store.js";
import { backoffMs } from "../../../lib/time/backoff.js";
import { endsBefore, orExpiry } from "../expiry.js";
import type { Outbound, Then } from "../sending.js";

/** A server that asks for a longer pause is asked again all the same: later messages of the conversation wait meanwhile. */
const MAX_FILE_WAIT_MS = 30_000;

/** Uses an attempt and pauses nothing: the platform itself answers. `askedMs`: the time in Retry-After. */
export async function waitForFile(
  delivery: Delivery,
  askedMs: number | undefined,
  error: string,
  out: Outbound,
): Promise<Then> {
  const { retry_first: firstMs, retry_max: maxMs } = out.config;
  const pauseMs = Math.max(backoffMs({ firstMs, maxMs }, delivery.attempts + 1), askedMs ?? 0);
  const now = out.clock.now();
  const dueAt = now + Math.min(pauseMs, longestWaitMs(out));
  // With no time left for the pause it goes at once, without the file.
  const isTooLate = endsBefore(delivery, dueAt);
  if (delivery.attempts === 0 && !isTooLate)
    out.logger.warn(
      { delivery: delivery.id, conversation: delivery.conversation, error },
      "a file of a message could not be fetched: the message, and what follows in its chat, waits while the file is tried again",
    );
  await out.store.outbox.retryAt(delivery.id, isTooLate ? now : dueAt, error);
  return isTooLate ? "again" : orExpiry(delivery, dueAt);
}

/** True when no attempt or no time is left to wait for a file: a file that this attempt cannot fetch is named in the text. */
export function isLastAttempt(delivery: Delivery, out: Outbound): boolean {
  const isLast = delivery.attempts - delivery.waits + 1 >= out.config.outbox_attempts;
  return isLast || endsBefore(delivery, out.clock.now() + longestWaitMs(out));
}

/** A wait is not longer than any other pause: a delivery that is due later is taken as set under another clock. */
const longestWaitMs = ({ config }: Outbound) => Math.min(MAX_FILE_WAIT_MS, config.retry_max);
