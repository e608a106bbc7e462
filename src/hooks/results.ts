/** Checks the results of handlers: a result of the wrong shape is the handler's error, and all of it is dropped. */
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { copyOf, fieldsOf } from "../fast/isolate.js";
import { HookgateError } from "../lib/errors.js";
import { isRecord } from "../lib/record.js";
import { strictly } from "../lib/validation/strictly.js";
import { valueProblem } from "../lib/validation/value-problem.js";
import { BACKGROUND_KINDS, type Contribution, type ContributionKind, contribution } from "./contribution.js";
import type { DispatchOptions } from "./options.js";
import type { HookPoint } from "./point.js";
import type { Execution } from "./registration/registration.js";

export type Fields = Record<string, unknown>;

export function resultError(message: string): HookgateError {
  return new HookgateError({ code: "HOOK_RESULT_INVALID", message: `Result: ${message}` });
}

/**
 * A patch has the result's fields only, each of the result's type or without an opinion (`null`, `undefined`). Gives the values as they
 * are with the patch applied: an object in `current` that is also in the patch keeps the fields that the patch does not name, and loses
 * those that it sets to null. `onNull` gets the problem of a null in place of a value: it changes nothing, and its author may have
 * meant to remove the value. By default that is the handler's error.
 */
export function checkPatch(
  value: unknown,
  schema: z.ZodType | undefined,
  current: (key: string) => unknown,
  onNull: (problem: string) => void = refuseNull,
): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw resultError(`expected fields of the result or null, got ${Array.isArray(value) ? "a list" : typeof value}`);
  const patch = value as Fields;
  const applied: Fields = {};
  for (const key of Object.keys(patch)) {
    const given = patch[key];
    const field = fieldOf(schema, key, "");
    if (given === null && field?.safeParse(null).success === false) onNull(nullProblem(key, schema));
    if (given === null || given === undefined) continue;
    const base = current(key);
    applied[key] = applyTo(base, given, field, key);
    // The value that was there before may have fields that the schema does not know; the value that the handler gives may not.
    const isAll = !isRecord(given) || !isRecord(base);
    if (field !== undefined) check(isAll ? strictly(field) : field, applied[key], key);
  }
  return applied;
}

function refuseNull(problem: string): never {
  throw resultError(problem);
}

function nullProblem(key: string, schema: z.ZodType | undefined): string {
  const hasCancel = key !== "cancel" && schema instanceof z.ZodObject && Object.hasOwn(schema.shape, "cancel");
  return `${key}: null has no effect: return a value, or leave out ${key}${hasCancel ? "; cancel stops the operation" : ""}`;
}

/** Like `checkPatch`; the point itself may also refuse values that the patch sets. */
export function checkPatchAt(
  { result, resultProblem }: HookPoint,
  payload: Fields,
  value: unknown,
  current: (key: string) => unknown = (key) => payload[key],
  onNull?: (problem: string) => void,
): Fields {
  const patch = checkPatch(value, result, current, onNull);
  const problem = resultProblem?.(patch, payload);
  if (problem !== undefined) throw resultError(problem);
  return patch;
}

function applyTo(base: unknown, given: unknown, field: z.ZodType | undefined, key: string): unknown {
  if (!isRecord(given)) return given;
  const schema = field instanceof z.ZodOptional ? field.unwrap() : field;
  const applied: Fields = isRecord(base) ? { ...base } : {};
  for (const part of Object.keys(given)) {
    const ofPart = fieldOf(schema as z.ZodType | undefined, part, `${key}.`);
    const value = given[part];
    if (value === null) delete applied[part];
    if (value === null || value === undefined) continue;
    if (ofPart !== undefined) check(strictly(ofPart), value, `${key}.${part}`);
    applied[part] = value;
  }
  return applied;
}

/** The schema of a field; undefined when the object has no list of fields, or takes others. Throws for one that it does not have. */
function fieldOf(schema: z.ZodType | undefined, key: string, at: string): z.ZodType | undefined {
  if (!(schema instanceof z.ZodObject)) return undefined;
  const { shape, catchall } = schema.def;
  if (Object.hasOwn(shape, key)) return shape[key] as z.ZodType;
  if (catchall !== undefined && !(catchall instanceof z.ZodNever)) return catchall as z.ZodType;
  throw resultError(`there is no field "${at}${key}"; the fields are ${Object.keys(shape).join(", ")}`);
}

/** The claim, or undefined when the handler passes. `refuse`: see `DispatchOptions.refuseClaim`. */
export function checkClaim(
  value: unknown,
  schema: z.ZodType | undefined,
  refuse?: DispatchOptions["refuseClaim"],
): (Fields & { handled: true; claimedBy?: string }) | undefined {
  if (value === null || value === undefined) return undefined;
  if (!isRecord(value))
    throw resultError(
      `expected { handled: true | false } or null, got ${Array.isArray(value) ? "a list" : typeof value}`,
    );
  for (const key of Object.keys(value)) fieldOf(schema, key, "");
  const { handled } = value;
  if (typeof handled !== "boolean")
    throw resultError(
      `handled: expected true or false, got ${handled === undefined ? "nothing" : JSON.stringify(handled)}`,
    );
  if (!handled) {
    const key = Object.keys(value).find(
      (one) => one !== "handled" && one !== "reason" && (value[one] ?? null) !== null,
    );
    if (key === undefined) return undefined;
    throw resultError(`${key} has no effect with handled: false: return handled: true, or leave out ${key}`);
  }
  const claim = fieldsOf(value) as Fields & { handled: true; claimedBy?: string };
  if (schema !== undefined) check(strictly(schema), claim);
  const refusal = refuse?.(claim);
  if (refusal !== undefined) throw resultError(refusal);
  return claim;
}

/**
 * The data of a `before` point with a patch of a configured hook or a fallback applied: an object keeps the fields that the patch does not
 * name, at every depth, and loses those that the patch sets to null. Lists and values are replaced.
 */
export function withPatch(data: Fields, patch: Fields): Fields {
  const changed: Fields = { ...data };
  for (const key of Object.keys(patch)) changed[key] = merged(data[key], patch[key]);
  return changed;
}

function merged(base: unknown, given: unknown): unknown {
  if (!isRecord(base) || !isRecord(given)) return given;
  const fields = withPatch(base, given);
  for (const key of Object.keys(given)) if (given[key] === null) delete fields[key];
  return fields;
}

/**
 * Refuses changes of a `before` handler that it may not make, or to values that are not possible, by the field's name. `refuse`: see
 * `DispatchOptions.refuseChange`.
 */
export function checkChange(
  before: unknown,
  after: unknown,
  { mutable, payload, name }: HookPoint,
  refuse?: DispatchOptions["refuseChange"],
): void {
  const refused = mutable === undefined ? undefined : refusedChange(before, after, mutable, "");
  if (refused?.includes(".") && isRecord(after) && Object.hasOwn(after, refused)) {
    const nested = refused.split(".").reduceRight((inner, key) => `{ ${key}: ${inner} }`, "…");
    throw resultError(`there is no field "${refused}" at ${name}: write ${nested}`);
  }
  if (refused !== undefined) {
    const rest = mutable?.length === 0 ? "nothing can be" : `only ${mutable?.join(", ")} can be`;
    throw resultError(`${refused} cannot be changed at ${name} (${rest})`);
  }
  if (!(payload instanceof z.ZodObject) || !isRecord(before) || !isRecord(after)) {
    if (!isDeepStrictEqual(before, after)) check(payload, after, "data");
    return;
  }
  for (const key of Object.keys({ ...before, ...after })) {
    const field = payload.def.shape[key] as z.ZodType | undefined;
    if (isDeepStrictEqual(before[key], after[key])) continue;
    if (field !== undefined) check(changedForm(field, before[key]), after[key], key);
    else if (!Object.hasOwn(before, key)) fieldOf(payload, key, "");
  }
  checkByCaller(before, after, refuse);
}

/** The schema of a changed value: without unknown fields, unless there were some before. */
function changedForm(field: z.ZodType, before: unknown): z.ZodType {
  const strict = strictly(field);
  return before === undefined || strict.safeParse(before).success ? strict : field;
}

/** Throws when the point's caller cannot go on with the changed data. */
export function checkByCaller(before: unknown, after: unknown, refuse: DispatchOptions["refuseChange"]): void {
  const refusal = refuse === undefined || isDeepStrictEqual(before, after) ? undefined : refuse(after);
  if (refusal !== undefined) throw resultError(refusal);
}

function refusedChange(before: unknown, after: unknown, mutable: readonly string[], at: string): string | undefined {
  if (!isRecord(before) || !isRecord(after)) return at === "" ? "data" : at.slice(0, -1);
  for (const key of Object.keys({ ...before, ...after })) {
    const path = `${at}${key}`;
    // A key "mission.title" is no path: it would be a new field, which nothing reads.
    if ((mutable.includes(path) && !key.includes(".")) || isDeepStrictEqual(before[key], after[key])) continue;
    if (!mutable.some((one) => one.startsWith(`${path}.`))) return path;
    const refused = refusedChange(before[key], after[key], mutable, `${path}.`);
    if (refused !== undefined) return refused;
  }
  return undefined;
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
  const problem = valueProblem(schema, value, field === undefined ? [] : [field]);
  if (problem !== undefined) throw resultError(problem);
}
