/** Alerts on the real gateway and store, over a loopback platform, with a clock that a test moves. It can crash and start again. */

import { type Alerts, type AlertsDeps, createAlerts } from "../../src/alerts/alerts.js";
import { alertsConfig } from "../../src/alerts/config.js";
import { tellingAlerts } from "../../src/app/parts/alerts.js";
import type { Actor, Alert } from "../../src/domain/alerts/alert.js";
import type { AlertSignal, ClockStanding } from "../../src/domain/alerts/alert-signal.js";
import { parseAddress } from "../../src/domain/chat/address.js";
import type { OutboundMessage } from "../../src/domain/chat/message.js";
import { silentLogger } from "../../src/lib/logger.js";
import { parseDestinations } from "../../src/lib/outgoing/destinations.js";
import { LoopbackPlatform, type Posted } from "../gateway/loopback-adapter.js";
import { type Rig, restart, startRig } from "../gateway/rig.js";
import { afterTest } from "../support/clean-up.js";
import { ManualClock } from "../support/manual-clock.js";
import { until } from "../support/until.js";

export const ROOM = "loop:bot:room";
export const OPS = "loop:bot:ops";
export const ADMINS = "loop:bot:admins";
export const ANN: Actor = { id: "loop:1", name: "Ann", source: "loop" };
/** A Thursday morning. */
export const START = Date.UTC(2026, 0, 1, 10);
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

export interface Settling {
  /** A platform is away: what waits for it is not waited for. */
  isAway?: boolean;
}

export interface Watch {
  readonly alerts: Alerts;
  readonly clock: ManualClock;
  readonly platform: LoopbackPlatform;
  readonly rig: Rig;
  /** Raises; the alert that came of it. */
  raise(changes?: Partial<AlertSignal>, settling?: Settling): Promise<Alert>;
  /** Lets everything that is due now be told. */
  settle(settling?: Settling): Promise<void>;
  advance(ms: number): Promise<void>;
  /** The next hand-over to the outbox (of a message with these words) happens, and whoever asked for it never learns that: as a kill right after it. */
  cut(words?: RegExp): void;
  /** What stands in a chat. */
  posted(destination?: string): Posted[];
  /** Other settings, as a reload brings them. */
  reload(config: Record<string, unknown>, settling?: Settling): Promise<void>;
  /** As a crash: nothing is drained. Then anew on the same disk, after so long, with other settings if some are given. */
  crash(downMs?: number, config?: Record<string, unknown>): Promise<void>;
}

export function signal(changes: Partial<AlertSignal> = {}): AlertSignal {
  return {
    fingerprint: "replies:c1",
    episode: 1,
    state: "firing",
    severity: "high",
    title: "Reply to Bob",
    reason: "100 % of 1 h passed",
    at: START,
    source: { kind: "sla", id: "clock1", policyId: "replies" },
    labels: { queue: "support" },
    ...changes,
  };
}

/** The clock of a conversation whose signal has words, as time goes on. Others have none. */
function standingOf(raised: AlertSignal | undefined, now: number): ClockStanding | undefined {
  const { entity, clock } = raised ?? {};
  if (entity?.lastWords === undefined || clock === undefined) return undefined;
  const leftMs = clock.dueAt - now;
  return { ...clock, entity, leftMs, elapsedMs: Math.max(clock.elapsedMs, clock.targetMs - leftMs), given: 0 };
}

export async function watch(
  config: Record<string, unknown> = {},
  more:
    | {
        platform?: LoopbackPlatform;
        policy?: NonNullable<AlertsDeps["policy"]>;
        direct?: AlertsDeps["direct"];
        others?: LoopbackPlatform[];
        personOf?: NonNullable<AlertsDeps["personOf"]>;
        standing?: AlertsDeps["standing"];
        nameOf?: AlertsDeps["nameOf"];
        isReader?: AlertsDeps["isReader"];
      }
    | LoopbackPlatform = {},
): Promise<Watch> {
  const {
    platform = new LoopbackPlatform("loop", { idempotentCreate: true }),
    policy,
    direct = () => undefined,
    others = [],
    personOf = () => undefined,
    standing = async (clockId: string) => standingOf(raised.get(clockId), clock.now()),
    nameOf = () => undefined,
    isReader = async () => undefined,
  } = more instanceof LoopbackPlatform ? { platform: more } : more;
  const clock = new ManualClock(START);
  const raised = new Map<string, AlertSignal>();
  platform.width = 10_000;
  const parsed = (given: Record<string, unknown>) =>
    alertsConfig.parse({ watch_gateway: { offline_after: "1d", undelivered_after: "1d" }, ...given });
  let settings = parsed(config);
  const current: { alerts?: Alerts } = {};
  const observe = tellingAlerts(
    {},
    {
      delivered: (id) => current.alerts?.delivered(id),
      deleted: (id) => current.alerts?.deleted(id),
      heardFrom: (ref) => current.alerts?.heardFrom(ref),
    },
  );
  let rig = await startRig({ clock, platforms: [platform, ...others], observe });
  let alerts = compose();
  await alerts.start();

  let cutAt: RegExp | undefined;
  const handedOver = async ({ text }: OutboundMessage, enqueued: Promise<string>): Promise<string> => {
    const id = await enqueued;
    if (!cutAt?.test(text)) return id;
    cutAt = undefined;
    throw new Error("cut off");
  };

  function compose(): Alerts {
    const made = createAlerts({
      config: settings,
      store: rig.store,
      gateway: {
        send: (at, message, sending) => handedOver(message, rig.gateway.send(at, message, sending)),
        discard: (deliveryIds, reason) => rig.gateway.discard(deliveryIds, reason),
        withdraw: (deliveryId, reason) => rig.gateway.withdraw(deliveryId, reason),
        edit: (deliveryId, message, sending) => handedOver(message, rig.gateway.edit(deliveryId, message, sending)),
      },
      policy,
      admins: () => [parseAddress(ADMINS)].filter((at) => at !== undefined),
      direct,
      personOf,
      standing,
      nameOf,
      isReader,
      pauseOf: (at) => rig.gateway.chatPause(at),
      status: async () => ({ ...(await rig.gateway.status()), store: rig.store.health() }),
      destinations: parseDestinations(["127.0.0.1"]),
      mask: (text) => text.replaceAll("hunter2", "[secret]"),
      clock,
      logger: silentLogger,
    });
    afterTest(() => made.stop());
    current.alerts = made;
    return made;
  }

  async function settle({ isAway = false }: Settling = {}): Promise<void> {
    let calm = 0;
    await until(async () => {
      await clock.advance(0);
      const { outbox, sending } = await rig.gateway.status();
      const { active, waiting } = alerts.depth;
      const queued = isAway ? 0 : outbox.waiting + outbox.sending;
      const busy = queued + sending.active + sending.waiting + active + waiting;
      calm = busy === 0 ? calm + 1 : 0;
      // A delivery that ends and the look at it come a turn of the loop apart.
      return calm > 3;
    }, "everything being told");
  }

  return {
    get alerts() {
      return alerts;
    },
    get rig() {
      return rig;
    },
    clock,
    platform,
    async raise(changes, settling) {
      const sent = signal({ at: clock.now(), ...changes });
      raised.set(sent.source.id, sent);
      await alerts.raise(sent);
      await settle(settling);
      const found = await rig.store.alerts.latest(sent.fingerprint);
      if (!found) throw new Error("nothing was raised");
      return found;
    },
    settle,
    cut: (words = /^/) => {
      cutAt = words;
    },
    async advance(ms) {
      // In steps, so that what falls due on the way is told on the way.
      for (let left = ms; left > 0; ) {
        const step = Math.min(left, Math.max(1_000, ms / 20));
        await clock.advance(step);
        await settle();
        left -= step;
      }
    },
    posted: (destination = ROOM) => {
      const chatId = parseAddress(destination)?.chatId;
      return platform.messages.filter((message) => message.chatId === chatId && !message.isDeleted);
    },
    async reload(next, settling) {
      settings = parsed(next);
      (await alerts.prepare(settings))();
      await settle(settling);
    },
    async crash(downMs = 0, next) {
      if (next !== undefined) settings = parsed(next);
      const dead = alerts;
      await rig.crash();
      void dead.stop();
      await clock.advance(downMs);
      await restart(rig, {
        platforms: [platform, ...others],
        observe,
        beforeStart: (next) => {
          rig = next;
          alerts = compose();
        },
        beforeSending: () => alerts.withdrawLatePages(),
      });
      await alerts.start();
    },
  };
}
