/** Where in a module, or in a local file that it imports, an error is, for its author. */
import { basename, dirname, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { localFiles, realPath } from "./fresh-imports.js";
import { whyFileUnread } from "./list-folder.js";

interface Module {
  file?: string;
}

/** ` (echo.js:12:5)`, or ` (lib/words.js:3:1)` for a local file that the module imports: the place of these that is nearest to the error. Nothing when it names none. */
export function placeInOrBelow(error: unknown, { file }: Module): string {
  return file === undefined ? "" : firstPlace(error, localFiles(file), file);
}

/** Node shows an importer the syntax error of a module, but only its own check shows the place: the module or a local import of it. */
export async function placeOfSyntaxError({ file }: Module): Promise<string> {
  if (file === undefined) return "";
  const { execFile } = await import("node:child_process");
  const signal = AbortSignal.timeout(SYNTAX_CHECK_MS);
  for (const one of localFiles(file)) {
    if (signal.aborted) break;
    const output = await new Promise<string>((done) => {
      execFile(process.execPath, ["--check", one], { signal }, (_, _out, stderr) => done(stderr));
    });
    const [, line] = /^\S.*:(\d+)\r?$/m.exec(output) ?? [];
    if (line !== undefined && /^SyntaxError/m.test(output)) return ` (${shownFile(one, file)}:${line})`;
  }
  return "";
}

const SYNTAX_CHECK_MS = 5_000;

function firstPlace(error: unknown, files: readonly string[], own: string): string {
  if (!(error instanceof Error)) return "";
  const byPath = new Map(files.flatMap((one) => [one, realPath(one)].map((path) => [path, one] as const)));
  for (const line of (error.stack ?? "").split("\n")) {
    const [, path = "", at] = /^(.+?)(?:\?version=[\w.-]+)?:(\d+(?::\d+)?)$/.exec(frameOf(line)) ?? [];
    const file = byPath.get(path.startsWith("file:") ? pathOf(path) : path);
    if (file !== undefined) return ` (${shownFile(file, own)}:${at})`;
  }
  return "";
}

/** `at greet (file:///x/echo.js:12:5)`, `at /x/echo.cjs:12:5`, and `/x/echo.cjs:12` in the first line of a syntax error. */
function frameOf(line: string): string {
  return /\(([^()]+)\)$/.exec(line)?.[1] ?? line.trim().replace(/^at (?:async )?/, "");
}

function pathOf(url: string): string {
  try {
    return fileURLToPath(url);
  } catch {
    return url;
  }
}

/** Which file of a module, it or a local one that it imports, cannot be read, and why. */
export function unreadFileOf(path: string): string | undefined {
  for (const file of localFiles(path)) {
    const why = whyFileUnread(file);
    if (why !== undefined) return `${shownFile(file, path)} ${why}`;
  }
  return undefined;
}

/** The module itself by its name, its imports by their paths from it. */
function shownFile(file: string, own: string): string {
  return file === own ? basename(file) : relative(dirname(realPath(own)), file);
}
