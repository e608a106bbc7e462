/** Where an error was thrown, in code that is not this product's own: a plugin's file and line. */
import { basename, dirname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** `src/` or `dist/src/`: frames below it are ours. */
const OWN = dirname(dirname(fileURLToPath(import.meta.url)));
const MAX_FRAMES = 30;

/** `plugins/shout.mjs:12:9`, relative to the working folder; undefined when it is not known. Never throws. */
export function errorPlace(thrown: unknown): string | undefined {
  try {
    if (!(thrown instanceof Error) || typeof thrown.stack !== "string") return undefined;
    for (const line of thrown.stack.split("\n").slice(0, MAX_FRAMES)) {
      const place = placeIn(line);
      if (place !== undefined) return place;
    }
  } catch {
    // A stack that cannot be read shows no place.
  }
  return undefined;
}

function placeIn(line: string): string | undefined {
  // A place inside Node, `at new DOMException (node:internal/per_context/domexception:53:5)`, is in no file of a plugin.
  if (/(?:^|[\s(])node:\S+$/.test(line.trimEnd())) return undefined;
  // `at name (file:///x/y.mjs?version=3:12:9)`, `at /x/y.cjs:12:9`
  const [, url, at] =
    /(file:\/\/[^\s()]+?|\/[^\s()]+?|[A-Za-z]:\\[^\s()]+?)(?:\?[^\s():]*)?:(\d+:\d+)\)?$/.exec(line.trimEnd()) ?? [];
  if (url === undefined || at === undefined) return undefined;
  const file = url.startsWith("file:") ? fileURLToPath(url) : resolve(url);
  if (/[\\/]node_modules[\\/]/.test(file) || file.startsWith(`${OWN}/`) || file.startsWith(`${OWN}\\`))
    return undefined;
  const path = relative(process.cwd(), file);
  return `${path.startsWith("..") ? basename(file) : path}:${at}`;
}
