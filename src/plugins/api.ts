/** What a plugin may do: the `api` of its `setup`. Hooks are collected while `setup` runs; after it they go live at once. */
import { createHash } from "node:crypto";
import type { Address } from "../domain/address.js";
import type { Cause } from "../domain/journal.js";
import type { OutboundMessage } from "../domain/message.js";
import type { KeyValueStore } from "../domain/store.js";
import type { Route } from "../gateway/routes.js";
import type { Catalogue } from "../hooks/catalogue/index.js";
import { inDryRun } from "../hooks/dry-run.js";
import type { Model } from "../hooks/point.js";
import type { RegisterOptions, TurnOptions } from "../hooks/registration.js";
import type { HookRegistry, Registration, Unregister } from "../hooks/registry.js";
import type {
  Canonical,
  ClaimingHandler,
  ModifyingHandler,
  NameOf,
  PayloadOf,
  ResultOf,
  TurnHandler,
  VoidHandler,
} from "../hooks/signatures.js";
import type { Clock } from "../lib/clock.js";
import { HookgateError } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import { type Handler, type StagedHook, takenId } from "./slots.js";

type P = Catalogue;

/** The registry's own calls, with `pluginId` filled in and ids prefixed by the plugin's. */
export interface PluginHooks {
  registerVoid<N extends NameOf<P, "void">>(
    hook: N,
    handler: VoidHandler<PayloadOf<P, N>, Canonical<N>>,
    options?: RegisterOptions,
  ): Unregister;
  registerModifying<N extends NameOf<P, "modifying">>(
    hook: N,
    handler: ModifyingHandler<PayloadOf<P, N>, ResultOf<P, N>, Canonical<N>>,
    options?: RegisterOptions,
  ): Unregister;
  registerClaiming<N extends NameOf<P, "claiming">>(
    hook: N,
    handler: ClaimingHandler<PayloadOf<P, N>, ResultOf<P, N>, Canonical<N>>,
    options?: RegisterOptions,
  ): Unregister;
  registerTurn<N extends NameOf<P, "turn">>(
    phase: N,
    handler: TurnHandler<PayloadOf<P, N>, Canonical<N>>,
    options?: TurnOptions,
  ): Unregister;
  register<N extends NameOf<P, Model>>(registration: Registration<P, N>): Unregister;
}

export interface PluginSendOptions {
  /** What led to it: the `cause` of the payload at hand. The message then counts as one step deeper, so that loops are cut. */
  cause?: Cause;
  /** Sends at most once per key, also when a handler runs again after a crash: `greet:${userId}`. */
  once?: string;
}

/** The plugin's own pairs; values are JSON. In a dry run nothing is written. */
export interface PluginStore {
  get(key: string): Promise<unknown>;
  set(key: string, value: unknown): Promise<void>;
  delete(key: string): Promise<void>;
  list(prefix?: string): Promise<{ key: string; value: unknown }[]>;
}

export interface PluginApi<Config = unknown> {
  readonly id: string;
  /** As the plugin's schema parsed it. */
  readonly config: Config;
  readonly hooks: PluginHooks;
  /** Sends through the outbox and all its hooks; resolves with the delivery's id when it is on disk. In a dry run nothing is sent. */
  send(at: Address, message: OutboundMessage | string, options?: PluginSendOptions): Promise<string>;
  /** A new text for what a delivery posted. */
  edit(deliveryId: string, message: OutboundMessage | string, options?: PluginSendOptions): Promise<string>;
  readonly store: PluginStore;
  /** Gets the messages that no hook claimed, when the configuration says `default_route: { plugin: <id> }`. */
  route(handler: Route): void;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** What of the gateway plugins reach, as functions. */
export interface GatewayFunctions {
  send(at: Address, message: OutboundMessage, options: { cause: Cause; deliveryId?: string }): Promise<string>;
  edit(deliveryId: string, message: OutboundMessage, options: { cause: Cause; deliveryId?: string }): Promise<string>;
}

export interface ApiParts {
  id: string;
  config: unknown;
  registry: HookRegistry;
  /** Points of this version and of others that are set up aside with it: not yet the registry's. */
  pointsAside: readonly { name: string }[];
  gateway: GatewayFunctions;
  keyValue: KeyValueStore;
  logger: Logger;
  clock: Clock;
}

/** Where the calls of one version of a plugin go: collected until it is live, then to the registry. */
export interface Stage {
  readonly hooks: StagedHook[];
  route: Route | undefined;
  /** Set when the version went live. */
  live: { add(hook: StagedHook): Unregister; route(handler: Route): void } | undefined;
  /** True when the version was replaced, rolled back or stopped: its calls are refused. */
  isOver: boolean;
}

export function createStage(): Stage {
  return { hooks: [], route: undefined, live: undefined, isOver: false };
}

/** What a dry run gives for the id of a delivery that it did not make. */
export const DRY_RUN_DELIVERY = "dry-run";

export function createApi(parts: ApiParts, stage: Stage): PluginApi {
  const { id, gateway, logger } = parts;
  const refuseWhenOver = () => {
    if (stage.isOver)
      throw new HookgateError({
        code: "PLUGIN_REPLACED",
        message: `This version of plugin "${id}" is no longer loaded.`,
      });
  };
  return {
    id,
    config: parts.config,
    hooks: pluginHooks(parts, stage),
    async send(at, message, options = {}) {
      refuseWhenOver();
      if (skipped(logger, "send")) return DRY_RUN_DELIVERY;
      return gateway.send(at, outbound(message), sendOptions(id, options));
    },
    async edit(deliveryId, message, options = {}) {
      refuseWhenOver();
      if (skipped(logger, "edit")) return DRY_RUN_DELIVERY;
      return gateway.edit(deliveryId, outbound(message), sendOptions(id, options));
    },
    store: pluginStore(parts),
    route(handler) {
      refuseWhenOver();
      if (stage.live) stage.live.route(handler);
      else stage.route = handler;
    },
    logger,
    clock: parts.clock,
  };
}

function outbound(message: OutboundMessage | string): OutboundMessage {
  return typeof message === "string" ? { text: message } : message;
}

function sendOptions(id: string, { cause, once }: PluginSendOptions): { cause: Cause; deliveryId?: string } {
  const own: Cause = cause
    ? { ...cause, kind: cause.kind === "file" ? "file" : "hook", depth: cause.depth + 1 }
    : { kind: "hook", id: `plugin:${id}`, depth: 1 };
  if (once === undefined) return { cause: own };
  const digest = createHash("sha256").update(`${id}\n${once}`).digest("base64url").slice(0, 24);
  return { cause: own, deliveryId: `d_${digest}` };
}

function skipped(logger: Logger, what: string): boolean {
  if (!inDryRun()) return false;
  logger.debug({ what }, "left out in a dry run");
  return true;
}

function pluginStore({ id, keyValue, logger }: ApiParts): PluginStore {
  const scope = `plugin:${id}`;
  return {
    get: (key) => keyValue.get(scope, key),
    list: (prefix = "") => keyValue.list(scope, prefix),
    async set(key, value) {
      if (!skipped(logger, "store.set")) await keyValue.set(scope, key, value);
    },
    async delete(key) {
      if (!skipped(logger, "store.delete")) await keyValue.delete(scope, key);
    },
  };
}

function pluginHooks({ id, registry, pointsAside }: ApiParts, stage: Stage): PluginHooks {
  const add = (
    hook: string,
    phase: string,
    options: RegisterOptions,
    handler: Handler,
    attach: StagedHook["attach"],
  ): Unregister => {
    if (!pointsAside.some(({ name }) => name === hook)) registry.point(hook); // an unknown name fails here, in the plugin's own line
    const staged: StagedHook = { id: hookId(id, hook, phase, options, stage), hook, phase, options, handler, attach };
    if (stage.isOver)
      throw new HookgateError({
        code: "PLUGIN_REPLACED",
        message: `This version of plugin "${id}" is no longer loaded.`,
      });
    if (stage.live) return stage.live.add(staged);
    stage.hooks.push(staged);
    return () => {
      const at = stage.hooks.indexOf(staged);
      if (at >= 0) stage.hooks.splice(at, 1);
    };
  };
  // The relay holds whatever version's handler is current; it was checked against the same hook name when it was registered.
  return {
    registerVoid: (hook, handler, options = {}) =>
      add(hook, "", options, handler, (relay, full) =>
        registry.registerVoid(hook, (payload, context) => relay.handler(payload as never, context as never), full),
      ),
    registerModifying: (hook, handler, options = {}) =>
      add(hook, "", options, handler, (relay, full) =>
        registry.registerModifying(
          hook,
          (payload, context) => relay.handler(payload as never, context as never) as ReturnType<typeof handler>,
          full,
        ),
      ),
    registerClaiming: (hook, handler, options = {}) =>
      add(hook, "", options, handler, (relay, full) =>
        registry.registerClaiming(
          hook,
          (payload, context) => relay.handler(payload as never, context as never) as ReturnType<typeof handler>,
          full,
        ),
      ),
    registerTurn: (phase, handler, options = {}) =>
      add(phase, "", options, handler, (relay, full) =>
        registry.registerTurn(
          phase,
          (payload, context) => relay.handler(payload as never, context as never) as ReturnType<typeof handler>,
          full as TurnOptions,
        ),
      ),
    register(registration) {
      const { hook, handler, ...options } = registration;
      const phase = "phase" in options && typeof options.phase === "string" ? options.phase : "";
      return add(hook, phase, options, handler as Handler, (relay, full) => {
        const relayed = (first: never, second: never) => relay.handler(first, second);
        return registry.register({ ...registration, ...full, handler: relayed } as typeof registration);
      });
    },
  };
}

/** `<plugin>.<id, name or hook>`; a second unnamed hook at the same point gets a number. */
function hookId(pluginId: string, hook: string, phase: string, options: RegisterOptions, stage: Stage): string {
  const isTaken = (id: string) => stage.hooks.some((staged) => staged.id === id);
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
