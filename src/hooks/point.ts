/**
 * A hook point: a named place that fires, with the types of what goes in and what comes out. Declared once, in `catalogue/` or by a
 * plugin.
 */
import { z } from "zod";
import { HookgateError } from "../lib/errors.js";
import { bigIntIn } from "../lib/validation/json-problem.js";
import { suggestion } from "../lib/validation/schema-issues.js";
import { keysAt } from "../lib/validation/schema-keys.js";
import { unknownKey } from "../lib/validation/unknown-key.js";
import { valueProblem } from "../lib/validation/value-problem.js";

export const MODELS = ["void", "modifying", "claiming", "lifecycle", "turn"] as const;
export type Model = (typeof MODELS)[number];
export type LifecyclePhase = "before" | "after";
/** `original`: the payload as it was fired. `merged`: with everything that earlier handlers set. */
export type Sees = "original" | "merged";

export interface HookPoint<Name extends string = string, M extends Model = Model, Payload = unknown, Result = unknown> {
  readonly name: Name;
  readonly model: M;
  readonly payload: z.ZodType<Payload>;
  readonly result?: z.ZodType<Result>;
  /** Whether a handler can stop the operation. A blocking hook that wants to veto elsewhere is refused. */
  readonly vetoable: boolean;
  /** Lifecycle points: which phases fire. */
  readonly phases: readonly LifecyclePhase[];
  /** Modifying points: the view of a handler that does not set its own; `original` when absent. */
  readonly sees?: Sees | undefined;
  /**
   * Lifecycle points: the fields of `ctx.data` that a `before` handler may change, as paths (`mission.title`); a change of any other
   * fails the handler. All of them when absent.
   */
  readonly mutable?: readonly string[] | undefined;
  /** Lifecycle points: `before` fires with `runBeforeSync`, which does not start async handlers. */
  readonly isSync?: boolean | undefined;
  readonly summary: string;
  /** A payload as the product would fire it, for `/fire-hook` and the docs. */
  readonly example: Payload;
  /** The part of a payload that the journal keeps; all of it when absent. */
  journalled?(payload: Payload): unknown;
  /** Modifying points: the problem of the values that a result sets, beyond their types; then the handler has failed. */
  resultProblem?(set: Partial<Result>, payload: Payload): string | undefined;
}

export interface PointSpec<Name extends string, M extends Model, P extends z.ZodType, R extends z.ZodType> {
  name: Name;
  model: M;
  payload: P;
  /** Modifying and claiming points: the result's fields. */
  result?: R;
  /** By default: lifecycle points with `before`, claiming points, and modifying points whose result has `cancel` or `error`. */
  vetoable?: boolean;
  phases?: readonly LifecyclePhase[];
  /** Modifying points: the view of their handlers by default. */
  sees?: Sees;
  /** Lifecycle points: the fields that a `before` handler may change, as paths. */
  mutable?: readonly string[];
  /** Lifecycle points: `before` fires with `runBeforeSync`. */
  isSync?: boolean;
  summary: string;
  example: z.output<P>;
  journalled?: (payload: z.output<P>) => unknown;
  /** Modifying points: the problem of the values that a result sets, beyond their types. */
  resultProblem?: (set: Partial<z.output<R>>, payload: z.output<P>) => string | undefined;
}

const NAME = /^[a-z][a-z0-9_]*([.:][A-Za-z0-9_-]+)*$/;

/** Declares a hook point. Throws when the example is not a payload, the name is no name, or a result is missing. */
export function definePoint<
  const Name extends string,
  const M extends Model,
  P extends z.ZodType,
  R extends z.ZodType<unknown> = z.ZodType<Record<never, never>>,
>(spec: PointSpec<Name, M, P, R>): HookPoint<Name, M, z.output<P>, z.output<R>> {
  const refuse = (message: string) =>
    new HookgateError({ code: "HOOK_POINT_INVALID", message: `Hook point "${spec.name}": ${message}` });
  const unknown = unknownKey("key", spec, Object.keys(SPEC_KEYS));
  if (unknown !== undefined) throw refuse(unknown);
  if (typeof spec.name !== "string" || !NAME.test(spec.name))
    throw refuse("a name is lower-case words joined by _ . or :");
  if (!MODELS.includes(spec.model)) throw refuse(`model: expected ${MODELS.join(" | ")}, got ${String(spec.model)}`);
  for (const key of ["payload", "result"] as const)
    if (!(spec[key] instanceof z.ZodType) && (key === "payload" || spec.result !== undefined))
      throw refuse(`${key}: expected a zod schema`);
  const takesResult = spec.model === "modifying" || spec.model === "claiming";
  if (takesResult !== (spec.result !== undefined))
    throw refuse(takesResult ? `a ${spec.model} point needs a result schema` : `a ${spec.model} point has no result`);
  if (spec.sees !== undefined && spec.model !== "modifying")
    throw refuse("sees: only handlers of modifying points merge");
  if (spec.resultProblem !== undefined && spec.model !== "modifying")
    throw refuse("resultProblem: only results of modifying points are checked by it");
  if (spec.phases !== undefined && spec.model !== "lifecycle") throw refuse("only lifecycle points have phases");
  if (spec.vetoable === true && !canVeto(spec.model, spec.phases ?? ["before"], spec.result))
    throw refuse("vetoable: no handler of this point can stop anything: remove it");
  const fields = fieldsOf(spec.result);
  if (spec.model === "claiming" && fields !== undefined && !fields.includes("handled"))
    throw refuse("result: a claiming point needs the field handled: z.boolean()");
  checkMutable(spec, refuse);
  const example = spec.payload.safeParse(spec.example);
  if (!example.success) throw refuse(`the example is not a payload: ${valueProblem(spec.payload, spec.example)}`);
  if (typeof spec.summary !== "string" || spec.summary.trim() === "")
    throw refuse("summary: expected a line of text about when the point fires");
  const unstorable = bigIntIn(spec.example, "example");
  if (unstorable !== undefined) throw refuse(`${unstorable}: expected a JSON value, got a BigInt`);
  return ownPoint(spec);
}

const SPEC_KEYS: Readonly<Record<keyof PointSpec<string, Model, z.ZodType, z.ZodType>, true>> = {
  name: true,
  model: true,
  payload: true,
  result: true,
  vetoable: true,
  phases: true,
  sees: true,
  mutable: true,
  isSync: true,
  summary: true,
  example: true,
  journalled: true,
  resultProblem: true,
};

type SpecFacts = Pick<PointSpec<string, Model, z.ZodType, z.ZodType>, "model" | "mutable" | "payload">;

function checkMutable({ model, mutable, payload }: SpecFacts, refuse: (message: string) => HookgateError): void {
  if (mutable === undefined) return;
  if (model !== "lifecycle") throw refuse("mutable: only handlers of lifecycle points change the payload");
  if (!Array.isArray(mutable)) throw refuse("mutable: expected a list of fields");
  for (const path of mutable) {
    const steps = String(path).split(".");
    const known = keysAt(payload, steps.slice(0, -1));
    const last = steps.at(-1) ?? "";
    if (known.length > 0 && !known.includes(last))
      throw refuse(`mutable: the payload has no field "${path}"${suggestion(last, known)}`);
  }
}

/** For the product's own points, which a test holds to what `definePoint` asks: a start need not parse every example. */
export function ownPoint<
  const Name extends string,
  const M extends Model,
  P extends z.ZodType,
  R extends z.ZodType<unknown> = z.ZodType<Record<never, never>>,
>(spec: PointSpec<Name, M, P, R>): HookPoint<Name, M, z.output<P>, z.output<R>> {
  const phases: readonly LifecyclePhase[] = spec.model === "lifecycle" ? (spec.phases ?? ["before", "after"]) : [];
  return {
    name: spec.name,
    model: spec.model,
    payload: spec.payload as z.ZodType<z.output<P>>,
    result: spec.result === undefined ? undefined : (spec.result as z.ZodType<z.output<R>>),
    vetoable: spec.vetoable ?? canVeto(spec.model, phases, spec.result),
    phases,
    sees: spec.sees,
    mutable: spec.mutable,
    isSync: spec.isSync,
    summary: spec.summary,
    example: spec.example,
    journalled: spec.journalled,
    resultProblem: spec.resultProblem,
  };
}

function canVeto(model: Model, phases: readonly LifecyclePhase[], result: z.ZodType | undefined): boolean {
  switch (model) {
    case "claiming":
      return true;
    case "lifecycle":
      return phases.includes("before");
    case "modifying":
      return fieldsOf(result)?.some((field) => field === "cancel" || field === "error") ?? false;
    case "turn":
      return true; // a phase that fails closed stops the turn
    case "void":
      return false;
  }
}

/** Points whose caller continues, regardless of the handlers. */
const NOTICES: ReadonlySet<string> = new Set([
  "message_sent",
  "delivery_failed",
  "command_invoked",
  "hook_run_completed",
  "config.reloaded",
  "file.changed",
  "folder.changed",
  "orchestrator:shutdown",
]);

/** Whether a failure of a handler there can stop nothing, so that a failure policy has no effect. */
export function failureStopsNothing({ name }: Pick<HookPoint, "name">, phase: LifecyclePhase | undefined): boolean {
  return phase === "after" || NOTICES.has(name) || name.startsWith("event:");
}

/** The field names of an object schema; undefined when the schema is no object with a fixed set of fields. */
export function fieldsOf(schema: z.ZodType | undefined): string[] | undefined {
  if (schema === undefined || !("shape" in schema) || typeof schema.shape !== "object" || schema.shape === null)
    return undefined;
  return Object.keys(schema.shape);
}
