/** The problems of the buttons of a hook's message, before a person presses one. */

import { type CommandSpec, quoteValue } from "../../../domain/chat/command.js";
import type { Button } from "../../../domain/chat/message.js";
import { type MessageProblem, pressProblems } from "../../../domain/chat/message-problems.js";
import { CommandTable, type ParsedOptions, parseOptions } from "../../../gateway/inbound/parse-command.js";
import { isBlank } from "../../../lib/markdown/clean.js";
import { nearest } from "../../../lib/validation/nearest.js";
import { isTemplate } from "../../template/is-template.js";

type ButtonSpec = Pick<Button, "label" | "url" | "action">;
type CommandAction = Extract<Button["action"], { kind: "command" }>;

/** Characters that a reader cannot see or that turn the direction of the text: a label could show other words than it has. */
const HIDDEN = /[\u061C\u200B\u200E\u200F\u202A-\u202E\u2060-\u2069\uFEFF]/u;
/** Joiners make one sign of two, in emoji and in scripts beyond Latin, Greek and Cyrillic. */
const LONE_JOINER = /(?<![\u0530-\u{10FFFF}])[\u200C\u200D]|[\u200C\u200D]$/u;

/** `isRendered`: a text that looks like a template is none any more. Before, templates are not judged. */
export function wantedProblems({ label, url, action }: ButtonSpec, isRendered = false): MessageProblem[] {
  const problems: MessageProblem[] = [];
  const add = (message: string, ...path: string[]) => problems.push({ path, message });
  const isOpen = (text: string) => !isRendered && isTemplate(text);
  if (!isOpen(label) && cleanLabel(label) !== label)
    add("the label has characters that cannot be seen or that turn the text: remove them", "label");
  else if (isBlank(label)) add("the label shows nothing", "label");
  return [...problems, ...pressProblems({ url, action }, isOpen)];
}

/**
 * Command lines of buttons that cannot work, as the parser of commands reads them. A value of a template counts as any value.
 * `hooksAndPoints`: all existing ones; undefined when they are not known.
 */
export function commandProblems(
  buttons: readonly (readonly ButtonSpec[])[] = [],
  commands: readonly CommandSpec[],
  hooksAndPoints: readonly string[] | undefined,
): string[] {
  const table = new CommandTable(commands);
  return buttons.flat().flatMap(({ label, action }) => {
    const problem = action?.kind === "command" ? lineProblem(action, table, hooksAndPoints) : undefined;
    return problem === undefined ? [] : [`the button "${label}": ${problem}`];
  });
}

/** Replaces a value that a template or a person fills in. */
const ANY = "\uE0D2";

function lineProblem(
  { line, form }: CommandAction,
  table: CommandTable<CommandSpec>,
  hooksAndPoints: readonly string[] | undefined,
): string | undefined {
  const [, name] = /^\/([\w-]+)(?=\s|$)/.exec(line) ?? [];
  if (name === undefined) return undefined; // reported where its form is checked
  const call = table.read(line.replace(/\{\{[\s\S]*?\}\}/g, quoteValue(ANY)));
  if (call === undefined) {
    const near = nearest(
      name.toLowerCase().replaceAll("_", "-"),
      table.all.map((command) => command.name),
    );
    return `there is no command /${name}${near === undefined ? "" : ` (did you mean /${near}?)`}`;
  }
  const filledIn = Object.fromEntries(
    (form?.fields ?? []).filter(({ id }) => !isTemplate(id)).map(({ id }) => [id, ANY]),
  );
  const parsed = parseOptions(call.command, call.rest, filledIn);
  const problem =
    optionsProblem(call.command, parsed) ??
    (parsed.kind === "options" && hooksAndPoints ? hookProblem(call.command, parsed, hooksAndPoints) : undefined);
  return problem === undefined ? undefined : `"${line}" cannot work: ${problem.replaceAll("`", "")}`;
}

function optionsProblem({ options: specs }: CommandSpec, parsed: ParsedOptions): string | undefined {
  if (parsed.kind === "problem") {
    // Where there is a list to choose from, a press asks.
    const missing = specs.find(({ name }) => name === parsed.missing);
    if (missing?.complete !== undefined || missing?.choices !== undefined) return undefined;
    return parsed.message.includes(ANY) ? undefined : parsed.message;
  }
  const { options } = parsed;
  const needed = specs.find(
    ({ name, neededFor }) => options[name] === undefined && neededFor?.includes(String(options.action)),
  );
  return needed && `${String(options.action)} needs the option "${needed.name}"`;
}

/** A required hook or point that does not exist; or a slip in an action that would look for hooks of that name, and find none. */
function hookProblem(
  { options: specs }: CommandSpec,
  { options }: Extract<ParsedOptions, { kind: "options" }>,
  hooksAndPoints: readonly string[],
): string | undefined {
  const spec = specs.find(({ complete }) => complete === "hooks-and-points");
  const given = spec && options[spec.name];
  if (typeof given !== "string" || given.includes(ANY) || spec?.words?.includes(given)) return undefined;
  if (spec?.required) {
    if (hooksAndPoints.includes(given)) return undefined;
    const near = nearest(given, hooksAndPoints);
    return `there is no hook or hook point "${given}"${near === undefined ? "" : ` (did you mean "${near}"?)`}`;
  }
  const before = specs.find((one) => one.yields === true && options[one.name] === undefined);
  const near = nearest(given, before?.choices ?? []);
  if (near === undefined || hooksAndPoints.some((one) => one.toLowerCase().includes(given.toLowerCase())))
    return undefined;
  return `no hook is called "${given}" (did you mean ${near}?)`;
}

export function cleanLabel(label: string): string {
  return label.replace(new RegExp(HIDDEN, "gu"), "").replace(new RegExp(LONE_JOINER, "gu"), "");
}
