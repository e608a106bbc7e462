/** Texts that change when a file does: when its content is written, who may read it changes, or another file comes into its place. */
import { type Stats, statSync } from "node:fs";
import { stat } from "node:fs/promises";

export interface FileMark {
  /** Identifies the file that a link leads to. A disk uses a number again for a new file, but the time of its creation differs. */
  readonly identity: string;
  readonly content: string;
}

export async function fileMark(path: string): Promise<FileMark> {
  return markOf(await stat(path).catch(() => undefined));
}

/** For code that reads the file at once. */
export function fileMarkSync(path: string): FileMark {
  try {
    return markOf(statSync(path));
  } catch {
    return markOf(undefined); // the reading reports why
  }
}

function markOf(found: Stats | undefined): FileMark {
  if (found === undefined) return { identity: "none", content: "" };
  const { dev, ino, birthtimeMs, mtimeMs, size, mode, uid, gid } = found;
  return { identity: `${dev}:${ino}:${birthtimeMs}`, content: `${mtimeMs}:${size}:${mode}:${uid}:${gid}` };
}

export const markText = ({ identity, content }: FileMark): string => `${identity} ${content}`;
