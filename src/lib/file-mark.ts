/** Texts that change when a file does: when its content is written, or another file comes into its place. */
import { type Stats, statSync } from "node:fs";
import { stat } from "node:fs/promises";

export interface FileMark {
  /** Identifies what a link leads to. A number of the disk is used again for a new file; the time at which that was made differs. */
  readonly identity: string;
  readonly content: string;
}

export async function fileMark(path: string): Promise<FileMark> {
  return markOf(await stat(path).catch(() => undefined));
}

/** For code that reads the file at once. */
export function fileMarkSync(path: string): FileMark {
  return markOf(statSync(path, { throwIfNoEntry: false }));
}

function markOf(found: Stats | undefined): FileMark {
  if (found === undefined) return { identity: "none", content: "" };
  const { dev, ino, birthtimeMs, mtimeMs, size } = found;
  return { identity: `${dev}:${ino}:${birthtimeMs}`, content: `${mtimeMs}:${size}` };
}

export const markText = ({ identity, content }: FileMark): string => `${identity} ${content}`;
