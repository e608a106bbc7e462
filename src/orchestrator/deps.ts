/** The dependencies that `app/parts/orchestrator.ts` passes to the orchestrator, and types that its files share. */

import type { EntityChanged } from "../domain/alerts/watched.js";
import type { Address } from "../domain/chat/address.js";
import type { Role } from "../domain/chat/identity.js";
import type { OutboundMessage } from "../domain/chat/message.js";
import type { Models } from "../domain/model.js";
import type { Assess, Task, TaskChanged } from "../domain/orchestrator/task.js";
import type { TaskStore } from "../domain/orchestrator/task-store.js";
import type { Delivery, KeyValueStore } from "../domain/store.js";
import type { SendOptions } from "../gateway/contract.js";
import type { Attempts } from "../hooks/attempts.js";
import type { HookRegistry } from "../hooks/registry.js";
import type { Logger } from "../lib/logger.js";
import type { Destinations } from "../lib/outgoing/destinations.js";
import type { Processes } from "../lib/process/process.js";
import type { Clock } from "../lib/time/clock.js";
import type { OrdinaryStops } from "../pending/ordinary-stops.js";
import type { Pending } from "../pending/pending.js";
import type { OrchestratorConfig } from "./config.js";

export interface OrchestratorDeps {
  /** The current configuration: a reload changes it. Running work goes on as it was started. */
  config(): OrchestratorConfig;
  store: TaskStore;
  registry: Pick<HookRegistry, "runBefore" | "runAfter" | "runBeforeSync">;
  pending: Pick<Pending, "handle" | "added" | "resume" | "drained">;
  attempts: Attempts;
  /** Absent: each end of a process is a crash. */
  stops?: Pick<OrdinaryStops, "wasLast">;
  keyValue: Pick<KeyValueStore, "list" | "set" | "delete">;
  /** Cards. */
  chat: {
    send(at: Address, message: OutboundMessage, options: SendOptions): Promise<string>;
    edit(deliveryId: string, message: OutboundMessage, options: SendOptions): Promise<string>;
    /** Whether this delivery is known: it was sent, or will be. */
    isThere(deliveryId: string): Promise<boolean>;
    /** The state of this delivery, or of the newest change that took its place; undefined when it is not known. */
    fateOf(deliveryId: string): Promise<Pick<Delivery, "status" | "reason"> | undefined>;
    /** Whether an operator deleted this delivery since then: it is not sent again. */
    wasPurged(deliveryId: string, since: number): Promise<boolean>;
    /** The thread under the message of a delivery; `later`: it is not posted yet. */
    threadUnder(deliveryId: string, name: string): Promise<Address | "none" | "later">;
    /** The conversation with one person; undefined where the platform is not there. */
    direct(platform: string, userId: string): Address | undefined;
  };
  /** Programs of runners. */
  processes: Processes;
  models: Models;
  /** Reads a variable of the environment, for secrets that runners name. */
  variable(name: string): string | undefined;
  /** Where requests may go besides the public internet. */
  destinations: Destinations;
  /** The folder of the configuration file: where programs run. */
  folder: string;
  mask(text: string): string;
  /** The name that people use for an account `platform:id`. */
  nameOf?(ref: string): string | undefined;
  /** The name under which the account gave commands, for one that has no name in the settings. */
  commandName?(ref: string): Promise<string | undefined>;
  /**
   * The role of the only reader of this chat; operator where others read along, or where it is not known who reads. Absent: always
   * operator.
   */
  readerRole?(at: Address): Role;
  /** Absent: there is no judge, and work with expectations waits in review for a person. */
  assess?: Assess;
  taskChanged?: TaskChanged;
  /** Why a task's mission has not released it, so that a person may not start it either; undefined when it is released. */
  heldBack?(task: Task): Promise<string | undefined>;
  entityChanged?: EntityChanged;
  /** The owner of leases. */
  owner: string;
  clock: Clock;
  logger: Logger;
}

export type Changes = { [K in keyof Task]?: Task[K] | undefined };

/** A changed copy; fields that are set to undefined are removed. */
export function withChanges(task: Task, changes: Changes): Task {
  const next: Record<string, unknown> = { ...task, ...changes };
  for (const [key, value] of Object.entries(next)) if (value === undefined) delete next[key];
  return next as Task;
}
