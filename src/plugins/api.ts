/** The `api` of a plugin's `setup`. Hooks are collected while `setup` runs; after it they go live at once. */
import { createHash } from "node:crypto";
import type { Address } from "../domain/chat/address.js";
import type { OutboundMessage } from "../domain/chat/message.js";
import type { Cause } from "../domain/journal.js";
import type { Route, RouteResult } from "../gateway/routes.js";
import { inDryRun } from "../hooks/dry-run.js";
import { neverRuns } from "../hooks/registration/entry.js";
import type { Known } from "../hooks/signatures.js";
import { HookgateError } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { Clock } from "../lib/time/clock.js";
import { jsonProblem } from "../lib/validation/json-problem.js";
import { shown } from "../lib/validation/plain-issues.js";
import { pluginClock } from "./clock.js";
import { type PluginCommands, pluginCommands } from "./commands.js";
import { type PluginHooks, pluginHooks } from "./hooks.js";
import { namedRoute } from "./route.js";
import {
  type ApiDeps,
  checkCause,
  checkGiven,
  deeper,
  inStage,
  outbound,
  type PluginSending,
  placeProblem,
  refuseOld,
  refuseStray,
  type Stage,
} from "./stage.js";

export interface PluginSendOptions {
  /**
   * The cause of the message when the calling handler has another cause: the `cause` of a payload that was kept, for example. The message
   * counts as one step deeper than the deeper of both, so that loops are cut.
   */
  cause?: Cause | undefined;
  /** Sends at most once per key, also when a handler runs again after a crash: `greet:${userId}`. */
  once?: string | undefined;
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
  /** The settings as the plugin's schema parsed them. */
  readonly config: Config;
  readonly hooks: PluginHooks;
  readonly commands: PluginCommands;
  /** Sends through the outbox and all its hooks; resolves with the delivery's id when it is on disk. In a dry run nothing is sent. */
  send(at: Address, message: OutboundMessage | string, options?: PluginSendOptions): Promise<string>;
  /** Changes the text of the message that a delivery posted. */
  edit(deliveryId: string, message: OutboundMessage | string, options?: PluginSendOptions): Promise<string>;
  /**
   * The address as messages have it now, to compare it with theirs: with the bot account where it was left out, and with the new id of a
   * chat that moved (a Telegram group that became a supergroup). Call it for each message: a chat may move at any time.
   */
  currentAddress(at: Address): Address;
  readonly store: PluginStore;
  /** Gets the messages that no hook claimed, when the configuration has `default_route: { plugin: <id> }`. */
  route<H extends Route>(handler: H & Known<H, RouteResult>): void;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** The delivery id that `send` returns in a dry run, where no delivery is made. */
export const DRY_RUN_DELIVERY = "dry-run";

export function createApi(deps: ApiDeps, stage: Stage): PluginApi {
  const { id, gateway, logger } = deps;
  return {
    id,
    config: deps.config,
    hooks: pluginHooks(deps, stage),
    commands: pluginCommands(deps, stage),
    async send(at, message, options = {}) {
      refuseStray(id, stage);
      const what = "api.send";
      checkPlace(what, at);
      checkSend(what, options);
      const checked = outbound(message, what);
      // Before the destination is looked up: an example payload names a chat that exists nowhere.
      if (skipped(logger, "send")) return DRY_RUN_DELIVERY;
      const unreachable = await gateway.destinationProblem?.(at);
      if (unreachable !== undefined)
        throw new HookgateError({ code: "PLUGIN_DESTINATION", message: `${what}: ${unreachable}` });
      return gateway.send(at, checked, sendOptions(id, options));
    },
    async edit(deliveryId, message, options = {}) {
      refuseStray(id, stage);
      checkSend("api.edit", options);
      const checked = outbound(message, "api.edit");
      if (skipped(logger, "edit")) return DRY_RUN_DELIVERY;
      return gateway.edit(deliveryId, checked, sendOptions(id, options));
    },
    currentAddress(at) {
      checkPlace("api.currentAddress", at);
      return gateway.currentAddress?.(at) ?? at;
    },
    store: pluginStore(deps, stage),
    route(handler) {
      refuseOld(id, stage);
      const problem = typeof handler === "function" ? neverRuns(handler) : `expected a function, got ${shown(handler)}`;
      if (problem !== undefined) throw new HookgateError({ code: "PLUGIN_ROUTE", message: `api.route: ${problem}` });
      if (stage.route !== undefined)
        throw new HookgateError({
          code: "PLUGIN_ROUTE",
          message: "api.route: it was called before, and a plugin has one default route",
          hint: "Decide inside one handler.",
        });
      const named = namedRoute(id, (message, context) =>
        inStage(stage, { plugin: id }, { cause: context.cause, dispatchId: context.causeId }, () =>
          handler(message, context),
        ),
      );
      stage.route = named;
      stage.live?.route(named);
    },
    logger,
    clock: pluginClock(deps),
  };
}

function checkPlace(what: string, at: unknown): void {
  const problem = placeProblem(at, "address");
  if (problem !== undefined) throw new HookgateError({ code: "PLUGIN_MESSAGE", message: `${what}: ${problem}` });
}

function checkSend(what: string, options: PluginSendOptions): void {
  checkGiven(what, options, ["cause", "once"]);
  checkCause(what, options.cause);
  if (options.once !== undefined) checkKey(`${what}: once`, options.once);
}

function checkKey(what: string, key: unknown): void {
  if (typeof key === "string" && key !== "") return;
  throw new HookgateError({ code: "PLUGIN_OPTION", message: `${what}: expected a key as text, got ${shown(key)}` });
}

function sendOptions(id: string, { cause, once }: PluginSendOptions): PluginSending {
  const own = deeper(id, cause);
  if (once === undefined) return { cause: own, plugin: id };
  const digest = createHash("sha256").update(`${id}\n${once}`).digest("base64url").slice(0, 24);
  return { cause: own, plugin: id, deliveryId: `d_${digest}` };
}

function skipped(logger: Logger, what: string): boolean {
  if (!inDryRun()) return false;
  logger.debug({ what }, "left out in a dry run");
  return true;
}

function pluginStore({ id, keyValue, logger }: ApiDeps, stage: Stage): PluginStore {
  const scope = `plugin:${id}`;
  const refuse = () => {
    // A version may store its state as it ends.
    if (!stage.isEnding) refuseStray(id, stage);
  };
  return {
    async get(key) {
      refuse();
      checkKey("api.store.get", key);
      return keyValue.get(scope, key);
    },
    async list(prefix = "") {
      refuse();
      if (prefix !== "") checkKey("api.store.list", prefix);
      return keyValue.list(scope, prefix);
    },
    async set(key, value) {
      refuse();
      checkKey("api.store.set", key);
      const problem = jsonProblem(value, "value");
      if (problem !== undefined)
        throw new HookgateError({ code: "PLUGIN_VALUE", message: `api.store.set(${shown(key)}): ${problem}` });
      if (!skipped(logger, "store.set")) await keyValue.set(scope, key, value);
    },
    async delete(key) {
      refuse();
      checkKey("api.store.delete", key);
      if (!skipped(logger, "store.delete")) await keyValue.delete(scope, key);
    },
  };
}
