/** The inputs of one version of a plugin, and the target of its calls: they are collected until it is live, then go to the registry. */
import { z } from "zod";
import { type Address, address } from "../domain/chat/address.js";
import { type OutboundMessage, outboundMessage } from "../domain/chat/message.js";
import { messageProblems } from "../domain/chat/message-problems.js";
import { saysNothing } from "../domain/chat/says-nothing.js";
import type { Cause } from "../domain/journal.js";
import type { KeyValueStore } from "../domain/store.js";
import type { Command } from "../gateway/commands.js";
import type { Route } from "../gateway/routes.js";
import { cause } from "../hooks/catalogue/gateway.js";
import { catalogue } from "../hooks/catalogue/index.js";
import { causedBy, type HandlerName, type SurroundingHandler, surroundingCause } from "../hooks/dry-run.js";
import type { HookPoint } from "../hooks/point.js";
import type { HookRegistry, Unregister } from "../hooks/registry.js";
import { HookgateError } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { Clock } from "../lib/time/clock.js";
import { shown } from "../lib/validation/plain-issues.js";
import { suggestion } from "../lib/validation/schema-issues.js";
import { unwrap } from "../lib/validation/schema-keys.js";
import { strictly } from "../lib/validation/strictly.js";
import { unknownKey } from "../lib/validation/unknown-key.js";
import { valueProblem } from "../lib/validation/value-problem.js";
import type { StagedHook } from "./slots.js";

/** The functions of the gateway that plugins reach. */
export interface GatewayFunctions {
  send(at: Address, message: OutboundMessage, options: PluginSending): Promise<string>;
  edit(deliveryId: string, message: OutboundMessage, options: PluginSending): Promise<string>;
  /** Why nothing can be posted there; undefined when it can. */
  destinationProblem?(at: Address): Promise<string | undefined>;
  /** The address as messages have it now; see `PluginApi.currentAddress`. */
  currentAddress?(at: Address): Address;
}

export interface PluginSending {
  cause: Cause;
  plugin: string;
  deliveryId?: string;
}

export interface ApiDeps {
  id: string;
  config: unknown;
  registry: HookRegistry;
  /** Points of this version and of others that are set up aside with it: they are not in the registry yet. */
  pointsAside: HookPoint[];
  /** The plugin or the product that has a command of this name; undefined when it is free. */
  commandOwner(name: string): string | undefined;
  /** How many commands there are beside those of this plugin. */
  commandCount(): number;
  /** Called for a hook with `critical: true`, before anything about it can fail. */
  onCritical(): void;
  gateway: GatewayFunctions;
  keyValue: KeyValueStore;
  logger: Logger;
  clock: Clock;
}

/** The changes that a version at work may still make. */
interface Live {
  add(hook: StagedHook): Unregister;
  /** Whether a hook of this id is registered. */
  has(id: string): boolean;
  remove(hook: StagedHook): void;
  declare(point: HookPoint): void;
  route(handler: Route): void;
}

/** Where the calls of one version of a plugin go: collected until it is live, then to the registry. */
export interface Stage {
  readonly hooks: StagedHook[];
  readonly points: HookPoint[];
  readonly commands: Command[];
  route: Route | undefined;
  /** Set when the version went live. */
  live: Live | undefined;
  /** True when the version was replaced, rolled back or stopped: its calls are refused, except those of handlers that still run. */
  isOver: boolean;
  /** The function that `setup` returned is running, and has time left. */
  isEnding: boolean;
  /** Handlers that wait for something: hooks, commands and the default route. */
  readonly running: Set<RunningHandler>;
}

/** The context that a handler was called with. Its signal fires at its deadline; everything that the handler sets off has its cause. */
interface HandlerContext {
  readonly signal?: AbortSignal;
  readonly cause: Cause | undefined;
  readonly dispatchId?: string;
}

interface RunningHandler extends SurroundingHandler {
  context?: HandlerContext | undefined;
}

/** `points`: those that the plugin's definition lists. */
export function createStage(points: readonly HookPoint[] = []): Stage {
  return {
    hooks: [],
    points: [...points],
    commands: [],
    route: undefined,
    live: undefined,
    isOver: false,
    isEnding: false,
    running: new Set(),
  };
}

/** Calls a handler; while it runs and has time left, its version may send, edit and fire, also when it is replaced meanwhile. */
export function inStage<T>({ running }: Stage, name: HandlerName, context: HandlerContext, call: () => T): T {
  // An object of its own: two handlers may be called with the same context.
  const handler: RunningHandler = { ...name, context, isCalled: true };
  const ended = () => {
    handler.context = undefined;
    running.delete(handler);
  };
  try {
    const value = causedBy(context.cause, call, handler);
    // A handler that returned at once was not running while anything was replaced.
    if (value instanceof Promise) {
      running.add(handler);
      value.then(ended, ended);
    }
    return value;
  } finally {
    handler.isCalled = false;
    if (!running.has(handler)) ended();
  }
}

/** Throws PLUGIN_REPLACED for a call of an old version that none of its running handlers can have made: a timer, a promise left behind. */
export function refuseStray(id: string, stage: Stage): void {
  if (!stage.isOver) return;
  for (const { context } of stage.running) if (context?.signal?.aborted !== true) return;
  refuseOld(id, stage);
}

/** Throws PLUGIN_REPLACED for a version that was replaced, rolled back or stopped. */
export function refuseOld(id: string, { isOver }: Stage): void {
  if (!isOver) return;
  throw new HookgateError({
    code: "PLUGIN_REPLACED",
    message: `This version of plugin "${id}" is no longer loaded.`,
  });
}

/** The part of a payload that names a place is an address with other fields: `api.send(message, …)`. */
const FIELDS_BESIDE_CHAT: ReadonlySet<string> = new Set(catalogue.flatMap(({ payload }) => fieldsBesideChat(payload)));

function fieldsBesideChat(schema: unknown): string[] {
  const { inner } = unwrap(schema as z.ZodType);
  if (!(inner instanceof z.ZodObject)) return [];
  const within = Object.values(inner.shape).flatMap(fieldsBesideChat);
  return "chatId" in inner.shape ? [...Object.keys(inner.shape), ...within] : within;
}

/** The problem of an address, or of a message or payload that is given as one: a misspelt thread would post to the whole room. */
export function placeProblem(at: unknown, name: string): string | undefined {
  const problem = valueProblem(address, at, [name]);
  if (problem !== undefined) return problem;
  const known = Object.keys(address.shape);
  const key = Object.keys(at as Address).find((one) => !known.includes(one) && !FIELDS_BESIDE_CHAT.has(one));
  return key && `${name}: unknown field "${key}"${suggestion(key, known)}`;
}

const strictMessage = strictly(outboundMessage);

/** Throws PLUGIN_MESSAGE, which names the field, for a value that is no message, or an empty one. `what` is the call: `api.send`. */
export function outbound(given: OutboundMessage | string, what: string): OutboundMessage {
  const message = typeof given === "string" ? { text: given } : given;
  const problem = valueProblem(strictMessage, message, ["message"]) ?? emptiness(message) ?? problemOf(message);
  if (problem === undefined) return message;
  throw new HookgateError({ code: "PLUGIN_MESSAGE", message: `${what}: ${problem}` });
}

const emptiness = (message: OutboundMessage) =>
  saysNothing(message) ? "the message has no text, card, attachment or button" : undefined;

function problemOf(message: OutboundMessage): string | undefined {
  const [problem] = messageProblems(message);
  return problem && `${["message", ...problem.path].join(".")}: ${problem.message}`;
}

/** Throws PLUGIN_OPTION for options that are no object or have a key that is none of `known`. */
export function checkGiven(what: string, options: unknown, known: readonly string[]): void {
  const isObject = typeof options === "object" && options !== null;
  const problem = isObject
    ? unknownKey("option", options, known)
    : `expected options as an object, got ${shown(options)}`;
  if (problem !== undefined) throw new HookgateError({ code: "PLUGIN_OPTION", message: `${what}: ${problem}` });
}

/** Throws PLUGIN_OPTION for an invalid `cause`. */
export function checkCause(what: string, given: unknown): void {
  const problem = given === undefined ? undefined : valueProblem(cause, given, ["cause"]);
  if (problem === undefined) return;
  throw new HookgateError({
    code: "PLUGIN_OPTION",
    message: `${what}: ${problem}`,
    hint: "Pass the `cause` of the payload or context at hand.",
  });
}

/**
 * The cause of the actions of a plugin: one step deeper than the given cause, or than the cause of its running handler when that is deeper,
 * because a plugin that does not pass a cause on must not loop for ever.
 */
export function deeper(id: string, given: Cause | undefined): Cause {
  const around = surroundingCause();
  const cause = given && around ? (around.depth > given.depth ? around : given) : (given ?? around);
  return cause
    ? { ...cause, kind: cause.kind === "file" ? "file" : "hook", depth: cause.depth + 1 }
    : { kind: "hook", id: `plugin:${id}`, depth: 1 };
}
