/** Files under `hooks/` that are not read, although they look like hooks: a guard that is in one of them guards nothing. */
import { readFileSync, statSync } from "node:fs";
import { basename, extname } from "node:path";
import { isRecord } from "../../lib/record.js";
import { parseYaml } from "../../lib/validation/yaml-source.js";

/** Endings that hook files have by mistake, and endings that editors and systems append to a name. */
const ENDINGS: ReadonlySet<string> = new Set([
  "",
  ".json",
  ".jsonc",
  ".json5",
  ".txt",
  ".conf",
  ".yam",
  ".yalm",
  ".ymal",
]);
/** `guard.yaml.bak`, `guard.yml~`: put aside on purpose, or so it seems. */
const PUT_ASIDE = /\.ya?ml(~|[.\-_ ][^/\\]*)$/i;
const MAX_BYTES = 256 * 1024;

/** By its name, in upper case, too: some systems make no difference. */
export const isHookFile = (path: string) => /\.ya?ml$/i.test(path);

/** Why a file that has hooks is not read; undefined when it is read, or has none. */
export function whyUnread(file: string): string | undefined {
  if (isHookFile(file) || !ENDINGS.has(extname(file).toLowerCase()) || isOfPackage(file)) return undefined;
  if (!hasHooks(file)) return undefined;
  const name = basename(file);
  const better = `${name.replace(/(\.ya?ml)?(\.[a-z0-9]*)?$/i, "")}.yaml`;
  return `it has hooks and is not read, because the name of a file of hooks ends in .yaml or .yml: rename it to ${better}, or move it out of this folder`;
}

/** The report on a file that was put aside, or whose hooks may have been meant to be read. */
export function putAside(file: string): string | undefined {
  const name = basename(file);
  if (name.startsWith("."))
    return isHookFile(file) && !isOfPackage(file) && hasHooks(file)
      ? `${file} has hooks and is not read, because a name that starts with a dot is hidden: rename it to ${name.replace(/^\.+/, "")}, or move it out of this folder`
      : undefined;
  if (/\.toml$/i.test(name))
    return !isOfPackage(file) && looksLikeToml(textOf(file))
      ? `${file} has hooks and is not read, because hooks are written in YAML: write them in a file that ends in .yaml, or move it out of this folder`
      : undefined;
  return PUT_ASIDE.test(file) && !isOfPackage(file) && whyUnread(file) === undefined
    ? `${file} is not read: the name of a file of hooks ends in .yaml or .yml`
    : undefined;
}

const isOfPackage = (file: string) => file.split(/[\\/]/).includes("node_modules");

function hasHooks(file: string): boolean {
  const text = textOf(file);
  // Most files beside hooks are data and programs, and are not parsed.
  if (!/\brun\b["']?\s*:/.test(text) || !/\b(on|trigger)\b["']?\s*:/.test(text)) return false;
  const { value, errors } = parseYaml(text);
  return errors.length === 0 && listOf(value).some(isHook);
}

/** Nothing parses TOML here, so its keys decide. */
const looksLikeToml = (text: string) =>
  /^\s*(run\b[\w.\s]*=|\[+\s*([\w]+\.)?run\b)/m.test(text) &&
  /^\s*((on|trigger)\b[\w.\s]*=|\[+\s*([\w]+\.)?trigger\b)/m.test(text);

/** Empty when the file cannot be read: no program could read a hook in it. */
function textOf(file: string): string {
  try {
    const found = statSync(file);
    return found.isFile() && found.size <= MAX_BYTES ? readFileSync(file, "utf8") : "";
  } catch {
    return "";
  }
}

function listOf(value: unknown): readonly unknown[] {
  const list = isRecord(value) && Array.isArray(value.hooks) ? value.hooks : value;
  return Array.isArray(list) ? list : [list];
}

const isHook = (value: unknown) => isRecord(value) && "run" in value && ("on" in value || "trigger" in value);
