/** What programs and plugins of a test note in a file, line by line. */
import { existsSync, readFileSync } from "node:fs";

/** The lines that are whole: none of an empty file, and not the one that is being written. */
export function linesOf(file: string): string[] {
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1).filter(Boolean) : [];
}

/** Lines of JSON. Half a line is left out: whoever may be killed while it writes begins with a line break. */
export function jsonLines<T>(file: string): T[] {
  return linesOf(file).flatMap((line) => {
    try {
      return [JSON.parse(line) as T];
    } catch {
      return [];
    }
  });
}
