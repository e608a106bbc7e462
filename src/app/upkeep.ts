/** What the process does for itself: warnings at the start, retention, closing in order. */
import type { Store } from "../domain/store.js";
import type { HookRegistry } from "../hooks/registry.js";
import type { Clock } from "../lib/clock.js";
import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";

const SWEEP_EVERY_MS = 3_600_000;

export function warnOfProblems(registry: HookRegistry, logger: Logger): void {
  for (const { code, message, ids } of registry.validate()) logger.warn({ code, hooks: ids }, message);
}

/** The token is told once: the first start that made it says so. */
export async function firstTime(store: Store, token: string): Promise<string | undefined> {
  const told = store.cursors("app");
  if (told.get("console-token-told")) return undefined;
  await told.set("console-token-told", "yes");
  return token;
}

/** Retention, now and every hour. */
export function keepSwept(store: Pick<Store, "sweep">, clock: Clock, logger: Logger): () => Promise<void> {
  let running: Promise<void> = Promise.resolve();
  const sweep = () => {
    timer = clock.after(SWEEP_EVERY_MS, sweep);
    running = store.sweep(clock.now()).then(
      (removed) => logger.debug({ removed }, "old rows removed"),
      (error: unknown) => logger.warn({ error: errorMessage(error) }, "old rows were not removed"),
    );
  };
  let timer = clock.after(60_000, sweep);
  return async () => {
    timer.cancel();
    await running;
  };
}

/** Last opened, first closed; one that fails does not keep the others open. */
export async function closeAll(closers: (() => Promise<void>)[], logger: Logger): Promise<void> {
  for (let close = closers.pop(); close; close = closers.pop())
    await close().catch((error: unknown) => logger.error({ error: errorMessage(error) }, "closing failed"));
}
