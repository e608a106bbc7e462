/**
 * The messages that an `/outbox` command chose. A search by reason finds only messages whose reason the reader may read: else it would
 * reveal the reason, letter by letter.
 */
import type { InboxLetterRef, LetterFilter, LetterRef } from "../../src/domain/deliveries/letters.js";
import type { DeliveryPart, DeliveryStatus } from "../../src/domain/store.js";
import type { CommandContext } from "../../src/gateway/commands.js";
import { readableEnd } from "../automations/owner-only.js";
import type { CommandDeps } from "../deps.js";

/** Oldest first. */
export async function chosenDeliveries(
  deps: CommandDeps,
  context: CommandContext,
  statuses: readonly DeliveryStatus[],
  chosen: LetterFilter,
): Promise<LetterRef[]> {
  const found = await Promise.all(
    statuses.map(async (status) =>
      readableOnes(deps, context, await deps.store.outbox.letters([status], chosen), status, chosen),
    ),
  );
  return found.length === 1 ? (found[0] ?? []) : found.flat().sort((a, b) => a.at - b.at);
}

/**
 * Deliveries that are not sent yet, oldest first. A delivery that the platform refused for now, and of which nothing was sent, waits as
 * well.
 */
export async function openDeliveries(
  deps: CommandDeps,
  context: CommandContext,
  chosen: LetterFilter,
): Promise<{ waiting: LetterRef[]; sending: LetterRef[] }> {
  const { refused, sending } = await sendingOnes(deps, context, chosen);
  const waiting = [...refused, ...(await chosenDeliveries(deps, context, ["waiting"], chosen))];
  return { waiting: waiting.sort((a, b) => a.at - b.at), sending };
}

/** How many are in each list. */
export async function listCounts(deps: CommandDeps, context: CommandContext): Promise<Record<DeliveryStatus, number>> {
  const counts = await deps.store.outbox.counts();
  const { refused, sending } = await sendingOnes(deps, context, {});
  return { ...counts, waiting: counts.waiting + refused.length, sending: sending.length };
}

async function sendingOnes(deps: CommandDeps, context: CommandContext, chosen: LetterFilter) {
  const sending: LetterRef[] = [];
  const refused: LetterRef[] = [];
  for (const one of await chosenDeliveries(deps, context, ["sending"], chosen)) {
    const delivery = await deps.store.outbox.get(one.id);
    if (delivery) (delivery.parts.every(isWaiting) ? refused : sending).push(one);
  }
  return { refused, sending };
}

const isWaiting = (part: DeliveryPart) => part.status === "waiting" && part.mayHaveArrived !== true;

/** Dead messages of the inbox, oldest first. */
export async function chosenInbox(
  deps: CommandDeps,
  context: CommandContext,
  chosen: LetterFilter,
): Promise<InboxLetterRef[]> {
  return readableOnes(deps, context, await deps.store.inbox.letters(chosen), "dead", chosen);
}

async function readableOnes<T extends LetterRef | InboxLetterRef>(
  deps: CommandDeps,
  context: CommandContext,
  found: readonly T[],
  status: DeliveryStatus,
  { reason }: LetterFilter,
): Promise<T[]> {
  if (reason === undefined) return [...found];
  const part = reason.toLowerCase();
  const readable: T[] = [];
  for (const one of found) {
    context.signal.throwIfAborted();
    const id = typeof one.id === "number" ? `m${one.id}` : one.id;
    const end = one.reason === undefined ? { status } : { status, reason: one.reason };
    const shown: { reason?: string } = await readableEnd(deps, context, end, { id });
    if (shown.reason?.toLowerCase().includes(part)) readable.push(one);
  }
  return readable;
}
