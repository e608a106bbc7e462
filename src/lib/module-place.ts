/** Where in a module an error is, for whoever wrote the module. */
import { basename } from "node:path";
import { localFiles } from "./fresh-imports.js";

/** ` (echo.js:12:5)`: the place in the module's own file that an error names first; nothing when it names none. */
export function placeIn(error: unknown, { file }: { file?: string }): string {
  if (file === undefined || !(error instanceof Error)) return "";
  const name = basename(file);
  const [, place] =
    /([^\s/\\]+\.[cm]?[jt]sx?(?:\?version=[\w.-]+)?:\d+(?::\d+)?)/.exec(fromOwnFile(error.stack ?? "", name)) ?? [];
  return place === undefined ? "" : ` (${place.replace(/\?version=[\w.-]+/, "")})`;
}

/** As `placeIn`; when the error does not name the module's own file, the place in a local file that the module imports. */
export function placeInOrBelow(error: unknown, { file }: { file?: string }): string {
  if (file === undefined) return "";
  for (const one of localFiles(file)) {
    const place = placeIn(error, { file: one });
    if (place !== "") return place;
  }
  return "";
}

/** Node tells an importer what is wrong with a module's syntax, and only its own check tells where. */
export async function placeOfSyntaxError({ file }: { file?: string }): Promise<string> {
  if (file === undefined) return "";
  const { execFile } = await import("node:child_process");
  const said = await new Promise<string>((done) => {
    execFile(process.execPath, ["--check", file], { timeout: SYNTAX_CHECK_MS }, (_, _out, stderr) => done(stderr));
  });
  const [, line] = /^\S.*:(\d+)\r?$/m.exec(said) ?? [];
  return line === undefined ? "" : ` (${basename(file)}:${line})`;
}

const SYNTAX_CHECK_MS = 5_000;

function fromOwnFile(stack: string, name: string): string {
  const at = stack.indexOf(`/${name}`);
  return at < 0 ? "" : stack.slice(at + 1);
}
