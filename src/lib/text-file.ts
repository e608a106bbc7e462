/** Files that people write. */
import { readFileSync, statSync } from "node:fs";

/** Throws also for what is no file, because to read a pipe is to wait for ever, and for UTF-16, whose text would be unreadable. */
export function readTextFile(path: string): string {
  const stat = statSync(path);
  if (stat.isFIFO() || stat.isSocket()) throw new Error("it is a pipe or a socket. Put a regular file in its place.");
  const bytes = readFileSync(path);
  const [first, second] = bytes;
  const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  if (isUtf16) throw new Error("it is UTF-16. Save it as UTF-8.");
  return bytes.toString("utf8");
}
