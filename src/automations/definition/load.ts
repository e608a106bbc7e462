/** All definitions of a configuration. A broken one is reported with its reasons and its place, and never stops the others. */
import { basename, dirname } from "node:path";
import { isRecord } from "../../lib/record.js";
import { type Issue, pathText } from "../../lib/validation/schema-issues.js";
import type { Position } from "../../lib/validation/yaml-source.js";
import { checkDefinition, type Surroundings } from "./check.js";
import type { Definition, Place } from "./definition.js";
import { parseDefinition, type Tables } from "./parse.js";
import { HOOK_SETTINGS, type Source, type SourceProblem, type Sources } from "./sources.js";

export interface DefinitionProblem extends Place {
  /** The hook's id, where it has one. */
  hookId?: string;
  /** Within the definition: `run.shell.command`. */
  path: string;
  message: string;
}

export interface BrokenHook {
  /** The hook's own id, or a name after its file when it has none or another hook has the same. */
  id: string;
  place: Place;
  critical: boolean;
  problems: DefinitionProblem[];
  /** The file, or the folder, cannot be read at all, so it is not known which hooks are in it. */
  isWholeFile?: boolean;
  /**
   * The entry is invalid YAML (a lost `-`), is not in the list, or has no id of its own (`di: guard`): it may have swallowed or been
   * another hook of its file.
   */
  mayHideOthers?: boolean;
  /** The entry may be, or hold, more than one hook. */
  isSeveral?: boolean;
}

export interface LoadedHooks {
  definitions: Definition[];
  broken: BrokenHook[];
  /** Where each id is written, broken ones included, in the order of the files. */
  written: ReadonlyMap<string, Place>;
  /** In order; those that cannot be read included. */
  files: readonly string[];
  /** Names of the events that are in force; undefined: nothing is known of them. */
  events?: readonly string[];
  /** Checks the definitions, as they were read, against the current points. */
  recheck?: () => LoadedHooks;
}

/** The first of several entries with one id has it, unless another one is the hook that is in force. */
export function loadDefinitions(
  { sources, problems, files }: Sources,
  tables: Tables,
  around: Surroundings,
): LoadedHooks {
  const definitions: Definition[] = [];
  // Files that cannot be read come first: they may hold any number of hooks.
  const broken = unreadable(problems);
  const entries = sources.map((source): Entry => {
    const place = placeLater(source);
    const outcome = source.torn === undefined ? loadOne(source, place, tables, around) : { issues: [] };
    return { source, place, id: idOf(source.value), outcome };
  });
  const holders = new Map<string, Entry>();
  for (const entry of entries) {
    const holder = entry.id === undefined ? undefined : holders.get(entry.id);
    if (entry.id !== undefined && (holder === undefined || isRather(entry, holder, around.inForce?.(entry.id))))
      holders.set(entry.id, entry);
  }
  const written = new Map<string, Place>();
  for (const entry of entries) {
    const { source, place, id, outcome } = entry;
    const issues = "issues" in outcome ? outcome.issues : [];
    const holder = id === undefined ? undefined : holders.get(id);
    const other = holder === entry ? undefined : holder?.place;
    if (other !== undefined) {
      const isFirst = entries.find((one) => one.id === id) === entry;
      const later = isFirst
        ? ". After a restart this entry has the id, because it is read first: change one of the two"
        : "";
      issues.push({ path: ["id"], message: `the id "${id}" is taken by the hook at ${sourceText(other)}${later}` });
    }
    if (id !== undefined && other === undefined) written.set(id, place);
    if ("definition" in outcome && issues.length === 0) definitions.push(outcome.definition);
    else broken.push(brokenHook(other === undefined ? id : undefined, place, issues, source));
  }
  return { definitions, broken, written, files };
}

interface Entry {
  source: Source;
  place: Place;
  id: string | undefined;
  outcome: Outcome;
}

/** Whether the later entry is the hook in force and the earlier one is not: compares their definitions, else their files. */
function isRather(later: Entry, earlier: Entry, inForce: Definition | undefined): boolean {
  if (inForce === undefined) return false;
  const likeness = ({ outcome, place }: Entry) =>
    "definition" in outcome && isSame(outcome.definition, inForce) ? 2 : place.file === inForce.place.file ? 1 : 0;
  return likeness(later) > likeness(earlier);
}

/** Relative paths start at the folder of the definition, so a definition that was moved is another one. */
export function isSame(one: Definition | undefined, other: Definition): boolean {
  return one?.hash === other.hash && one.folder === other.folder;
}

/** Gives one broken hook for each file, however many errors the file has. */
function unreadable(problems: readonly SourceProblem[]): BrokenHook[] {
  const byFile = new Map<string, BrokenHook>();
  for (const { message: why, critical, isFolder, ...place } of problems) {
    const names = critical === true ? ", and it names a critical hook" : "";
    const message =
      critical === undefined ? why : `${why.replace(/\.$/, "")}. No hook of this file can be read${names}`;
    const problem = { ...place, path: "", message };
    const known = byFile.get(place.file);
    if (known === undefined)
      byFile.set(place.file, {
        // The slash is in no id of a hook.
        id: `${nameAfter(place)}${isFolder ? "/" : ""}`,
        place,
        critical: critical === true,
        isWholeFile: true,
        problems: [problem],
      });
    else known.problems.push(problem);
  }
  return [...byFile.values()];
}

/** The place is computed on demand: finding it for thousands that are right would take longer than all the rest. */
function placeLater({ file, placeOf }: Source): Place {
  let found: Position | undefined;
  const find = () => {
    found ??= placeOf([]);
    return found;
  };
  return {
    file,
    get line() {
      return find().line;
    },
    get column() {
      return find().column;
    },
  };
}

type Outcome = { issues: Issue[] } | { definition: Definition };

function loadOne({ value, file }: Source, place: Place, tables: Tables, around: Surroundings): Outcome {
  const list = misnamedList(value);
  if (list !== undefined) return { issues: [list] };
  const parsed = parseDefinition(value, tables);
  const { issues, form } = parsed;
  if (form === undefined) return { issues };
  const checked = checkDefinition(form, parsed, value, { place, folder: dirname(file) }, around);
  const all = [...issues, ...("issues" in checked ? checked.issues : [])];
  return all.length > 0 || "issues" in checked ? { issues: all } : checked;
}

/** Hooks under a wrong name (`hook:`, `- hooks:`), where nothing reads them. */
function misnamedList(value: unknown): Issue | undefined {
  if (!isRecord(value) || Object.keys(value).some(isSetting)) return undefined;
  const name = Object.keys(value).find((key) => hooksUnder(value[key]).length > 0);
  if (name === undefined) return undefined;
  const ids = hooksUnder(value).flatMap((one) => idOf(one) ?? []);
  const what =
    name === "hooks" ? `"hooks" is no setting of a hook` : `unknown setting "${name}" (did you mean "hooks"?)`;
  const names =
    ids.length === 0 ? "" : `. In it: ${ids.slice(0, MAX_IDS).join(", ")}${ids.length > MAX_IDS ? ", …" : ""}`;
  return { path: [name], message: `${what}: write "hooks:" once, above the whole list of hooks${names}`, ofKey: true };
}

const MAX_IDS = 20;

const isSetting = (key: string) => HOOK_SETTINGS.includes(key);

/** Finds the maps that look like a hook, at any depth of settings that no hook has. An alias may lead back. */
function hooksUnder(value: unknown, seen = new Set<unknown>()): Record<string, unknown>[] {
  if (typeof value !== "object" || value === null || seen.has(value)) return [];
  seen.add(value);
  const parts = Object.entries(value).flatMap(([key, part]) => (isSetting(key) ? [] : [part]));
  return parts.flatMap((one) => [
    ...(isRecord(one) && Object.keys(one).some(isSetting) ? [one] : []),
    ...hooksUnder(one, seen),
  ]);
}

function brokenHook(id: string | undefined, place: Place, issues: readonly Issue[], source: Source): BrokenHook {
  const { torn } = source;
  const within = hooksUnder(source.value);
  const about = id === undefined ? {} : { hookId: id };
  const tornProblems = (torn?.problems ?? []).map(({ message, ...place }) => ({
    ...about,
    file: source.file,
    path: "",
    ...place,
    message: torn?.mayHideOthers === true ? `${message}. This hook, and maybe one after it, cannot be read` : message,
  }));
  return {
    id: id ?? nameAfter(place),
    place,
    critical: [source.value, ...within].some(isCritical) || torn?.critical === true,
    mayHideOthers: torn !== undefined || id === undefined ? true : undefined,
    isSeveral: torn !== undefined || within.length > 0 ? true : undefined,
    problems: tornProblems.concat(
      issues.map(({ path, message, ofKey }) => ({
        ...about,
        file: source.file,
        ...source.placeOf(path, ofKey),
        path: pathText(path),
        message,
      })),
    ),
  };
}

function idOf(value: unknown): string | undefined {
  const id = isRecord(value) ? value.id : undefined;
  return typeof id === "string" && id !== "" ? id : undefined;
}

/** `critical: yes` is a text and a separate error, but its meaning counts: only a word for no makes the hook not critical. */
function isCritical(value: unknown): boolean {
  const critical = isRecord(value) ? value.critical : undefined;
  return critical !== undefined && critical !== null && !/^(?:false|no|off|n|)$/i.test(String(critical));
}

/** A name for an entry that has none: `hooks.yaml:12`. */
function nameAfter({ file, line }: Place): string {
  return line === undefined ? basename(file) : `${basename(file)}:${line}`;
}

export function sourceText({ file, line, column }: Place): string {
  return [file, line, column].filter((part) => part !== undefined).join(":");
}
