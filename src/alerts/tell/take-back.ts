/** The clock was ahead and is right again, in this run or since the last: stored times of a chat that are in the future become now. */
import type { AlertStore } from "../../domain/alerts/alert.js";
import type { Clock } from "../../lib/time/clock.js";

/** Called at the start of each pass of a chat, which no other pass of it overlaps; does something in the first after a start or a step. */
export function createTakeBack(store: Pick<AlertStore, "takeBack">, clock: Clock) {
  let steps = 0;
  clock.onStep?.(() => steps++);
  const doneAfter = new Map<string, number>();
  return async (destination: string): Promise<void> => {
    const known = steps;
    if (doneAfter.get(destination) === known) return;
    await store.takeBack(destination, clock.now());
    doneAfter.set(destination, known);
  };
}
