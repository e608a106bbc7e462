/** SLA clocks on the real store and registry, with a clock that is moved by hand. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { slaConfig } from "../../../src/alerts/sla/config.js";
import { createSla, type Sla, type SlaDeps } from "../../../src/alerts/sla/sla.js";
import type { AlertSignal } from "../../../src/domain/alerts/alert-signal.js";
import type { SlaNews } from "../../../src/domain/alerts/sla.js";
import type { WatchedEntity } from "../../../src/domain/alerts/watched.js";
import type { Store } from "../../../src/domain/store.js";
import { createAttempts } from "../../../src/hooks/attempts.js";
import { HookRegistry } from "../../../src/hooks/registry.js";
import { silentLogger } from "../../../src/lib/logger.js";
import { systemClock } from "../../../src/lib/time/clock.js";
import { storeConfig } from "../../../src/store/config.js";
import { openStore } from "../../../src/store/open.js";
import { afterTest } from "../../support/clean-up.js";
import { ManualClock } from "../../support/manual-clock.js";
import { until } from "../../support/until.js";

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const at = (iso: string) => Date.parse(iso);

export interface SlaRig {
  sla: Sla;
  store: Store;
  registry: HookRegistry;
  clock: ManualClock;
  /** What was raised, in order. */
  signals: AlertSignal[];
  /** What hooks were told, after the alert was raised. */
  news: SlaNews[];
  /** `state@ISO reason`, of all signals. */
  said(): string[];
  /** Nothing is due and nothing waits to be said. */
  settled(withinMs?: number): Promise<void>;
  /** Time goes by, from one due time to the next, as it would by itself. */
  passUntil(iso: string): Promise<void>;
  pass(ms: number): Promise<void>;
  /** As a crash: nothing is drained. */
  crash(): Promise<void>;
}

export interface SlaRigOptions {
  config: unknown;
  file?: string;
  clock?: ManualClock;
  signals?: AlertSignal[];
  news?: SlaNews[];
  current?: SlaDeps["current"];
  openWork?: NonNullable<SlaDeps["openWork"]>;
  hooks?: (registry: HookRegistry) => void;
  raise?: (signal: AlertSignal) => Promise<void>;
}

export function newFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-sla-"));
  afterTest(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "hookgate.db");
}

export async function startSla(options: SlaRigOptions): Promise<SlaRig> {
  const { retention, dedup_for } = storeConfig.parse({});
  const clock = options.clock ?? new ManualClock(at("2026-11-20T08:00:00Z"));
  const store = await openStore({
    url: `file:${options.file ?? newFile()}`,
    durability: "normal",
    retention: { ...retention, dedup_for },
    clock: systemClock,
    logger: silentLogger,
  });
  const registry = new HookRegistry({ clock: systemClock, logger: silentLogger });
  const signals = options.signals ?? [];
  const news = options.news ?? [];
  registry.register({ hook: "quality:sla", phase: "after", handler: ({ data }) => void news.push(data) });
  options.hooks?.(registry);
  const sla = createSla({
    config: slaConfig.parse({ after_start: "0s", ...Object(options.config) }),
    store,
    registry,
    attempts: createAttempts({ keyValue: store.keyValue, registry, clock, logger: silentLogger }),
    raise: async (signal) => {
      await options.raise?.(signal);
      signals.push(signal);
    },
    current: options.current,
    openWork: options.openWork,
    clock,
    logger: silentLogger,
  });
  let isOpen = true;
  const rig: SlaRig = {
    sla,
    store,
    registry,
    clock,
    signals,
    news,
    said: () =>
      signals.map(({ state, at: when, reason }) => `${state} ${new Date(when).toISOString().slice(0, 16)} ${reason}`),
    settled: (withinMs) =>
      until(
        async () => {
          const [due, say, unseen] = await Promise.all([
            store.sla.nextDue(),
            store.sla.nextAnnouncement(),
            store.sla.unseen(1),
          ]);
          const now = clock.now();
          await clock.advance(0);
          return (due === undefined || due > now) && (say === undefined || say > now) && unseen.length === 0;
        },
        "all that is due is said",
        withinMs,
      ).then(() => undefined),
    async passUntil(iso) {
      await this.settled();
      for (const end = at(iso); clock.now() < end; await this.settled()) {
        const next = Math.min(
          (await store.sla.nextDue()) ?? end,
          (await store.sla.nextClosing())?.closesAt ?? end,
          end,
        );
        await clock.advance(Math.max(1, next - clock.now()));
      }
    },
    pass(ms) {
      return this.passUntil(new Date(clock.now() + ms).toISOString());
    },
    async crash() {
      if (!isOpen) return;
      isOpen = false;
      await sla.stop();
      await store.close();
    },
  };
  afterTest(() => rig.crash());
  await sla.load();
  await sla.start();
  return rig;
}

export function task(facts: Partial<WatchedEntity> = {}): WatchedEntity {
  return {
    type: "task",
    id: "t_1",
    title: "Ship it",
    status: "in_progress",
    createdAt: at("2026-11-20T08:00:00Z"),
    facts: { priority: 1 },
    ...facts,
  };
}
