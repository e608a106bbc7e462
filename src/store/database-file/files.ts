/** The paths of a database and of the files beside it, and who can read them. */
import { accessSync, constants, existsSync, lstatSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { errorMessage, HookgateError } from "../../lib/errors.js";
import { deadLinkTarget, linkTarget } from "../../lib/files/dead-link.js";
import { namesIn, whyUnread } from "../../lib/files/list-folder.js";
import { isExposed, makePrivate, nearestExisting } from "../../lib/files/private-files.js";
import { errorCode } from "../errors.js";

export interface DatabaseFiles {
  /** Symbolic links are resolved: SQLite names its log after the real file, and a lock must be the same under every name. */
  database: string;
  /** The database as it was named: the way to it may lead through links. */
  path: string;
  /** The history of hooks. */
  journal: string;
  lock: string;
  /** The login token that this installation created for itself. */
  token: string;
  /** Files from people, which messages refer to. */
  uploads: string;
  folder: string;
  /** A link on the way to `folder` that leads nowhere. */
  deadLink: string | undefined;
}

/** The files of `file:PATH` or `file:///PATH`, relative to the working directory. Throws STORE_FAILED for another kind of URL. */
export function databaseFiles(url: string): DatabaseFiles {
  if (!url.startsWith("file:"))
    throw new HookgateError({
      code: "STORE_FAILED",
      message: `expected a database URL of the form file:PATH, got "${url}"`,
      hint: "Set DATABASE_URL to file: and a path, for example file:data/hookgate.db.",
    });
  return filesBeside(url.startsWith("file://") ? fileURLToPath(url) : url.slice("file:".length));
}

export function filesBeside(file: string): DatabaseFiles {
  const path = resolve(file);
  const database = realPath(path);
  const folder = dirname(database);
  const stem = database.replace(/\.(db|sqlite3?)$/, "");
  return {
    database,
    path,
    journal: `${stem}-journal.db`,
    lock: `${database}.lock`,
    token: `${stem}.token`,
    uploads: join(folder, "uploads"),
    folder,
    deadLink: existsSync(folder) ? undefined : deadLinkOnTheWay(path),
  };
}

/** The real path of a file that may not exist yet, also through a link to one. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (thrown) {
    // A loop of links, or a folder that may not be entered: the code that opens the path reports it.
    if (!isMissing(thrown)) return path;
  }
  const target = linkTarget(path);
  if (target !== undefined) return realPath(target);
  const folder = dirname(path);
  return folder === path ? path : join(realPath(folder), basename(path));
}

/** The path itself, or the nearest folder above it. */
function deadLinkOnTheWay(path: string): string | undefined {
  if (deadLinkTarget(path) !== undefined) return path;
  const folder = dirname(path);
  return folder === path ? undefined : deadLinkOnTheWay(folder);
}

function isMissing(thrown: unknown): boolean {
  return thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT";
}

const SQLITE_SUFFIXES = ["", "-wal", "-shm", "-journal"];
/** Files that were moved aside: `NAME.damaged-20261122T204500Z`, `NAME.replaced-…`. */
const ASIDE = /\.(damaged|replaced)-[\w-]+$/;

/** The existing files, the folder last, and of these only those that other users can read or write. Devices and pipes are not ours. */
export function exposedFiles(files: DatabaseFiles): string[] {
  const entries = namesIn(files.folder);
  const own = ownNames(files);
  const isOwn = (name: string) => own.has(name.replace(ASIDE, ""));
  const isRegular = (path: string) => specialKind(path) === undefined;
  const paths = entries
    .filter(isOwn)
    .map((name) => join(files.folder, name))
    .filter(isRegular);
  if (isExposed(files.uploads)) paths.push(...namesIn(files.uploads).map((name) => join(files.uploads, name)));
  // A folder that holds other things too (a home, /tmp) is not ours to close; an empty one was created for the database.
  const isOurs = entries.every((name) => isOwn(name)) && isReadable(files.folder);
  return [...paths, ...(isOurs ? [files.folder] : [])].filter(isExposed);
}

/** Takes other users' rights to the existing files away. Returns the files that it could not change, with the reason. */
export function narrowFiles(files: DatabaseFiles): { path: string; reason: unknown }[] {
  const failed: { path: string; reason: unknown }[] = [];
  const isLink = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  // The folder first: then nothing in it can be opened meanwhile.
  for (const path of exposedFiles(files).reverse())
    try {
      // Other programs may use the file behind a link.
      if (isLink(path)) throw new Error("it is a link, and the file behind it may be another program's");
      makePrivate(path);
    } catch (reason) {
      failed.push({ path, reason });
    }
  return failed;
}

/** True when other users can replace files of this folder: a sticky folder (/tmp) protects them. */
export function isOpenFolder(folder: string): boolean {
  if (!isExposed(folder)) return false;
  const { mode } = statSync(folder);
  return (mode & 0o022) !== 0 && (mode & 0o1000) === 0;
}

/**
 * Throws STORE_MISSING when a link leads to a folder that does not exist: a volume may not be mounted. An empty database behind the link
 * would hide that. Throws STORE_FAILED when something that is no folder is in the place of the folder, or a link in a circle.
 */
export function requireFolder({ deadLink, folder }: Pick<DatabaseFiles, "deadLink" | "folder">): void {
  const wrong = deadLink ?? nearestExisting(folder);
  const kind = specialKind(wrong) ?? (statSync(wrong, { throwIfNoEntry: false })?.isFile() ? "a file" : undefined);
  if (kind !== undefined)
    throw new HookgateError({
      code: "STORE_FAILED",
      message: `${wrong} is ${kind}, but the folder of the database is ${folder}`,
      hint: "Move or delete it, then start again: the gateway creates the folder. Or set DATABASE_URL to another path.",
    });
  if (deadLink === undefined) return;
  throw new HookgateError({
    code: "STORE_MISSING",
    message: `${deadLink} is a link that leads nowhere: the folder of the database, ${folder}, does not exist`,
    hint: `Mount or restore ${folder}, then try again. To start with an empty database, create that folder first.`,
  });
}

/**
 * Throws STORE_FAILED when the database, its history or its lock is a device, a pipe or a link in a circle, or the database or its lock a
 * folder. A history that is a folder is moved aside.
 */
export function requireRegularFiles({ path: database, journal, lock }: DatabaseFiles): void {
  const kept = { "its database": database, "the history of hooks": journal, "the lock of its database": lock };
  for (const [what, path] of Object.entries(kept)) {
    const kind = specialKind(path) ?? (path !== journal && isFolder(path) ? "a folder" : undefined);
    if (kind !== undefined)
      throw new HookgateError({
        code: "STORE_FAILED",
        message: `${path} is ${kind}, but the gateway keeps ${what} in a regular file of this name`,
        hint: "Move or delete it, then start again.",
      });
  }
}

export function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false; // missing, or out of reach: opening it reports that
  }
}

/** The kind of a path that can be neither read nor written as a file; undefined for a file, a folder, and a missing path. */
export function specialKind(path: string): string | undefined {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined || stats.isFile() || stats.isDirectory()) return undefined;
    const kind = stats.isFIFO() ? "a pipe" : stats.isSocket() ? "a socket" : "a device";
    return lstatSync(path).isSymbolicLink() ? `a link to ${kind}` : kind;
  } catch (thrown) {
    return errorCode(thrown) === "ELOOP" ? "a link that leads in a circle" : undefined; // opening it reports all else
  }
}

/** Throws UPLOADS_NO_FOLDER when something else has the name of the folder for uploads. */
export function requireUploadsFolder({ uploads }: DatabaseFiles): void {
  if (!lstatSync(uploads, { throwIfNoEntry: false })) return;
  const stats = statSync(uploads, { throwIfNoEntry: false });
  if (stats?.isDirectory()) return;
  throw new HookgateError({
    code: "UPLOADS_NO_FOLDER",
    message: `${uploads} is ${stats ? "a file" : "a link that leads nowhere"}, but Hookgate keeps uploaded files in a folder of this name`,
    hint: "Move or delete it, then start again: the gateway creates the folder.",
  });
}

/**
 * Why the folder for uploads cannot be used, and what to do; undefined when it can be, or is not there yet. A problem with the folder of
 * the database is the database's problem.
 */
export function uploadsProblem(files: DatabaseFiles): string | undefined {
  const { folder, uploads } = files;
  try {
    if (!isFolder(folder)) return undefined;
    requireUploadsFolder(files);
    if (existsSync(uploads)) accessSync(uploads, constants.W_OK);
    const why = whyUnread(uploads);
    return why && `${why} Uploads and downloads fail until then.`;
  } catch (error) {
    const why = errorMessage(error).replace(/, (access|l?stat) .*$/s, "");
    if (error instanceof HookgateError) return `${why}. Move or delete it.`;
    return `cannot be written: ${why}. Uploads fail until then. Give the user of the gateway this folder and all files in it.`;
  }
}

/** A backup that is copied and checked; there is nothing to lose in it. */
export const restoringFile = (database: string) => `${database}.restoring`;
/** A backup that is copied whole and becomes the database: also after a kill. */
export const restoredFile = (database: string) => `${database}.restored`;

function ownNames({ database, journal, lock, token, uploads }: DatabaseFiles): Set<string> {
  const names = [lock, token, uploads, restoringFile(database), restoredFile(database)];
  for (const file of [database, journal]) for (const suffix of SQLITE_SUFFIXES) names.push(file + suffix);
  return new Set(names.map((name) => basename(name)));
}

/** Whether the gateway gives this name to a file in the folder of its database, or to one that it moved aside. */
export function isOwnName(files: DatabaseFiles, name: string): boolean {
  return ownNames(files).has(name.replace(ASIDE, ""));
}

/**
 * Whether the gateway itself writes a path, or the path is one of `others` (real paths). Every message changes such files, so a hook that
 * watches them would start itself; and their content is for no hook.
 */
export function ownFileTest(files: DatabaseFiles, ...others: readonly string[]): (path: string) => boolean {
  const names = ownNames(files);
  return (path) =>
    others.includes(path) ||
    path.startsWith(files.uploads + sep) ||
    (dirname(path) === files.folder && names.has(basename(path).replace(ASIDE, "")));
}

/**
 * `ownFileTest` for a path of a configuration, which may lead through links or not be there yet. `besideDatabase`: the files in the
 * folder of the database.
 */
export function ownFilesOf(files: DatabaseFiles, ...others: readonly string[]) {
  const isOwn = ownFileTest(files, ...others);
  return {
    includes: (path: string) => isOwn(realPath(path)),
    besideDatabase: [...ownNames(files)].map((name) => join(files.folder, name)),
  };
}

function isReadable(folder: string): boolean {
  try {
    accessSync(folder, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
