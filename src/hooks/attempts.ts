/**
 * How often a dispatch was started, for questions and reports that are repeated under the same id after a crash. Counted on disk before
 * the dispatch starts, and forgotten with its result: the store puts writes of one moment into one transaction, so a caller that writes
 * the result and forgets without waiting in between leaves neither without the other. Background hooks are rows and count for
 * themselves: where nothing else listens, nothing is written.
 */
import type { KeyValueStore } from "../domain/store.js";
import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { Clock } from "../lib/time/clock.js";
import { createGivenUpList, type GivenUp, type GivenUpList } from "./given-up.js";
import type { LifecyclePhase } from "./point.js";
import type { HookRegistry } from "./registry.js";

export interface Attempts {
  /**
   * Counts a start that follows at once; resolves with its number, from 1. `owner`: the name for `forget`, the dispatch itself when
   * absent. `phase`: at a lifecycle point, `before` when absent. `isOnce`: a crash ends it, and it is not started again.
   */
  count(
    point: string,
    dispatchId: string,
    of?: { owner?: string; phase?: LifecyclePhase; isOnce?: boolean },
  ): Promise<number>;
  /**
   * Runs `work`, which counts the starts of these dispatches of one owner and calls their hooks, in its turn: dispatches that an
   * earlier process did not get through go apart from all else (`AttemptDeps.turn`). For work that the gateway does by itself, and not
   * while another hook waits. `phase`: `before` when absent.
   */
  inTurn<T>(
    dispatches: readonly { point: string; dispatchId: string; phase?: LifecyclePhase }[],
    owner: string,
    work: () => Promise<T>,
  ): Promise<T>;
  /**
   * Why this attempt does not call the hooks: the process crashed at each of too many before it. Logged, and on record. `next`: the
   * dispatch that follows this one; a crash at that one is none of this one. `isSilent`: no work waits for an operator because of it.
   * `stops`: how many of the attempts a stop cut off, where the caller counts.
   */
  tooMany(
    point: string,
    dispatchId: string,
    attempt: number,
    of?: {
      owner?: string;
      next?: string | undefined;
      limit?: number | undefined;
      isSilent?: boolean;
      stops?: number | undefined;
    },
  ): Promise<TooManyCrashes | undefined>;
  /**
   * Calls hooks at `after`, whose attempts and stops the caller counts; does not when the process crashed at too many. `series`: the
   * work that has many such changes. Once hooks were not notified of one of them, the next one gets a second try at most; after two of
   * them in a row the rest of the series is not tried. `isLast`: of the series.
   */
  notify(
    point: string,
    fired: { dispatchId: string; attempt: number; stops: number | undefined; series?: string; isLast?: boolean },
    call: () => Promise<void>,
  ): Promise<void>;
  /** The dispatches that crashed an earlier process and have not ended since: first those that were given up, oldest first. */
  crashed(): Promise<CrashedDispatch[]>;
  /** The results of this owner's dispatches are being written: none of them is started again. Never rejects. */
  forget(owner: string): Promise<void>;
}

export interface TooManyCrashes {
  crashes: number;
  /** In words. */
  reason: string;
}

export interface CrashedDispatch {
  point: string;
  /** At a lifecycle point. */
  phase?: LifecyclePhase | undefined;
  dispatchId: string;
  crashes: number;
  /** Its hooks are not called again: since when (ms since the epoch), and whether no work waits for an operator because of that. */
  givenUp?: { at: number; isSilent: boolean };
  /** The plugin called `process.exit` in it, at `givenUp.at`. This does not show whether its hooks are called again. */
  endedBy?: GivenUp["endedBy"];
  /** After more than so many its hooks are not called again by themselves. */
  maxCrashes: number;
  /** Its hooks are called again, or were a moment ago. */
  isCalled: boolean;
}

export interface AttemptDeps {
  keyValue: Pick<KeyValueStore, "list" | "set" | "setNow" | "delete">;
  registry: Pick<HookRegistry, "hasWaiting">;
  clock: Pick<Clock, "now">;
  logger: Logger;
  /**
   * Which starts a stop of the gateway cut off (`pending/ordinary-stops.ts`): they are no crashes. Absent: each end of a process is one.
   */
  stops?: {
    of(key: string): number;
    started(key: string, starts: number): void;
    forget(key: string): void;
  };
  /** After how many crashes in a row a dispatch is still started again; absent: after any number. */
  maxCrashes?: () => number;
  /** Waits until a dispatch that crashed the process so often may run; absent: at once. */
  turn?: <T>(crashes: number, work: () => Promise<T>) => Promise<T>;
}

interface Start {
  point: string;
  starts: number;
  /** When it was started, where a crash ends it. */
  onceAt?: number | undefined;
}

/** By dispatch id, in the order in which they are started. */
type Starts = Readonly<Record<string, Start>>;

const SCOPE = "hooks.attempts";
/** How many changes of a series in a row hooks were not notified of. */
const GIVEN_UP = "given up";
const MAX_GIVEN_UP = 2;

export function createAttempts(deps: AttemptDeps): Attempts {
  return new StoredAttempts(deps);
}

class StoredAttempts implements Attempts {
  readonly #deps: AttemptDeps;
  readonly #givenUp: GivenUpList;
  readonly #createdAt: number;
  /** By owner: the starts under way, and those that the end of an earlier process left. */
  #loading: Promise<Map<string, Starts>> | undefined;
  /** By owner: the dispatches that this process started. */
  readonly #startedHere = new Map<string, Set<string>>();

  constructor(deps: AttemptDeps) {
    this.#deps = deps;
    this.#givenUp = createGivenUpList(deps);
    this.#createdAt = deps.clock.now();
  }

  async inTurn<T>(
    dispatches: readonly { point: string; dispatchId: string; phase?: LifecyclePhase }[],
    owner: string,
    work: () => Promise<T>,
  ): Promise<T> {
    const { registry, turn } = this.#deps;
    const heard = dispatches.filter(({ point, phase }) => registry.hasWaiting(point, phase));
    if (turn === undefined || heard.length === 0) return work();
    const starts = (await this.#load()).get(owner);
    return turn(Math.max(...heard.map(({ dispatchId }) => this.#crashesBefore(starts, owner, dispatchId))), work);
  }

  async count(
    point: string,
    dispatchId: string,
    { owner = dispatchId, phase, isOnce = false }: { owner?: string; phase?: LifecyclePhase; isOnce?: boolean } = {},
  ): Promise<number> {
    const { keyValue, registry, clock, stops } = this.#deps;
    if (!registry.hasWaiting(point, phase)) return 1;
    const known = await this.#load();
    const starts = (known.get(owner)?.[dispatchId]?.starts ?? 0) + 1;
    const counted = { ...known.get(owner), [dispatchId]: { point, starts, onceAt: isOnce ? clock.now() : undefined } };
    this.#startHere(known, owner, counted, dispatchId);
    await keyValue.set(SCOPE, owner, counted);
    stops?.started(startOf(owner, dispatchId), starts);
    return starts;
  }

  async tooMany(
    ...[point, dispatchId, attempt, of = {}]: Parameters<Attempts["tooMany"]>
  ): Promise<TooManyCrashes | undefined> {
    const { logger, maxCrashes } = this.#deps;
    const { owner = dispatchId, next, limit = maxCrashes?.(), isSilent = false } = of;
    const { stops = this.#deps.stops?.of(startOf(owner, dispatchId)) ?? 0 } = of;
    // Its own start is none.
    if (limit === undefined || attempt - 1 <= limit) return undefined;
    const passed = next === undefined ? 0 : this.#unstopped((await this.#load()).get(owner), owner, next);
    const crashes = attempt - 1 - stops - passed;
    if (crashes <= limit) return undefined;
    const reason = `the gateway crashed ${crashes === 1 ? "once" : `${crashes} times in a row`} while hooks at ${point} ran`;
    logger.warn({ point, dispatch: dispatchId, crashes }, `${reason}: they are not called again by themselves`);
    await this.#giveUp(point, dispatchId, { crashes, isSilent });
    return { crashes, reason };
  }

  async notify(
    point: string,
    { dispatchId, attempt, stops = 0, series, isLast = false }: Parameters<Attempts["notify"]>[1],
    call: () => Promise<void>,
  ): Promise<void> {
    const { keyValue, logger } = this.#deps;
    const named = `${point} (after)`;
    const known = await this.#load();
    const mark = series === undefined ? "" : `${series} ${named}`;
    const givenUp = known.get(mark)?.[GIVEN_UP]?.starts ?? 0;
    // A first start may be one that was still waiting for its turn.
    const limit = givenUp > 0 ? 1 : undefined;
    const isTried = givenUp < MAX_GIVEN_UP;
    if (!isTried)
      logger.warn(
        { point, dispatch: dispatchId },
        `hooks at ${named} are not notified of this change: they crashed the gateway at the changes before it`,
      );
    if (isTried && (await this.tooMany(named, dispatchId, attempt, { limit, isSilent: true, stops })) === undefined) {
      // The caller's count is on disk: this one is only shown.
      this.#startHere(known, dispatchId, { [dispatchId]: { point: named, starts: attempt - stops } }, dispatchId);
      await call();
      if (givenUp > 0) await this.forget(mark);
    } else if (isLast) await this.forget(mark);
    else if (series !== undefined && isTried) {
      const count = { [GIVEN_UP]: { point: named, starts: givenUp + 1 } };
      known.set(mark, count);
      await keyValue.set(SCOPE, mark, count);
    }
    known.delete(dispatchId);
    this.#startedHere.delete(dispatchId);
  }

  async crashed(): Promise<CrashedDispatch[]> {
    const known = await this.#load();
    const most = this.#deps.maxCrashes?.() ?? Number.POSITIVE_INFINITY;
    const ended = (await this.#givenUp.list()).map(({ at, isSilent, ...one }): CrashedDispatch => {
      return { ...one, maxCrashes: most, isCalled: false, givenUp: { at, isSilent } };
    });
    const open = [...known].flatMap(([owner, starts]) => {
      // No crash of its own.
      if (GIVEN_UP in starts) return [];
      const here = this.#startedHere.get(owner);
      const left = Object.entries(starts).map(([dispatchId, one]) => {
        const isCalled = here?.has(dispatchId) === true;
        const ends = this.#unstopped(starts, owner, dispatchId) - (isCalled ? 1 : 0);
        return { dispatchId, point: one.point, isCalled, ends };
      });
      // The process ended at the last dispatch that it started: the dispatches before that one had ended.
      return left.flatMap(({ ends, ...one }, index) => {
        const crashes = ends - (left[index + 1]?.ends ?? 0);
        return crashes > 0 ? [{ ...one, phase: "before" as const, crashes, maxCrashes: most }] : [];
      });
    });
    return [...ended, ...open];
  }

  async forget(owner: string): Promise<void> {
    const { keyValue, stops, logger } = this.#deps;
    try {
      this.#startedHere.delete(owner);
      const known = await this.#load();
      const ids = Object.keys(known.get(owner) ?? {});
      if (known.delete(owner)) await keyValue.delete(SCOPE, owner);
      for (const id of ids) stops?.forget(startOf(owner, id));
    } catch (error) {
      // The work that was done stays done; the row shows only that a dispatch was started.
      logger.warn({ owner, error: errorMessage(error) }, "the count of a dispatch's starts could not be deleted");
    }
  }

  async #load(): Promise<Map<string, Starts>> {
    this.#loading ??= this.#deps.keyValue
      .list(SCOPE, "")
      .then((rows) => this.#endOnes(new Map(rows.map(({ key, value }) => [key, value as Starts]))))
      .catch((error: unknown) => {
        this.#loading = undefined;
        throw error;
      });
    return this.#loading;
  }

  /** Ends the dispatches that are not started again after a crash. */
  async #endOnes(known: Map<string, Starts>): Promise<Map<string, Starts>> {
    for (const [owner, starts] of known)
      for (const [dispatchId, one] of Object.entries(starts)) {
        // This process may have started it.
        if (one.onceAt === undefined || one.onceAt >= this.#createdAt) continue;
        const crashes = this.#unstopped(starts, owner, dispatchId);
        if (crashes > 0) await this.#giveUp(one.point, dispatchId, { crashes, isSilent: true, at: one.onceAt });
        known.delete(owner);
        this.#deps.stops?.forget(startOf(owner, dispatchId));
        await this.#deps.keyValue.delete(SCOPE, owner);
      }
    return known;
  }

  /** `named`: the point, with its phase where that is not `before`. */
  async #giveUp(
    named: string,
    dispatchId: string,
    { at = this.#deps.clock.now(), ...how }: { crashes: number; isSilent: boolean; at?: number },
  ): Promise<void> {
    const [, point = named, phase = "before"] = /^(.+) \((before|after)\)$/.exec(named) ?? [];
    await this.#givenUp.note({ point, phase: phase as LifecyclePhase, dispatchId, at, ...how });
  }

  /** In memory. */
  #startHere(known: Map<string, Starts>, owner: string, counted: Starts, dispatchId: string): void {
    known.set(owner, counted);
    this.#startedHere.set(owner, (this.#startedHere.get(owner) ?? new Set()).add(dispatchId));
  }

  /** Crashes of earlier processes. A dispatch that this process started before did not crash it. */
  #crashesBefore(starts: Starts | undefined, owner: string, dispatchId: string): number {
    return this.#startedHere.get(owner)?.has(dispatchId) ? 0 : this.#unstopped(starts, owner, dispatchId);
  }

  /** Starts that no stop cut off. */
  #unstopped(starts: Starts | undefined, owner: string, dispatchId: string): number {
    return (starts?.[dispatchId]?.starts ?? 0) - (this.#deps.stops?.of(startOf(owner, dispatchId)) ?? 0);
  }
}

/** Names the dispatch where stops are counted, beside messages and deliveries. */
const startOf = (owner: string, dispatchId: string) => `hooks ${owner} ${dispatchId}`;
