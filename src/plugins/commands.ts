/** The commands of a plugin: slash commands like the product's own, for as long as the plugin is loaded. */
import { z } from "zod";
import type { CommandSpec, OptionSpec } from "../domain/chat/command.js";
import { MAX_CHOICES, OPTION_TYPES } from "../domain/chat/command.js";
import { ROLES } from "../domain/chat/identity.js";
import type { OutboundMessage } from "../domain/chat/message.js";
import type { Command, CommandAnswer, CommandContext } from "../gateway/commands.js";
import { neverRuns } from "../hooks/registration/entry.js";
import type { Known } from "../hooks/signatures.js";
import { errorPlace } from "../lib/error-place.js";
import { HookgateError } from "../lib/errors.js";
import { jsonProblem } from "../lib/validation/json-problem.js";
import { shown } from "../lib/validation/plain-issues.js";
import { unknownKey } from "../lib/validation/unknown-key.js";
import { type ApiDeps, inStage, outbound, refuseOld, type Stage } from "./stage.js";

export interface PluginCommand {
  /** `[a-z0-9-]{1,32}` without a dash at its start or end, not the name of another command. */
  name: string;
  /** A line for /help and the platforms' menus; at most 100 characters. */
  summary: string;
  /** The least role; "anyone" = no role needed. */
  role: CommandSpec["role"];
  /** Options are filled by position, in this order, and by name. */
  options?: CommandSpec["options"];
  /** The command may take long: commands that are given later in the same conversation do not wait for it. */
  isSlow?: boolean;
  /** `options` are checked and typed by the declaration. The return value is the answer. */
  run(context: PluginCommandContext): Promise<PluginAnswer> | PluginAnswer;
}

export interface PluginCommandContext extends Omit<CommandContext, "progress"> {
  /** Replaces the answer shown so far; for work that takes long. The last value wins; the return value of `run` comes last. */
  progress(message: OutboundMessage | string): void;
}

/** `data`: for `--json` and the HTTP API. */
export type PluginAnswer =
  | string
  | OutboundMessage
  | (Omit<CommandAnswer, "message"> & { message: OutboundMessage | string });

export interface PluginCommands {
  /** Adds a command; only while `setup` runs. Throws PLUGIN_COMMAND when the declaration is wrong or the name is taken. */
  register<Run extends PluginCommand["run"]>(
    command: Omit<PluginCommand, "run"> & { run: Run & Known<Run, PluginAnswer> },
  ): void;
}

const OPTION_KEYS = Object.keys({
  name: true,
  summary: true,
  type: true,
  required: true,
  choices: true,
  choiceSummaries: true,
  rest: true,
  only: true,
  yields: true,
  also: true,
  spelled: true,
  complete: true,
  completeFor: true,
  words: true,
  wordsFor: true,
  neededFor: true,
} satisfies Record<keyof OptionSpec, true>);

/** Limits of Discord, which refuses the whole list of commands for one that exceeds them; Telegram takes 100 commands, too. */
const MAX_COMMANDS = 100;
const MAX_OPTIONS = 25;
const MAX_TEXT = 100;
const MAX_TOTAL = 8_000;

const line = z
  .string("expected text")
  .regex(/\S/, "expected a line of text")
  .max(MAX_TEXT, "expected at most 100 characters");

const declaration = z.object({
  name: z
    .string()
    .regex(
      /^(?!-)[a-z0-9-]{1,32}(?<!-)$/,
      "expected 1 to 32 lower-case letters, digits and dashes, a letter or a digit first and last",
    ),
  summary: line,
  role: z.enum([...ROLES, "anyone"], `expected ${[...ROLES, "anyone"].join(" | ")}`),
  options: z
    .array(
      z.looseObject({
        name: z.string().regex(/^[a-z0-9_-]{1,32}$/, "expected 1 to 32 lower-case letters, digits, dashes and _"),
        summary: line,
        type: z.enum(OPTION_TYPES, `expected ${OPTION_TYPES.join(" | ")}`),
        required: z.boolean("expected true or false").optional(),
        choices: z
          .array(line, "expected a list")
          .min(1, "the list is empty, so no value would do: leave it out")
          .max(MAX_CHOICES, `expected at most ${MAX_CHOICES} choices`)
          .optional(),
        also: z.array(z.string("expected text"), "expected a list").optional(),
      }),
      "expected a list",
    )
    .max(MAX_OPTIONS, `expected at most ${MAX_OPTIONS} options`)
    .check(({ value, issues }) => {
      const refuse = (message: string) => void issues.push({ code: "custom", input: value, message });
      const numbers = value.find(({ type, choices }) => type !== "string" && choices !== undefined);
      if (numbers !== undefined) refuse(`"${numbers.name}": only options of the type string have choices`);
      const optional = value.findIndex(({ required }) => required !== true);
      const late = value.find(({ required }, index) => required === true && optional >= 0 && index > optional);
      if (late !== undefined)
        refuse(`"${late.name}" is required: put it before "${value[optional]?.name}", which is not`);
      const unknown = value.map((option) => unknownKey("key", option, OPTION_KEYS)).find((one) => one !== undefined);
      if (unknown !== undefined) refuse(unknown);
      const names = value.flatMap(({ name, also = [] }) => [name, ...also]);
      const twice = names.find((name, index) => names.indexOf(name) !== index);
      if (twice !== undefined) refuse(`"${twice}" is there twice`);
      for (const { name, choices = [] } of value) {
        const again = choices.find((choice, index) => choices.indexOf(choice) !== index);
        if (again !== undefined) refuse(`"${name}": the choice "${again}" is there twice`);
      }
    })
    .optional(),
  isSlow: z.boolean("expected true or false").optional(),
  run: z
    .custom((value) => typeof value === "function", "expected a function")
    .check(({ value, issues }) => {
      const message = neverRuns(value);
      if (message !== undefined) issues.push({ code: "custom", input: value, message });
    }),
});

export function pluginCommands(deps: ApiDeps, stage: Stage): PluginCommands {
  const { id, commandOwner, commandCount } = deps;
  return {
    register(given) {
      refuseOld(id, stage);
      const refuse = (message: string) => new HookgateError({ code: "PLUGIN_COMMAND", message });
      if (typeof given !== "object" || given === null)
        throw refuse(`commands.register: expected { name, summary, role, run }, got ${shown(given)}`);
      if (stage.live) throw refuse(`Command "${given.name}": commands are registered while setup runs.`);
      const problems = declaration.safeParse(given).error?.issues ?? [];
      const unknown = unknownKey("key", given, Object.keys(declaration.shape));
      if (unknown !== undefined) throw refuse(`Command "${given.name}": ${unknown}`);
      if (problems.length > 0)
        throw refuse(
          `Command "${given.name}": ${problems.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ")}`,
        );
      const owner = stage.commands.some(({ name }) => name === given.name)
        ? `plugin "${id}"`
        : commandOwner(given.name);
      if (owner !== undefined)
        throw refuse(`Command "${given.name}" exists already, of ${owner}. Choose another name.`);
      const size = sizeOf(given);
      if (size > MAX_TOTAL)
        throw refuse(
          `Command "${given.name}": its names, summaries and choices have ${size} characters, and Discord takes ${MAX_TOTAL}. Shorten them.`,
        );
      if (commandCount() + stage.commands.length >= MAX_COMMANDS)
        throw refuse(
          `Command "${given.name}": there are ${MAX_COMMANDS} commands already, and Discord and Telegram take no more. Use an option of another command.`,
        );
      stage.commands.push(commandOf(given, deps, stage));
    },
  };
}

/** Counted like Discord does: a choice has a name, which shows its summary, and a value. */
function sizeOf({ name, summary, options = [] }: PluginCommand): number {
  const texts = options.flatMap(({ name, summary, choices = [], choiceSummaries }) => [
    name,
    summary,
    ...choices.flatMap((choice) => [choice, choice, choiceSummaries?.[choice] ?? ""]),
  ]);
  return [name, summary, ...texts].join("").length;
}

function commandOf(
  { name, summary, role, options = [], isSlow = false, run }: PluginCommand,
  { id: plugin, logger }: Pick<ApiDeps, "id" | "logger">,
  stage: Stage,
): Command {
  const registeredAt = errorPlace(new Error("registered here"));
  const of = `/${name} of plugin "${plugin}"`;
  return {
    name,
    summary,
    role,
    options,
    isSlow,
    run: async (context) => {
      try {
        const { signal, givenBy: cause, causeId: dispatchId } = context;
        const answer = await inStage(stage, { plugin, command: name }, { signal, cause, dispatchId }, () =>
          run(strictContext(context, of)),
        );
        return answerOf(answer, `The answer of ${of}`);
      } catch (error) {
        // The operator who gave the command sees the message; the plugin's author needs the line.
        if (error instanceof HookgateError && error.code.startsWith("PLUGIN_"))
          logger.error(
            { plugin, command: name, place: errorPlace(error) ?? registeredAt },
            `/${name}: ${error.message}`,
          );
        throw error;
      }
    },
  };
}

/** A typo fails in the plugin's own line: a role that does not exist would let no one or everyone through. */
function strictContext(context: CommandContext, of: string): PluginCommandContext {
  return {
    ...context,
    progress: (message) => context.progress(outbound(message, `progress of ${of}`)),
    need(role, why) {
      if (ROLES.includes(role)) return context.need(role, why);
      const expected = `expected ${ROLES.join(" | ")}, got ${shown(role)}`;
      throw new HookgateError({ code: "PLUGIN_COMMAND", message: `need of ${of}: ${expected}` });
    },
  };
}

const ANSWER_KEYS = ["message", "data", "outcome", "refusal", "isNote"] satisfies (keyof CommandAnswer)[];

function answerOf(answer: PluginAnswer, what: string): CommandAnswer {
  const isWhole = typeof answer === "object" && answer !== null && "message" in answer;
  if (!isWhole) return { message: outbound(answer, what) };
  const problem =
    unknownKey("key", answer, ANSWER_KEYS) ??
    (answer.data === undefined ? undefined : jsonProblem(answer.data, "data"));
  if (problem !== undefined) throw new HookgateError({ code: "PLUGIN_COMMAND", message: `${what}: ${problem}` });
  return { ...answer, message: outbound(answer.message, what) };
}
