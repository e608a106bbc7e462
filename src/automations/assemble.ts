/** Configured hooks, put together from the parts of the product. `app/parts.ts` passes in the parts that they reach. */

import { type Address, parseAddress } from "../domain/chat/address.js";
import type { Models } from "../domain/model.js";
import type { Store } from "../domain/store.js";
import type { HookRegistry } from "../hooks/registry.js";
import { mapTexts } from "../lib/files/relative-paths.js";
import type { Logger } from "../lib/logger.js";
import type { Resolve } from "../lib/outgoing/connect.js";
import type { Destinations } from "../lib/outgoing/destinations.js";
import type { Processes } from "../lib/process/process.js";
import type { Clock } from "../lib/time/clock.js";
import type { Pending } from "../pending/pending.js";
import { type AnswerDeps, answers } from "./answers.js";
import { type Automations, createAutomations } from "./automations.js";
import type { AutomationsConfig } from "./config.js";
import { createNotifier, type Notifier } from "./notify.js";
import type { Queue } from "./queue.js";
import { createReachOf, type ReachDeps } from "./reach.js";
import { createTriggers, type TriggerAttempts } from "./triggers/triggers.js";

export interface AssemblyDeps {
  /** The current settings: a reload changes them. */
  config(): AutomationsConfig;
  registry: HookRegistry;
  store: Pick<
    Store,
    "automation" | "keyValue" | "inbox" | "outbox" | "journal" | "tasks" | "missions" | "alerts" | "audit"
  >;
  queue: Queue;
  gateway: ReachDeps["gateway"];
  destinationProblem?: ReachDeps["destinationProblem"];
  threads: Pick<ReachDeps, "openThread" | "openTopic" | "threadsAt" | "noteNoThread">;
  status(): Promise<object>;
  mayOperatorsHear: AnswerDeps["mayOperatorsHear"];
  /** Where admins are notified when the configuration names no place. */
  admins(): readonly Address[];
  isWithAdmin(at: Address): boolean;
  variable(name: string): string | undefined;
  destinations: Destinations;
  /** A real path that the gateway itself writes: its database, uploads and so on. */
  isOwnFile(path: string): boolean;
  /** Replaces the system's resolver. */
  resolve?: Resolve;
  processes: Processes;
  pending: Pending;
  attempts: TriggerAttempts;
  models: Models;
  startMission: ReachDeps["startMission"];
  createTask: ReachDeps["createTask"];
  mask(text: string): string;
  /** A text for people who are not at the machine: without whole paths of files. */
  shown(text: string): string;
  /** The switch holds from now on, also for a registration to come. */
  switchHook(hookId: string, enabled: boolean, by: string): Promise<void>;
  isPluginBroken(): boolean;
  clock: Clock;
  logger: Logger;
}

export interface Assembly {
  automations: Automations;
  notifier: Notifier;
}

export function assembleAutomations(deps: AssemblyDeps): Assembly {
  const { config, registry, store, gateway, clock, logger } = deps;
  const notifier = createNotifier({
    send: (at, message, sending) => gateway.send(at, mapTexts(message, deps.shown), sending),
    edit: (deliveryId, message, sending) => gateway.edit(deliveryId, mapTexts(message, deps.shown), sending),
    currentAddress: (at) => gateway.currentAddress(at),
    async messageIdOf(deliveryId) {
      const delivery = await store.outbox.get(deliveryId);
      return delivery?.parts.find(({ operation }) => operation === "create")?.messageId;
    },
    keyValue: store.keyValue,
    admins() {
      const places = config().alerts.flatMap((text) => parseAddress(text) ?? []);
      return places.length > 0 ? places : deps.admins();
    },
    isWithAdmin: deps.isWithAdmin,
    mayOperatorsHear: deps.mayOperatorsHear,
    clock,
    logger,
  });
  const reachOf = createReachOf({
    ...deps,
    ...deps.threads,
    allow: deps.destinations,
    ask: answers({ ...deps, store, registry, clock }),
    outbox: store.outbox,
    keyValue: store.keyValue,
  });
  const automations = createAutomations({
    config,
    registry,
    store: store.automation,
    keyValue: store.keyValue,
    pending: deps.pending,
    queue: deps.queue,
    notifier,
    triggers: (needed) => createTriggers({ ...needed, attempts: deps.attempts }, { isOwnFile: deps.isOwnFile }),
    reachOf,
    mask: deps.mask,
    isPluginBroken: deps.isPluginBroken,
    switchOff: (hookId, by) => deps.switchHook(hookId, false, by),
    clock,
    logger,
  });
  return { automations, notifier };
}
