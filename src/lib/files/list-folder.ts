/** Folders and files that people write. One that cannot be read, or not at the moment, is never taken for a missing one. */
import { closeSync, constants, type Dirent, opendirSync, openSync, readdirSync, statSync } from "node:fs";
import { opendir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { errorMessage } from "../errors.js";

/** A path that leads nowhere, over a file, or in a circle. */
const NOTHING: ReadonlySet<unknown> = new Set(["ENOENT", "ENOTDIR", "ELOOP"]);

export const leadsNowhere = (error: unknown) => NOTHING.has((error as NodeJS.ErrnoException).code);

export function isMissing(path: string): boolean {
  try {
    statSync(path);
    return false;
  } catch (error) {
    return leadsNowhere(error);
  }
}

/** Whether a file, or anything else that is no folder, is there. */
export function isNoFolder(path: string): boolean {
  try {
    return !statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** The entries of a folder; none when it is missing. `unread`: why they are not known, and what to do. */
export function listFolder(path: string): { entries: Dirent[]; unread?: string } {
  try {
    return { entries: readdirSync(path, { withFileTypes: true }) };
  } catch (error) {
    return leadsNowhere(error) ? { entries: [] } : { entries: [], unread: unreadText(error) };
  }
}

/** The names in a folder; none when it is missing or cannot be listed: code that opens a file in it reports that. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Why a folder cannot be listed or entered, and what to do; undefined when it can be, or when it is missing. */
export function whyUnread(path: string): string | undefined {
  try {
    opendirSync(path).closeSync();
    statSync(`${path}/.`); // by the right to enter it
    return undefined;
  } catch (error) {
    return leadsNowhere(error) ? undefined : unreadText(error);
  }
}

/** Why a file cannot be read, and what to do; undefined when it can be, or when it is missing. */
export function whyFileUnread(path: string): string | undefined {
  try {
    // Not to wait for the writer of a pipe.
    closeSync(openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)));
    return undefined;
  } catch (error) {
    return leadsNowhere(error) ? undefined : unreadText(error, "read it and enter its folder");
  }
}

/** The folder that cannot be listed or entered, this one or one on the way to it, and `whyUnread` of that. Its drive may answer late. */
export async function unreadAt(path: string): Promise<[folder: string, why: string] | undefined> {
  const isReached = await stat(path).then(
    () => true,
    (error: unknown) => !isDenied(error),
  );
  const above = isReached ? undefined : await unreadAt(dirname(path));
  if (above !== undefined) return above;
  try {
    await (await opendir(path)).close();
    await stat(`${path}/.`);
    return undefined;
  } catch (error) {
    return leadsNowhere(error) ? undefined : [path, unreadText(error)];
  }
}

export function isDenied(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "EACCES" || code === "EPERM";
}

function unreadText(error: unknown, right = "list and enter this folder"): string {
  const why = errorMessage(error).replace(/, (scandir|opendir|open|stat)\b.*$/s, "");
  if (!isDenied(error)) return `cannot be read: ${why}. Check its disk.`;
  const user = process.geteuid === undefined ? "of the gateway" : `with the id ${process.geteuid()}`;
  return `cannot be read: ${why}. Give the user ${user} the right to ${right}.`;
}
