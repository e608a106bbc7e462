/** Decisions as programs and servers write them: `{ "decision": "block", "reason": "…" }`. Shared by `shell` and `http`. */
import { z } from "zod";
import { isTooDeep, MAX_JSON_DEPTH, readJson } from "../../lib/json-depth.js";
import { nearest } from "../../lib/nearest.js";
import { flatIssues, PLAIN } from "../../lib/plain-issues.js";
import { suggestion } from "../../lib/schema-issues.js";
import type { Decision } from "../handler.js";

const written = z.discriminatedUnion("decision", [
  z.strictObject({ decision: z.literal("pass") }),
  z.strictObject({ decision: z.literal("block"), reason: z.string().min(1) }),
  z.strictObject({ decision: z.literal("modify"), patch: z.record(z.string(), z.unknown()) }),
  z.strictObject({ decision: z.literal("claim"), reply: z.string().optional() }),
]);

export type ReadDecision =
  | { readonly kind: "decision"; readonly decision: Decision }
  /** It says something else, or nothing. */
  | { readonly kind: "none" }
  /** It means to decide and cannot be understood: a failure, never a pass by accident. */
  | { readonly kind: "unreadable"; readonly error: string };

/** JSON with the key `decision` means to decide; so may what begins like it and names the key. */
export function readDecision(text: string): ReadDecision {
  const trimmed = text.trim();
  if (!trimmed.startsWith("{"))
    return /\{\s*\\?["']decision\\?["']\s*:/.test(trimmed)
      ? { kind: "unreadable", error: NOT_ALONE }
      : { kind: "none" };
  const value = readJson(trimmed);
  if (value !== undefined) return decisionFromValue(value);
  if (!/["']decision["']/.test(trimmed)) return { kind: "none" };
  const deep = `it is nested deeper than ${MAX_JSON_DEPTH} levels`;
  return { kind: "unreadable", error: isTooDeep(trimmed) ? deep : NOT_JSON };
}

/** The same for what a module's function returned, or for JSON that is read already. */
export function decisionFromValue(value: unknown): ReadDecision {
  if (typeof value === "string" && readDecision(value).kind !== "none")
    return { kind: "unreadable", error: "it is a text: give the object itself" };
  if (typeof value !== "object" || value === null) return { kind: "none" };
  if (Array.isArray(value) && value.some((one) => typeof one === "object" && one !== null && "decision" in one))
    return { kind: "unreadable", error: "it is a list: give the object itself" };
  if (!("decision" in value)) {
    const meant = Object.keys(value).find((key) => DECIDING.has(key) || nearest(key, ["decision"]) !== undefined);
    return meant === undefined ? { kind: "none" } : { kind: "unreadable", error: withoutDecision(meant) };
  }
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

const NOT_JSON = "it starts with { and is not JSON, which has double quotes (in Python, print json.dumps of it)";
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
]);

function withoutDecision(key: string): string {
  return `it has "${key}" and no "decision": write { "decision": "pass" }, or block, modify or claim with its fields`;
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
