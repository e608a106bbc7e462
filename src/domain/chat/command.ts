/**
 * An operator command as a declaration. Discord slash commands, the Telegram menu, the web chat's completion, `/help`,
 * access checks and docs/commands.md all derive from it.
 */
import { hasRole, type Operator, type Role } from "./identity.js";

export type OptionValue = string | number | boolean;

export const OPTION_TYPES = ["string", "integer", "boolean"] as const;

/** The lists that the values of an option may come from. */
export type ChoiceList =
  | "hooks"
  | "points"
  | "hooks-and-points"
  | "hooks-and-people"
  | "runs"
  | "deliveries"
  | "deliveries-to-release"
  | "letters-to-retry"
  | "letters-to-purge"
  | "commands"
  | "tasks"
  | "open-tasks"
  | "tasks-to-act-on"
  | "assignees"
  | "missions"
  | "open-missions"
  | "plans"
  | "schedules"
  | "gates"
  | "alerts"
  | "silences"
  | "clocks"
  | "conversations"
  | "rotas"
  | "policies"
  | "words";

export interface OptionSpec {
  /** `[a-z0-9_-]{1,32}`. Also usable in text as `name=value`; options also fill by position, in this order. */
  name: string;
  summary: string;
  type: (typeof OPTION_TYPES)[number];
  required?: boolean;
  choices?: readonly string[];
  /** Choice → its effect: for completion, `/help NAME` and the docs. */
  choiceSummaries?: Readonly<Record<string, string>>;
  /** The last string option may take the rest of the line. */
  rest?: boolean;
  /** By position only when the option `action` is one of these; by name always. */
  only?: readonly string[];
  /**
   * Values of the option `action` that cannot be done without this one. The command itself reports that to a person; a button with such a
   * line is reported at load.
   */
  neededFor?: readonly string[];
  /** By position, a word that is alone and is none of its choices goes to the next option: `/hooks deploy`. */
  yields?: boolean;
  /** Other names under which it is understood. */
  also?: readonly string[];
  /** The option is given only as `--name` or `name=yes`: its bare word may be part of a text. */
  spelled?: boolean;
  /**
   * The list that its values come from: for completion, and for a caller who left the option out; `words` when there are only the values of
   * `words`.
   */
  complete?: ChoiceList;
  /** Other lists, by the value of the option `action`. */
  completeFor?: Readonly<Record<string, ChoiceList>>;
  /** Offered behind the list: states and other words that the option takes as well; with `completeFor`, where that is `words`. */
  words?: readonly string[];
  /** Other words, by the value of the option `action`; behind any list. */
  wordsFor?: Readonly<Record<string, readonly string[]>>;
}

export interface CommandSpec {
  /** `[a-z0-9-]{1,32}`; Telegram shows `-` as `_`, and both spellings are understood everywhere. */
  name: string;
  summary: string;
  /** The subject under which it is listed: see `commands/groups.ts`. Commands of plugins have none. */
  group?: string;
  options: readonly OptionSpec[];
  /** The least role; "anyone" = no role needed. A command may ask for more in `run`, by option. */
  role: Role | "anyone";
  /** Shown to people in place of the role, where it depends on what is done. Sentences, in Markdown. */
  roles?: string;
  /** Its run may take long: commands that are given later in the same conversation do not wait for it. */
  isSlow?: boolean;
}

/** Whether a person with this role may give the command at all. */
export function mayUse(role: Role | undefined, { role: least }: Pick<CommandSpec, "role">): boolean {
  return least === "anyone" || hasRole(role, least);
}

/** The role that a command requires, in a sentence. */
export const roleText = ({ role, roles }: Pick<CommandSpec, "role" | "roles">): string =>
  roles ?? (role === "anyone" ? "Requires no role." : `Requires role: ${role}.`);

/** A fixed choice as people see it: with its effect, where that is declared. */
export function choiceText({ choiceSummaries }: OptionSpec, choice: string): string {
  const summary = choiceSummaries?.[choice];
  return summary === undefined ? choice : `${choice}: ${summary}`;
}

/** `/fire-hook <id> [payload] [live]`: required options in angle brackets. */
export function usageOf({ name, options }: CommandSpec): string {
  return [`/${name}`, ...options.map((option) => (option.required ? `<${option.name}>` : `[${option.name}]`))].join(
    " ",
  );
}

/** Phones turn straight quotes into curly ones. */
const QUOTES: Readonly<Record<string, string>> = { '"': '"', "'": "'", "“": "”", "‘": "’" };

/** The mark that ends a quoted value which `opening` starts; undefined when it starts none. */
export function closingQuote(opening: string): string | undefined {
  return QUOTES[opening];
}

/** A text as one value of a command line: any text is read back unchanged. */
export function quoteValue(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

/** A text as one value, quoted only when it has to be. Without quotes, a bracket would start JSON, and dashes the name of an option. */
export function word(text: string): string {
  return /^(?!--|—)[^=]+$/.test(text) ? bareOrQuoted(text) : quoteValue(text);
}

/** `name=value`, the value quoted only when it has to be. */
export function namedOption(name: string, value: OptionValue): string {
  return `${name}=${bareOrQuoted(String(value))}`;
}

function bareOrQuoted(text: string): string {
  return /^(?![{[])[^\s"'“‘\\]+$/.test(text) ? text : quoteValue(text);
}

/**
 * A value by its place, quoted only when it has to be. Free text (`rest`) ends its line and stays bare, except where a part of it would be
 * read as an option or its own quotes would be lost.
 */
export function placedOption(spec: Pick<CommandSpec, "options">, { rest }: OptionSpec, value: OptionValue): string {
  const text = String(value);
  const bare = rest ? text.trim() : word(text);
  const isRead = bare !== text || text === "" || (rest && /^["'“‘]|(^|\s)([\w-]+=|(--|—)[\w-])/.test(text));
  return isRead || text.split(/\s+/).some((part) => isSwitch(spec, part)) ? quoteValue(text) : text;
}

function isSwitch(spec: Pick<CommandSpec, "options">, name: string): boolean {
  const option = findOption(spec, name);
  return option?.type === "boolean" && !option.spelled;
}

/** `-` and `_` are the same in names, because Telegram knows no `-`. */
export const plainName = (name: string) => name.toLowerCase().replaceAll("_", "-");

export function findOption({ options }: Pick<CommandSpec, "options">, name: string): OptionSpec | undefined {
  const wanted = plainName(name);
  return options.find(
    (option) => plainName(option.name) === wanted || option.also?.some((other) => plainName(other) === wanted),
  );
}

/** Discord shows no more: https://discord.com/developers/docs/interactions/application-commands#autocomplete */
export const MAX_CHOICES = 25;
/** Characters. */
export const MAX_CHOICE_LENGTH = 100;

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
  /** The other options, as far as they were given. */
  given?: Readonly<Record<string, OptionValue>>;
}
