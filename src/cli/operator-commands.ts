/**
 * The operator commands on the command line, as `commands/` declares them: each action is a subcommand, texts are arguments in the order in
 * which they fill by position in chat, everything else is an option. The gateway runs them.
 */
import { type Command, Option } from "commander";
import { COMMAND_GROUPS } from "../../commands/groups.js";
import { commandSpecs } from "../../commands/index.js";
import type { CommandSpec, OptionSpec, OptionValue } from "../domain/chat/command.js";
import { HookgateError } from "../lib/errors.js";
import { nearest } from "../lib/validation/nearest.js";
import type { LiveCall } from "./live.js";
import { readPayload } from "./payload-file.js";

/** Runs it, and prints the answer. */
export type RunLive = (call: LiveCall, flags: { json?: boolean }) => Promise<void>;

/** Shorter names. */
const ALIASES: Readonly<Record<string, string>> = { "fire-hook": "fire" };

/** Their lists are shown as tables as wide as they need. */
const VIEWS: Readonly<Record<string, LiveCall["view"]>> = {
  "hooks list": "hooks",
  "outbox list": "letters",
};

export function addOperatorCommands(program: Command, live: RunLive): void {
  for (const spec of commandSpecs.filter(({ name }) => name !== "help"))
    addOne(described(program.command(spec.name), spec), spec, live);
  // Commander's own, and last, because commands that are added later would inherit it.
  for (const spec of commandSpecs.filter(({ name }) => name === "help"))
    program.addHelpCommand(
      described(program.createCommand("help").argument("[command]", "The command to explain"), spec),
    );
}

/** `name=value`, as answers of the gateway write options, becomes the flag of that option. */
export function withFlags(args: readonly string[]): string[] {
  const [first = "", ...words] = args;
  const spec = commandSpecs.find(({ name }) => name === first || ALIASES[name] === first);
  if (spec === undefined) return [...args];
  needAction(spec, words);
  return [first, ...words.map((word) => flagOf(word, spec))];
}

/** Without one, the first action takes the words: a misspelt action is named before they are taken for something else. */
function needAction({ name, options }: CommandSpec, [action = "", next = "-"]: readonly string[]): void {
  const { choices = [] } = options.find(isAction) ?? {};
  if (choices.includes(action) || action.startsWith("-") || next.startsWith("-")) return;
  const near = nearest(action, choices);
  if (near === undefined) return;
  throw new HookgateError({
    code: "BAD_USAGE",
    message: `${name} has no action "${action}". Did you mean "${near}"?`,
    hint: `hookgate ${name} --help lists its actions.`,
  });
}

function flagOf(word: string, { options }: CommandSpec): string {
  const [, name, value = ""] = /^([a-z][a-z-]*)=(.*)$/s.exec(word) ?? [];
  const option = options.find((one) => one.name === name && !one.required && !isAction(one));
  if (option === undefined) return word;
  if (option.type !== "boolean") return `--${name}=${value}`;
  // Other words than those of `parse-command.ts` are no value of a switch.
  if (/^(true|yes|on|1)$/i.test(value)) return `--${name}`;
  return /^(false|no|off|0)$/i.test(value) ? `--no-${name}` : word;
}

function described(command: Command, { group, summary }: CommandSpec): Command {
  return command.description(summary).helpGroup(`${COMMAND_GROUPS.find(({ id }) => id === group)?.title}:`);
}

function addOne(command: Command, spec: CommandSpec, live: RunLive): void {
  const alias = ALIASES[spec.name];
  if (alias !== undefined) command.alias(alias);
  const { choices, choiceSummaries } = spec.options.find(isAction) ?? {};
  if (!choices) addOptions(command, spec, undefined, live);
  else command.enablePositionalOptions();
  for (const [place, action] of choices?.entries() ?? []) {
    const one = command.command(action, { isDefault: place === 0 }).description(choiceSummaries?.[action] ?? "");
    addOptions(one, spec, action, live);
  }
}

const isAction = ({ name }: OptionSpec) => name === "action";

function addOptions(command: Command, spec: CommandSpec, action: string | undefined, live: RunLive): void {
  const options = spec.options.filter((one) => !isAction(one) && (one.only?.includes(action ?? "") ?? true));
  const byPlace = argumentsOf(options);
  for (const { name, summary, required, rest } of byPlace) {
    const shown = rest ? `${name}...` : name;
    command.argument(required ? `<${shown}>` : `[${shown}]`, summary);
  }
  const flags = options.filter(({ required }) => !required).flatMap((one) => flagsOf(one, byPlace.includes(one)));
  for (const flag of flags) command.addOption(flag);
  command.option("--json", "Print JSON");
  if (flags.some(({ negate }) => negate)) command.addHelpText("after", "\n--no-NAME sets a switch to false.");
  command.action(async () => {
    const values = valuesOf(command, options, byPlace);
    const isOne = spec.name === "runs" && values.filter === "last";
    const view = isOne ? undefined : VIEWS[`${spec.name} ${action ?? ""}`.trimEnd()];
    await live({ name: spec.name, options: { action, ...values }, view }, { json: command.opts().json === true });
  });
}

/** The texts up to the one that takes the rest of the line. */
function argumentsOf(options: readonly OptionSpec[]): OptionSpec[] {
  const texts = options.filter(({ type }) => type === "string");
  const last = texts.findIndex(({ rest }) => rest);
  return last < 0 ? texts : texts.slice(0, last + 1);
}

/** An argument may be given by its name as well, as in chat. */
function flagsOf({ name, summary, type, choices }: OptionSpec, isArgument: boolean): Option[] {
  if (type === "boolean")
    return [new Option(`--${name}`, summary), new Option(`--no-${name}`, `not ${name}`).hideHelp()];
  const flag = new Option(`--${name} <${type === "integer" ? "number" : "value"}>`, summary);
  if (choices) flag.choices([...choices]);
  if (isArgument && name !== PAYLOAD) flag.hideHelp();
  return [flag];
}

/** JSON, which may come from a file or from standard input. */
const PAYLOAD = "payload";

function valuesOf(
  command: Command,
  options: readonly OptionSpec[],
  byPlace: readonly OptionSpec[],
): Record<string, OptionValue | undefined> {
  const flags = command.opts<Record<string, string | boolean | undefined>>();
  return Object.fromEntries(
    options.map((option) => {
      const word: unknown = command.processedArgs[byPlace.indexOf(option)];
      const words = Array.isArray(word) ? word.join(" ") : word;
      const placed = typeof words === "string" && words !== "" ? words : undefined;
      const named = flags[new Option(`--${option.name}`).attributeName()];
      if (placed !== undefined && named !== undefined) throw givenTwice(option.name, placed, String(named));
      return [option.name, typed(option, placed ?? named)];
    }),
  );
}

function typed({ name, type }: OptionSpec, given: string | boolean | undefined): OptionValue | undefined {
  if (given === undefined || given === "") return undefined;
  if (typeof given === "boolean") return given;
  if (name === PAYLOAD) return readPayload(given);
  if (type !== "integer") return given;
  if (!/^-?\d{1,15}$/.test(given)) throw badUsage(`--${name}: expected a whole number, got "${given}".`);
  return Number(given);
}

const givenTwice = (name: string, one: string, other: string) =>
  badUsage(`"${name}" is given twice, as "${one}" and as "${other}".`);

const badUsage = (message: string) => new HookgateError({ code: "BAD_USAGE", message });
