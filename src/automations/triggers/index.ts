/** The table of triggers that may be under `trigger:`. */
import { z } from "zod";
import { nearest } from "../../lib/validation/nearest.js";
import { PLAIN_MANY } from "../../lib/validation/plain-issues.js";
import { issuesOf } from "../../lib/validation/schema-issues.js";
import { keysAt } from "../../lib/validation/schema-keys.js";
import type { Trigger } from "../definition/definition.js";
import { atOptions } from "./at.js";
import { cronOptions } from "./cron.js";
import { eventOptions } from "./event.js";
import { everyOptions } from "./every.js";
import { filesOptions } from "./files.js";

/** The options of each trigger, by the key that names its kind. */
export const triggerKinds = {
  every: everyOptions,
  cron: cronOptions,
  at: atOptions,
  event: eventOptions,
  files: filesOptions,
} as const;

type Kind = keyof typeof triggerKinds;
const KINDS = Object.keys(triggerKinds) as Kind[];

/** `trigger:` of a definition: `manual`, or exactly one of the table with its settings. Problems carry the path below `trigger`. */
export const triggerOptions = z.unknown().transform((value, context): Trigger => {
  if (value === "manual") return { kind: "manual" };
  const kind = kindOf(value);
  if (typeof kind !== "string") {
    context.addIssue({ code: "custom", message: kind.problem, input: value });
    return z.NEVER;
  }
  const parsed = triggerKinds[kind].safeParse(value, PLAIN_MANY);
  if (parsed.success) return parsed.data;
  for (const { path, message } of issuesOf(parsed.error, [], (at) => keysAt(triggerKinds[kind], at)))
    context.addIssue({ code: "custom", message, path: [...path], input: value });
  return z.NEVER;
});

function kindOf(value: unknown): Kind | { problem: string } {
  const expected = `expected manual, or one of ${KINDS.join(", ")}`;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return { problem: expected };
  const given = KINDS.filter((kind) => Object.hasOwn(value, kind));
  if (given.length > 1) return { problem: `${given.join(" and ")} cannot be used together: ${expected}` };
  const [kind] = given;
  if (kind !== undefined) return kind;
  const near = Object.keys(value).flatMap((key) => nearest(key, KINDS) ?? [])[0];
  return { problem: `${expected}${near === undefined ? "" : ` (did you mean "${near}"?)`}` };
}
