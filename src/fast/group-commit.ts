/**
 * Group commit: writes asked for in a few turns of the event loop share one transaction. Turns, and no timer: an idle loop takes
 * microseconds for them, so a lone write waits for nothing, and a busy loop makes large groups by itself. A write's promise settles after
 * the COMMIT that holds it, which a process that is killed survives; or, where a `WalSync` is given, after the sync that follows, which a
 * power cut survives. While one sync is under way the next group goes on gathering: committed beside it, its writes would be acknowledged
 * no sooner.
 *
 * Benchmark: bench/fast.ts, bench/store.ts.
 */
import type { Database } from "better-sqlite3";
import { HookgateError } from "../lib/errors.js";
import type { Clock } from "../lib/time/clock.js";

/** Writes in one transaction at most, so that a flood cannot hold the event loop for long. */
const MAX_GROUP = 500;
/** A commit writes every page that its group touched, so a group twice as large costs much less than two. */
const LARGE_GROUP = 400;
/** A group gathers for at least this many turns, and for as long as each turn brings more. */
const LEAST_TURNS = 4;
const MAX_TURNS = 8;
const LOCK_RETRY_MS = 20;
/** Few callers wait for a group this small: its sync is done at once where the disk is quick, instead of beside other work. */
const HURRIED_GROUP = 4;

/** Durability beyond a commit. */
export interface WalSync {
  /** Calls `done` when everything that is in the log now is on disk: at once, or later. `isHurried`: there is nothing else to do meanwhile. */
  sync(isHurried: boolean, done: (error?: unknown) => void): void;
  close(): void;
}

/** The event that the promise of a write waits for. */
export type Until = "commit" | "sync";

/** A write that waits for its commit. `attempt` may be called more than once: a group that failed is run again one by one. */
interface Pending {
  readonly until: Until;
  attempt(): void;
  committed(): void;
  failed(error: HookgateError): void;
}

class PendingWrite<T> implements Pending {
  readonly until: Until;
  #job: () => T;
  #resolve: (value: T) => void;
  #reject: (error: HookgateError) => void;
  #results: T[] = [];

  constructor(job: () => T, until: Until, resolve: (value: T) => void, reject: (error: HookgateError) => void) {
    this.until = until;
    this.#job = job;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  attempt(): void {
    this.#results[0] = this.#job();
  }

  committed(): void {
    for (const result of this.#results) this.#resolve(result);
  }

  failed(error: HookgateError): void {
    this.#reject(error);
  }
}

/** A sync that is under way or comes next, and the writes that wait for it. */
class Sync {
  readonly done: Promise<void>;
  readonly writes: Pending[] = [];
  /** Writes that it makes durable, also those that no caller waits for. */
  size = 0;
  #resolve: () => void = () => {};
  #reject: (error: HookgateError) => void = () => {};

  constructor() {
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.done.catch(() => {}); // mostly no caller waits for it
  }

  ended(): void {
    this.#resolve();
    for (const write of this.writes) write.committed();
  }

  failed(error: HookgateError): void {
    this.#reject(error);
    for (const write of this.writes) write.failed(error);
  }
}

const NOTHING_TO_SYNC = Promise.resolve();

export interface TransactionParts {
  begin(): void;
  end(): void;
  committed?(): void;
}

export interface GroupCommitOptions {
  file: string;
  clock: Clock;
  /** How long a lock held by another program is waited for, without blocking the event loop. */
  lockWaitMs: number;
  walSync?: WalSync | undefined;
  /** Makes the error for the caller from the error that the database throws. */
  errorOf(thrown: unknown): HookgateError;
  /** True when another connection holds the lock, so that waiting may help. */
  isBusy(thrown: unknown): boolean;
  /** Gets the error of every write that fails. */
  onError?: ((error: HookgateError) => void) | undefined;
}

export class GroupCommit {
  readonly #database: Database;
  readonly #options: GroupCommitOptions;
  readonly #begin;
  readonly #commit;
  readonly #rollback;
  readonly #parts: TransactionParts[] = [];
  #queue: Pending[] = [];
  /** The sync that makes commits durable: one at a time, and the next for the commits that came meanwhile. */
  #syncing: Sync | undefined;
  #nextSync: Sync | undefined;
  #scheduled = false;
  /** A group is ready, and waits for the sync under way. */
  #isHeld = false;
  #lockedSince: number | undefined;
  #idle: (() => void)[] = [];
  #closed = false;
  /** The disk did not keep a commit: nothing more is promised. */
  #broken: HookgateError | undefined;

  constructor(database: Database, options: GroupCommitOptions) {
    this.#database = database;
    this.#options = options;
    this.#begin = database.prepare("BEGIN IMMEDIATE");
    this.#commit = database.prepare("COMMIT");
    this.#rollback = database.prepare("ROLLBACK");
  }

  onTransaction(parts: TransactionParts): void {
    this.#parts.push(parts);
  }

  /** Runs `job` inside the next transaction. It must only touch the database: it may be run twice. */
  write<T>(job: () => T, until: Until = "sync"): Promise<T> {
    if (this.#closed)
      return Promise.reject(
        new HookgateError({ code: "STORE_FAILED", message: `the database ${this.#options.file} was closed` }),
      );
    if (this.#broken) return Promise.reject(this.#broken);
    return new Promise((resolve, reject) => {
      this.#queue.push(new PendingWrite(job, until, resolve, reject));
      this.#schedule();
    });
  }

  /** Resolves when all that is committed so far is on disk. */
  durable(): Promise<void> {
    if (this.#broken) return Promise.reject(this.#broken);
    return (this.#nextSync ?? this.#syncing)?.done ?? NOTHING_TO_SYNC;
  }

  /** Takes no more writes; resolves when those asked for so far have been settled. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#isBusy) await new Promise<void>((resolve) => this.#idle.push(resolve));
    this.#options.walSync?.close();
  }

  get #isBusy(): boolean {
    return this.#queue.length > 0 || this.#nextSync !== undefined || this.#syncing !== undefined;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#gather(1, 0);
  }

  /** Ends at a turn that brought nothing: then the loop is idle, or waits for just these writes. */
  #gather(turn: number, lengthBefore: number): void {
    setImmediate(() => {
      const { length } = this.#queue;
      const hasMore = turn < LEAST_TURNS || (turn < MAX_TURNS && length > lengthBefore);
      if (hasMore && length < LARGE_GROUP) this.#gather(turn + 1, length);
      else if (this.#syncing && length < MAX_GROUP) this.#isHeld = true;
      else this.#flush();
    });
  }

  /** Gathers again: callers whose writes were just acknowledged ask for their next writes. */
  #letGo(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#gather(1, 0);
  }

  #flush(): void {
    this.#scheduled = false;
    if (this.#queue.length === 0) return; // the disk broke meanwhile
    const group = this.#queue.length <= MAX_GROUP ? this.#queue : this.#queue.slice(0, MAX_GROUP);
    this.#queue = this.#queue.length <= MAX_GROUP ? [] : this.#queue.slice(MAX_GROUP);
    try {
      this.#transact(group);
      this.#lockedSince = undefined;
      this.#committed(group);
    } catch (thrown) {
      if (this.#options.isBusy(thrown) && this.#retriesLock(group)) return;
      this.#lockedSince = undefined;
      if (group.length > 1 && !this.#options.isBusy(thrown)) this.#oneByOne(group);
      else this.#fail(group, thrown);
    }
    this.#sync();
    if (this.#queue.length > 0) this.#schedule();
    else this.#tellIdle();
  }

  #committed(group: readonly Pending[]): void {
    this.#nextSync ??= new Sync();
    this.#nextSync.size += group.length;
    for (const write of group) {
      if (write.until === "commit") write.committed();
      else this.#nextSync.writes.push(write);
    }
  }

  /** Runs one sync at a time; writes committed meanwhile wait for the next sync. */
  #sync(): void {
    const sync = this.#nextSync;
    if (this.#syncing || !sync) return;
    this.#nextSync = undefined;
    const { walSync } = this.#options;
    if (!walSync) {
      sync.ended();
      return;
    }
    this.#syncing = sync;
    walSync.sync(sync.size <= HURRIED_GROUP && this.#queue.length === 0, (error) => {
      this.#syncing = undefined;
      if (error === undefined) sync.ended();
      else this.#break(sync, error);
      this.#sync();
      this.#letGo();
      this.#tellIdle();
    });
  }

  /**
   * A log that could not be synced may have lost commits, and asking again would not show it
   * (https://wiki.postgresql.org/wiki/Fsync_Errors). So nothing is acknowledged any more; a restart reads the actual content.
   */
  #break(sync: Sync, thrown: unknown): void {
    const { code, message, hint } = this.#options.errorOf(thrown);
    this.#broken ??= new HookgateError({
      code,
      message: `${message}; nothing more is written until a restart`,
      hint: `Check the disk, then start the gateway again. ${hint ?? ""}`.trim(),
      cause: thrown,
    });
    sync.failed(this.#broken);
    this.#nextSync?.failed(this.#broken);
    this.#nextSync = undefined;
    for (const write of this.#queue.splice(0)) write.failed(this.#broken);
  }

  #tellIdle(): void {
    if (!this.#isBusy) for (const resolve of this.#idle.splice(0)) resolve();
  }

  #transact(group: readonly Pending[]): void {
    this.#begin.run();
    try {
      for (const part of this.#parts) part.begin();
      for (const write of group) write.attempt();
      for (const part of this.#parts) part.end();
      this.#commit.run();
      for (const part of this.#parts) part.committed?.();
    } finally {
      // After a failure; SQLite has rolled back by itself when the disk is full.
      if (this.#database.inTransaction) this.#rollback.run();
    }
  }

  /** A write of the group failed and took the others with it: each again on its own, so that only the guilty one rejects. */
  #oneByOne(group: readonly Pending[]): void {
    for (const write of group) {
      try {
        this.#transact([write]);
        this.#committed([write]);
      } catch (thrown) {
        this.#fail([write], thrown);
      }
    }
  }

  #fail(group: readonly Pending[], thrown: unknown): void {
    const error = this.#options.errorOf(thrown);
    this.#options.onError?.(error);
    for (const write of group) write.failed(error);
  }

  /** Puts the group back and tries again soon; false when it has waited long enough. */
  #retriesLock(group: Pending[]): boolean {
    const { clock, lockWaitMs } = this.#options;
    this.#lockedSince ??= clock.now();
    if (clock.now() - this.#lockedSince >= lockWaitMs) return false;
    this.#queue = group.concat(this.#queue);
    this.#scheduled = true;
    clock.after(LOCK_RETRY_MS, () => this.#flush());
    return true;
  }
}
