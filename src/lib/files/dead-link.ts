/** Symbolic links that lead nowhere: to a volume that is not mounted, or to a deleted file or folder. */
import { readlinkSync, realpathSync, statSync } from "node:fs";
import { dirname, resolve, sep } from "node:path";
import { isMissing } from "./list-folder.js";

/** Where the link leads, when nothing is there. Undefined for a link that leads to something, and for a path that is no link. */
export function deadLinkTarget(path: string): string | undefined {
  return isMissing(path) ? linkTarget(path) : undefined;
}

export interface DeadLink {
  /** The link to repair. */
  path: string;
  /** The text that follows its name, with a remedy. */
  message: string;
}

/** `restore`: a way to bring back the missing file; `wanted`: where the link should lead. Undefined as above. */
export function deadLinkAt(
  path: string,
  { restore, wanted }: { restore: string; wanted: string },
): DeadLink | undefined {
  const target = deadLinkTarget(path);
  if (target === undefined) return undefined;
  if (!isCircle(path))
    return {
      path,
      message: `is a link to ${target}, which does not exist. ${restore}, or make the link lead to ${wanted}.`,
    };
  const link = linkToItsFolder(path) ?? path;
  return {
    path: link,
    message: `is a link to ${linkTarget(link)}, which leads in a circle back to the link. Delete the link, or make it lead to ${wanted}.`,
  };
}

function isCircle(path: string): boolean {
  try {
    statSync(path);
    return false;
  } catch (thrown) {
    return thrown instanceof Error && "code" in thrown && thrown.code === "ELOOP";
  }
}

/** The first link on the way that leads to a folder which it is in: below it, the same names come again and again. */
function linkToItsFolder(path: string): string | undefined {
  const above = dirname(path);
  const found = above === path ? undefined : linkToItsFolder(above);
  if (found !== undefined || linkTarget(path) === undefined) return found;
  try {
    return `${realpathSync(above)}${sep}`.startsWith(`${realpathSync(path)}${sep}`) ? path : undefined;
  } catch {
    return undefined; // the link leads nowhere
  }
}

/** Undefined for a path that is no link. */
export function linkTarget(path: string): string | undefined {
  try {
    // The folder may be a link itself: then `..` starts at the folder that it leads to.
    return resolve(realpathSync(dirname(path)), readlinkSync(path));
  } catch {
    return undefined;
  }
}
