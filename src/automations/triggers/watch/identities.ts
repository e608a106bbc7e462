/**
 * Whether folders are still the ones that are watched, and can be read. The system watches what it was given, not a name: a folder that
 * is removed and made again faster than the watcher looks is another one, in which nothing would be seen. The system does not watch
 * folders that cannot be read.
 */
import type { Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { unreadAt } from "../../../lib/files/list-folder.js";
import type { Clock, Timer } from "../../../lib/time/clock.js";
import { isGone } from "./change.js";

/** After the last sign that something happened to a folder. */
const SETTLE_MS = 200;

type FolderStats = Pick<Stats, "dev" | "ino" | "birthtimeMs">;

export interface Identities {
  seen(folder: string, stats: FolderStats | undefined, isUnread?: boolean): void;
  forget(folder: string): void;
  knows(folder: string): boolean;
  /**
   * Something happened in the folder or to it: it is looked at soon. `replaced` is called when it is another one, is gone, or was made
   * readable or not.
   */
  suspect(folder: string): void;
  stop(): void;
}

export function createIdentities(clock: Clock, replaced: (folders: string[]) => void): Identities {
  const known = new Map<string, string>();
  const suspects = new Set<string>();
  let timer: Timer | undefined;

  async function compare(): Promise<void> {
    timer = undefined;
    const folders = [...suspects].filter((folder) => known.has(folder));
    suspects.clear();
    const found: string[] = [];
    for (const folder of folders) if ((await identityOf(folder)) !== known.get(folder)) found.push(folder);
    if (found.length > 0) replaced(found);
  }

  return {
    seen(folder, stats, isUnread = false) {
      if (stats) known.set(folder, nameOf(stats, isUnread));
    },
    forget: (folder) => void known.delete(folder),
    knows: (folder) => known.has(folder),
    suspect(folder) {
      suspects.add(folder);
      timer ??= clock.after(SETTLE_MS, () => void compare());
    },
    stop: () => timer?.cancel(),
  };
}

async function identityOf(folder: string): Promise<string | undefined> {
  try {
    return nameOf(await stat(folder), (await unreadAt(folder)) !== undefined);
  } catch (error) {
    if (isGone(error)) return undefined;
    return "unreadable";
  }
}

/**
 * Numbers of removed folders are given to new ones, at once even; the time of creation distinguishes them (0 where the disk does not know
 * it).
 */
function nameOf({ dev, ino, birthtimeMs }: FolderStats, isUnread: boolean): string {
  return `${dev}:${ino}:${birthtimeMs}${isUnread ? ":unread" : ""}`;
}
