/**
 * Notifies when a plugin's file changed, came or went. The files are few, so they are compared: a watch of the system goes on with the
 * old file when another one comes into its place. Editors write in several steps, so a change counts once two comparisons find the same.
 */

import { fileMark, markText } from "../lib/files/file-mark.js";
import type { Clock, Timer } from "../lib/time/clock.js";

const COMPARE_EVERY_MS = 500;

export interface FileWatch {
  /** Watches these files and no others. */
  set(files: readonly string[]): Promise<void>;
  stop(): void;
}

interface Marks {
  /** The file's mark when its last change counted. */
  counted: string;
  last: string;
}

export function watchFiles(clock: Clock, changed: (file: string) => void): FileWatch {
  const watched = new Map<string, Marks>();
  let next: Timer | undefined;
  let isStopped = false;

  async function compare(): Promise<void> {
    for (const [file, marks] of watched) {
      const now = await markOf(file);
      const isChanged = now !== marks.counted && now === marks.last;
      marks.last = now;
      if (!isChanged || isStopped) continue;
      marks.counted = now;
      changed(file);
    }
    compareLater();
  }

  function compareLater(): void {
    if (!isStopped) next = clock.after(COMPARE_EVERY_MS, () => void compare());
  }

  return {
    async set(files) {
      for (const file of watched.keys()) if (!files.includes(file)) watched.delete(file);
      for (const file of files.filter((one) => !watched.has(one))) {
        const mark = await markOf(file);
        watched.set(file, { counted: mark, last: mark });
      }
      if (next === undefined && watched.size > 0) compareLater();
    },
    stop() {
      isStopped = true;
      next?.cancel();
    },
  };
}

const markOf = async (file: string) => markText(await fileMark(file));
