/** The fields that every outbound hook payload carries, and the options of its dispatch. */
import { type Cause, numberedDispatch } from "../../domain/journal.js";
import type { Delivery } from "../../domain/store.js";
import { isolate } from "../../fast/isolate.js";
import type { DispatchOptions } from "../../hooks/options.js";
import type { Outbound } from "./sending.js";

export interface HookTarget {
  chatId: string;
  platform: string;
  botId: string;
  threadId?: string;
  parentChatId?: string;
  deliveryId: string;
  editOf?: string;
  cause: Cause;
}

/**
 * A payload's own fields, followed by the fields that all payloads carry. Deps of a delivery that its sender may still hold are copied:
 * `isolate`.
 */
export function withTarget<Own extends object>(
  own: Own,
  { id, cause, address, operation, targetId }: Delivery,
  { adapters }: Pick<Outbound, "adapters">,
): Own & HookTarget {
  // The fields are set one by one: to spread the target into each payload costs as much as to decide.
  const payload = own as Own & HookTarget;
  payload.chatId = address.chatId;
  payload.platform = address.platform;
  payload.botId = address.botId;
  payload.deliveryId = id;
  payload.cause = isolate(cause);
  if (operation === "edit" && targetId !== undefined) payload.editOf = targetId;
  if (address.threadId !== undefined) payload.threadId = address.threadId;
  const parentChatId = adapters.get(address.platform)?.traits.parentOf?.(address.chatId);
  if (parentChatId !== undefined) payload.parentChatId = parentChatId;
  return payload;
}

/**
 * For a payload that was made for this dispatch. The dispatch id is the same when the dispatch is repeated after a crash; `attempt` counts
 * that, on disk.
 */
export function fireOptions(delivery: Delivery, point: string, attempt: number): DispatchOptions {
  return {
    dispatchId: dispatchIdOf(delivery, point),
    attempt,
    cause: delivery.cause,
    conversation: delivery.conversation,
    owned: true,
  };
}

/** Unique: a delivery that was released goes through the hooks again under the next number. */
export const dispatchIdOf = ({ id, round }: Pick<Delivery, "id" | "round">, point: string): string =>
  numberedDispatch(id, point, round);
