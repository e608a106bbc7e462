/**
 * Folders that have just appeared. The watcher first reads such a folder and watches it after that: what is put there between the two is
 * not reported. So a fresh folder is looked into again, soon and twice more, for the case that reading it took long.
 * A file that another one replaced is looked at, too, when its folder names it: the watcher may still watch the old one.
 */
import type { Dirent, Stats } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Clock, Timer } from "../../../lib/time/clock.js";
import { isGone } from "./change.js";

/** After it appeared, and each after the look before. */
const LOOKS_AFTER_MS = [250, 2_500, 25_000] as const;

export interface FreshFoldersDeps {
  clock: Clock;
  /** A file that the watcher has not reported, or not as it is now. */
  file(path: string, stats: Stats): void;
  /** A folder in a fresh one: the watcher may not know it. */
  folder(path: string): void;
  onError(error: unknown): void;
}

export interface FreshFolders {
  seen(folder: string): void;
  /** The watcher reported a file. */
  reported(file: string, stats: Stats): void;
  /** Something happened to the file or folder of this name. */
  named(path: string): void;
  stop(): void;
}

export function createFreshFolders({ clock, file, folder, onError }: FreshFoldersDeps): FreshFolders {
  /** For each fresh folder, the files that the watcher reported, as they were then. */
  const reported = new Map<string, Map<string, string>>();
  const timers = new Set<Timer>();
  const lookedAt = new Set<string>();
  let isStopped = false;

  function lookAt(fresh: readonly string[], look: number): void {
    const waitMs = LOOKS_AFTER_MS[look];
    if (waitMs === undefined) {
      for (const one of fresh) reported.delete(one);
      return;
    }
    const timer = clock.after(waitMs, async () => {
      timers.delete(timer);
      for (const one of fresh) await lookInto(one).catch(onError);
      if (!isStopped) lookAt(fresh, look + 1);
    });
    timers.add(timer);
  }

  async function lookInto(fresh: string): Promise<void> {
    for (const entry of await entriesOf(fresh)) {
      const path = join(fresh, entry.name);
      if (entry.isDirectory()) folder(path);
      else if (entry.isFile()) await lookAtFile(path);
    }
  }

  async function lookAtFile(path: string): Promise<void> {
    try {
      const stats = await lstat(path);
      if (isStopped || stats.isDirectory()) return;
      if (reported.get(dirname(path))?.get(basename(path)) !== stateOf(stats)) file(path, stats);
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }

  let gathered: string[] = [];
  return {
    seen(fresh) {
      reported.set(fresh, new Map());
      // Fresh folders of one turn are looked at together: a tree that is copied has thousands.
      if (gathered.push(fresh) === 1)
        setImmediate(() => {
          if (!isStopped) lookAt(gathered, 0);
          gathered = [];
        });
    },
    reported: (path, stats) => void reported.get(dirname(path))?.set(basename(path), stateOf(stats)),
    named(path) {
      if (lookedAt.has(path)) return;
      lookedAt.add(path);
      void lookAtFile(path)
        .catch(onError)
        .finally(() => lookedAt.delete(path));
    },
    stop() {
      isStopped = true;
      for (const timer of timers) timer.cancel();
    },
  };
}

const stateOf = ({ size, mtimeMs }: Stats) => `${size}:${mtimeMs}`;

async function entriesOf(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}
