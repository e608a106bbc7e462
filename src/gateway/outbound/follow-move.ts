/** The chat has another id now: deliveries that wait for it go there, in order, before new ones there. */
import type { Adapter } from "../../domain/chat/adapter.js";
import { type Address, formatAddress, parseAddress } from "../../domain/chat/address.js";
import { IN_DOUBT } from "../../domain/deliveries/given-up.js";
import { queueOf, readQueue } from "../../domain/deliveries/outbox-queue.js";
import type { Delivery, DeliveryPart } from "../../domain/store.js";
import type { Lane } from "../conversation.js";
import type { Deps } from "../deps.js";
import type { MovedChats } from "../moved-chats.js";
import { finish } from "./finish.js";
import { noteOutOfReach, OUT_OF_REACH, withoutReference } from "./out-of-reach.js";
import { keepsItsWay } from "./send/doubt.js";
import { asCreate, planParts } from "./send/plan-parts.js";
import type { Outbound, Then } from "./sending.js";

/** Every queue is woken, also one that waits for a retry or a pause: open deliveries in the queues of the chat follow. */
export async function recordMove(
  at: Address,
  toChatId: string,
  { adapters, moves, store: { outbox }, logger }: Pick<Deps, "adapters" | "moves" | "store" | "logger">,
  wake: (queue: string) => void,
): Promise<void> {
  // Elsewhere no chat moved: a direct conversation was opened, or a hook's thread replaced.
  const isRenumbered = adapters.get(at.platform)?.traits.idsPerChat === true;
  if (isRenumbered && moves.current(at).chatId !== toChatId)
    logger.warn(
      { platform: at.platform, from: at.chatId, to: toChatId },
      "a chat has another id now; if settings have the old id, /status lists them: replace it",
    );
  await moves.record(at, toChatId);
  for (const { queue } of await outbox.pending()) wake(queue);
}

type Moved = Pick<Outbound, "moves" | "conversations">;

/** Something waits, or is under way, under a former id of the chat: it is older, and wakes this queue when it has followed. */
export function isBehindFormer(queue: string, { moves, conversations }: Moved): boolean {
  // Asked for each message.
  if (moves.isEmpty) return false;
  return formerKeys(queue, readQueue(queue), moves).some((key) => !conversations.queueOf(key).isEmpty);
}

/** Like `isBehindFormer`, for events, which are handled in the order of the chat. */
export function isLaneBehindFormer({ key, conversation }: Lane, { moves, conversations }: Moved): boolean {
  if (moves.isEmpty) return false;
  const former = formerKeys(key, { conversation: conversation.address }, moves);
  return former.some((one) => conversations.laneOf(one).hasRows);
}

/** Nothing is open in this queue any more: new deliveries under the chat's id of today may go. */
export function wakeFollower(queue: string, { moves, wake }: Pick<Outbound, "moves" | "wake">): undefined {
  if (moves.isEmpty) return;
  const follower = keyOfToday(queue, readQueue(queue), moves);
  if (follower !== undefined) wake(follower);
}

export function wakeLaneFollower({ key, conversation }: Lane, { moves, conversations }: Moved): undefined {
  if (moves.isEmpty) return;
  const follower = keyOfToday(key, { conversation: conversation.address }, moves);
  if (follower !== undefined) conversations.wake(conversations.laneOf(follower));
}

/** Keys of queues and lanes start with their conversation. */
type Start = { conversation: string };

/** The keys under former ids of the chat. A chat that moved on has none: nothing wakes it, and its content follows, too. */
function formerKeys(key: string, { conversation }: Start, moves: MovedChats): string[] {
  const at = parseAddress(conversation);
  if (!at || moves.current(at) !== at) return [];
  const former = moves.former(at) ?? [];
  return former.map((chatId) => formatAddress({ ...at, chatId }) + key.slice(conversation.length));
}

/** Undefined when the key has it. */
function keyOfToday(key: string, { conversation }: Start, moves: MovedChats): string | undefined {
  const at = parseAddress(conversation);
  const now = at && moves.current(at);
  return now && now !== at ? formatAddress(now) + key.slice(conversation.length) : undefined;
}

/** Moves one delivery, with its parts that are left. */
export async function followMove(delivery: Delivery, to: Address, adapter: Adapter, out: Outbound): Promise<Then> {
  const left = delivery.parts.filter((part) => part.status !== "sent");
  const isRenumbered = adapter.traits.idsPerChat === true;
  // In the new chat, an edit would be a new message, and would show beside the message that it changed in the old chat.
  const isEditInDoubt = (part: DeliveryPart) =>
    part.operation === "edit" && (part.status === "sending" || keepsItsWay(part, out));
  if (isRenumbered && left.some(isEditInDoubt))
    return finish(delivery, "held", `${IN_DOUBT}; last: the chat has another id now`, out);
  const parts = isRenumbered ? afresh(delivery, left, to, adapter) : left;
  if (isRenumbered && left.some(({ operation }) => operation !== "create")) noteOutOfReach(delivery, out);
  if (left.length > 0 && parts.length === 0)
    return finish(delivery, delivery.operation === "delete" ? "cancelled" : "sent", OUT_OF_REACH, out);
  await out.store.outbox.reencode(delivery.id, parts, { address: to, withoutReference: isRenumbered });
  out.logger.info({ delivery: delivery.id, from: delivery.address.chatId, to: to.chatId }, "delivery follows its chat");
  out.wake(queueOf({ ...delivery, address: to }));
  return "again";
}

/** Without any id of the chat before: an edit is posted as a message, a deletion is left out, an answer has no reference. */
export function afresh(
  delivery: Delivery,
  left: readonly DeliveryPart[],
  to: Address,
  adapter: Adapter,
): DeliveryPart[] {
  const creates = left.flatMap((part) =>
    part.operation === "delete" ? [] : [part.operation === "edit" ? asCreate(part) : part],
  );
  const { frozen } = delivery;
  // Only the first part has a reference.
  if (frozen?.replyToId === undefined || left.length < delivery.parts.length) return creates;
  const planned = planParts({ ...delivery, address: to }, withoutReference(frozen), [], adapter);
  const [first] = creates;
  // A part that a crash cut off stays in doubt.
  return planned.map((part) =>
    first && part.index === first.index
      ? {
          ...part,
          nonce: first.nonce,
          status: first.status,
          attempts: first.attempts,
          mayHaveArrived: first.mayHaveArrived,
        }
      : part,
  );
}
