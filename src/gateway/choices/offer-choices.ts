/** A command that cannot know which value was meant answers with the existing values: buttons in chat, a list everywhere. */
import { type Choice, type ChoiceList, namedOption, type OptionValue } from "../../domain/chat/command.js";
import type { Button } from "../../domain/chat/message.js";
import type { HookgateError } from "../../lib/errors.js";
import { shortened } from "../../lib/text/shortened.js";
import type { Command, CommandAnswer } from "../commands.js";
import type { Deps } from "../deps.js";
import type { CommandTable } from "../inbound/parse-command.js";
import { best, near } from "./best.js";
import { type Asking, listOf, valuesOf } from "./values.js";

/** A row each, and Discord shows five. */
const MOST = 5;
const MAX_LABEL = 60;
/** Lists of names that people know, and may mistype. */
const NAMED: ReadonlySet<ChoiceList> = new Set(["hooks", "points", "hooks-and-points", "commands"]);

export interface Unclear {
  error: Pick<HookgateError, "code" | "message" | "hint"> & Partial<Pick<HookgateError, "meant">>;
  option: string;
  /** The text that was written for the option, if any. */
  typed?: string | undefined;
  /** The only values that may be meant. */
  among?: readonly string[] | undefined;
}

/** Undefined when there is nothing to choose from. */
export async function offerChoices(
  command: Command,
  { error, option: name, typed, among }: Unclear,
  asking: Asking,
  commands: CommandTable,
  deps: Deps,
): Promise<CommandAnswer | undefined> {
  const option = command.options.find((one) => one.name === name);
  const list = option && listOf(option, asking.given);
  if (list === undefined) return undefined;
  const named = among?.slice(0, MOST + 1);
  const all = await valuesOf(list, { ...asking, named }, commands, deps);
  // A message that asks "Did you mean" offers that, and nothing else.
  const meant = all.filter(({ value }) => value === error.meant).slice(0, 1);
  // A letter or two are somewhere in many names.
  const isTooShort = NAMED.has(list) && (typed?.length === 1 || typed?.length === 2);
  const fitting = named ? all : isTooShort ? [] : best(all, typed ?? "", MOST + 1);
  const similar = fitting.length > 0 ? fitting : near(all, typed ?? "");
  // Names unlike the typed one are no help. For running work, the newest may be meant.
  const found =
    meant.length > 0 ? meant : fitting.length > 0 || NAMED.has(list) ? similar : [...new Set([...similar, ...all])];
  const shown = found.slice(0, MOST);
  if (shown.length === 0) return undefined;
  const more = found.length > MOST ? "There are more. Type a word of the name, or the start of the id." : undefined;
  const listed = meant.length > 0 ? undefined : shown;
  const hint = [...(listed ? ["Which one?", ...listed.map(plainLine)] : []), more, error.hint];
  const hintText = hint.filter((part) => part !== undefined).join("\n");
  const labels = withIdsOf(shown, labelsOf(shown.map(wordsOf)));
  return {
    message: {
      text: [
        `✗ ${error.message}`,
        listed ? `**Which one?**\n${listed.map((choice) => `- ${line(choice)}`).join("\n")}` : "",
        [more, error.hint].filter((part) => part !== undefined).join("\n"),
      ]
        .filter((part) => part !== "")
        .join("\n\n"),
      buttons: shown.map((choice, index) => [
        button(command, { ...asking.given, [name]: choice.value }, labels[index] ?? choice.value),
      ]),
    },
    data: {
      error: { code: error.code, message: error.message, hint: hintText },
      choices: shown.map(({ name: words, value }) => ({ value, name: words })),
    },
    outcome: "failed",
  };
}

/** For a terminal. */
function plainLine(choice: Choice): string {
  const words = wordsOf(choice);
  return `- ${choice.value}${words === choice.name ? behindValue(choice) : `: ${words}`}`;
}

function line(choice: Choice): string {
  const words = wordsOf(choice);
  const rest = words === choice.name ? behindValue(choice) : ` ${words}`;
  return `\`${choice.value}\`${rest.replace(/[\\`*_~[\]<>|#@]/g, "\\$&")}`;
}

/** The words of a choice's name besides its value: `me` is `yourself`. */
function behindValue({ name, value }: Choice): string {
  return name.startsWith(value) ? name.slice(value.length) : ` · ${name}`;
}

/** The words of a choice without the id behind them, which is of no use to a person. */
function wordsOf({ name, value }: Choice): string {
  const tail = ` · ${value}`;
  return name.endsWith(tail) ? name.slice(0, -tail.length) : name;
}

/** The part of a button that a phone shows, in characters. Labels that differ only behind it lose the words that they all start with. */
const SEEN = 30;

function labelsOf(words: readonly string[]): string[] {
  const [first = "", ...others] = words;
  let alike = 0;
  while (others.length > 0 && alike < first.length && words.every((one) => one[alike] === first[alike])) alike++;
  // Whole words only, so that the rest can be read.
  const cut = first.slice(0, alike).search(/[^\s._:/…-]*$/);
  const isHidden =
    words.some((one) => [...one].length > SEEN) && cut > SEEN / 3 && words.every((one) => one.length > cut);
  return words.map((one) => shortened(isHidden ? `…${one.slice(cut)}` : one, MAX_LABEL));
}

/** Choices with the same words differ by the end of their ids, which the answer has in full. */
function withIdsOf(choices: readonly Choice[], labels: readonly string[]): string[] {
  return labels.map((label, index) => {
    if (labels.filter((one) => one === label).length === 1) return label;
    const end = ` · …${choices[index]?.value.slice(-ID_END)}`;
    return `${shortened(label, MAX_LABEL - end.length)}${end}`;
  });
}

const ID_END = 5;

function button(command: Command, options: Readonly<Record<string, OptionValue>>, label: string): Button {
  return {
    label,
    style: "secondary",
    action: { kind: "command", line: commandLine(command, options) },
  };
}

/** The line with all options by name, so that text behind one of them is read as part of that option. */
function commandLine({ name, options: specs }: Command, options: Readonly<Record<string, OptionValue>>): string {
  const words = specs.flatMap((spec) => {
    const value = options[spec.name];
    return value === undefined ? [] : [namedOption(spec.name, value)];
  });
  return [`/${name}`, ...words].join(" ");
}
