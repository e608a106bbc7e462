/** Symbolic links that lead nowhere: to a volume that is not mounted, or to what was deleted. */
import { existsSync, readlinkSync, realpathSync } from "node:fs";
import { dirname, resolve } from "node:path";

/** Where the link leads, when nothing is there. Undefined for a link that leads to something, and for what is no link. */
export function deadLinkTarget(path: string): string | undefined {
  return existsSync(path) ? undefined : linkTarget(path);
}

/** Undefined for what is no link. */
export function linkTarget(path: string): string | undefined {
  try {
    // The folder may be a link itself: then `..` begins at the folder that it leads to.
    return resolve(realpathSync(dirname(path)), readlinkSync(path));
  } catch {
    return undefined;
  }
}
