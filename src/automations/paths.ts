/** Paths of definitions: relative to their folder and never outside of it, with any template, `..` or symbolic link. */
import { constants, realpathSync, statSync } from "node:fs";
import { type FileHandle, lstat, open, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, relative, resolve, sep } from "node:path";
import { z } from "zod";
import { errorMessage, HookgateError } from "../lib/errors.js";
import type { Machine } from "./handler.js";
import type { RunContext } from "./run-context.js";
import { isTemplate } from "./template/is-template.js";

/** The only way to files elsewhere. It takes no template: a value from the event must not decide where files are read. */
export const rootField = z
  .string()
  .min(1)
  .refine((root) => !isTemplate(root), "a root is no template")
  .optional()
  .describe("The folder that paths start in and stay within. Default: the folder of the definition.");

export interface Place {
  /** The folder that the path stays within, without links. */
  root: string;
  path: string;
  /** From the folder that paths start in; `.` for itself. */
  name: string;
}

/**
 * Where the path leads, links followed. `begins`: the folder that the path starts with in the definition, where a template follows: no
 * value names a link there that leads out of it. Throws PATH_OUTSIDE, PATH_MISSING when nothing is there, or PATH_PRIVATE for the
 * gateway's own database and secrets, which no hook reads.
 */
export async function locate(
  path: string,
  root: string | undefined,
  { folder, reach }: Pick<RunContext, "folder" | "reach">,
  begins?: string,
): Promise<Place> {
  const outside = (named: string) => outsideOf(named, root);
  if (path.includes("\0")) throw outside(path);
  const top = await real(resolve(folder, root ?? "."), folder);
  const asked = resolve(top, path);
  // Refused before any file is read, so that the error reveals nothing about files there.
  if (!within(asked, top)) throw outside(path);
  const found = await real(asked, folder);
  if (!within(found, top)) throw outside(path);
  const first = begins === undefined ? top : await real(resolve(top, begins), folder);
  if (!within(found, first)) throw outsideOf(path, begins);
  if (reach.isOwnFile(found))
    throw new HookgateError({ code: "PATH_PRIVATE", message: `${path} is of Hookgate itself, and no hook reads it` });
  return { root: first, path: found, name: relative(top, found) || "." };
}

/** The problems that keep a step from reading a path, as far as is known now. A path with a template is judged when the step runs. */
export function pathProblems(
  path: string,
  kind: "file" | "folder",
  { root, folder, isAfterProgram }: { root: string | undefined } & Pick<Machine, "folder" | "isAfterProgram">,
): string[] {
  if (isTemplate(path)) return [];
  const top = resolve(folder, root ?? ".");
  const asked = resolve(top, path);
  const outside = `${path} is outside of ${folderName(root)}: name its folder with \`root\``;
  if (!within(asked, top)) return [outside];
  try {
    const found = realpathSync(asked);
    if (!within(found, realpathSync(top))) return [outside];
    const stats = statSync(found);
    return (kind === "file" ? stats.isFile() : stats.isDirectory()) ? [] : [`${path} is no ${kind}`];
  } catch {
    return isAfterProgram ? [] : [`there is no ${kind} ${path} in ${folderName(root)}`];
  }
}

/** Opens a regular file for reading. A pipe or a device is refused without waiting for it. */
export async function openFile(place: Place): Promise<FileHandle> {
  const file = await open(place.path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    if (!(await file.stat()).isFile())
      throw new HookgateError({ code: "PATH_NOT_A_FILE", message: `${place.name} is no file` });
    // A folder that was replaced by a link between the check and the opening is found out here (Linux).
    const opened = await realpath(`/proc/self/fd/${file.fd}`).catch(() => place.path);
    if (!within(opened, place.root)) throw outsideOf(place.name, place.root);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** The first bytes of a file. */
export async function readStart(file: FileHandle, maxBytes: number): Promise<Buffer> {
  const bytes = Buffer.alloc(Math.min(maxBytes, (await file.stat()).size || maxBytes));
  let filled = 0;
  while (filled < bytes.length) {
    const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}

/** `build/` as a pattern: the folder and all that is in it. */
export const wholeFolder = (pattern: string) => pattern.replace(/\/+$/, "/**");

export function within(path: string, root: string): boolean {
  const way = relative(root, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** The name without the path on this machine, which is for the log only. */
const folderName = (root: string | undefined) =>
  root === undefined ? "the folder of the hook" : `its root ${basename(root)}`;

/** The path from the folder of the hook on; for a path elsewhere, the last name only. */
function shownPath(path: string, folder: string): string {
  return within(path, folder) ? relative(folder, path) || "." : basename(path);
}

/** The text of an error for people: no path of this machine is in it. */
export function errorWithoutPaths(error: unknown, folder: string): string {
  const { path, dest } = error as { path?: unknown; dest?: unknown };
  const named = [path, dest].filter((one) => typeof one === "string" && isAbsolute(one)) as string[];
  const text = named.reduce((words, one) => words.replaceAll(one, shownPath(one, folder)), errorMessage(error));
  return folder === dirname(folder) ? text : text.replaceAll(`${folder}${sep}`, "").replaceAll(folder, ".");
}

async function real(path: string, folder: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    const isLink = await lstat(path).then(
      (stat) => stat.isSymbolicLink(),
      () => false,
    );
    throw new HookgateError({
      code: "PATH_MISSING",
      message: isLink ? `${shownPath(path, folder)} is a link to nothing` : `there is no ${shownPath(path, folder)}`,
      cause: error,
    });
  }
}

function outsideOf(path: string, root: string | undefined): HookgateError {
  return new HookgateError({
    code: "PATH_OUTSIDE",
    message: `${isAbsolute(path) ? basename(path) : path} is outside of ${folderName(root)}`,
    hint: "Name the folder with `root:`.",
  });
}
