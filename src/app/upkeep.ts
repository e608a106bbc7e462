/** The work that the process does for itself: warnings at the start, retention. */
import { createHash } from "node:crypto";
import type { Alerts } from "../alerts/alerts.js";
import type { Sla } from "../alerts/sla/sla.js";
import type { Automations } from "../automations/automations.js";
import type { Store } from "../domain/store.js";
import type { HookRegistry } from "../hooks/registry.js";
import { within } from "../lib/concurrency/within.js";
import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { Clock } from "../lib/time/clock.js";
import { MINUTE_MS } from "../lib/time/duration.js";
import type { Stopping } from "./stopping.js";

const SWEEP_EVERY_MINUTES = 60;

export function warnOfProblems(registry: HookRegistry, logger: Logger): void {
  for (const { code, message, ids } of [...registry.validate(), ...registry.unawaited()])
    logger.warn({ code, hooks: ids }, message);
}

/** A token is shown once: by the first start that has it. The store keeps its hash only. */
export async function firstTime(store: Store, token: string): Promise<string | undefined> {
  const shown = store.cursors("app");
  const hash = createHash("sha256").update(token).digest("base64url");
  if (shown.get("console-token-shown") === hash) return undefined;
  await shown.set("console-token-shown", hash);
  return token;
}

/** Calls retention every hour, and each minute the check of the database, which runs once a day and when damage is suspected. */
export function keepSwept(
  store: Pick<Store, "sweep" | "verify">,
  { clock, logger, stopping }: { clock: Clock; logger: Logger; stopping: Pick<Stopping, "leftMs"> },
): () => Promise<void> {
  let running: Promise<void> = Promise.resolve();
  let minutes = 0;
  const eachMinute = () => {
    timer = clock.after(MINUTE_MS, eachMinute);
    if (minutes++ % SWEEP_EVERY_MINUTES === 0) sweep();
    store
      .verify(clock.now())
      .catch((error: unknown) => logger.warn({ error: errorMessage(error) }, "the database was not checked"));
  };
  const sweep = () => {
    running = store.sweep(clock.now()).then(
      (removed) => logger.debug({ removed }, "old rows removed"),
      (error: unknown) => logger.warn({ error: errorMessage(error) }, "old rows were not removed"),
    );
  };
  let timer = clock.after(MINUTE_MS, eachMinute);
  return async () => {
    timer.cancel();
    await within(clock, stopping.leftMs, running);
  };
}

interface Swept {
  automations: Pick<Automations, "sweep">;
  orchestrator: { sweep(): Promise<number> };
  missions(): Promise<number>;
  sla: Pick<Sla, "sweep">;
  alerts: Pick<Alerts, "sweep">;
}

export function sweepAll(
  store: Pick<Store, "sweep">,
  { automations, orchestrator, missions, sla, alerts }: Swept,
): Store["sweep"] {
  return async (now) => ({
    ...(await store.sweep(now)),
    automations: await automations.sweep(now),
    tasks: await orchestrator.sweep(),
    missions: await missions(),
    sla: await sla.sweep(now),
    alerts: await alerts.sweep(now),
  });
}
