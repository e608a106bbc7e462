/** Where definitions are written: under `hooks:` of hookgate.yaml, and in the YAML files of the folder `hooks` beside it. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, extname, join, resolve } from "node:path";
import { deadLinkAt, deadLinkTarget } from "../../lib/dead-link.js";
import { errorMessage } from "../../lib/errors.js";
import { MAX_TEXT_BYTES, readTextFile } from "../../lib/text-file.js";
import { type Position, parseYaml, type YamlEntry, type YamlPath } from "../../lib/yaml-source.js";
import { isHookFile, putAside, whyUnread } from "./unread-files.js";

/** One definition as it was written. */
export interface Source {
  value: unknown;
  file: string;
  placeOf(path: YamlPath, ofKey?: boolean): Position;
  /** What is wrong with an entry that is no valid YAML: `value` is what could be read of it. */
  torn?: Torn;
}

interface Torn {
  problem: Position & { message: string };
  /** By its words, as its settings cannot be trusted. */
  critical: boolean;
  mayHideOthers: boolean;
}

/** A file that cannot be read as definitions. */
export interface SourceProblem extends Position {
  file: string;
  message: string;
  /** The file cannot be read, and its words name a critical hook. */
  critical?: boolean;
}

export const HOOKS_FOLDER = "hooks";

/** Beside the configuration; without one in the working directory. */
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
  const files = filesIn(hooksFolder(file));
  const found: Sources = { sources: [], problems: [], files: file === undefined ? files : [file, ...files] };
  for (const [index, value] of file === undefined ? [] : hooks.entries())
    found.sources.push({
      value,
      file: file as string,
      placeOf: (path, ofKey) => placeOf?.(["hooks", index, ...path], ofKey) ?? {},
    });
  for (const path of files) {
    const unread = whyUnread(path);
    if (unread !== undefined) found.problems.push({ file: path, message: unread });
    if (isHookFile(path)) readHookFile(path, found);
  }
  return found;
}

/** Why the configuration `file` is refused: it is not known which guards are in a folder that cannot be found. */
export function hooksFolderProblem(file: string): { file: string; path: string; message: string }[] {
  const folder = join(dirname(file), HOOKS_FOLDER);
  if (deadLinkTarget(folder) === undefined && statSync(folder, { throwIfNoEntry: false })?.isDirectory() === false)
    return [
      {
        file: folder,
        path: "",
        message: "is a file, but hooks are read from a folder of this name. Move or delete it.",
      },
    ];
  const problems = new Map<string, string>();
  for (const path of [folder, ...filesIn(folder)]) {
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

/** In order of name, folders within included. No folder is no files. */
export function hookFiles(folder: string): string[] {
  return filesIn(folder).filter(isHookFile);
}

/** One sentence for each file beside the configuration `file` that looks like a hook that was put aside. */
export function asideNotes(file: string | undefined): string[] {
  const folder = hooksFolder(file);
  return namesIn(folder, isInHiddenFolder).flatMap((name) => putAside(join(folder, name)) ?? []);
}

function filesIn(folder: string): string[] {
  return namesIn(folder).map((name) => join(folder, name));
}

const isHidden = (name: string) => name.split(/[\\/]/).some((part) => part.startsWith("."));
const isInHiddenFolder = (name: string) => isHidden(dirname(name).replace(/^\.$/, ""));

const NO_FOLDER: ReadonlySet<string | undefined> = new Set(["ENOENT", "ENOTDIR", "ELOOP"]);

function namesIn(folder: string, isLeftOut = isHidden): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((name) => !isLeftOut(name))
      .sort();
  } catch (error) {
    // `hooksFolderProblem` reports a link that leads nowhere or in a circle.
    if (NO_FOLDER.has((error as NodeJS.ErrnoException).code)) return [];
    throw error;
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
  if (errors.length > 0) {
    const parts = entries("hooks");
    if (parts === undefined || isNameless(parts))
      found.problems.push({ file, ...firstOf(errors, text), critical: saysCritical(text) });
    else found.sources.push(...parts.map((part) => sourceOf(part, file, text, placeOf)));
    return;
  }
  if (value === undefined) return;
  const under = isMap(value) && Array.isArray(value.hooks) ? ["hooks"] : [];
  const list = isMap(value) && Array.isArray(value.hooks) ? value.hooks : value;
  if (!Array.isArray(list)) {
    found.sources.push({ value, file, placeOf });
    return;
  }
  for (const [index, one] of list.entries())
    found.sources.push({ value: one, file, placeOf: (path, ofKey) => placeOf([...under, index, ...path], ofKey) });
}

/** A single definition without a readable id may be anything. */
function isNameless([first, ...others]: readonly YamlEntry[]): boolean {
  if (first === undefined || others.length > 0 || first.path.length > 0) return false;
  return !isMap(first.value) || typeof first.value.id !== "string";
}

/** An entry with errors of its own breaks no other entry of its file. */
function sourceOf(entry: YamlEntry, file: string, text: string, placeOf: Source["placeOf"]): Source {
  const { value, path, errors, mayHideOthers } = entry;
  const source: Source = { value, file, placeOf: (inner, ofKey) => placeOf([...path, ...inner], ofKey) };
  if (errors.length > 0)
    source.torn = { problem: firstOf(errors, text), critical: saysCritical(entry.text), mayHideOthers };
  return source;
}

/** The first error: those after it are mostly what follows from it. */
function firstOf(errors: readonly (Position & { message: string })[], text: string): Torn["problem"] {
  const [{ message, ...place } = { message: "it is no YAML" }, ...others] = errors;
  const line = text.split("\n")[(place.line ?? 1) - 1] ?? "";
  const quoted =
    /\{\{|\}\}/.test(line) && !message.includes("in quotes") ? ". Write a text with {{ … }} in quotes" : "";
  const more = others.length === 0 ? "" : ` (and ${others.length} more that may follow from it)`;
  return { ...place, message: `${message}${quoted}${more}` };
}

/** The letters of a file that is no UTF-8; none of what is no file, is too large, or may not be read. */
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

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
