/**
 * The watch of one `files:` hook. A touched file has a quiet time; then it is read and compared with its known state, and the change is
 * fired. Only after that is the new state known, on disk too: after a crash before that it is found again.
 */
import { createHash, randomBytes } from "node:crypto";
import { z } from "zod";
import type { FileSnapshot } from "../../../domain/automation.js";
import type { Cause } from "../../../domain/journal.js";
import type { Work } from "../../../domain/work.js";
import { createWork } from "../../../lib/concurrency/work.js";
import type { Definition, TriggerOf } from "../../definition/definition.js";
import type { TriggerDeps } from "../trigger.js";
import { createBatches, type Touched } from "./batches.js";
import { type Change, dispatchIdOf, operationOf, snapshotAt } from "./change.js";
import { firingOf, type WatchFiring } from "./firing.js";
import { createOwnOutput, type OwnOutput, type OwnOutputDeps, type Verdict } from "./own-output.js";
import { type Selection, selectionOf, within } from "./selection.js";
import { openSource, type Source } from "./source.js";
import type { Written } from "./writers.js";

export type WatchDeps = Pick<TriggerDeps, "clock" | "logger"> & {
  store: TriggerDeps["store"]["snapshots"];
  runs: OwnOutputDeps["runs"];
  keyValue: TriggerDeps["keyValue"];
  /** Files and folders that one path may have. */
  maxWatched: number;
  /** A real path that the gateway itself writes. */
  isOwnFile(path: string): boolean;
  /** Resolves when all hooks have settled; never rejects for a failure of a hook. */
  fire(change: WatchFiring, dispatchId: string, cause: Cause | undefined): Promise<void>;
  /** The end of the dispatch is on disk. */
  settled(dispatchId: string): Promise<void>;
  /** Nothing starts the hook until a person lets it run: it seems to start itself. */
  held(definition: Definition, reason: string): void;
};

export interface Watch {
  /** The key of the stored snapshot: another key when the hook selects other files. */
  readonly key: string;
  /** Resolves when changes from before the watch were found and no later change can be missed. */
  readonly ready: Promise<void>;
  problems(): string[];
  /** The patterns whose folder does not exist yet. */
  waitsFor(): string[];
  /** Every pattern has only files of the gateway itself at present. */
  isOwnOnly(): boolean;
  /** A person lets the hook run, and the held changes start it. True when something was held. */
  release(): Promise<boolean>;
  stop(): Promise<void>;
}

/** A batch that waits because the hook seems to start itself. */
interface Held {
  /** Undefined: until it is released. */
  until: number | undefined;
  isReleased: boolean;
  /** The changes when there last were any. */
  changes: readonly Change[];
}

/** Changes that are fired and not known yet: the id under which the same change is fired when it is found again. */
export const FIRED_SCOPE = "automations.fired-files";
const MAX_PARALLEL = 8;
/** How long the system may take to report that a file is gone. */
const SEEN_LATE_MS = 5_000;

const firedRow = z.object({ change: z.string(), dispatchId: z.string() });

export function watchKey(hookId: string, { paths, ignore }: TriggerOf<"files">, folder: string): string {
  const hash = createHash("sha256").update(JSON.stringify([paths, ignore, folder]));
  return `${hookId}#${hash.digest("hex").slice(0, 12)}`;
}

export function openWatch(definition: Definition, trigger: TriggerOf<"files">, deps: WatchDeps): Watch {
  return new FileWatch(definition, trigger, deps);
}

class FileWatch implements Watch {
  readonly key: string;
  readonly ready: Promise<void>;
  readonly #definition: Definition;
  readonly #trigger: TriggerOf<"files">;
  readonly #deps: WatchDeps;
  readonly #batches: ReturnType<typeof createBatches>;
  readonly #ownOutput: OwnOutput;
  readonly #pauses = new Map<string, Held>();
  /** The time when a missing file was seen to be gone. */
  readonly #goneAt = new Map<string, number>();
  readonly #work: Work;
  /** The state as far as it was fired. */
  #known = new Map<string, FileSnapshot>();
  /** The files that the start finds, while it gathers them. */
  #found: Map<string, FileSnapshot> | undefined = new Map();
  readonly #sources: readonly { pattern: string; source: Source }[];

  constructor(definition: Definition, trigger: TriggerOf<"files">, deps: WatchDeps) {
    const { clock, logger, runs, keyValue } = deps;
    this.key = watchKey(definition.id, trigger, definition.folder);
    this.#definition = definition;
    this.#trigger = trigger;
    this.#deps = deps;
    this.#batches = createBatches(trigger);
    this.#ownOutput = createOwnOutput({
      hookId: definition.id,
      key: this.key,
      debounceMs: trigger.debounceMs,
      runs,
      keyValue,
      held: (reason) => deps.held(definition, reason),
    });
    this.#work = createWork({
      processDue: (batch) => this.#processDue(batch),
      maxParallel: MAX_PARALLEL,
      clock,
      logger,
    });
    this.#sources = trigger.paths
      .map((pattern) => selectionOf(pattern, trigger.ignore, definition.folder))
      .map((selection) => ({ pattern: selection.pattern, source: this.#openSource(selection) }));
    this.ready = this.#start();
  }

  problems(): string[] {
    const own = this.#ownOutput.problem();
    return [...this.#sources.flatMap(({ source }) => source.problem ?? []), ...(own === undefined ? [] : [own])];
  }

  waitsFor(): string[] {
    return this.#sources.flatMap(({ pattern, source }) => (source.isWaiting ? pattern : []));
  }

  isOwnOnly(): boolean {
    return this.#sources.every(({ source }) => source.isOwnOnly);
  }

  async release(): Promise<boolean> {
    const wasHeld = await this.#ownOutput.release();
    if (wasHeld) this.#wakeHeld();
    return wasHeld;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#sources.map(({ source }) => source.stop()));
    await this.#work.stop();
  }

  #openSource(selection: Selection): Source {
    return openSource(selection, {
      ...this.#deps,
      touched: (path, now) => this.#touched(path, now),
      gone: (folder) => this.#gone(folder),
      missed: (folder) => this.#missed(folder),
      logger: this.#deps.logger.child({ hook: this.#definition.id }),
    });
  }

  async #start(): Promise<void> {
    const stored = await this.#deps.store.get(this.key);
    await this.#ownOutput.learn();
    await Promise.all(this.#sources.map(({ source }) => source.ready));
    const there = this.#found ?? new Map<string, FileSnapshot>();
    this.#found = undefined;
    if (stored === undefined) {
      this.#known = there;
      return this.#deps.store.update(this.key, [...there.values()], []);
    }
    // A version before this one kept the gateway's own files, too.
    this.#known = new Map(stored.flatMap((one) => (this.#deps.isOwnFile(one.path) ? [] : [[one.path, one]])));
    for (const path of new Set([...this.#known.keys(), ...there.keys()]))
      if (operationOf(this.#known.get(path), there.get(path), false)) this.#touch(path, { at: 0, wasDeleted: false });
  }

  #touched(path: string, now: FileSnapshot | undefined): void {
    if (now === undefined) this.#goneAt.set(path, this.#deps.clock.now());
    else this.#goneAt.delete(path);
    if (this.#found === undefined) this.#touch(path, { at: this.#deps.clock.now(), wasDeleted: now === undefined });
    else if (now) this.#found.set(path, now);
    else this.#found.delete(path);
  }

  #gone(root: string): void {
    for (const path of [...(this.#found ?? this.#known).keys()]) if (within(path, root)) this.#touched(path, undefined);
  }

  /** A start compares all files anyway. */
  #missed(folder: string): void {
    if (this.#found !== undefined) return;
    for (const path of this.#known.keys())
      if (within(path, folder)) this.#touch(path, { at: this.#deps.clock.now(), wasDeleted: false });
  }

  #touch(path: string, how: Touched): void {
    const { batch, dueAt } = this.#batches.touch(path, how);
    this.#work.wake(batch, dueAt);
  }

  async #processDue(batch: string): Promise<number | undefined> {
    const dueAt = this.#batches.dueAt(batch);
    const held = this.#pauses.get(batch);
    const at = Math.max(dueAt ?? 0, held?.until ?? 0);
    if (dueAt === undefined || at > this.#deps.clock.now()) return dueAt && at;
    const taken = this.#batches.take(batch);
    const keep = () => {
      for (const [path, wasDeleted] of taken) this.#batches.touch(path, { at: 0, wasDeleted });
    };
    try {
      const changes = await this.#changesOf(taken);
      const counted = changes.filter(({ operation }) => this.#trigger.operations.includes(operation));
      const verdict = await this.#judge(counted, held);
      if (verdict.kind === "hold") {
        this.#hold(batch, verdict.until, counted);
        keep();
        return verdict.until;
      }
      this.#pauses.delete(batch);
      await this.#settle(batch, changes, counted, verdict.cause);
      if (this.#ownOutput.problem() === undefined) this.#wakeHeld();
      return undefined;
    } catch (error) {
      keep();
      throw error;
    }
  }

  async #judge(counted: readonly Change[], held: Held | undefined): Promise<Verdict> {
    if (held?.isReleased) return { kind: "fire" };
    // A file that was written and removed meanwhile was a change all the same.
    const isGone = counted.length === 0;
    const judged = isGone ? (held?.changes ?? []) : counted;
    return judged.length === 0
      ? { kind: "fire" }
      : this.#ownOutput.judge(
          judged.map((change) => this.#written(change)),
          this.#deps.clock.now(),
          isGone,
        );
  }

  async #changesOf(paths: ReadonlyMap<string, boolean>): Promise<Change[]> {
    const changes: Change[] = [];
    for (const [path, wasDeleted] of paths) {
      const before = this.#known.get(path);
      let now: FileSnapshot | undefined;
      try {
        now = await snapshotAt(path);
      } catch (error) {
        if (this.#sources.some(({ source }) => source.isUnread(path))) continue;
        throw error;
      }
      const operation = operationOf(before, now, wasDeleted);
      if (operation) changes.push({ path, operation, before, now });
    }
    return changes;
  }

  /** By the date that programs cannot set: a file that is moved or copied here may be old. */
  #written({ path, now }: Change): Written {
    return now ? { at: now.ctimeMs, lateMs: 0 } : { at: this.#goneAt.get(path) ?? 0, lateMs: SEEN_LATE_MS };
  }

  #hold(batch: string, until: number | undefined, counted: readonly Change[]): void {
    const before = this.#pauses.get(batch);
    if (before === undefined) {
      const facts = {
        hook: this.#definition.id,
        path: counted[0]?.path,
        holdMs: until && until - this.#deps.clock.now(),
      };
      this.#deps.logger.warn(facts, `a change is held: ${this.#ownOutput.problem()}`);
    }
    const changes = counted.length > 0 ? counted : (before?.changes ?? []);
    this.#pauses.set(batch, { until, isReleased: false, changes });
  }

  /** Nothing has to wait any more. */
  #wakeHeld(): void {
    for (const [batch, held] of this.#pauses) {
      this.#pauses.set(batch, { ...held, until: undefined, isReleased: true });
      this.#work.wake(batch);
    }
  }

  /** Gives the same id until the change is known, and another one when the same change happens again after that. */
  async #occurrenceOf(batch: string, counted: readonly Change[]): Promise<string> {
    const change = dispatchIdOf(this.key, counted);
    const fired = firedRow.safeParse(await this.#deps.keyValue.get(FIRED_SCOPE, `${this.key} ${batch}`)).data;
    if (fired?.change === change) return fired.dispatchId;
    const dispatchId = `${change}_${randomBytes(4).toString("hex")}`;
    await this.#deps.keyValue.set(FIRED_SCOPE, `${this.key} ${batch}`, { change, dispatchId });
    return dispatchId;
  }

  async #settle(
    batch: string,
    changes: readonly Change[],
    counted: readonly Change[],
    cause: Cause | undefined,
  ): Promise<void> {
    const firing = firingOf(this.#definition, this.#trigger, counted);
    const dispatchId = firing && (await this.#occurrenceOf(batch, counted));
    if (firing && dispatchId) {
      this.#ownOutput.fired(dispatchId);
      await this.#deps.fire(firing, dispatchId, cause);
    }
    // Together, so that one commit holds both.
    await Promise.all([
      changes.length > 0 && this.#know(changes),
      dispatchId && this.#deps.keyValue.delete(FIRED_SCOPE, `${this.key} ${batch}`),
    ]);
    if (dispatchId) await this.#deps.settled(dispatchId);
  }

  async #know(changes: readonly Change[]): Promise<void> {
    await this.#deps.store.update(
      this.key,
      changes.flatMap(({ now }) => now ?? []),
      changes.flatMap(({ path, now }) => (now ? [] : path)),
    );
    for (const { path, now } of changes)
      if (now) this.#known.set(path, now);
      else {
        this.#known.delete(path);
        this.#goneAt.delete(path);
      }
  }
}
