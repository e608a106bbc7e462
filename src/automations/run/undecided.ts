/** Results of a hook in place of a decision, where its author meant one: a guard must not let everything pass because of its form. */
import { fieldsOf, type HookPoint } from "../../hooks/point.js";
import { readJson } from "../../lib/validation/json-depth.js";
import { isWaitedFor } from "../definition/check-effects.js";
import type { Decision, Undecided } from "../handler.js";
import type { RunStart } from "./deps.js";
import { pointResult } from "./point-result.js";

/** Why that is a failure; undefined when it passes. */
export function undecidedError({ given, isByStatus, remedy }: Undecided, start: RunStart): string | undefined {
  const { point, definition } = start;
  const isHeard = isWaitedFor(definition.execution);
  if (given === false && isHeard) return RETURNED_FALSE;
  if (point.model === "void" || definition.phase === "after" || (!isHeard && point.model !== "turn")) return undefined;
  const isGuard = definition.onFailure === "closed" && isByStatus !== true;
  const value = (typeof given === "string" ? readJson(given) : undefined) ?? given;
  const instead = remedy ?? `give ${formsAt(start).join(", ")}, or nothing to let it pass`;
  if (typeof value === "string" || value === false)
    return isGuard && REFUSAL.test(String(value)) ? `"${String(value).trim()}" is no decision: ${instead}` : undefined;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const keys = Object.keys(value);
  if (keys.length === 0 || !(isGuard || isOwnResult(value, keys, start))) return undefined;
  const named = keys.slice(0, MAX_NAMED).map((key) => `"${key}"`);
  return `an object with ${named.join(", ")}${keys.length > MAX_NAMED ? ", …" : ""} is no decision: ${instead}`;
}

const RETURNED_FALSE =
  'what the function returned is false: return { decision: "block", reason }, or nothing to let it pass';
const REFUSAL = /^\W*(?:deny|denied|block|blocked|reject|rejected|false)\W*$/i;
const MAX_NAMED = 5;

/**
 * Whether the value is a result as a plugin's handler returns it, or has the fields that a decision may change. A hook that prints its
 * payload decides nothing.
 */
function isOwnResult(value: object, keys: readonly string[], { point, payload }: RunStart): boolean {
  const fields = settableFields(point);
  return keys.every((key) => fields.includes(key)) && json(value) !== json(payload);
}

function json(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined; // a payload of a plugin's point may hold what is no JSON
  }
}

function settableFields({ model, result, mutable, payload }: HookPoint): readonly (string | undefined)[] {
  if (model === "turn") return ["contributions"];
  if (model !== "lifecycle") return fieldsOf(result) ?? [];
  return mutable?.map((path) => path.split(".")[0]) ?? fieldsOf(payload) ?? [];
}

function formsAt({ point, definition }: RunStart): string[] {
  const forms: [Decision, string][] = [
    [{ kind: "claim" }, '{ "decision": "claim", "reply": "…" }'],
    [{ kind: "modify", patch: {} }, '{ "decision": "modify", "patch": { … } }'],
    [{ kind: "block", reason: "" }, '{ "decision": "block", "reason": "…" }'],
  ];
  return forms.flatMap(([decision, form]) => {
    const isFixed = decision.kind === "modify" && point.mutable?.length === 0;
    return isFixed || pointResult(decision, point, definition.phase).kind === "impossible" ? [] : [form];
  });
}
