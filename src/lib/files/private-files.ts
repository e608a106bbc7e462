/** Files and folders that only the gateway's own user can read: they contain messages, tokens and keys. */
import { accessSync, chmodSync, closeSync, constants, existsSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";

export const PRIVATE_FILE = 0o600;
export const PRIVATE_FOLDER = 0o700;
const OTHERS = 0o077;

/** Creates the folder and missing parents with mode 0700. A folder that exists keeps its mode. */
export function makePrivateFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER });
  } catch (thrown) {
    // On a read-only disk Node reports only that the folder does not exist.
    requireWritable(nearestExisting(folder));
    throw thrown;
  }
}

/** Throws EACCES or EROFS when this user cannot write there. Does not open the path. */
export function requireWritable(path: string): void {
  accessSync(path, constants.W_OK);
}

export function nearestExisting(path: string): string {
  const parent = dirname(path);
  return existsSync(path) || parent === path ? path : nearestExisting(parent);
}

/**
 * Creates the file with mode 0600, empty. A file that exists is not even opened: closing it again would end all locks that SQLite
 * holds on it in this process (https://www.sqlite.org/howtocorrupt.html#posix_close_bug).
 */
export function makePrivateFile(file: string): void {
  try {
    closeSync(openSync(file, "ax", PRIVATE_FILE));
  } catch (thrown) {
    if (!(thrown instanceof Error && "code" in thrown && thrown.code === "EEXIST")) throw thrown;
  }
}

/** True when other users have any right on the path. False when it cannot be examined. Windows has no modes. */
export function isExposed(path: string): boolean {
  if (process.platform === "win32") return false;
  try {
    return (statSync(path).mode & OTHERS) !== 0;
  } catch {
    return false; // missing, or not ours: opening it reports that
  }
}

/** True when other users can change the file, or put another in its place in the folder. As `isExposed` otherwise. */
export function isWritableByOthers(path: string): boolean {
  if (process.platform === "win32") return false;
  try {
    const { mode } = statSync(path);
    // In a sticky folder (/tmp), files of others stay as they are.
    return (mode & 0o002) !== 0 && (mode & 0o1000) === 0;
  } catch {
    return false;
  }
}

/** Takes every right on the path away from other users. */
export function makePrivate(path: string): void {
  chmodSync(path, statSync(path).isDirectory() ? PRIVATE_FOLDER : PRIVATE_FILE);
}
