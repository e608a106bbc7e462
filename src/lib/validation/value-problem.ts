/** The problem of a value that a program made: the field, the expected value and the actual value. */
import type { z } from "zod";
import { PLAIN_MANY, shown, typeName } from "./plain-issues.js";
import { issuesOf, pathText } from "./schema-issues.js";
import { keysAt } from "./schema-keys.js";

type Path = readonly (string | number)[];

/** `card.tone: expected one of …, got "red"`, all problems in one line; undefined when the value fits. `at`: its place. */
export function valueProblem(schema: z.ZodType, value: unknown, at: Path = []): string | undefined {
  const problems = valueProblems(schema, value, at);
  return problems.length === 0 ? undefined : problems.join("; ");
}

/** The same, one by one; none when the value fits. */
export function valueProblems(schema: z.ZodType, value: unknown, at: Path = []): string[] {
  const parsed = schema.safeParse(value, WORDS);
  if (parsed.success) return [];
  const issues = issuesOf(parsed.error, at, (path) => keysAt(schema, path));
  // A misspelt field explains the one that is missing.
  const [first = [], second = []] = [issues.filter(({ ofKey }) => ofKey), issues.filter(({ ofKey }) => !ofKey)];
  return [...first, ...second].map(({ path, message, ofKey }) => {
    const place = pathText(ofKey ? path.slice(0, -1) : path);
    return `${place === "" ? "" : `${place}: `}${message.replace(/^unknown setting/, "unknown field")}`;
  });
}

const WORDS = {
  ...PLAIN_MANY,
  error(issue: z.core.$ZodRawIssue): string {
    const isObject = issue.code === "invalid_type" && (issue.expected === "object" || issue.expected === "record");
    if (isObject && issue.input !== undefined) return `expected an object, got ${shown(issue.input)}`;
    if (isObject) return "it is missing: expected an object";
    if (issue.code === "invalid_union" && issue.discriminator === undefined) return "it has the wrong form";
    if (issue.code === "invalid_type" && issue.expected === "string" && issue.input !== undefined)
      return `expected ${typeName("string")}, got ${shown(issue.input)}`;
    return PLAIN_MANY.error(issue);
  },
};
