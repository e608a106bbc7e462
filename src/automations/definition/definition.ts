/** One configured hook, as the loader hands it over: checked, its names resolved, its durations in milliseconds. */

import type { TriggerKind } from "../../domain/automation.js";
import type { Address } from "../../domain/chat/address.js";
import type { ContributionKind } from "../../hooks/contribution.js";
import type { LifecyclePhase } from "../../hooks/point.js";
import type { Matcher } from "../../hooks/registration/matcher.js";
import type { Execution } from "../../hooks/registration/registration.js";
import type { ChatRef, Handler, Machine } from "../handler.js";
import type { SkipCondition } from "../short-circuit.js";
import type { Step } from "../step.js";
import type { Rendering } from "../template.js";

/** A position in a file. */
export interface Place {
  file: string;
  line?: number;
  column?: number;
}

export const FILE_OPERATIONS = ["created", "modified", "deleted"] as const;
export type FileOperation = (typeof FILE_OPERATIONS)[number];

export type Trigger =
  | { readonly kind: "on"; readonly hook: string; readonly phase?: LifecyclePhase }
  | { readonly kind: "every"; readonly everyMs: number; readonly catchUp: boolean }
  | { readonly kind: "cron"; readonly cron: string; readonly timezone: string; readonly catchUp: boolean }
  | { readonly kind: "at"; readonly at: number; readonly catchUp: boolean }
  | { readonly kind: "event"; readonly event: string }
  | {
      readonly kind: "files";
      /** Globs, relative to `folder` of the definition. */
      readonly paths: readonly string[];
      readonly ignore: readonly string[];
      readonly operations: readonly FileOperation[];
      readonly debounceMs: number;
      readonly as: "file" | "folder";
    }
  | { readonly kind: "manual" };

export type TriggerOf<K extends TriggerKind> = Extract<Trigger, { kind: K }>;

export interface ContextStep {
  readonly step: Step;
  /** Its options with their templates. */
  readonly rendering: Rendering<unknown>;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** Its failure ends the run. */
  readonly required: boolean;
  readonly skip?: SkipCondition;
}

export interface HandlerCall {
  readonly handler: Handler;
  readonly rendering: Rendering<unknown>;
}

export const NOTIFIED = ["failed", "timed_out", "blocked", "skipped", "interrupted", "succeeded"] as const;

export interface Notify {
  readonly on: readonly (typeof NOTIFIED)[number][];
  /** Formatted addresses; the ones of `automations.notify` when there are none. */
  readonly to: readonly string[];
}

export type WhenBusy = "skip" | "queue" | "coalesce";

export interface Definition {
  readonly id: string;
  readonly description?: string;
  readonly enabled: boolean;
  readonly place: Place;
  /** Where its relative paths start: the folder of its file. */
  readonly folder: string;
  readonly trigger: Trigger;
  /** The hook point at which it is registered; `DUE_POINT` when it is time or a person that starts it. */
  readonly point: string;
  readonly phase?: LifecyclePhase;
  readonly match?: Matcher;
  readonly context: readonly ContextStep[];
  readonly skipWhen: "any" | "all";
  readonly run: HandlerCall;
  readonly execution: Execution;
  readonly timeoutMs?: number;
  readonly onFailure: "open" | "closed" | "fallback";
  readonly fallback?: unknown;
  readonly cooldownMs: number;
  readonly concurrency: number;
  readonly maxPerHour?: number;
  readonly whenBusy: WhenBusy;
  /** How many may wait under `when_busy: queue`. */
  readonly maxQueued: number;
  /** This setting declares that the hook may run twice for one event. */
  readonly retry?: { readonly attempts: number; readonly backoffMs: number };
  readonly notify?: Notify;
  /** How much of the hook's history is kept; where it has no value, the defaults of `automations.keep`. */
  readonly keep: { readonly maxAgeMs?: number; readonly maxRuns?: number };
  readonly priority?: number;
  readonly after: readonly string[];
  readonly before: readonly string[];
  readonly sees?: "original" | "merged";
  readonly capabilities?: readonly ContributionKind[];
  readonly critical: boolean;
  /** Changes with every change of the definition's text. */
  readonly hash: string;
  /** Changes with its text, its folder, and the code that it names. */
  version(): string;
  /** Environment variables that it needs. */
  readonly secrets: readonly string[];
  /** Chats that its handler and `notify` name; `here` and templates are not among them. */
  readonly chats: readonly ChatRef[];
  /**
   * Whether the hook's handler may post in this conversation. The actions of programs and other servers are unknown, and are no answer of
   * the hook. `current`: an address as conversations have it now.
   */
  mayPostIn(conversation: string, current: (at: Address) => Address): boolean;
  /** Programs, modules and plans that the hook names and the gateway lacks now. Each call looks them up. */
  missing(machine: Omit<Machine, "folder" | "isAfterProgram" | "hasHere">): readonly string[];
  /** Problems of the code that the hook names; the code is loaded to find them. */
  faults(): Promise<readonly string[]>;
  /** A step or the handler runs a program or code that only an owner may run. */
  readonly ownerOnly: boolean;
  /** Its handler only answers, and nothing waits for the answer. */
  readonly isIdle: boolean;
  /** Settings with `$NAME` that stays as it is, one sentence each. */
  readonly unexpanded: readonly string[];
  /** A `sh` ends in `&`, and the programs that it leaves running are ended. */
  readonly leavesRunning: boolean;
  /** The runners and people to whom its steps give work. Undefined among them: the one that its event names. */
  readonly assignees: readonly (string | undefined)[];
}
