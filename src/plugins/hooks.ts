/** The hooks of a plugin: its registrations, collected while `setup` runs and live afterwards, and the points that it declares. */
import type { z } from "zod";
import { type Address, formatAddress } from "../domain/chat/address.js";
import type { Cause } from "../domain/journal.js";
import type { Catalogue } from "../hooks/catalogue/index.js";
import { isAsyncFunction } from "../hooks/dispatch/lifecycle.js";
import { inDryRun } from "../hooks/dry-run.js";
import type { DispatchOptions } from "../hooks/options.js";
import { definePoint, type HookPoint, type Model, type PointSpec } from "../hooks/point.js";
import { invalid } from "../hooks/registration/entry.js";
import type { RegisterOptions, TurnOptions } from "../hooks/registration/registration.js";
import type { Unregister } from "../hooks/registry.js";
import type {
  BeforeResult,
  Canonical,
  Checked,
  Claimed,
  ClaimingHandler,
  ClaimingOptions,
  Known,
  ModifyingHandler,
  ModifyingOptions,
  NameOf,
  PayloadOf,
  PluginPointName,
  Registration,
  ResultAt,
  ResultOf,
  TurnHandler,
  VoidHandler,
  VoidOptions,
} from "../hooks/signatures.js";
import { errorPlace } from "../lib/error-place.js";
import { HookgateError } from "../lib/errors.js";
import { bigIntIn } from "../lib/validation/json-problem.js";
import { shown } from "../lib/validation/plain-issues.js";
import { valueProblem } from "../lib/validation/value-problem.js";
import type { Handler } from "./breaker.js";
import { checkHook } from "./check-hook.js";
import { type StagedHook, takenId, warningsOf } from "./slots.js";
import {
  type ApiDeps,
  checkCause,
  checkGiven,
  deeper,
  inStage,
  placeProblem,
  refuseOld,
  refuseStray,
  type Stage,
} from "./stage.js";

type P = Catalogue;

/** The registry's own calls, with `pluginId` filled in and ids prefixed by the plugin's. */
export interface PluginHooks {
  registerVoid<N extends NameOf<P, "void">>(
    hook: N,
    handler: NoInfer<VoidHandler<PayloadOf<P, N>, Canonical<N>>>,
    options?: VoidOptions,
  ): Unregister;
  registerModifying<
    N extends NameOf<P, "modifying">,
    H extends ModifyingHandler<PayloadOf<P, N>, ResultOf<P, N>, Canonical<N>>,
  >(hook: N, handler: H & Known<H, ResultAt<P, N>>, options?: NoInfer<ModifyingOptions<ResultOf<P, N>>>): Unregister;
  registerClaiming<
    N extends NameOf<P, "claiming">,
    H extends ClaimingHandler<PayloadOf<P, N>, ResultOf<P, N>, Canonical<N>>,
  >(hook: N, handler: H & Known<H, ResultAt<P, N>>, options?: NoInfer<ClaimingOptions<ResultOf<P, N>>>): Unregister;
  registerTurn<N extends NameOf<P, "turn">>(
    phase: N,
    handler: NoInfer<TurnHandler<PayloadOf<P, N>, Canonical<N>>>,
    options?: TurnOptions,
  ): Unregister;
  register<N extends NameOf<P, Model>, R extends Registration<P, N>>(registration: Checked<P, N, R>): Unregister;
  /**
   * A hook point of the plugin's own, `plugin:<plugin id>:<name>`: other plugins and configured hooks can subscribe to it. The result fires
   * it, once the plugin is loaded. Throws HOOK_POINT_INVALID.
   */
  declare<
    const M extends Exclude<Model, "turn">,
    Payload extends z.ZodType,
    Result extends z.ZodType<unknown> = z.ZodType<Record<never, never>>,
  >(spec: PointSpec<string, M, Payload, Result>): PluginPoint<M, z.output<Payload>, z.output<Result>>;
}

export interface PluginFireOptions {
  /** See `PluginSendOptions`. */
  cause?: Cause | undefined;
  /** The conversation of the dispatch: for the journal, and to select the plugins whose hooks may run there. */
  at?: Address | undefined;
}

type Fire<Payload, Answer> = (payload: Payload, options?: PluginFireOptions) => Promise<Answer>;

/** A declared point. `fire` returns the answer of handlers; a lifecycle point is fired with `before` and `after`. */
export type PluginPoint<M extends Model, Payload, Result> = { readonly name: PluginPointName } & (M extends "lifecycle"
  ? { before: Fire<Payload, BeforeResult<Payload>>; after: Fire<Payload, void> }
  : {
      fire: Fire<Payload, M extends "modifying" ? Partial<Result> : M extends "claiming" ? Claimed<Result> : undefined>;
    });

export function pluginHooks(deps: ApiDeps, stage: Stage): PluginHooks {
  const { id, registry } = deps;
  // Bound: a stack holds ten frames, and another function between would keep the plugin's own line out of it.
  const add = addHook.bind(undefined, deps, stage);
  // `full` was checked by `checkHook`. The relay holds the handler of the current version; it was checked against the same hook name when
  // it was registered.
  return {
    registerVoid: (hook, handler, options = {}) =>
      add("void", hook, "", options, handler, (relay, full) =>
        registry.registerVoid(
          hook,
          (payload, context) => relay.handler(payload as never, context as never),
          full as never,
        ),
      ),
    registerModifying: (hook, handler, options = {}) =>
      add("modifying", hook, "", options, handler, (relay, full) =>
        registry.registerModifying(
          hook,
          ((payload, context) => relay.handler(payload as never, context as never)) as typeof handler,
          full as never,
        ),
      ),
    registerClaiming: (hook, handler, options = {}) =>
      add("claiming", hook, "", options, handler, (relay, full) =>
        registry.registerClaiming(
          hook,
          ((payload, context) => relay.handler(payload as never, context as never)) as typeof handler,
          full as never,
        ),
      ),
    registerTurn: (phase, handler, options = {}) =>
      add("turn", phase, "", options, handler, (relay, full) =>
        registry.registerTurn(
          phase,
          (payload, context) => relay.handler(payload as never, context as never) as ReturnType<typeof handler>,
          full as TurnOptions,
        ),
      ),
    register(registration) {
      if (typeof registration !== "object" || registration === null)
        throw invalid(id, "register: expected { hook, handler, … }");
      const { hook, handler, ...options } = registration;
      if (typeof hook !== "string")
        throw invalid(id, `register: hook: expected the name of a point, got ${shown(hook)}`);
      const phase = "phase" in options && typeof options.phase === "string" ? options.phase : "";
      return add("any", hook, phase, options, handler as Handler, (relay, full) => {
        // A synchronous point sees by the function that an async handler cannot be started.
        const relayed = isAsyncFunction(handler)
          ? async (first: never, second: never) => relay.handler(first, second)
          : (first: never, second: never) => relay.handler(first, second);
        return registry.register({ ...registration, ...full, handler: relayed } as typeof registration);
      });
    },
    declare: (spec) => firing(declarePoint(spec, deps, stage), deps, stage) as never,
  };
}

function addHook(
  deps: ApiDeps,
  stage: Stage,
  model: StagedHook["model"],
  hook: string,
  phase: string,
  options: RegisterOptions,
  handler: Handler,
  attach: StagedHook["attach"],
): Unregister {
  const { id, registry, pointsAside } = deps;
  refuseOld(id, stage);
  // Invalid arguments fail here, in the plugin's own line.
  const what = typeof hook === "string" ? undefined : `expected the name of a point, got ${shown(hook)}`;
  if (what !== undefined) throw invalid(id, `${model === "any" ? "register" : `register${REGISTERS[model]}`}: ${what}`);
  checkPlain(id, hook, options);
  if (options.critical === true) deps.onCritical();
  const point = pointsAside.findLast(({ name }) => name === hook) ?? registry.point(hook);
  const isAsync = isAsyncFunction(handler);
  const name = hookId(id, hook, phase, options, stage);
  const place = errorPlace(new Error("registered here"));
  const pointsBefore = stage.points.length;
  const given = { id: name, hook, phase, model, isAsync, place, pointsBefore, options, handler, attach };
  const check = (at: HookPoint) => checkHook(at, given);
  const fit = { point, warnings: check(point) };
  // A lifecycle handler gets its context only.
  const running: Handler = (first, second) =>
    inStage(stage, { plugin: id, hookId: name }, second ?? first, () => handler(first, second));
  const staged: StagedHook = { ...given, fit, check, handler: running };
  if (stage.live) {
    for (const warning of warningsOf(staged)) deps.logger.warn({ plugin: id }, `plugin "${id}": ${warning}`);
    return stage.live.add(staged);
  }
  stage.hooks.push(staged);
  // Also works when the version is at work by then.
  return () => {
    const at = stage.hooks.indexOf(staged);
    if (at >= 0) stage.hooks.splice(at, 1);
    stage.live?.remove(staged);
  };
}

function declarePoint(
  spec: PointSpec<string, Exclude<Model, "turn">, z.ZodType, z.ZodType>,
  deps: ApiDeps,
  stage: Stage,
): HookPoint<PluginPointName> {
  const { id, pointsAside } = deps;
  refuseOld(id, stage);
  const isSpec = typeof spec === "object" && spec !== null;
  if (!isSpec || typeof spec.name !== "string")
    throw new HookgateError({
      code: "HOOK_POINT_INVALID",
      message: `declare: ${isSpec ? `name: expected text, got ${shown(spec.name)}` : `expected { name, model, payload, summary, example }, got ${shown(spec)}`}`,
    });
  const name: PluginPointName = `plugin:${id}:${spec.name.replace(`plugin:${id}:`, "")}`;
  if (stage.points.some((point) => point.name === name))
    throw new HookgateError({
      code: "HOOK_POINT_TAKEN",
      message: `Hook point "${name}": this plugin declares it already.`,
      hint: "Keep what the first `declare` returned, or choose another name.",
    });
  const point = definePoint({ ...spec, name });
  if (stage.live) stage.live.declare(point);
  else {
    stage.points.push(point);
    pointsAside.push(point);
  }
  return point;
}

/** The function that fires a declared point. `declare` types it. */
function firing({ name, model, payload: schema }: HookPoint<PluginPointName>, { id, registry }: ApiDeps, stage: Stage) {
  /** Throws for the caller: a wrong payload is the caller's own mistake, not that of a handler. */
  const optionsOf = (call: string, payload: unknown, given: PluginFireOptions = {}): DispatchOptions => {
    refuseStray(id, stage);
    if (!stage.live)
      throw new HookgateError({
        code: "PLUGIN_NOT_LOADED",
        message: `${name} cannot be fired while setup runs.`,
        hint: "Fire it from a handler, a command or a timer.",
      });
    checkGiven(`${name}: ${call}`, given, ["cause", "at"]);
    checkCause(`${name}: ${call}`, given.cause);
    const problem =
      (given.at && placeProblem(given.at, "at")) ??
      valueProblem(schema, payload, ["payload"]) ??
      bigIntProblem(payload);
    if (problem !== undefined)
      throw new HookgateError({ code: "HOOK_PAYLOAD_INVALID", message: `${name}: ${call}: ${problem}` });
    const { cause, at } = given;
    return { cause: deeper(id, cause), dryRun: inDryRun(), conversation: at && formatAddress(at) };
  };
  // In an async function, so that a refusal is a rejection.
  switch (model) {
    case "lifecycle":
      return {
        name,
        before: async (data: unknown, options?: PluginFireOptions) =>
          registry.runBefore(name, data, optionsOf("before", data, options)),
        after: async (data: unknown, options?: PluginFireOptions) =>
          registry.runAfter(name, data, optionsOf("after", data, options)),
      };
    case "modifying":
      return {
        name,
        fire: async (payload: unknown, options?: PluginFireOptions) =>
          registry.fireModifying(name, payload, undefined, optionsOf("fire", payload, options)),
      };
    case "claiming":
      return {
        name,
        fire: async (payload: unknown, options?: PluginFireOptions) =>
          registry.fireClaiming(name, payload, undefined, optionsOf("fire", payload, options)),
      };
    case "void":
      return {
        name,
        fire: async (payload: unknown, options?: PluginFireOptions) =>
          registry.fireVoid(name, payload, undefined, optionsOf("fire", payload, options)),
      };
    case "turn":
      throw new HookgateError({
        code: "HOOK_POINT_INVALID",
        message: `Hook point "${name}": a plugin cannot declare a turn point.`,
      });
  }
}

/** BigInts are refused also where the schema takes one: fired payloads are recorded as JSON. */
function bigIntProblem(payload: unknown): string | undefined {
  const path = bigIntIn(payload, "payload");
  return path && `${path}: expected a JSON value, got a BigInt: pass a number or a text`;
}

const REGISTERS: Readonly<Record<Model, string>> = {
  void: "Void",
  modifying: "Modifying",
  claiming: "Claiming",
  lifecycle: "",
  turn: "Turn",
};

/** Checks the options from which the hook's id is derived. */
function checkPlain(pluginId: string, hook: string, options: unknown): asserts options is RegisterOptions {
  if (typeof options !== "object" || options === null)
    throw invalid(`${pluginId}.${hook}`, `options: expected { … }, got ${shown(options)}`);
  const { id, name, pluginId: given } = options as RegisterOptions;
  if (given !== undefined && given !== pluginId)
    throw invalid(`${pluginId}.${hook}`, `pluginId: the hook belongs to plugin "${pluginId}": remove it`);
  for (const [option, value] of Object.entries({ id, name }))
    if (value !== undefined && typeof value !== "string")
      throw invalid(`${pluginId}.${hook}`, `${option}: expected text, got ${typeof value}`);
  if (id !== undefined && !/^[a-z0-9][a-z0-9._:-]*$/i.test(id))
    throw invalid(
      `${pluginId}.${hook}`,
      `id: expected letters, digits, dots, colons, dashes and underscores, got "${id}"`,
    );
}

/** `<plugin>.<id, name or hook>`; a second unnamed hook at the same point gets a number. */
function hookId(pluginId: string, hook: string, phase: string, options: RegisterOptions, stage: Stage): string {
  const isTaken = (id: string) => stage.hooks.some((staged) => staged.id === id) || stage.live?.has(id) === true;
  const given =
    options.id ??
    options.name
      ?.trim()
      .toLowerCase()
      .replace(/[^a-z0-9_-]+/g, "-");
  const base = `${pluginId}.${given ?? (phase ? `${phase}-${hook}` : hook)}`;
  if (!isTaken(base)) return base;
  if (options.id !== undefined) throw takenId(base);
  let number = 2;
  while (isTaken(`${base}-${number}`)) number++;
  return `${base}-${number}`;
}
