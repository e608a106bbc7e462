/**
 * The watch of one `files:` hook. A touched file has a quiet time; then it is read and compared with its known state, and the change is
 * fired. Only after that is the new state known, on disk too: after a crash before that it is found again.
 */
import { createHash, randomBytes } from "node:crypto";
import { z } from "zod";
import type { FileSnapshot } from "../../../domain/automation.js";
import type { Cause } from "../../../domain/journal.js";
import { createWork } from "../../../lib/work.js";
import type { Definition, TriggerOf } from "../../definition/definition.js";
import type { TriggerDeps } from "../trigger.js";
import { createBatches, type Touched } from "./batches.js";
import { type Change, dispatchIdOf, operationOf, snapshotAt } from "./change.js";
import { firingOf, type WatchFiring } from "./firing.js";
import { createOwnOutput, type OwnOutputDeps, type Verdict } from "./own-output.js";
import { selectionOf, within } from "./selection.js";
import { openSource } from "./source.js";
import type { Written } from "./writers.js";

export type WatchDeps = Pick<TriggerDeps, "clock" | "logger"> & {
  store: TriggerDeps["store"]["snapshots"];
  runs: OwnOutputDeps["runs"];
  keyValue: TriggerDeps["keyValue"];
  /** Files and folders that one path may have. */
  maxWatched: number;
  /** A real path that the gateway itself writes. */
  isOwnFile(path: string): boolean;
  /** Resolves when all have settled; never rejects for what a hook does. */
  fire(change: WatchFiring, dispatchId: string, cause: Cause | undefined): Promise<void>;
  /** Its end is on disk. */
  settled(dispatchId: string): Promise<void>;
  /** Nothing starts the hook until a person lets it run: it seems to start itself. */
  held(definition: Definition, reason: string): void;
};

export interface Watch {
  /** Under which its snapshot is kept: another one when it selects other files. */
  readonly key: string;
  /** Resolves when changes from before the watch were found and no later change can be missed. */
  readonly ready: Promise<void>;
  problems(): string[];
  /** The patterns whose folder does not exist yet. */
  waitsFor(): string[];
  /** Every pattern has only files of the gateway itself at present. */
  isOwnOnly(): boolean;
  /** A person lets it run, and what was held starts it. True when something was held. */
  release(): Promise<boolean>;
  stop(): Promise<void>;
}

/** A batch that waits because the hook seems to start itself. */
interface Held {
  /** Undefined: until it is released. */
  until: number | undefined;
  isReleased: boolean;
  /** As it was when it last was something. */
  changes: readonly Change[];
}

/** Changes that are fired and not known yet: the id under which the same change is fired when it is found again. */
export const FIRED_SCOPE = "automations.fired-files";
const MAX_PARALLEL = 8;
/** How long the system may take to tell that a file is gone. */
const SEEN_LATE_MS = 5_000;

const firedRow = z.object({ change: z.string(), dispatchId: z.string() });

export function watchKey(hookId: string, { paths, ignore }: TriggerOf<"files">, folder: string): string {
  const hash = createHash("sha256").update(JSON.stringify([paths, ignore, folder]));
  return `${hookId}#${hash.digest("hex").slice(0, 12)}`;
}

export function openWatch(definition: Definition, trigger: TriggerOf<"files">, deps: WatchDeps): Watch {
  const { clock, logger, store, isOwnFile } = deps;
  const key = watchKey(definition.id, trigger, definition.folder);
  const batches = createBatches(trigger);
  const { runs, keyValue } = deps;
  const ownOutput = createOwnOutput({
    hookId: definition.id,
    key,
    debounceMs: trigger.debounceMs,
    runs,
    keyValue,
    held: (reason) => deps.held(definition, reason),
  });
  const pauses = new Map<string, Held>();
  /** When what is not there any more was seen to be gone. */
  const goneAt = new Map<string, number>();
  const work = createWork({ processDue, maxParallel: MAX_PARALLEL, clock, logger });
  /** The state as far as it was fired. */
  let known = new Map<string, FileSnapshot>();
  /** While the start gathers what is there. */
  let found: Map<string, FileSnapshot> | undefined = new Map();

  const sources = trigger.paths
    .map((pattern) => selectionOf(pattern, trigger.ignore, definition.folder))
    .map((selection) => ({
      pattern: selection.pattern,
      source: openSource(selection, { ...deps, touched, gone, missed, logger: logger.child({ hook: definition.id }) }),
    }));

  async function start(): Promise<void> {
    const stored = await store.get(key);
    await ownOutput.learn();
    await Promise.all(sources.map(({ source }) => source.ready));
    const there = found ?? new Map<string, FileSnapshot>();
    found = undefined;
    if (stored === undefined) {
      known = there;
      return store.update(key, [...there.values()], []);
    }
    // A version before this one kept the gateway's own files, too.
    known = new Map(stored.flatMap((one) => (isOwnFile(one.path) ? [] : [[one.path, one]])));
    for (const path of new Set([...known.keys(), ...there.keys()]))
      if (operationOf(known.get(path), there.get(path), false)) touch(path, { at: 0, wasDeleted: false });
  }

  function touched(path: string, now: FileSnapshot | undefined): void {
    if (now === undefined) goneAt.set(path, clock.now());
    else goneAt.delete(path);
    if (found === undefined) touch(path, { at: clock.now(), wasDeleted: now === undefined });
    else if (now) found.set(path, now);
    else found.delete(path);
  }

  function gone(root: string): void {
    for (const path of [...(found ?? known).keys()]) if (within(path, root)) touched(path, undefined);
  }

  /** A start compares all files anyway. */
  function missed(folder: string): void {
    if (found !== undefined) return;
    for (const path of known.keys()) if (within(path, folder)) touch(path, { at: clock.now(), wasDeleted: false });
  }

  function touch(path: string, how: Touched): void {
    const { batch, dueAt } = batches.touch(path, how);
    work.wake(batch, dueAt);
  }

  async function processDue(batch: string): Promise<number | undefined> {
    const dueAt = batches.dueAt(batch);
    const held = pauses.get(batch);
    const at = Math.max(dueAt ?? 0, held?.until ?? 0);
    if (dueAt === undefined || at > clock.now()) return dueAt && at;
    const taken = batches.take(batch);
    const keep = () => {
      for (const [path, wasDeleted] of taken) batches.touch(path, { at: 0, wasDeleted });
    };
    try {
      const changes = await changesOf(taken);
      const counted = changes.filter(({ operation }) => trigger.operations.includes(operation));
      const verdict = await judge(counted, held);
      if (verdict.kind === "hold") {
        hold(batch, verdict.until, counted);
        keep();
        return verdict.until;
      }
      pauses.delete(batch);
      await settle(batch, changes, counted, verdict.cause);
      if (ownOutput.problem() === undefined) wakeHeld();
      return undefined;
    } catch (error) {
      keep();
      throw error;
    }
  }

  async function judge(counted: readonly Change[], held: Held | undefined): Promise<Verdict> {
    if (held?.isReleased) return { kind: "fire" };
    // A file that was written and removed meanwhile was a change all the same.
    const isGone = counted.length === 0;
    const judged = isGone ? (held?.changes ?? []) : counted;
    return judged.length === 0 ? { kind: "fire" } : ownOutput.judge(judged.map(written), clock.now(), isGone);
  }

  async function changesOf(paths: ReadonlyMap<string, boolean>): Promise<Change[]> {
    const changes: Change[] = [];
    for (const [path, wasDeleted] of paths) {
      const before = known.get(path);
      let now: FileSnapshot | undefined;
      try {
        now = await snapshotAt(path);
      } catch (error) {
        if (sources.some(({ source }) => source.isUnread(path))) continue;
        throw error;
      }
      const operation = operationOf(before, now, wasDeleted);
      if (operation) changes.push({ path, operation, before, now });
    }
    return changes;
  }

  /** By the date that programs cannot set: a file that is moved or copied here may be old. */
  const written = ({ path, now }: Change): Written =>
    now ? { at: now.ctimeMs, lateMs: 0 } : { at: goneAt.get(path) ?? 0, lateMs: SEEN_LATE_MS };

  function hold(batch: string, until: number | undefined, counted: readonly Change[]): void {
    const before = pauses.get(batch);
    if (before === undefined) {
      const facts = { hook: definition.id, path: counted[0]?.path, holdMs: until && until - clock.now() };
      logger.warn(facts, `a change is held: ${ownOutput.problem()}`);
    }
    const changes = counted.length > 0 ? counted : (before?.changes ?? []);
    pauses.set(batch, { until, isReleased: false, changes });
  }

  /** Nothing has to wait any more. */
  function wakeHeld(): void {
    for (const [batch, held] of pauses) {
      pauses.set(batch, { ...held, until: undefined, isReleased: true });
      work.wake(batch);
    }
  }

  /** The same id until the change is known; another one when the same change happens again after that. */
  async function occurrenceOf(batch: string, counted: readonly Change[]): Promise<string> {
    const change = dispatchIdOf(key, counted);
    const fired = firedRow.safeParse(await keyValue.get(FIRED_SCOPE, `${key} ${batch}`)).data;
    if (fired?.change === change) return fired.dispatchId;
    const dispatchId = `${change}_${randomBytes(4).toString("hex")}`;
    await keyValue.set(FIRED_SCOPE, `${key} ${batch}`, { change, dispatchId });
    return dispatchId;
  }

  async function settle(
    batch: string,
    changes: readonly Change[],
    counted: readonly Change[],
    cause: Cause | undefined,
  ): Promise<void> {
    const firing = firingOf(definition, trigger, counted);
    const dispatchId = firing && (await occurrenceOf(batch, counted));
    if (firing && dispatchId) {
      ownOutput.fired(dispatchId);
      await deps.fire(firing, dispatchId, cause);
    }
    // Together, so that one commit holds both.
    await Promise.all([
      changes.length > 0 && know(changes),
      dispatchId && keyValue.delete(FIRED_SCOPE, `${key} ${batch}`),
    ]);
    if (dispatchId) await deps.settled(dispatchId);
  }

  async function know(changes: readonly Change[]): Promise<void> {
    await store.update(
      key,
      changes.flatMap(({ now }) => now ?? []),
      changes.flatMap(({ path, now }) => (now ? [] : path)),
    );
    for (const { path, now } of changes)
      if (now) known.set(path, now);
      else {
        known.delete(path);
        goneAt.delete(path);
      }
  }

  return {
    key,
    ready: start(),
    problems: () => [...sources.flatMap(({ source }) => source.problem ?? []), ...[ownOutput.problem() ?? []].flat()],
    waitsFor: () => sources.flatMap(({ pattern, source }) => (source.isWaiting ? pattern : [])),
    isOwnOnly: () => sources.every(({ source }) => source.isOwnOnly),
    async release() {
      const wasHeld = await ownOutput.release();
      if (wasHeld) wakeHeld();
      return wasHeld;
    },
    async stop() {
      await Promise.all(sources.map(({ source }) => source.stop()));
      await work.stop();
    },
  };
}
