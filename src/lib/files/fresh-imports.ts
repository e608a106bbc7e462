/** Loads a changed module again, with the local files that it imports. Packages stay as they are. */
import { realpathSync, statSync } from "node:fs";
import * as nodeModule from "node:module";
import { dirname, resolve, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { readTextFile } from "./text-file.js";

interface Resolved {
  url: string;
}

/** Node 22.15 and later. https://nodejs.org/api/module.html#moduleregisterhooksoptions */
interface SyncHooks {
  registerHooks?(hooks: {
    resolve(
      specifier: string,
      context: { parentURL?: string },
      next: (specifier: string, context: object) => Resolved,
    ): Resolved;
  }): void;
}

const IMPORT = /(?:\bfrom|\bimport|\brequire)\s*\(?\s*["'](\.{1,2}\/[^"'\n]+)["']/g;
const MAX_FILES = 200;

/** The module's file and, as far as its text names them, the local files that it imports, directly or not. Node looks for these where the links on the way to the importing file lead. */
export function localFiles(file: string): string[] {
  const found = new Set([file]);
  for (const one of found) {
    if (found.size >= MAX_FILES) break;
    for (const [, path = ""] of textOf(one).matchAll(IMPORT)) {
      const imported = fileNamed(resolve(dirname(realPath(one)), path));
      if (!imported.includes(`${sep}node_modules${sep}`)) found.add(imported);
    }
  }
  return [...found];
}

const ENDINGS = ["", ".js", ".cjs", ".json", "/index.js"];

/** `require` finds a file without its ending, which compiled CommonJS leaves out. */
function fileNamed(path: string): string {
  return path + (ENDINGS.find((one) => isFile(path + one)) ?? "");
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false; // it is not there, or its folder may not be entered: importing it shows which
  }
}

/** The file that a link leads to now: Node keeps for good where the links on the way to an imported file led. */
export function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file; // importing it shows why
  }
}

export const addressOf = (file: string): string => pathToFileURL(realPath(file)).href;

function textOf(file: string): string {
  try {
    return readTextFile(file);
  } catch {
    // A module that is named without its extension, no file, or one that is not there: importing it shows this.
    return "";
  }
}

/**
 * Must be called before a module is imported with `?version=` in its address: its imports by a relative path get the same version, and
 * `require` forgets these files. A module that imports no local file does not need it. Node 20 resolves all imports in another thread
 * from then on.
 */
export function importAnew(files: readonly string[]): void {
  const { cache } = nodeModule.createRequire(import.meta.url);
  for (const file of files) delete cache[realPath(file)];
  if (isRegistered || files.length < 2) return;
  isRegistered = true;
  const { registerHooks } = nodeModule as SyncHooks;
  if (registerHooks !== undefined) {
    registerHooks({
      resolve: (specifier, context, next) =>
        sameVersion(
          next(withoutLinks(specifier, context.parentURL, realAddress), context),
          specifier,
          context.parentURL,
        ),
    });
    return;
  }
  const source = `import { realpathSync } from "node:fs";
    import { pathToFileURL } from "node:url";
    const sameVersion = ${sameVersion};
    const withoutLinks = ${withoutLinks};
    const realAddress = (url) => pathToFileURL(realpathSync(url)).href;
    export const resolve = async (specifier, context, next) =>
      sameVersion(
        await next(withoutLinks(specifier, context.parentURL, realAddress), context), specifier, context.parentURL);`;
  nodeModule.register(`data:text/javascript,${encodeURIComponent(source)}`);
}

let isRegistered = false;

const realAddress = (url: URL): string => pathToFileURL(realpathSync(url)).href;

/** Uses no code around it, because Node 20 gets its text. A missing file is left as it is, so that Node reports it. */
function withoutLinks(specifier: string, parent: string | undefined, addressAt: (url: URL) => string): string {
  if (!/^file:.*\?version=[\w.-]+$/.test(parent ?? "") || !/^\.{1,2}\/[^?#]*$/.test(specifier)) return specifier;
  try {
    return addressAt(new URL(specifier, parent));
  } catch {
    return specifier;
  }
}

/** Uses no code around it, because Node 20 gets its text. */
function sameVersion<R extends Resolved>(resolved: R, specifier: string, parent: string | undefined): R {
  const version = /\?version=[\w.-]+$/.exec(parent ?? "")?.[0];
  const isLocal = version !== undefined && /^\.{1,2}\//.test(specifier) && /^file:[^?#]*$/.test(resolved.url);
  return isLocal && !resolved.url.includes("/node_modules/") ? { ...resolved, url: resolved.url + version } : resolved;
}
