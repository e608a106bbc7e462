/** Waits a while for what becomes of a delivery. */

import { type Clock, wait } from "../lib/clock.js";
import type { Delivery, OutboxStore } from "./store.js";

interface Parts {
  outbox: Pick<OutboxStore, "get">;
  clock: Clock;
}

interface Patience {
  withinMs: number;
  signal: AbortSignal;
  /** It need not be settled. */
  isEnough?(delivery: Delivery): boolean;
}

const LOOK_EVERY_MS = 50;

/** As it is when it is settled; earlier when the time is over, or when it is not due within that time. */
export async function watchDelivery(
  id: string,
  { outbox, clock }: Parts,
  { withinMs, signal, isEnough }: Patience,
): Promise<Delivery | undefined> {
  const until = clock.now() + withinMs;
  for (;;) {
    const delivery = await outbox.get(id);
    if (delivery === undefined || !isOpen(delivery) || isEnough?.(delivery)) return delivery;
    if (Math.max(clock.now(), delivery.dueAt) > until) return delivery;
    await wait(clock, LOOK_EVERY_MS, signal);
  }
}

export const isOpen = ({ status }: Delivery): boolean => status === "waiting" || status === "sending";
