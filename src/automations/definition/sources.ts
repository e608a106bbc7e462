/** Where definitions are written: under `hooks:` of hookgate.yaml, and in the YAML files of the folder `hooks` beside it. */
import { type Dirent, readFileSync, statSync } from "node:fs";
import { dirname, extname, join, resolve } from "node:path";
import { inspect } from "node:util";
import { errorMessage } from "../../lib/errors.js";
import { deadLinkAt, deadLinkTarget } from "../../lib/files/dead-link.js";
import { isNoFolder, leadsNowhere, listFolder } from "../../lib/files/list-folder.js";
import { MAX_TEXT_BYTES, readTextFile } from "../../lib/files/text-file.js";
import { isRecord } from "../../lib/record.js";
import { nearest } from "../../lib/validation/nearest.js";
import { type Position, parseYaml, type YamlEntry, type YamlPath } from "../../lib/validation/yaml-source.js";
import { definitionForm } from "./schema.js";
import { isHookFile, putAside, whyUnread } from "./unread-files.js";

/** A definition as written. */
export interface Source {
  value: unknown;
  file: string;
  placeOf(path: YamlPath, ofKey?: boolean): Position;
  /** The problems of an entry that is invalid YAML, or that a slip took out of the list: `value` is the part of it that could be read. */
  torn?: Torn;
}

interface Torn {
  problems: (Position & { message: string })[];
  /** Judged by the words of the entry, as its settings cannot be trusted. */
  critical: boolean;
  mayHideOthers: boolean;
}

/** A file that cannot be read as definitions, or a folder that cannot be listed. */
export interface SourceProblem extends Position {
  file: string;
  message: string;
  /** The file cannot be read, and its words name a critical hook. */
  critical?: boolean;
  isFolder?: true;
}

export const HOOKS_FOLDER = "hooks";

/** The folder beside the configuration; without a configuration, the one in the working directory. */
export function hooksFolder(file: string | undefined): string {
  return file === undefined ? resolve(HOOKS_FOLDER) : join(dirname(file), HOOKS_FOLDER);
}

export interface ConfigHooks {
  file: string | undefined;
  hooks: readonly unknown[];
  placeOf?: ((path: YamlPath, ofKey?: boolean) => Position) | undefined;
}

export interface Sources {
  sources: Source[];
  problems: SourceProblem[];
  /** All files that were read or tried, in order. */
  files: string[];
}

export function readSources({ file, hooks, placeOf }: ConfigHooks): Sources {
  const { files, unread } = contentOf(hooksFolder(file));
  const found: Sources = { sources: [], problems: unread, files: file === undefined ? files : [file, ...files] };
  for (const [index, value] of file === undefined ? [] : hooks.entries())
    found.sources.push({
      value,
      file: file as string,
      placeOf: (path, ofKey) => placeOf?.(["hooks", index, ...path], ofKey) ?? {},
    });
  for (const path of files) {
    const why = whyUnread(path);
    if (why !== undefined) found.problems.push({ file: path, message: why });
    if (isHookFile(path)) readHookFile(path, found);
  }
  return found;
}

/** Why the configuration `file` is refused: it is not known which guards are in a folder that cannot be found. */
export function hooksFolderProblem(file: string): { file: string; path: string; message: string }[] {
  const folder = join(dirname(file), HOOKS_FOLDER);
  if (deadLinkTarget(folder) === undefined && isNoFolder(folder))
    return [
      {
        file: folder,
        path: "",
        message: "is a file, but hooks are read from a folder of this name. Move or delete it.",
      },
    ];
  const problems = new Map<string, string>();
  for (const path of [folder, ...contentOf(folder).files]) {
    // A link to a file has an ending; a file of hooks that leads nowhere is reported as one that cannot be read.
    const dead =
      extname(path) === ""
        ? deadLinkAt(path, { restore: "Mount or restore that folder", wanted: "the one with the hooks" })
        : undefined;
    // Many names lead to one link that leads to its own folder.
    if (dead) problems.set(dead.path, dead.message);
  }
  return [...problems].map(([path, message]) => ({ file: path, path: "", message }));
}

/** The files in order of name, those in subfolders included, and then folders that cannot be listed. Without the folder there are none. */
export function hookFiles(folder: string): string[] {
  const { files, unread } = contentOf(folder);
  return [...files.filter(isHookFile), ...unread.map(({ file }) => file)];
}

/** Gives one sentence for each file beside the configuration `file` that looks like a hook that was put aside. */
export function asideNotes(file: string | undefined): string[] {
  const folder = hooksFolder(file);
  return contentOf(folder, isInHiddenFolder).files.flatMap((path) => putAside(path) ?? []);
}

const isHidden = (name: string) => name.split(/[\\/]/).some((part) => part.startsWith("."));
const isInHiddenFolder = (name: string) => isHidden(dirname(name).replace(/^\.$/, ""));

/**
 * All files in the folder, in order of name. `unread`: folders with unknown content; `hooksFolderProblem` reports links that lead
 * nowhere.
 */
function contentOf(folder: string, isLeftOut = isHidden): { files: string[]; unread: SourceProblem[] } {
  const names: string[] = [];
  const unread: SourceProblem[] = [];
  const enter = (within: string) => {
    const file = join(folder, within);
    const found = listFolder(file);
    if (found.unread !== undefined)
      unread.push({ file, message: `${found.unread} No hook in this folder can be read`, isFolder: true });
    for (const entry of found.entries) {
      const name = join(within, entry.name);
      names.push(name);
      if (!isHidden(name) && mayBeFolder(entry, join(folder, name))) enter(name);
    }
  };
  enter("");
  const files = names.filter((name) => !isLeftOut(name)).sort();
  return { files: files.map((name) => join(folder, name)), unread };
}

/** A link that may not be followed may lead to a folder of hooks. */
function mayBeFolder(entry: Dirent, path: string): boolean {
  if (!entry.isSymbolicLink()) return entry.isDirectory();
  try {
    return statSync(path).isDirectory();
  } catch (error) {
    return !leadsNowhere(error) && !isHookFile(path);
  }
}

/** A file holds one definition, a list of them, or `hooks:` with a list. */
function readHookFile(file: string, found: { sources: Source[]; problems: SourceProblem[] }): void {
  let text: string;
  try {
    text = readTextFile(file);
  } catch (error) {
    const dead = deadLinkAt(file, { restore: "Restore that file", wanted: "the one with the hooks" });
    const message = dead?.message ?? `cannot be read: ${errorMessage(error)}`;
    found.problems.push({ file, message, critical: saysCritical(lettersOf(file)) });
    return;
  }
  if (text.trim() === "") {
    const message = "the file is empty: write its hooks again, or delete the file. A comment (#) alone means no hooks.";
    found.problems.push({ file, message });
    return;
  }
  const { value, errors, placeOf, entries } = parseYaml(text);
  if (value === undefined && errors.length === 0) return;
  const parts = entries("hooks");
  if (parts === undefined || (errors.length > 0 && isNameless(parts)))
    found.problems.push({ file, ...firstOf(errors, text), critical: saysCritical(text) });
  else
    found.sources.push(...sourcesOf(parts.map((entry) => ({ entry, source: sourceOf(entry, file, text, placeOf) }))));
}

/** A single definition without a readable id may be anything. */
function isNameless([first, ...others]: readonly YamlEntry[]): boolean {
  if (first === undefined || others.length > 0 || first.path.length > 0) return false;
  return !isRecord(first.value) || typeof first.value.id !== "string";
}

/** An entry with errors of its own breaks no other entry of its file. */
function sourceOf(entry: YamlEntry, file: string, text: string, placeOf: Source["placeOf"]): Source {
  const { value, path, errors, mayHideOthers } = entry;
  const isKey = typeof path.at(-1) === "string";
  const source: Source = { value, file, placeOf: (inner, ofKey = isKey) => placeOf([...path, ...inner], ofKey) };
  if (errors.length > 0)
    source.torn = { problems: [firstOf(errors, text)], critical: saysCritical(entry.text), mayHideOthers };
  return source;
}

interface Part {
  entry: YamlEntry;
  source: Source;
}

export const HOOK_SETTINGS: readonly string[] = Object.keys(definitionForm.shape);

/**
 * The entries of the list, and a broken one for each setting beside `hooks:`, where nothing reads it. A setting of a hook breaks the hook
 * that its indentation took it from: the one above it, or each of the file where it is above them all.
 */
function sourcesOf(parts: readonly Part[]): Source[] {
  const listed = parts.filter((part) => besideName(part) === undefined);
  const start = parts.findIndex((part) => besideName(part) === undefined);
  const unread = asHook(parts.filter((part) => besideName(part) !== undefined && !isShared(part))).filter((part) => {
    const name = besideName(part) ?? "";
    const meant = nearest(name, [...HOOK_SETTINGS, "hooks"]) ?? name;
    const isAbove = parts.indexOf(part) < start;
    const hooks = name === "id" || !HOOK_SETTINGS.includes(meant) ? [] : isAbove ? listed : listed.slice(-1);
    const problem = { ...part.source.placeOf([]), message: besideText(name, meant, isAbove || hooks.length === 0) };
    const critical = saysCritical(inspect({ [meant]: part.entry.value }, EVERYTHING));
    for (const { source } of hooks.length === 0 ? [part] : hooks) {
      const { problems = [], critical: was = false, mayHideOthers = false } = source.torn ?? {};
      source.torn = { problems: [...problems, problem], critical: was || critical, mayHideOthers };
    }
    return part.source.torn !== undefined;
  });
  return [...listed, ...unread].map(({ source }) => source);
}

/** The value may contain itself, through an alias. */
const EVERYTHING = { depth: Infinity, compact: false, maxArrayLength: null } as const;

/** The name of a setting beside `hooks:`; undefined for an entry of a list, or a file that is one entry. */
function besideName({ entry: { path } }: Part): string | undefined {
  const [name] = path.slice(-1);
  return typeof name === "string" ? name : undefined;
}

/** Whether the part holds content that other parts repeat: `x-common: &common { … }`. */
function isShared(part: Part): boolean {
  return besideName(part)?.startsWith("x-") === true && part.source.torn === undefined;
}

/** Settings with an `id` among them are one hook. */
function asHook(beside: Part[]): Part[] {
  const own = beside.filter((part) => HOOK_SETTINGS.includes(besideName(part) ?? "") && part.source.torn === undefined);
  const id = own.find((part) => besideName(part) === "id");
  if (id === undefined) return beside;
  const value = Object.fromEntries(own.map((part) => [besideName(part), part.entry.value]));
  const whole = { entry: { ...id.entry, value }, source: { ...id.source, value } };
  return [whole, ...beside.filter((part) => !own.includes(part))];
}

function besideText(name: string, meant: string, isOfNone: boolean): string {
  if (name === "id") return 'a hook beside "hooks" has no effect: make it an entry of the list, with - before its id';
  const known = HOOK_SETTINGS.includes(name) ? `"${name}"` : `unknown setting "${name}"`;
  const near = meant === name ? "" : ` (did you mean "${meant}"?)`;
  const advice = !HOOK_SETTINGS.includes(meant)
    ? 'Move what it contains into the list under "hooks", or remove it'
    : isOfNone
      ? "It is a setting of a hook: write it in each hook that it is for"
      : "It belongs to the hook above: indent it";
  return `${known}${near} has no effect beside "hooks". ${advice}`;
}

/** The first error: later errors mostly follow from it. */
function firstOf(errors: readonly (Position & { message: string })[], text: string): Torn["problems"][number] {
  const [{ message, ...place } = { message: "it is no YAML" }, ...others] = errors;
  const line = text.split("\n")[(place.line ?? 1) - 1] ?? "";
  const quoted =
    /\{\{|\}\}/.test(line) && !message.includes("in quotes") ? ". Write a text with {{ … }} in quotes" : "";
  const more = others.length === 0 ? "" : ` (and ${others.length} more that may follow from it)`;
  return { ...place, message: `${message}${quoted}${more}` };
}

/** The letters of a file that is no UTF-8; empty for anything that is no file, is too large, or may not be read. */
function lettersOf(file: string): string {
  try {
    const found = statSync(file);
    return found.isFile() && found.size <= MAX_TEXT_BYTES ? readFileSync(file, "latin1").replaceAll("\0", "") : "";
  } catch {
    return ""; // the caller reports why it cannot be read
  }
}

/** Not in a comment. */
function saysCritical(text: string): boolean {
  return /^[^#\n]*\bcritical["']?\s*:\s*["']?(?:true|yes|on|y)\b/im.test(text);
}
