/**
 * Parses a person's text and finds every problem in one go. A schema checks parts together only where each of them is right; so
 * wrong parts are left out, and the rest is parsed again, until no more problems are found. The rest is a draft, for further checks.
 */
import type { z } from "zod";
import { flatIssues, PLAIN } from "./plain-issues.js";

type Path = readonly (string | number)[];

export interface FoundIssue {
  path: Path;
  issue: z.core.$ZodIssue;
}

export interface ParsedAll<T> {
  /** Undefined when there are issues. */
  data: T | undefined;
  /** The parts that are right; undefined when there are none. Its lists are shorter where entries are wrong. */
  draft: T | undefined;
  issues: FoundIssue[];
  /** The path in the file of a path in the draft. */
  originalOf(path: Path): Path;
  /** Whether a message is about something that was left out, by its name. */
  isFollowUp(message: string): boolean;
}

/** Each round leaves out at least one part. */
const MAX_ROUNDS = 200;

/** `emptySections`: whether settings with all below them commented out count as absent. An empty value of any other kind is a problem. */
export function parseAll<S extends z.ZodType>(
  schema: S,
  raw: unknown,
  { emptySections = true, ...how }: typeof PLAIN & { emptySections?: boolean } = PLAIN,
): ParsedAll<z.output<S>> {
  const leftOut = new Map<string, Path>();
  /** The empty sections. */
  const empty = new Set<string>();
  const names = new Set<string>();
  const issues: FoundIssue[] = [];
  const isFollowUp = (message: string) => [...names].some((name) => message.includes(`"${name}"`));

  for (let round = 0; round < MAX_ROUNDS; round++) {
    const view = viewOf(raw, leftOut);
    const parsed = schema.safeParse(view.value, how);
    if (parsed.success)
      return {
        data: issues.length === 0 ? parsed.data : undefined,
        draft: parsed.data,
        issues,
        originalOf: view.originalOf,
        isFollowUp,
      };
    const before = leftOut.size;
    const known = [...leftOut].flatMap(([key, path]) => (empty.has(key) ? [] : [path]));
    for (const issue of flatIssues(parsed.error.issues)) {
      const path = view.originalOf(issue.path.map((step) => (typeof step === "symbol" ? String(step) : step)));
      if (emptySections && isEmptySection(issue, path, raw) && !empty.has(keyOf(path))) {
        empty.add(keyOf(path));
        leftOut.set(keyOf(path), path);
        continue;
      }
      if (!known.some((one) => startsWith(one, path)) && !isFollowUp(issue.message)) issues.push({ path, issue });
      for (const one of culpritsOf(issue, path, raw, leftOut)) leaveOut(one);
    }
    if (leftOut.size === before || leftOut.has("[]")) break;
  }
  return { data: undefined, draft: undefined, issues, originalOf: (path) => path, isFollowUp };

  function leaveOut(path: Path): void {
    leftOut.set(keyOf(path), path);
    const value = valueAt(raw, path);
    const own = typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
    for (const name of [path.at(-1), own.id, own.name])
      if (typeof name === "string" && path.length > 2) names.add(name);
  }
}

/** `discord:`, or `access:` in it. A missing field in it is a problem where the missing section itself may be none. */
function isEmptySection(issue: z.core.$ZodIssue, path: Path, raw: unknown): boolean {
  if (valueAt(raw, path) !== null) return false;
  const { length } = path;
  return length === 1 || (issue.code === "invalid_type" && ["object", "record"].includes(issue.expected));
}

/**
 * The parts to leave out: the unknown keys, the wrong value, or the parent of a missing value. Also the parent of a value without
 * which it would mean something else: the issue of such a value has `params: { withParent: true }`.
 */
function culpritsOf(
  issue: z.core.$ZodIssue,
  path: Path,
  raw: unknown,
  leftOut: ReadonlyMap<string, Path>,
): readonly Path[] {
  if (issue.code === "unrecognized_keys") return issue.keys.map((key) => [...path, key]);
  const isAlone = issue.code !== "custom" || issue.params?.withParent !== true;
  const isThere = isAlone && valueAt(raw, path) !== undefined && !leftOut.has(keyOf(path));
  return [isThere ? path : path.slice(0, -1)];
}

const keyOf = (path: Path) => JSON.stringify(path);
const startsWith = (path: Path, start: Path) => start.every((step, index) => path[index] === step);

interface View {
  value: unknown;
  originalOf(path: Path): Path;
}

/** The value without the parts that are left out; lists close up. */
function viewOf(raw: unknown, leftOut: ReadonlyMap<string, Path>): View {
  /** Where the entries were in lists that lost some of them. */
  const indexes = new Map<string, number[]>();
  return {
    value: build(raw, [], []),
    originalOf(path) {
      const original: (string | number)[] = [];
      const seen: (string | number)[] = [];
      for (const step of path) {
        const kept = typeof step === "number" ? indexes.get(keyOf(seen)) : undefined;
        original.push(typeof step === "number" ? (kept?.[step] ?? step) : step);
        seen.push(step);
      }
      return original;
    },
  };

  function build(value: unknown, path: Path, place: Path): unknown {
    if (leftOut.size === 0 || typeof value !== "object" || value === null) return value;
    const isIn = (step: string | number) => !leftOut.has(keyOf([...path, step]));
    if (!Array.isArray(value))
      return Object.fromEntries(
        Object.entries(value).flatMap(([key, one]) =>
          isIn(key) ? [[key, build(one, [...path, key], [...place, key])]] : [],
        ),
      );
    const kept = value.flatMap((_, index) => (isIn(index) ? [index] : []));
    indexes.set(keyOf(place), kept);
    return kept.map((index, at) => build(value[index], [...path, index], [...place, at]));
  }
}

export function valueAt(value: unknown, path: Path): unknown {
  let at = value;
  for (const step of path)
    at = typeof at === "object" && at !== null ? (at as Record<string, unknown>)[step] : undefined;
  return at;
}
