/** The fields that every outbound hook payload carries, and the options of its dispatch. */
import type { Cause } from "../../domain/journal.js";
import type { Delivery } from "../../domain/store.js";
import { isolate } from "../../hooks/isolate.js";
import type { DispatchOptions } from "../../hooks/options.js";

export interface HookTarget {
  chatId: string;
  platform: string;
  botId: string;
  threadId?: string;
  deliveryId: string;
  cause: Cause;
}

/** Whatever of a delivery may still be in the hands of its sender goes into payloads as a copy: `isolate`. */
export function hookTarget({ id, cause, address: { platform, botId, chatId, threadId } }: Delivery): HookTarget {
  const target: HookTarget = { chatId, platform, botId, deliveryId: id, cause: isolate(cause) };
  if (threadId !== undefined) target.threadId = threadId;
  return target;
}

/** For a payload that was made for this dispatch. The same dispatch id when it is done again after a crash; a delivery from before this start may have been begun by the process before. */
export function fireOptions(delivery: Delivery, point: string, startedAt: number): DispatchOptions {
  return {
    dispatchId: dispatchIdOf(delivery, point),
    attempt: delivery.attempts + (delivery.createdAt < startedAt ? 2 : 1),
    cause: delivery.cause,
    conversation: delivery.conversation,
    owned: true,
  };
}

export const dispatchIdOf = ({ id }: Pick<Delivery, "id">, point: string): string => `${id}:${point}`;
