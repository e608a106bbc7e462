/**
 * A handler acts for a configured hook, once its context is there. Each handler is a file or folder in `handlers/`; `handlers/index.ts`
 * is their table.
 */

import type { z } from "zod";
import type { ModelUsage, ToolCallRecord } from "../domain/automation.js";
import type { CommandSpec } from "../domain/chat/command.js";
import type { Destinations } from "../lib/outgoing/destinations.js";
import type { Issue } from "../lib/validation/schema-issues.js";
import type { RunContext } from "./run-context.js";

export interface Handler<Options = unknown> {
  /** The key under `run:`: `shell`, `http`, `agent`, `chat`, `mission`, `module`. */
  readonly name: string;
  readonly summary: string;
  readonly options: z.ZodType<Options>;
  /** Options that are never templates (`sh`). */
  readonly verbatim?: readonly string[];
  /** Paths of files and addresses; see `TemplateRules`. */
  readonly places?: readonly string[];
  /** Texts that are sent as a form; see `TemplateRules`. */
  forms?(options: Options): readonly string[];
  /** Options that are argument lists of programs: no template turns a plain argument into an option (`-x`). */
  readonly argumentLists?: readonly string[];
  /** Options that a model reads: values of templates in them are data, and are marked as such (`asData`). */
  readonly forModel?: readonly string[];
  /** Markdown that people read in a chat (`card.text`): no value makes a link there whose words hide where the link leads. */
  readonly forChat?: readonly string[];
  /** Options with buttons: values of templates in the `line` of one are a quoted value of the command. */
  readonly buttons?: readonly string[];
  /** The model that these options name; one that is not configured is refused at load. */
  model?(options: Options): string | undefined;
  /** These options ask the default model; without one they are refused at load. */
  needsModel?(options: Options): boolean;
  /** These options limit the cost of a run; a model without a price is refused at load. */
  needsPrice?(options: Options): boolean;
  /** The setting that makes it decide something; a hook whose decision has no effect is refused at load. */
  decides?(options: Options): string | undefined;
  /** The decision is the answer of a model or of another machine: see `outside-decision.ts`. */
  readonly isOutside?: true;
  /** The handler never blocks, changes or claims anything. */
  readonly decidesNothing?: true;
  /** The handler may skip its run by itself: there is nothing to do. */
  readonly maySkip?: true;
  /** The deadline of one attempt; one that is later than that of the run is refused at load. */
  attemptMs?(options: Options): number;
  /** Why a run with these options has no effect; such a hook is refused at load. `isHeard`: the gateway waits for its decision. */
  idle?(options: Options, isHeard: boolean): Pick<Issue, "path" | "message"> | undefined;
  /** Settings that change nothing beside the others; `isWritten`: it is no default. Such a hook is refused at load. */
  unused?(options: Options, isWritten: (setting: string) => boolean): readonly UnusedSetting[];
  /** Chats that these options name, templates among them. `to` is their path within the options. */
  chats?(options: Options): readonly ChatRef[];
  /**
   * Programs, modules and plans that these options name and the gateway lacks at the moment. The hook is in force, and its runs fail.
   * Templates among them are not judged.
   */
  missing?(options: Options, machine: Machine): readonly string[];
  /** Changes with the code that these options name. */
  version?(options: Options, folder: string): string | undefined;
  /** Problems of the code that these options name; the code is loaded to find them, as a run loads it. */
  faults?(options: Options, folder: string): Promise<readonly string[]>;
  /** Secret variables that these options need; a missing one is refused at load. */
  secrets?(options: Options): readonly string[];
  /** The secret variables that sign: one that is no key is refused at load. */
  signingSecrets?(options: Options): readonly string[];
  /** Variables that hold an address; one that holds something else is refused at load. */
  addresses?(options: Options): readonly string[];
  /** Only an owner may fire, enable or reveal it. */
  readonly ownerOnly?: boolean;
  /** Never throws for a failure of its work: a failure is a result. Must stop when `context.signal` aborts. */
  run(options: Options, context: RunContext): Promise<HandlerResult>;
}

export interface UnusedSetting {
  readonly setting: string;
  readonly message: string;
}

export interface ChatRef {
  readonly path: readonly (string | number)[];
  readonly text: string;
}

/** The places of programs, modules and plans, and the other things that steps and handlers may name. */
export interface Machine {
  /** Relative paths start here: the folder of the definition. */
  readonly folder: string;
  /** An earlier step of the hook runs a program, which may create files that are not there yet. */
  readonly isAfterProgram: boolean;
  /** The event is about a conversation, which `here` means. */
  readonly hasHere: boolean;
  /** The PATH that programs get. */
  readonly searchPath: string;
  /** Ids of the mission plans that can be run; undefined: they cannot be listed. */
  readonly plans: readonly string[] | undefined;
  /** All commands, those of plugins included. */
  readonly commands: readonly CommandSpec[];
  /** Ids of hooks and names of points; undefined when not all are known, because a plugin is broken. */
  readonly hooksAndPoints: readonly string[] | undefined;
  /** Why no hook has this id; undefined when one has. */
  hookProblem(id: string): string | undefined;
  /** Why no chat has this id, which is without its platform; undefined when one may. */
  chatIdProblem(id: string): string | undefined;
  /** Why no runner or person has this name; undefined when one may. */
  agentProblem(name: string): string | undefined;
  /** Why no task can be given to this runner or person; undefined when one can. */
  assigneeProblem(assignTo: string): string | undefined;
  /** Where requests may go besides the public internet. */
  readonly destinations: Destinations;
  /** ms since the epoch. */
  readonly now: number;
}

/** The decisions that a configured handler may make. `by-point`: the catalogue shows how each point carries it. */
export type Decision =
  | { readonly kind: "pass" }
  | { readonly kind: "block"; readonly reason: string }
  | { readonly kind: "modify"; readonly patch: Readonly<Record<string, unknown>> }
  | { readonly kind: "claim"; readonly reply?: string };

export interface HandlerFacts {
  /** Rendered prompt, request body, message or command line, for the history (redacted there). */
  readonly rendered?: string;
  /** The result that came back: output, status, text. */
  readonly output?: unknown;
  readonly toolCalls?: readonly ToolCallRecord[];
  readonly usage?: ModelUsage;
}

/** A result of a handler that names no decision, so that it passes, unless its author meant to decide: see `undecidedError`. */
export interface Undecided {
  /** A value, or a text that may be JSON. */
  readonly given: unknown;
  /** `decision: status`: its exit code or status is the decision. */
  readonly isByStatus?: boolean;
  /** How the handler decides, where its result does not decide. */
  readonly remedy?: string;
}

export type HandlerResult =
  | ({ readonly kind: "decided"; readonly decision: Decision; readonly undecided?: Undecided } & HandlerFacts)
  /** There was nothing to do, and nothing was done. */
  | ({ readonly kind: "skipped"; readonly by: string; readonly reason: string } & HandlerFacts)
  | ({
      readonly kind: "failed";
      readonly error: string;
      readonly timedOut?: boolean;
      readonly isRetryable: boolean;
      readonly retryAfterMs?: number;
      /** The other side reports that it is gone for good (410): the hook is switched off, with this reason. */
      readonly disable?: string;
    } & HandlerFacts);
