/** Input and output types of commands. `commands/` holds the commands, one a file; `gateway/inbound/` runs them. Never names a platform. */
import type { Address } from "../domain/chat/address.js";
import type { CommandSpec, OptionValue } from "../domain/chat/command.js";
import type { Operator, Role } from "../domain/chat/identity.js";
import type { InboundMessage, OutboundMessage } from "../domain/chat/message.js";
import type { Cause } from "../domain/journal.js";
import { HookgateError, type HookgateErrorFacts } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";

/** The answer: a message for the person, and the same as data for `--json` and the HTTP API. */
export interface CommandAnswer {
  message: OutboundMessage;
  data?: unknown;
  /** For exit codes and the audit; `done` when absent. `refused`: not now or not you. */
  outcome?: "done" | "failed" | "refused";
  /**
   * The answer asks for a word before the command does anything: the audit has `asked`. Programs get `refused`, because nothing was done.
   */
  isQuestion?: boolean;
  /**
   * Why a command was refused: the role that it needs, and the one that the sender has. It is kept in the row of the inbox, which `/hooks
   * why` explains.
   */
  refusal?: string;
  /** The values that the command overwrites: the audit keeps them beside the options. The answer does not show them. */
  audited?: Readonly<Record<string, unknown>>;
  /**
   * Short, and only for the person: when a press gave the command, the answer is shown to them alone, and not at all where it cannot be.
   * The effect of the command shows elsewhere.
   */
  isNote?: boolean;
}

export interface CommandContext {
  operator: Operator;
  /** Where it came from: a platform, `cli` or `api`. For histories. */
  source: string;
  /** Validated and typed by the spec. */
  options: Record<string, OptionValue>;
  /** Where it was given; undefined over HTTP and the CLI. */
  at?: Address;
  /** Facts of the message that gave it, for `/whoami`: those that the configuration can name. */
  from?: Pick<InboundMessage, "isDm" | "guildId" | "parentChatId" | "userRoleIds"> & {
    /** The access list has this place. */
    isListenedTo?: boolean;
    /** Other people could read the line. */
    isOpen?: boolean;
    /** Other people can read the answer. */
    isAnsweredOpenly?: boolean;
  };
  /**
   * The start of the ids of dispatches that the command's own message set off; undefined on the CLI, and over HTTP without an
   * Idempotency-Key.
   */
  causeId?: string;
  /** How often the command was started, on disk; undefined where that is not counted. */
  attempt?: number;
  /** The run of a hook whose program gave it: this run is the cause of what the command sets off. */
  givenBy?: Cause;
  /** The message it answers to, when given as a reply: `/hooks why x` on a message. */
  replyToId?: string;
  /** Replaces the answer shown so far; for work that takes long. The last value wins; `run`'s own answer comes last. */
  progress(message: OutboundMessage): void;
  /** Throws a refusal (private, short, audited) unless the operator has the role. `why`: a sentence for the person who is refused. */
  need(role: Role, why?: string): void;
  logger: Logger;
  signal: AbortSignal;
}

export interface Command extends CommandSpec {
  /**
   * Whether this person may do this, where the command's role is not all that it takes. Called for a button: a person who may not press
   * it is shown no form, and the answer to the press gives the reason. `run` refuses by itself.
   */
  allows?(operator: Operator, options: Readonly<Record<string, OptionValue>>): Promise<boolean>;
  /** A press that gives this command is answered with a note (`isNote`), which some platforms show in the answer to the press itself. */
  answersWithNote?(options: Readonly<Record<string, OptionValue>>): boolean;
  run(context: CommandContext): Promise<CommandAnswer>;
}

/** An option that names something is missing, names nothing, or names more than one thing: the caller is offered the choices. */
export class UnclearOption extends HookgateError {
  readonly option: string;
  readonly typed: string | undefined;
  /** The only values that may be meant, where the command knows them: nothing else is offered. */
  readonly among: readonly string[] | undefined;

  constructor(facts: HookgateErrorFacts, option: string, typed?: string, among?: readonly string[]) {
    super(facts);
    this.option = option;
    this.typed = typed;
    this.among = among;
  }
}
