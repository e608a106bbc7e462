/** The messages that an `/outbox` command chose. By their reason only those whose reason the reader may read: else a search would tell it, letter by letter. */
import type { InboxLetterRef, LetterRef } from "../../src/domain/deliveries/letters.js";
import type { DeliveryStatus } from "../../src/domain/store.js";
import type { CommandContext } from "../../src/gateway/commands.js";
import { readableEnd } from "../automations/owner-only.js";
import type { CommandDeps } from "../deps.js";
import type { Chosen } from "./filter.js";

/** Oldest first. */
export async function chosenDeliveries(
  deps: CommandDeps,
  context: CommandContext,
  statuses: readonly DeliveryStatus[],
  chosen: Chosen,
): Promise<LetterRef[]> {
  const found = await Promise.all(
    statuses.map(async (status) =>
      readableOnes(deps, context, await deps.store.outbox.letters([status], chosen), status, chosen),
    ),
  );
  return found.length === 1 ? (found[0] ?? []) : found.flat().sort((a, b) => a.at - b.at);
}

/** Dead messages of the inbox, oldest first. */
export async function chosenInbox(
  deps: CommandDeps,
  context: CommandContext,
  chosen: Chosen,
): Promise<InboxLetterRef[]> {
  return readableOnes(deps, context, await deps.store.inbox.letters(chosen), "dead", chosen);
}

async function readableOnes<T extends LetterRef | InboxLetterRef>(
  deps: CommandDeps,
  context: CommandContext,
  found: readonly T[],
  status: DeliveryStatus,
  { reason }: Chosen,
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
