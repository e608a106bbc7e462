/** The selection of one entry of `paths:`: where to look, how deep, and which files count. Globs are ours: the watcher knows none. */
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import picomatch from "picomatch";
import { wholeFolder } from "../../paths.js";

export interface Selection {
  /** The pattern as written in the definition. */
  readonly pattern: string;
  /** Everything selected lies in it, or is it. */
  readonly root: string;
  /** Folders below the root that are entered; a glob without `**` needs no more than it has parts. */
  readonly depth: number;
  /** Whether a file counts. */
  selects(path: string): boolean;
  /** Whether files in this folder may count. */
  enters(folder: string): boolean;
  /** Whether neither it nor anything in it counts. */
  ignores(path: string): boolean;
}

export function selectionOf(pattern: string, ignore: readonly string[], folder: string): Selection {
  const { base, glob, isGlob } = picomatch.scan(asPosix(pattern));
  const root = resolve(folder, isGlob ? base : pattern);
  const isSelected = isGlob ? picomatch(wholeFolder(glob), { dot: true }) : () => true;
  const ignores = ignoring(ignore, root, folder);
  const depth = isGlob && !/\*\*|\(|\/$/.test(glob) ? glob.split("/").length - 1 : Number.POSITIVE_INFINITY;
  return {
    pattern,
    root,
    depth,
    selects: (path) => within(path, root) && isSelected(asPosix(relative(root, path))) && !ignores(path),
    enters: (path) => path === root || (relative(root, path).split(sep).length <= depth && !ignores(path)),
    ignores,
  };
}

/** Patterns hold below the root and below the folder; a path that the operator named is not ignored as a whole. */
function ignoring(patterns: readonly string[], root: string, folder: string): (path: string) => boolean {
  const isIgnored = picomatch(patterns.map(wholeFolder), { dot: true });
  const below = (from: string, path: string) => {
    const at = asPosix(relative(from, path));
    return at !== "" && !at.startsWith("..") && !isAbsolute(at) && isIgnored(at);
  };
  const isNamed = below(folder, root);
  return (path) => below(root, path) || (!isNamed && below(folder, path));
}

/** Whether a path is the root or lies in it. */
export function within(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}

/** Gives the same place under another root. */
export function moved(path: string, from: string, to: string): string {
  return from === to ? path : join(to, relative(from, path));
}

export function asPosix(path: string): string {
  return sep === "/" ? path : path.replaceAll(sep, "/");
}
