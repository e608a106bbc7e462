/** The thread of a run or of a day, opened when it is first needed. */
import { z } from "zod";
import { type Address, address, formatAddress } from "../../../domain/chat/address.js";
import type { NoThread } from "../../../domain/chat/thread.js";
import { dayIn, localTimezone } from "../../../lib/time/timezone.js";
import type { RunContext } from "../../run-context.js";
import type { ChatOptions } from "./options.js";

const kept = z.object({ name: z.string(), address });

/** Undefined: none is wanted, the address is in a thread already, or the chat has none. */
export async function findThread(
  place: Address,
  { thread: wanted, timezone = localTimezone() }: Pick<ChatOptions, "thread" | "timezone">,
  { reach, hookId, runId, firedAt, cause, signal }: RunContext,
): Promise<Address | NoThread | undefined> {
  if (wanted === "none" || place.threadId !== undefined) return undefined;
  const day = dayIn(timezone, firedAt);
  const name = wanted === "day" ? day : runId;
  const key = `thread:${formatAddress(place)}`;
  const last = kept.safeParse(await reach.recall(key));
  if (last.success && last.data.name === name) return last.data.address;
  const opened = await reach.openThread(
    place,
    { text: `${hookId} · ${day}` },
    { cause, once: `${hookId}:${name}:${formatAddress(place)}:thread`, signal },
  );
  if (opened && !("refused" in opened)) await reach.remember(key, { name, address: opened });
  return opened;
}
