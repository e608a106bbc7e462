/** The context of steps and handlers: the hook, the trigger, the payload, and the ways to reach the rest of the product. */

import type { TriggerKind } from "../domain/automation.js";
import type { Address } from "../domain/chat/address.js";
import type { OutboundMessage } from "../domain/chat/message.js";
import type { NoThread } from "../domain/chat/thread.js";
import type { Cause } from "../domain/journal.js";
import type { Models } from "../domain/model.js";
import type { Actor, Task, TaskOrigin, TaskSpecInput } from "../domain/orchestrator/task.js";
import type { Logger } from "../lib/logger.js";
import type { GuardedRequest, GuardedResponse } from "../lib/outgoing/request.js";
import type { Processes } from "../lib/process/process.js";
import type { Clock } from "../lib/time/clock.js";

export interface RunContext {
  readonly hookId: string;
  readonly runId: string;
  readonly attempt: number;
  /** When its trigger fired, the same for every attempt. */
  readonly firedAt: number;
  /** When it ran before: `last_run_time` and `seconds_since_last_run` of templates. */
  readonly lastRunAt?: number;
  readonly trigger: TriggerKind;
  /** The hook point's or the event's name. */
  readonly eventName: string;
  /** The payload. Read-only. */
  readonly event: Readonly<Record<string, unknown>>;
  /** The cause of all actions of this run: the run itself, one deeper than what started it. */
  readonly cause: Cause;
  readonly dryRun: boolean;
  /** Where relative paths start: the folder of the file that defines the hook. */
  readonly folder: string;
  readonly signal: AbortSignal;
  /** The stop of the gateway ended the work that the run waits for: the run has no outcome. Its signal fires. */
  cutOff?: (() => void) | undefined;
  /** Programs of the run left these running, and the gateway ended them. */
  leftRunning?: ((names: readonly string[]) => void) | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly reach: Reach;
}

/** The product as steps and handlers reach it. Filled by `reach.ts`. */
export interface Reach {
  /** Environment variables that the definition names; undefined when not set. Never the gateway's own environment. */
  secret(name: string): string | undefined;
  /** Sends a message through the outbox and all its hooks, once per `once`. Resolves with the delivery's id. */
  send(at: Address, message: OutboundMessage, options: { cause: Cause; once?: string }): Promise<string>;
  edit(deliveryId: string, message: OutboundMessage, options: { cause: Cause }): Promise<string>;
  /** The address with the bot account filled in, where the chat is now: two spellings of one chat give the same. */
  currentAddress(at: Address): Address;
  /** Named, read-only queries over the stored data: `runs`, `messages`, `deliveries`, … Unknown names reject. */
  query(name: string, args: Readonly<Record<string, unknown>>): Promise<readonly Record<string, unknown>[]>;
  /** Creates a task, once per id. Rejects with TASK_…: refused by a hook, or no task at all. */
  createTask(input: TaskSpecInput, actor: Actor, origin: TaskOrigin): Promise<Task>;
  /** Sends one request to a place that a definition names, with the guard of outgoing requests. An answer of any status is an answer. */
  request(url: string, request: OutgoingRequest): Promise<GuardedResponse>;
  /** Programs, each in a group of its own that is ended whole. */
  readonly processes: Processes;
  /** Language models, as `models:` configures them. */
  readonly models: Models;
  /**
   * Starts a mission by its plan, once per `once`. Resolves with its id when its first tasks are let go. Rejects with PLAN_NOT_FOUND,
   * PLAN_INVALID and, when a hook refuses the start, MISSION_BLOCKED.
   */
  startMission(
    planId: string,
    options: { by: string; once: string; cause: Cause; address?: Address; signal: AbortSignal },
  ): Promise<string>;
  /** A real path that the gateway itself writes, or reads its secrets from. */
  isOwnFile(path: string): boolean;
  /** A value that this hook noted before, over runs and restarts; JSON. */
  recall(key: string): Promise<unknown>;
  remember(key: string, value: unknown): Promise<void>;
  /** Posts the opener, once per `once`, and gives the address of the thread under it; undefined where there are none. */
  openThread(
    at: Address,
    opener: OutboundMessage,
    options: { cause: Cause; once: string; signal: AbortSignal },
  ): Promise<Address | NoThread | undefined>;
}

/** The configuration (`outgoing:`), not the caller, decides where the request may go. */
export type OutgoingRequest = Omit<GuardedRequest, "allow" | "resolve">;
