/** A thread that a hook opened and that was deleted: another one takes its place, under the same first message. */
import type { Adapter } from "../../../domain/chat/adapter.js";
import type { Address } from "../../../domain/chat/address.js";
import { isOpener, isThreadRefused, openerId } from "../../../domain/chat/thread.js";
import { queueOf } from "../../../domain/deliveries/outbox-queue.js";
import { type Delivery, isUnderWay, type NewDelivery } from "../../../domain/store.js";
import { errorMessage } from "../../../lib/errors.js";
import { recordMove } from "../follow-move.js";
import type { Outbound } from "../sending.js";

/**
 * Where a hook's message goes whose thread is gone: to the thread in its place or, where none is opened, to the chat itself. `later`: the
 * thread is not open yet. Undefined: no hook opened it.
 */
export async function reopenThread(
  { address, cause }: Delivery,
  adapter: Adapter,
  out: Outbound,
): Promise<Address | "later" | undefined> {
  const { outbox } = out.store;
  if (cause.kind !== "hook" || adapter.openThread === undefined) return undefined;
  // A thread has the id of the message that it hangs under.
  const posted = await outbox.findAllByMessage(address.chatId);
  const first = posted.find((one) => isOpener(one.id) && one.address.platform === address.platform);
  if (first?.message === undefined) return undefined;
  const now = out.clock.now();
  const { message } = first;
  // The id follows from the first one: two messages that find the thread gone open one thread, also when a crash comes between.
  const opener: NewDelivery = {
    id: openerId(first.id),
    address: first.address,
    operation: "send",
    message,
    cause,
    expiresAt: now + out.config.ttl,
  };
  await outbox.enqueue([opener], now);
  out.wake(queueOf(opener));
  const next = await outbox.get(opener.id);
  const messageId = next?.parts.find(({ status }) => status === "sent")?.messageId;
  if (next === undefined || messageId === undefined) return next && isUnderWay(next) ? "later" : first.address;
  try {
    const thread = await adapter.openThread(next.address, messageId, message.text);
    if (thread === undefined) return next.address;
    await recordMove(address, thread.chatId, out, out.wake);
    return thread;
  } catch (error) {
    out.logger.warn(
      { delivery: next.id, error: errorMessage(error) },
      "no thread was opened in place of a deleted one",
    );
    return isThreadRefused(error) ? next.address : "later";
  }
}
