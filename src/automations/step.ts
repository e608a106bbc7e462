/** A context step: gathers something before the handler runs. One file a step in `steps/`; `steps/index.ts` is their table. */
import type { z } from "zod";
import type { JsonSchema } from "../lib/validation/json-schema.js";
import type { Machine } from "./handler.js";
import type { RunContext } from "./run-context.js";

export interface Step<Options = unknown> {
  /** The key in the YAML: `shell`, `read_file`, `http`, … */
  readonly name: string;
  readonly summary: string;
  /** Its own settings; `timeout`, `max_bytes`, `required` and `skip_if` belong to every step and are added by the definition. */
  readonly options: z.ZodType<Options>;
  /** Options that are never templates (`sh`). All other strings in the options are rendered before `run` gets them. */
  readonly verbatim?: readonly string[];
  /** Options that are argument lists of programs: no template turns a plain argument into an option (`-x`). */
  readonly argumentLists?: readonly string[];
  /** Options that a model may read: values of templates in them are marked as data, and `run` takes the marks out where people read it. */
  readonly forModel?: readonly string[];
  /** Paths of files and addresses; see `TemplateRules`. */
  readonly places?: readonly string[];
  /** Texts that are sent as a form; see `TemplateRules`. */
  forms?(options: Options): readonly string[];
  /** The word of `skip_if` that asks whether its result is ok; a step without one has no such word. */
  readonly okWord?: "exit_zero" | "status_ok";
  /** The effect of the step is the purpose of the hook: its failure ends the run as failed, unless the definition has `required: false`. */
  readonly isEffect?: true;
  /** `skip_if: empty` never holds. */
  readonly neverEmpty?: true;
  /** Things that these options name and this machine lacks at the moment; see `Handler`. */
  missing?(options: Options, machine: Machine): readonly string[];
  /** Secret variables that these options need; a missing one is refused at load. */
  secrets?(options: Options): readonly string[];
  /** Variables that hold an address; one that holds something else is refused at load. */
  addresses?(options: Options): readonly string[];
  /** Only an owner may fire, enable or reveal a hook with it. */
  readonly ownerOnly?: boolean;
  /** The assignee by these options, templates unresolved; a person who may not give it work may not fire the hook. */
  assignee?(options: Options): string;
  /** Fields of the result that templates and conditions may name, with their types; a template that names another is refused at load. */
  readonly fields: Readonly<Record<string, FieldType>>;
  /** Fields that are null where there is nothing of the kind; a template may ask for one with `if`. */
  readonly nullable?: readonly string[];
  /** The schema of the items of each list among its fields, by the name of the list. */
  itemsOf?(options: Options): Readonly<Record<string, JsonSchema>>;
  /** Throws for a failure. Must stop when `context.signal` aborts, and keep its result within `context.maxBytes`. */
  run(options: Options, context: StepContext): Promise<StepResult>;
}

/** The types of fields, as JSON schemas name them; each may be null, too. `output`: the output of a program. */
export type FieldType = "string" | "output" | "number" | "boolean" | "array" | "object" | "any";

export interface StepContext extends RunContext {
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** See `Rendering`. */
  readonly folders: Readonly<Record<string, string>>;
}

/** The values of a step that templates and conditions see. */
export interface StepResult {
  /** `steps[0].stdout`, `steps[0].rows`, … */
  readonly value: Readonly<Record<string, unknown>>;
  /** Why the field `json` is null although the step ran: a read of the field fails. */
  readonly noJson?: string | undefined;
  /** Fields that are null because the step could not find them out. */
  readonly noValue?: NoValueOf | undefined;
  /** The text that `{{ step_0 }}` prints. */
  readonly text: string;
  /** No output, no rows, no body, no diff, no files. */
  readonly isEmpty: boolean;
  /** Exit 0, 2xx, no red test; undefined where there is no such thing. */
  readonly isOk?: boolean;
  /** Why the step is not ok, for everybody; without it, `text` has the reason, which then is of a program and for owners only. */
  readonly notOk?: string | undefined;
}

/** Fields without a value. A template that prints one shows why; a template that compares one fails the run. */
export interface NoValueOf {
  readonly fields: readonly string[];
  readonly why: string;
}

/** A failed step is this, in place of a result; it is neither empty nor ok. */
export interface StepFailure {
  readonly error: string;
  readonly timedOut: boolean;
  /** The step reads a value that an earlier step does not have, which ends the run even where the step is not required. */
  readonly readsNoValue?: true | undefined;
}
