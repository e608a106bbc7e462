/**
 * An operator command as a declaration. Discord slash commands, the Telegram menu, the web chat's completion, `/help`,
 * access checks and docs/commands.md all derive from it.
 */
import type { Operator, Role } from "./identity.js";

export type OptionValue = string | number | boolean;

export interface OptionSpec {
  /** `[a-z0-9_-]{1,32}`. Also usable in text as `name=value`; options also fill by position, in this order. */
  name: string;
  summary: string;
  type: "string" | "integer" | "boolean";
  required?: boolean;
  choices?: readonly string[];
  /** The last string option may take the rest of the line. */
  rest?: boolean;
  /** Offer completion: which list the values come from; `words` when there are none but those of `words`. */
  complete?:
    | "hooks"
    | "points"
    | "hooks-and-points"
    | "runs"
    | "deliveries"
    | "commands"
    | "tasks"
    | "alerts"
    | "clocks"
    | "words";
  /** Offered before the list: states and other words that the option takes as well. */
  words?: readonly string[];
}

export interface CommandSpec {
  /** `[a-z0-9-]{1,32}`; Telegram shows `-` as `_`, and both spellings are understood everywhere. */
  name: string;
  summary: string;
  options: readonly OptionSpec[];
  /** The least role; "anyone" = no role needed. A command may ask for more in `run`, by option. */
  role: Role | "anyone";
  /** Its run may take long: commands that are given later in the same conversation do not wait for it. */
  isSlow?: boolean;
}

export interface Choice {
  name: string;
  value: string;
}

/** A person is typing an option's value. Answered live, never stored. */
export interface CompletionQuery {
  operator: Omit<Operator, "role"> & { roleIds?: string[] };
  command: string;
  option: string;
  typed: string;
}
