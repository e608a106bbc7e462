/** The problems of a text that a person wrote (a hook, a mission plan): where they are, in words for that person. */
import type { z } from "zod";
import { nearest } from "./nearest.js";
import { flatIssues } from "./plain-issues.js";

export interface Issue {
  /** Within the value that the person wrote. */
  path: readonly (string | number)[];
  message: string;
  /** The key itself is wrong, not its value. */
  ofKey?: boolean;
}

type Path = readonly (string | number)[];

/**
 * Unknown keys of one object that are reported: a stranger's request may have a hundred thousand, and each is compared with all that are
 * known.
 */
const MAX_KEYS = 20;
const MAX_KEY = 100;

/**
 * The issues of a schema's refusal, below `at`. An unknown key is reported with the nearest of `keys`: the known keys at the top, or
 * those at a path below `at`.
 */
export function issuesOf(
  error: z.ZodError,
  at: Path,
  keys: readonly string[] | ((path: Path) => readonly string[]) = [],
): Issue[] {
  return flatIssues(error.issues).flatMap((issue) => {
    const inner = issue.path.map((step) => (typeof step === "symbol" ? String(step) : step));
    return toIssues(issue, inner, keys).map((one) => ({ ...one, path: [...at, ...one.path] }));
  });
}

/** Converts one issue of a schema that is at `path`. */
export function toIssues(
  issue: z.core.$ZodIssue,
  path: Path,
  keys: readonly string[] | ((path: Path) => readonly string[]) = [],
): Issue[] {
  const keysAt = typeof keys === "function" ? keys : (at: Path) => (at.length === 0 ? keys : []);
  if (issue.code !== "unrecognized_keys") return [{ path, message: issue.message }];
  const known = keysAt(path);
  // A setting with several forms, such as a login, was read as one of them: a key of another form is known, and wrong beside the keys of this one.
  const others = known.filter((key) => !issue.keys.includes(key));
  const named = issue.keys.slice(0, MAX_KEYS).map((key) => ({
    path: [...path, key],
    message: known.includes(key)
      ? `"${key}" does not go with the other settings here: remove it, or those`
      : `unknown setting "${key.slice(0, MAX_KEY)}"${suggestion(key.slice(0, MAX_KEY), others)}`,
    ofKey: true,
  }));
  const more = issue.keys.length - named.length;
  return more === 0 ? named : [...named, { path, message: `${more} more unknown settings` }];
}

/** ` (did you mean "x"?)`, or the names that there are when none is near. */
export function suggestion(name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  if (near !== undefined) return ` (did you mean "${near}"?)`;
  return known.length === 0 ? "" : ` (there is ${known.join(", ")})`;
}

/** `context.0.shell.command`. */
export function pathText(path: readonly (string | number)[]): string {
  return path.join(".");
}
