/** Finds a plugin's module, imports it, checks it and its settings. Every failure names the file and the reason. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { errorMessage, HookgateError } from "../lib/errors.js";
import { addressOf, importAnew, localFiles } from "../lib/files/fresh-imports.js";
import { isMissing } from "../lib/files/list-folder.js";
import { placeInOrBelow, placeOfSyntaxError, unreadFileOf } from "../lib/files/module-place.js";
import { PLAIN } from "../lib/validation/plain-issues.js";
import { issuesOf, pathText } from "../lib/validation/schema-issues.js";
import { keysAt } from "../lib/validation/schema-keys.js";
import type { PluginEntry } from "./config.js";
import { definitionProblem, type PluginDefinition } from "./define.js";

export interface FoundModule {
  /** Absent for a package that only Node itself can resolve. */
  file?: string;
  /** The specifier that is imported. */
  specifier: string;
}

/** The examples that come with Hookgate are available in every folder where it is started. */
const OWN_EXAMPLES = "hookgate/examples/";

export function findModule(module: string, baseDir: string): FoundModule {
  const path = resolve(baseDir, module);
  const isPath = /^\.{0,2}[/\\]/.test(module) || isAbsolute(module) || !isMissing(path);
  if (!isPath) return findPackage(module, baseDir);
  if (isMissing(path))
    throw failure("PLUGIN_MISSING", `there is no file ${path}`, "Paths are relative to the configuration file.");
  const found = statSync(path);
  // Importing a pipe or a device may never end, and nothing can interrupt it.
  if (found.isDirectory())
    throw failure(
      "PLUGIN_MISSING",
      `${path} is a folder`,
      `Name the file in it, such as ${module.replace(/[/\\]+$/, "")}/index.mjs.`,
    );
  if (!found.isFile()) throw failure("PLUGIN_MISSING", `${path} is no file`, "Put a regular file in its place.");
  if (path.endsWith(".json")) throw failure("PLUGIN_MISSING", `${path} is JSON`, "Name a file with JavaScript.");
  refuseTypeScript(path);
  return { file: path, specifier: addressOf(path) };
}

/** Plain Node runs JavaScript; a Node that strips types reports that in `process.features`. */
function refuseTypeScript(path: string): void {
  if (!/\.[cm]?tsx?$/.test(path) || ("typescript" in process.features && process.features.typescript)) return;
  throw failure(
    "PLUGIN_TYPESCRIPT",
    `${path} is TypeScript, which this Node (${process.version}) cannot load`,
    "Compile it (npx tsc) and name the .js file; the examples are compiled to dist/examples/plugins/.",
  );
}

function findPackage(name: string, baseDir: string): FoundModule {
  const own = name.startsWith(OWN_EXAMPLES) ? resolved(name, import.meta.url) : undefined;
  const file = resolved(name, join(baseDir, "noop.js")) ?? esmEntry(name, baseDir) ?? own;
  if (file) return { file, specifier: addressOf(file) };
  if (name.startsWith(OWN_EXAMPLES))
    throw failure("PLUGIN_MISSING", `there is no example ${name}`, `There are ${ownExamples().join(", ")}.`);
  const looksLikePath = /[/\\]|\.[cm]?[jt]s$/.test(name) && !name.startsWith("@");
  throw failure(
    "PLUGIN_MISSING",
    looksLikePath
      ? `there is no file ${resolve(baseDir, name)}`
      : `there is no package "${name}" that ${baseDir} could use`,
    looksLikePath
      ? "Paths are relative to the configuration file."
      : `Install it (npm install ${name}), or give a path.`,
  );
}

function ownExamples(): string[] {
  const one = resolved(`${OWN_EXAMPLES}greeter`, import.meta.url);
  const files = one === undefined ? [] : readdirSync(dirname(one));
  return files.filter((file) => file.endsWith(".js")).map((file) => OWN_EXAMPLES + basename(file, ".js"));
}

/** Undefined when it is not resolvable the CommonJS way: a package that offers only `import`, or none at all. */
function resolved(name: string, from: string): string | undefined {
  try {
    return createRequire(from).resolve(name);
  } catch {
    return undefined;
  }
}

/** The `import` entry of an installed package, found the way Node looks: upward, in node_modules. */
function esmEntry(name: string, baseDir: string): string | undefined {
  const [packageName, subPath] = /^(@[^/]+\/[^/]+|[^/]+)(\/.*)?$/.exec(name)?.slice(1) ?? [];
  if (packageName === undefined) return undefined;
  for (let folder = resolve(baseDir); ; folder = dirname(folder)) {
    const root = join(folder, "node_modules", packageName);
    const manifest = join(root, "package.json");
    if (existsSync(manifest)) {
      const { exports, main }: { exports?: unknown; main?: unknown } = JSON.parse(readFileSync(manifest, "utf8"));
      const key = `.${subPath ?? ""}`;
      const isTable = typeof exports === "object" && exports !== null && key in exports;
      const target = importTarget(
        isTable ? exports[key as keyof typeof exports] : key === "." ? (exports ?? main) : undefined,
      );
      return target === undefined ? undefined : join(root, target);
    }
    if (dirname(folder) === folder) return undefined;
  }
}

function importTarget(value: unknown): string | undefined {
  for (let found = value, depth = 0; depth < 5; depth++) {
    if (typeof found === "string") return found;
    if (typeof found !== "object" || found === null) return undefined;
    if ("node" in found) found = found.node;
    else if ("import" in found) found = found.import;
    else if ("default" in found) found = found.default;
    else return undefined;
  }
  return undefined;
}

function importHint(error: unknown): string {
  const message = errorMessage(error);
  // Outside this package's own folder, Node finds `hookgate` only where it was installed.
  if (/Cannot find package 'hookgate'/.test(message))
    return "Run npm install hookgate beside the plugin, or export a plain { id, setup } without definePlugin.";
  if (error instanceof SyntaxError && /Unexpected token 'export'|import statement outside a module/.test(message))
    return 'An ES module has a name that ends in .mjs, or "type": "module" in the package.json of its folder.';
  return "The module threw while it was loaded.";
}

/** `version` makes Node read a file, and the local files that it imports, again instead of giving the modules that it has. */
export async function importPlugin(found: FoundModule, version: string | undefined): Promise<PluginDefinition> {
  const unread = found.file && unreadFileOf(found.file);
  if (unread) throw failure("PLUGIN_UNREAD", unread);
  if (version !== undefined && found.file) importAnew(localFiles(found.file));
  const specifier = version !== undefined && found.file ? `${found.specifier}?version=${version}` : found.specifier;
  let module: { default?: unknown };
  try {
    module = await import(specifier);
  } catch (error) {
    const place = placeInOrBelow(error, found) || (error instanceof SyntaxError ? await placeOfSyntaxError(found) : "");
    throw failure("PLUGIN_IMPORT", `${errorMessage(error)}${place}`, importHint(error), error);
  }
  const definition = exportedBy(module);
  const problem = definition === undefined ? noDefault(module) : definitionProblem(definition);
  if (problem !== undefined) throw failure("PLUGIN_INVALID", problem);
  return definition as PluginDefinition;
}

/** TypeScript that is compiled to CommonJS sets `exports.default`, which Node gives as a part of the default export. */
function exportedBy(module: { default?: unknown }): unknown {
  const { default: given } = module;
  const isCompiled = typeof given === "object" && given !== null && !("setup" in given);
  if (!isCompiled || !("default" in given || "__esModule" in given)) return given;
  return (given as { default?: unknown }).default;
}

function noDefault(module: { default?: unknown }): string {
  const exporting = { ...(module.default as object | undefined), ...module };
  const names = Object.keys(exporting).filter((name) => !["default", "__esModule", "module.exports"].includes(name));
  const instead = names.length === 0 ? "it exports nothing" : `it exports ${names.join(", ")}`;
  return `the module has no default export (${instead}): write export default definePlugin({ id, setup }), or in CommonJS module.exports = { id, setup }`;
}

/** The plugin's settings, by its own schema; every problem at once. */
export function parsePluginConfig(definition: PluginDefinition, entry: PluginEntry): unknown {
  if (!definition.config) {
    if (entry.config === undefined || Object.keys(entry.config).length === 0) return undefined;
    throw failure(
      "PLUGIN_CONFIG",
      `plugin "${definition.id}" takes no config, got ${Object.keys(entry.config).join(", ")}`,
    );
  }
  const schema = definition.config;
  const parsed = schema.safeParse(entry.config ?? {}, PLAIN);
  if (parsed.success) return parsed.data;
  const issues = issuesOf(parsed.error, ["config"], (at) => keysAt(schema, at));
  throw failure("PLUGIN_CONFIG", issues.map(({ path, message }) => `${pathText(path)}: ${message}`).join("; "));
}

export function failure(code: string, message: string, hint?: string, cause?: unknown): HookgateError {
  return new HookgateError({
    code,
    message,
    hint,
    cause,
  });
}
