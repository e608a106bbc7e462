/**
 * How steps and handlers of a hook reach the rest of the product: each hook gets the secrets that its definition names, and its own
 * notes.
 */
import { createHash } from "node:crypto";
import { type Address, formatAddress } from "../domain/chat/address.js";
import { hasNoThread, type NoThread, openerId, THREAD_NOT_OPENED, whyNoThread } from "../domain/chat/thread.js";
import { watchDelivery } from "../domain/deliveries/watch-delivery.js";
import type { Models } from "../domain/model.js";
import { type Delivery, isUnderWay, type KeyValueStore, type OutboxStore } from "../domain/store.js";
import type { Gateway } from "../gateway/contract.js";
import { HookgateError } from "../lib/errors.js";
import type { Resolve } from "../lib/outgoing/connect.js";
import type { Destinations } from "../lib/outgoing/destinations.js";
import type { Processes } from "../lib/process/process.js";
import type { Clock } from "../lib/time/clock.js";
import type { Ask } from "./answers.js";
import type { Reach } from "./run-context.js";

export interface ReachDeps {
  /** Reads a variable of the environment. */
  variable(name: string): string | undefined;
  gateway: Pick<Gateway, "send" | "edit" | "withdraw" | "currentAddress">;
  outbox: Pick<OutboxStore, "get">;
  /** Why nothing can be posted there, as far as is known: its platform is off, its room is not there. Undefined: it can. */
  destinationProblem?(at: Address): Promise<string | undefined>;
  /** The thread under a message, where the platform has such. */
  openThread(at: Address, messageId: string, name: string): Promise<Address | undefined>;
  /** How the platform's threads are opened. */
  threadsAt(platform: string): "under-messages" | "by-name" | "none";
  /** A thread by its name, where the chat has such; called twice it opens two. */
  openTopic(at: Address, name: string): Promise<Address | undefined>;
  /** Nothing is opened there: reported once. */
  noteNoThread(at: Address, error: HookgateError): void;
  ask: Ask;
  createTask: Reach["createTask"];
  /** Where requests may go besides the public internet. */
  allow: Destinations;
  /** Replaces the system's resolver. */
  resolve?: Resolve;
  processes: Processes;
  models: Models;
  startMission: Reach["startMission"];
  isOwnFile: Reach["isOwnFile"];
  keyValue: KeyValueStore;
  clock: Clock;
}

/** The parts of a definition that matter here: its id, and the variables that it names. */
export interface Reaching {
  readonly id: string;
  readonly secrets: readonly string[];
}

export function createReachOf(deps: ReachDeps): (definition: Reaching) => Reach {
  const { gateway, keyValue, processes, models } = deps;
  const topics = latestByKey<Address | NoThread | undefined>();
  // A message is not lost to its thread: it goes to the chat.
  const noThread = (at: Address, error: unknown): NoThread => {
    if (!hasNoThread(error)) throw error;
    deps.noteNoThread(at, error);
    return { refused: whyNoThread(error) };
  };
  return ({ id, secrets }) => {
    const scope = `hook:${id}`;
    return {
      secret: (name) => (secrets.includes(name) ? deps.variable(name) : undefined),
      async send(at, message, { cause, once }) {
        const problem = await deps.destinationProblem?.(at);
        if (problem !== undefined) throw new HookgateError({ code: "DESTINATION_UNKNOWN", message: problem });
        return gateway.send(at, message, { cause, deliveryId: once === undefined ? undefined : deliveryOf(once) });
      },
      currentAddress: (at) => gateway.currentAddress(at),
      edit: (deliveryId, message, { cause }) => gateway.edit(deliveryId, message, { cause }),
      query: deps.ask,
      createTask: deps.createTask,
      async request(url, request) {
        // Half a megabyte of HTTP client, only for installations with hooks that use it.
        const { guardedRequest } = await import("../lib/outgoing/request.js");
        const { allow, resolve } = deps;
        return guardedRequest(url, { ...request, allow, resolve });
      },
      processes,
      models,
      startMission: deps.startMission,
      isOwnFile: deps.isOwnFile,
      recall: (key) => keyValue.get(scope, key),
      remember: (key, value) => keyValue.set(scope, key, value),
      async openThread(at, opener, { cause, once, signal }) {
        switch (deps.threadsAt(at.platform)) {
          case "none":
            return undefined;
          case "by-name":
            return topics(`${scope}|${formatAddress(at)}`, once, () =>
              deps.openTopic(at, opener.text).catch((error: unknown) => noThread(at, error)),
            );
          case "under-messages":
        }
        const deliveryId = await gateway.send(at, opener, { cause, deliveryId: openerId(once) });
        try {
          const messageId = await posted(deliveryId, deps, signal);
          return await deps.openThread(at, messageId, opener.text);
        } catch (error) {
          const none = noThread(at, error);
          // An opener that is not posted by now would be alone, without a thread.
          await gateway.withdraw(deliveryId, "no thread was opened under it: the message goes to the chat");
          return none;
        }
      },
    };
  };
}

/** Makes the latest value of each key once, however many callers ask for it at a time: two runs at once speak in one topic. */
function latestByKey<T>(): (key: string, once: string, make: () => Promise<T>) => Promise<T> {
  const latest = new Map<string, { once: string; made: Promise<T> }>();
  return (key, once, make) => {
    const known = latest.get(key);
    if (known?.once === once) return known.made;
    const made = make();
    latest.set(key, { once, made });
    made.catch(() => latest.delete(key)); // the next caller tries again
    return made;
  };
}

/** The same words for the same cause are one delivery, however often a run is repeated. */
function deliveryOf(once: string): string {
  return `d_once_${createHash("sha256").update(once).digest("base64url").slice(0, 27)}`;
}

const POSTED_WITHIN_MS = 20_000;

/** The platform's id of the message that a delivery posted, once it has. */
async function posted(deliveryId: string, deps: ReachDeps, signal: AbortSignal): Promise<string> {
  const isEnough = (delivery: Delivery) => messageIdOf(delivery) !== undefined;
  const delivery = await watchDelivery(deliveryId, deps, { withinMs: POSTED_WITHIN_MS, signal, isEnough });
  const messageId = delivery && messageIdOf(delivery);
  if (messageId !== undefined) return messageId;
  throw new HookgateError({
    code: THREAD_NOT_OPENED,
    message: `the first message of a thread was not posted${delivery?.reason === undefined ? "" : `: ${delivery.reason}`}`,
    retryable: delivery !== undefined && isUnderWay(delivery),
  });
}

const messageIdOf = ({ parts }: Delivery) => parts.find(({ status }) => status === "sent")?.messageId;
