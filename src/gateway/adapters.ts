/**
 * Keeps the platforms running: starts each adapter, restarts it with back-off, and knows its state. An adapter that fails never touches the
 * others.
 */
import type { Adapter, AdapterContext, AdapterState, CursorStore, GatewayPort } from "../domain/chat/adapter.js";
import type { Pause } from "../domain/store.js";
import { errorMessage, HookgateError } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import { type Backoff, pauseAfter } from "../lib/time/backoff.js";
import { type Clock, wait } from "../lib/time/clock.js";
import type { AdapterStatus } from "./status.js";

/** After a platform was online for this long without a break, its back-off starts again. */
const STEADY_MS = 60_000;
const RESTART: Backoff = { firstMs: 1_000, maxMs: 60_000 };

export interface SupervisorOptions {
  adapters: readonly Adapter[];
  port(platform: string): Omit<GatewayPort, "state">;
  cursors(platform: string): CursorStore;
  /** The pause of all requests to a platform, while it lasts. */
  pauseOf(platform: string): Pause | undefined;
  /** Messages go out to a platform again: deliveries that waited for it may go. */
  onOnline(platform: string): void;
  clock: Clock;
  logger: Logger;
}

interface Supervised {
  adapter: Adapter;
  state: AdapterState;
  since: number;
  /** When its outage started, which goes on over moments online, and ends after `STEADY_MS` online. A start is none. */
  awaySince?: number | undefined;
  restarts: number;
  /** Since when it is online, on the monotonic clock; undefined while it is not. */
  onlineSince?: number | undefined;
  /** The adapter was online for `STEADY_MS` since its last failure. */
  wasSteady?: boolean;
  /** The link that invites the bot account was logged. */
  isInvited?: true;
  /** Ends its wait for a pause. */
  wake?: (() => void) | undefined;
  /** Set while `run` is under way. */
  stopped?: Promise<void>;
}

export class Adapters {
  readonly #options: SupervisorOptions;
  readonly #all = new Map<string, Supervised>();
  readonly #stop = new AbortController();

  constructor(options: SupervisorOptions) {
    this.#options = options;
    for (const adapter of options.adapters) {
      if (this.#all.has(adapter.platform))
        throw new HookgateError({
          code: "ADAPTER_TWICE",
          message: `Two adapters serve the platform "${adapter.platform}".`,
        });
      this.#all.set(adapter.platform, { adapter, state: { phase: "off" }, since: options.clock.now(), restarts: 0 });
    }
  }

  start(): void {
    for (const one of this.#all.values()) one.stopped ??= this.#keepRunning(one);
  }

  /** Resolves when every adapter has let go; the caller bounds the wait. */
  async stop(): Promise<void> {
    this.#stop.abort(
      new HookgateError({ code: "GATEWAY_STOPPING", message: "The gateway is stopping.", retryable: true }),
    );
    await Promise.all([...this.#all.values()].map((one) => one.stopped));
  }

  get(platform: string): Adapter | undefined {
    return this.#all.get(platform)?.adapter;
  }

  /** The adapter, when it can send now. */
  online(platform: string): Adapter | undefined {
    const one = this.#all.get(platform);
    return one && maySend(one.state) && !this.#stop.signal.aborted ? one.adapter : undefined;
  }

  /** The pause of all requests to a platform, while it lasts. */
  paused(platform: string): ReturnType<GatewayPort["paused"]> {
    const pause = this.#options.pauseOf(platform);
    return pause && { leftMs: pause.until - this.#options.clock.now(), reason: pause.reason };
  }

  /** An operator lifted pauses of these platforms: a platform that waits for one connects and sends now, unless another one still lasts. */
  pausesLifted(platforms: ReadonlySet<string>): void {
    for (const { adapter, wake } of this.#all.values()) {
      if (platforms.has(adapter.platform)) adapter.forgetLimits?.();
      wake?.();
    }
  }

  /** The id of the bot account, once it is known. */
  botId(platform: string): string | undefined {
    return this.#all.get(platform)?.state.botId;
  }

  /** The name of the bot account, once it is known. */
  name(platform: string): string | undefined {
    return this.#all.get(platform)?.state.botName;
  }

  status(): (AdapterState & Pick<AdapterStatus, "platform" | "since" | "awaySince" | "restarts" | "neverReports">)[] {
    return [...this.#all].map(([platform, one]) => {
      const { adapter, state, since, restarts } = one;
      const awaySince = this.#isSteady(one) ? undefined : one.awaySince;
      const { neverReports } = adapter.traits;
      const shown = { platform, ...state, since, awaySince, restarts };
      return neverReports === undefined ? shown : { ...shown, neverReports };
    });
  }

  /** The clock was set: how long each has been in its state does not change by that. */
  shift(stepMs: number): void {
    for (const one of this.#all.values()) {
      one.since += stepMs;
      if (one.awaySince !== undefined) one.awaySince += stepMs;
    }
  }

  async #keepRunning(one: Supervised): Promise<void> {
    const { clock, logger } = this.#options;
    const { signal } = this.#stop;
    const { platform } = one.adapter;
    for (let failures = 0; !signal.aborted; ) {
      await this.#waitForPause(one, signal);
      if (signal.aborted) break;
      this.#move(one, { phase: "connecting" });
      const { error, reason, hint, phase } = await this.#run(one, signal);
      if (signal.aborted) break;
      const isOffline = phase === "offline";
      if (isOffline && (!(error instanceof HookgateError) || error.retryAfterMs === undefined)) {
        logger.error({ platform, reason, hint }, "platform is offline and is not tried again");
        return this.#move(one, { phase, reason, hint });
      }
      this.#noteOnline(one, false);
      failures = one.wasSteady ? 1 : failures + 1;
      one.wasSteady = false;
      one.restarts++;
      // `#waitForPause` waits for a pause that the platform asked for, so the pause here does not grow.
      const pauseMs = pauseAfter(error, RESTART, this.paused(platform) ? 1 : failures);
      const facts = { platform, reason, hint, pauseMs };
      if (isOffline) logger.error(facts, "platform is offline; it is tried again after a pause");
      else logger.warn(facts, "platform stopped; it is started again");
      this.#move(one, { phase, reason, hint });
      await wait(clock, pauseMs, signal).catch(() => {
        // Stopping: the loop's condition sees it.
      });
    }
    this.#move(one, { phase: "off" });
  }

  /** A platform that asked for a pause is not connected to before its end, not even after a restart. */
  async #waitForPause(one: Supervised, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const { platform } = one.adapter;
    for (let pause = this.paused(platform); pause && !signal.aborted; pause = this.paused(platform)) {
      const hint = `Hookgate connects after the pause. To end the pause now: /pauses lift ${platform}`;
      this.#move(one, { phase: "reconnecting", reason: pause.reason, hint });
      const woken = new AbortController();
      one.wake = () => woken.abort();
      await wait(clock, Math.max(1, pause.leftMs), AbortSignal.any([signal, woken.signal])).catch(() => {
        // Stopping, or lifted: the loop's condition sees it.
      });
      one.wake = undefined;
    }
  }

  /** Runs the adapter once. Gives why it ended, what to do about it, and the phase that follows: offline when the same call cannot work. */
  async #run(
    one: Supervised,
    signal: AbortSignal,
  ): Promise<Pick<AdapterState, "phase" | "hint"> & { reason: string; error?: unknown }> {
    const { clock, logger, cursors, port } = this.#options;
    const { platform } = one.adapter;
    let current = true;
    const context: AdapterContext = {
      gateway: {
        ...port(platform),
        state: (state) => {
          if (current) this.#move(one, state);
        },
      },
      cursors: cursors(platform),
      clock,
      logger: logger.child({ platform }),
    };
    try {
      await one.adapter.run(context, signal);
      return { reason: "it ended by itself", phase: "reconnecting" };
    } catch (error) {
      if (!(error instanceof HookgateError)) return { error, reason: errorMessage(error), phase: "reconnecting" };
      const { message: reason, hint, retryable } = error;
      const mayPass = retryable || isOwnDisk(error);
      return { error, reason, hint, phase: mayPass ? "reconnecting" : "offline" };
    } finally {
      current = false;
    }
  }

  #noteOnline(one: Supervised, isOnline: boolean): void {
    const now = this.#options.clock.monotonic();
    if (isOnline) one.onlineSince ??= now;
    else if (one.onlineSince !== undefined) {
      if (this.#isSteady(one)) {
        one.wasSteady = true;
        one.awaySince = undefined;
      }
      one.onlineSince = undefined;
    }
  }

  #isSteady({ onlineSince }: Supervised): boolean {
    return onlineSince !== undefined && this.#options.clock.monotonic() - onlineSince >= STEADY_MS;
  }

  #move(one: Supervised, state: AdapterState): void {
    const before = one.state;
    // The bot account stays known while it is being reconnected: addresses carry it.
    const next: AdapterState = {
      botId: before.botId,
      botName: before.botName,
      inviteUrl: before.inviteUrl,
      ...state,
    };
    one.state = next;
    this.#noteOnline(one, next.phase === "online");
    if (maySend(next) && !maySend(before)) this.#options.onOnline(one.adapter.platform);
    if (before.phase === next.phase) return;
    const now = this.#options.clock.now();
    one.since = now;
    if (next.phase === "off") one.awaySince = undefined;
    else if (next.phase === "reconnecting" || next.phase === "offline") one.awaySince ??= now;
    this.#options.logger.info(
      { platform: one.adapter.platform, phase: next.phase, reason: next.reason },
      "platform state",
    );
    if (next.phase === "online" && next.inviteUrl !== undefined && !one.isInvited) {
      one.isInvited = true;
      this.#options.logger.info(
        { platform: one.adapter.platform },
        `add the bot to a server or group with this link: ${next.inviteUrl}`,
      );
    }
  }
}

const maySend = ({ phase, isSending }: AdapterState) => phase === "online" || isSending === true;

/** The store failed, not the platform. The disk may be repaired at any moment, without a restart of the gateway. */
function isOwnDisk({ code }: HookgateError): boolean {
  return code.startsWith("STORE_");
}
