/** What handlers may return, checked: a result of the wrong shape is the handler's error, and all of it is dropped. */
import { z } from "zod";
import { HookgateError } from "../lib/errors.js";
import { BACKGROUND_KINDS, type Contribution, type ContributionKind, contribution } from "./contribution.js";
import { copyOf, fieldsOf } from "./isolate.js";
import type { Execution } from "./registration.js";

export type Fields = Record<string, unknown>;

function resultError(message: string): HookgateError {
  return new HookgateError({ code: "HOOK_RESULT_INVALID", message: `Result: ${message}` });
}

/** A patch has the result's fields only, each of the result's type or without an opinion (`null`, `undefined`). */
export function checkPatch(value: unknown, schema: z.ZodType | undefined): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw resultError(`expected fields of the result or null, got ${Array.isArray(value) ? "a list" : typeof value}`);
  const patch = value as Fields;
  const shape: Record<string, z.ZodType> | undefined = schema instanceof z.ZodObject ? schema.shape : undefined;
  if (shape === undefined) return patch;
  for (const key of Object.keys(patch)) {
    const field = Object.hasOwn(shape, key) ? shape[key] : undefined;
    if (field === undefined)
      throw resultError(`there is no field "${key}"; the fields are ${Object.keys(shape).join(", ")}`);
    const given = patch[key];
    if (given !== null && given !== undefined) check(field, given, key);
  }
  return patch;
}

/** The claim, or undefined when the handler passes. */
export function checkClaim(
  value: unknown,
  schema: z.ZodType | undefined,
): (Fields & { handled: true; claimedBy?: string }) | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value !== "object") throw resultError(`expected { handled } or null, got ${typeof value}`);
  if (!("handled" in value) || !value.handled) return undefined;
  const claim = fieldsOf(value) as Fields & { handled: true; claimedBy?: string };
  claim.handled = true;
  if (schema !== undefined) check(schema, claim);
  return claim;
}

const responses = z.array(contribution);

/** The whole response or nothing: one contribution of an undeclared kind fails it. */
export function checkContributions(
  value: unknown,
  capabilities: ReadonlySet<ContributionKind>,
  execution: Execution,
): Contribution[] {
  if (value === null || value === undefined) return [];
  check(responses, value, "contributions");
  const contributions = copyOf(value) as Contribution[];
  for (const { kind } of contributions) {
    if (!capabilities.has(kind)) throw resultError(`the capability ${kind} was not declared`);
    if (execution === "background" && !BACKGROUND_KINDS.includes(kind))
      throw resultError(`a background run may contribute only ${BACKGROUND_KINDS.join(", ")}, not ${kind}`);
  }
  return contributions;
}

function check(schema: z.ZodType, value: unknown, field?: string): void {
  const checked = schema.safeParse(value);
  if (checked.success) return;
  const issue = checked.error.issues[0];
  const path = [...(field === undefined ? [] : [field]), ...(issue?.path ?? [])].join(".");
  throw resultError(`${path === "" ? "" : `${path}: `}${issue?.message ?? "it is of the wrong type"}`);
}
