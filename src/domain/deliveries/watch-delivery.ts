/** Waits a while for the outcome of a delivery. */
import { type Clock, wait } from "../../lib/time/clock.js";
import { type Delivery, isUnderWay, type OutboxStore } from "../store.js";

interface Deps {
  outbox: Pick<OutboxStore, "get">;
  clock: Clock;
}

interface Patience {
  withinMs: number;
  signal: AbortSignal;
  /** True ends the wait, also for a delivery that is not settled. */
  isEnough?(delivery: Delivery): boolean;
}

const CHECK_EVERY_MS = 50;

/** Resolves with the delivery once it is settled, and earlier when the time has ended or the delivery is not due within it. */
export async function watchDelivery(
  id: string,
  { outbox, clock }: Deps,
  { withinMs, signal, isEnough }: Patience,
): Promise<Delivery | undefined> {
  const until = clock.now() + withinMs;
  for (;;) {
    const delivery = await outbox.get(id);
    if (delivery === undefined || !isUnderWay(delivery) || isEnough?.(delivery)) return delivery;
    if (Math.max(clock.now(), delivery.dueAt) > until) return delivery;
    await wait(clock, CHECK_EVERY_MS, signal);
  }
}
