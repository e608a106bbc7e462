/** What a plugin of a test notes, a line of JSON each. */
import { existsSync, readFileSync } from "node:fs";

/** None of a line that is being written, or was when its process was killed. Whoever may be killed begins with a line break. */
export function jsonLines<T>(file: string): T[] {
  return existsSync(file)
    ? readFileSync(file, "utf8")
        .split("\n")
        .flatMap(whole<T>)
    : [];
}

function whole<T>(line: string): T[] {
  try {
    return line === "" ? [] : [JSON.parse(line)];
  } catch {
    return [];
  }
}
