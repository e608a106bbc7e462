/** What is wrong with something that a person wrote (a hook, a mission plan): where in it, and in words for that person. */
import type { z } from "zod";
import { nearest } from "./nearest.js";

export interface Issue {
  /** Within what was written. */
  path: readonly (string | number)[];
  message: string;
  /** The key itself is what is wrong, not its value. */
  ofKey?: boolean;
}

type Path = readonly (string | number)[];

/** The issues of a schema's refusal, below `at`. An unknown key is told with the nearest of `keys`: those at the top, or those at a path below `at`. */
export function issuesOf(
  error: z.ZodError,
  at: Path,
  keys: readonly string[] | ((path: Path) => readonly string[]) = [],
): Issue[] {
  const keysAt = typeof keys === "function" ? keys : (path: Path) => (path.length === 0 ? keys : []);
  return error.issues.flatMap((issue) => {
    const inner = issue.path.map((step) => (typeof step === "symbol" ? String(step) : step));
    const path = [...at, ...inner];
    if (issue.code === "unrecognized_keys")
      return issue.keys.map((key) => ({
        path: [...path, key],
        message: `unknown setting "${key}"${suggestion(key, keysAt(inner))}`,
        ofKey: true,
      }));
    return [{ path, message: messageOf(issue) }];
  });
}

/** Of a union, what its alternatives say. */
function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.code !== "invalid_union") return issue.message;
  const alternatives = issue.errors.flatMap((errors) => errors.slice(0, 1).map(({ message }) => message));
  return [...new Set(alternatives)].join(", or: ") || issue.message;
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
