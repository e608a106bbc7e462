/** Decisions as programs and servers write them: `{ "decision": "block", "reason": "…" }`. Shared by `shell` and `http`. */
import { z } from "zod";
import { saysNothing } from "../../domain/chat/says-nothing.js";
import { isTooDeep, MAX_JSON_DEPTH, readJson } from "../../lib/validation/json-depth.js";
import { nearest } from "../../lib/validation/nearest.js";
import { flatIssues, PLAIN } from "../../lib/validation/plain-issues.js";
import { suggestion } from "../../lib/validation/schema-issues.js";
import type { Decision } from "../handler.js";

/** Without a reply, the message is handled in silence; an empty reply would look the same, and be a slip. */
export const replyText = z
  .string()
  .refine((text) => !saysNothing(text), "it has no text: leave out reply to answer nothing, or decide pass");

const written = z.discriminatedUnion("decision", [
  z.strictObject({ decision: z.literal("pass") }),
  z.strictObject({ decision: z.literal("block"), reason: z.string().min(1) }),
  z.strictObject({ decision: z.literal("modify"), patch: z.record(z.string(), z.unknown()) }),
  z.strictObject({ decision: z.literal("claim"), reply: replyText.optional() }),
]);

export type ReadDecision =
  | { readonly kind: "decision"; readonly decision: Decision }
  /** The output is something else, or nothing. */
  | { readonly kind: "none" }
  /** The output means to decide and cannot be understood: a failure, never a pass by accident. */
  | { readonly kind: "unreadable"; readonly error: string };

/** JSON with the key `decision` means to decide; so may a text that starts like it and names the key, and a decision that is no JSON. */
export function readDecision(text: string): ReadDecision {
  const trimmed = text.trim();
  if (!trimmed.startsWith("{")) {
    if (/\{\s*\\?["']decision\\?["']\s*:/.test(trimmed)) return { kind: "unreadable", error: NOT_ALONE };
    return DECIDING_LINE.test(trimmed) || DECIDING_WORD.test(trimmed)
      ? { kind: "unreadable", error: NO_OBJECT }
      : { kind: "none" };
  }
  const value = readJson(trimmed);
  if (value !== undefined) return decisionFromValue(value);
  // Also as JavaScript and Python print it.
  if (!/\bdecision["']?\s*[:=]/i.test(trimmed)) return { kind: "none" };
  const deep = `it is nested deeper than ${MAX_JSON_DEPTH} levels`;
  return { kind: "unreadable", error: isTooDeep(trimmed) ? deep : NOT_JSON };
}

/** Does the same for the value that a module's function returned, or for JSON that is read already. */
export function decisionFromValue(value: unknown): ReadDecision {
  if (typeof value === "string" && readDecision(value).kind !== "none")
    return { kind: "unreadable", error: "it is a text: give the object itself" };
  if (typeof value !== "object" || value === null) return { kind: "none" };
  if (Array.isArray(value) && value.some((one) => typeof one === "object" && one !== null && "decision" in one))
    return { kind: "unreadable", error: "it is a list: give the object itself" };
  if (!("decision" in value)) return withoutDecision(Object.entries(value));
  const parsed = written.safeParse(value, PLAIN);
  if (parsed.success) return { kind: "decision", decision: decisionOf(parsed.data) };
  const form = written.options.find(({ shape }) => shape.decision.value === value.decision);
  const problems = form
    ? flatIssues(parsed.error.issues)
        .flatMap((issue) =>
          issue.code === "unrecognized_keys"
            ? issue.keys.map((key) => unknownField(key, Object.keys(form.shape)))
            : `${issue.path.join(".")}: ${issue.message}`,
        )
        .join("; ")
    : `decision: expected pass, block, modify or claim, got ${JSON.stringify(value.decision) ?? "nothing"}`;
  return { kind: "unreadable", error: `its decision is not as expected: ${problems}` };
}

const NOT_JSON =
  "it starts with { and is not JSON, which has double quotes (in Python, print json.dumps of it; in JavaScript, JSON.stringify)";
const NO_OBJECT = 'it is no JSON object: print { "decision": "block", "reason": "…" }';
const NOT_ALONE = "there is other text around it: print the decision alone, and other words on standard error";

/** Fields of a decision, and words that people write in place of the one that they mean. */
const DECIDING: ReadonlySet<string> = new Set([
  "reply",
  "patch",
  "pass",
  "block",
  "modify",
  "claim",
  "handled",
  "cancel",
  "veto",
]);

/** `decision: block`, `decision=block`, `<decision>block` at the start of a line. */
const DECIDING_LINE = /^[^\w\n]*decision\W*?[:=>]/im;
const DECIDING_WORD = /^\W*(?:block|modify|claim)(?:\s*[:.!]|\W*$)/i;

/**
 * `decision: block` at the start of a line, or within an object in it as JSON, JavaScript and Python print it. Not a `pass`, which logs
 * may name.
 */
const DECISION_IN_LOG = /(?:^[^\w\n]*|[{,]\s*\\?["']?)decision\\?["']?\s*[:=>]+\s*\\?["']?(?:block|modify|claim)\b/im;

/** Whether a program decided in its log, where the decision has no effect. */
export function decidesInLog(log: string): boolean {
  return readDecision(log).kind === "decision" || DECISION_IN_LOG.test(log) || DECIDING_WORD.test(log.trim());
}

function withoutDecision(fields: [string, unknown][]): ReadDecision {
  const within = fields.find(([, field]) => typeof field === "object" && field !== null && "decision" in field);
  if (within) return { kind: "unreadable", error: `its decision is within "${within[0]}": give that object itself` };
  const [key] =
    fields.find(
      ([name, field]) =>
        DECIDING.has(name) ||
        nearest(name, ["decision", "description"]) === "decision" ||
        (typeof field === "string" && DECIDING_WORD.test(field) && !/\W/.test(field)) ||
        (name === "reason" && fields.length === 1),
    ) ?? [];
  if (key === undefined) return { kind: "none" };
  const error = `it has "${key}" and no "decision": write { "decision": "pass" }, or block, modify or claim with its fields`;
  return { kind: "unreadable", error };
}

function unknownField(key: string, fields: readonly string[]): string {
  return `there is no field "${key}"${suggestion(key, fields)}`;
}

function decisionOf(read: z.output<typeof written>): Decision {
  switch (read.decision) {
    case "pass":
      return { kind: "pass" };
    case "block":
      return { kind: "block", reason: read.reason };
    case "modify":
      return { kind: "modify", patch: read.patch };
    case "claim":
      return { kind: "claim", reply: read.reply };
  }
}
