/**
 * The owners of a database's files. The owner of a file can write it, and the owner of its folder can put another file in its place: also a
 * login token. Root and the gateway's own user are trusted. Windows has no such owners.
 */
import { chownSync, lstatSync, type Stats, statSync } from "node:fs";
import { basename, join } from "node:path";
import { HookgateError } from "../../lib/errors.js";
import { namesIn } from "../../lib/files/list-folder.js";
import { type DatabaseFiles, isOwnName } from "./files.js";

const ROOT = 0;
const WRITABLE_BY_OTHERS = 0o022;

/**
 * Throws STORE_FOREIGN_OWNER when the folder, the database or a file beside it belongs to another user, and when others may write the login
 * token. Root takes over a folder in which nothing else is, such as the volume of a container.
 */
export function requireOwned(files: DatabaseFiles): void {
  const problem = ownerProblem(files);
  if (problem !== undefined) throw new HookgateError({ code: "STORE_FOREIGN_OWNER", ...problem });
  if (!mayTakeFolder(files)) return;
  try {
    chownSync(files.folder, ROOT, -1);
  } catch (cause) {
    // Root of a container without that right.
    const { uid } = statSync(files.folder);
    throw new HookgateError({ code: "STORE_FOREIGN_OWNER", ...foreign(files.folder, uid, ROOT), cause });
  }
}

/** Why a start of this user refuses the files, and the next step. */
export function ownerProblem(files: DatabaseFiles): { message: string; hint: string } | undefined {
  const user = process.geteuid?.();
  if (user === undefined) return undefined;
  for (const path of ownFiles(files)) {
    const owner = foreignOwner(path, user);
    if (owner !== undefined) return foreign(path, owner, user);
  }
  const owner = foreignOwner(files.folder, user);
  if (owner !== undefined && !mayTakeFolder(files)) return foreign(files.folder, owner, user);
  const { token } = files;
  const stats = statsOf(token);
  if (stats === undefined || !stats.isFile() || (stats.mode & WRITABLE_BY_OTHERS) === 0) return undefined;
  return {
    message: `other users of this machine may write the login token in ${token}, so it may be theirs`,
    hint: `If you know the token, run \`chmod 600 ${token}\`. Else delete the file: the next start creates a new token.`,
  };
}

/** The message about the folder that a start as root takes over. */
export function takenFolder(files: DatabaseFiles): string | undefined {
  const taken = ownerProblem(files) === undefined && mayTakeFolder(files);
  return taken ? `${files.folder} belongs to another user. A start as root makes the folder root's own.` : undefined;
}

function foreign(path: string, owner: number, user: number): { message: string; hint: string } {
  return {
    message: `${path} belongs to another user of this machine (user id ${owner}; the gateway runs with user id ${user}), who can change what the gateway trusts`,
    hint: `Run the gateway as that user. Or, if you trust what is in the folder, give all of its files to the gateway's user (\`chown -R ${user} …\`). Else set DATABASE_URL to a file in another folder.`,
  };
}

/** A folder that has other things in it, too (a home), stays its owner's. */
function mayTakeFolder(files: DatabaseFiles): boolean {
  if (process.geteuid?.() !== ROOT || foreignOwner(files.folder, ROOT) === undefined) return false;
  return namesIn(files.folder).every((name) => isOwnName(files, name));
}

/** Uploads are behind the web chat's own checks: nothing in them is trusted. */
function ownFiles(files: DatabaseFiles): string[] {
  const uploads = basename(files.uploads);
  return namesIn(files.folder)
    .filter((name) => name !== uploads && isOwnName(files, name))
    .map((name) => join(files.folder, name));
}

/** The user id of the owner of the path, or of the link that it is, when that is neither this user nor root. */
function foreignOwner(path: string, user: number): number | undefined {
  const owners = [lstatSync(path, { throwIfNoEntry: false }), statsOf(path)].flatMap((stats) => stats?.uid ?? []);
  return owners.find((owner) => owner !== user && owner !== ROOT);
}

function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined; // a link in a circle, or out of reach: opening it reports that
  }
}
