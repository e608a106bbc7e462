/** Files that people write. */
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from "node:fs";

/** The product's own files of this kind have a few kilobytes. */
export const MAX_TEXT_BYTES = 5_000_000;

/**
 * Throws also for a path that is no regular file, because reading a pipe or a device may never end; for a file that is larger than
 * `MAX_TEXT_BYTES`; and for UTF-16, whose text would be unreadable.
 */
export function readTextFile(path: string): string {
  const bytes = readRegularFile(path);
  const [first, second] = bytes;
  const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  if (isUtf16) throw new Error("it is UTF-16. Save it as UTF-8.");
  return bytes.toString("utf8");
}

function readRegularFile(path: string): Buffer {
  // Not to wait for the writer of a pipe.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const kind = specialKindOf(fstatSync(file));
    if (kind !== undefined) throw new Error(`it is ${kind}. Put a regular file in its place.`);
    const bytes = upToLimit(file);
    if (bytes.length > MAX_TEXT_BYTES)
      throw new Error(`it is larger than ${MAX_TEXT_BYTES / 1_000_000} MB. Put a smaller file in its place.`);
    return bytes;
  } finally {
    closeSync(file);
  }
}

/** Reads one byte more than the limit, which shows that a file is larger, regardless of the size that the system names. */
function upToLimit(file: number): Buffer {
  const chunks: Buffer[] = [];
  for (let size = 0; size <= MAX_TEXT_BYTES; ) {
    const chunk = Buffer.alloc(Math.min(64 * 1024, MAX_TEXT_BYTES + 1 - size));
    const count = readSync(file, chunk);
    if (count === 0) break;
    chunks.push(chunk.subarray(0, count));
    size += count;
  }
  return Buffer.concat(chunks);
}

/** The kind of something that is no regular file, in words; undefined for a regular file. */
function specialKindOf(stats: Stats): string | undefined {
  if (stats.isFile()) return undefined;
  if (stats.isDirectory()) return "a folder";
  if (stats.isFIFO()) return "a pipe";
  return stats.isSocket() ? "a socket" : "a device";
}
