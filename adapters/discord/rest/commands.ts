/**
 * Registers the command table as slash commands, only when Discord's table differs: each registration counts against a
 * daily limit. https://discord.com/developers/docs/interactions/application-commands
 */
import { Routes } from "discord-api-types/v10";
import { z } from "zod";
import { type CommandSpec, choiceText, MAX_CHOICES, type OptionSpec } from "../../../src/domain/chat/command.js";
import type { Caller } from "../caller.js";

const OPTION_TYPE = { string: 3, integer: 4, boolean: 5 } as const;
const CHAT_INPUT = 1;
const MAX_DESCRIPTION = 100;

interface SlashOption {
  type: number;
  name: string;
  description: string;
  required: boolean;
  autocomplete: boolean;
  choices: { name: string; value: string }[];
}
interface SlashCommand {
  type: number;
  name: string;
  description: string;
  options: SlashOption[];
}

/** Discord's answer, reduced to the fields that we set. Discord leaves out fields that are false or empty. */
const registeredCommand = z.object({
  type: z.number().default(CHAT_INPUT),
  name: z.string(),
  description: z.string().default(""),
  options: z
    .array(
      z.object({
        type: z.number(),
        name: z.string(),
        description: z.string(),
        required: z.boolean().default(false),
        autocomplete: z.boolean().default(false),
        choices: z
          .array(z.object({ name: z.string(), value: z.union([z.string(), z.number()]).transform(String) }))
          .default([]),
      }),
    )
    .default([]),
});

/** True when something was registered. Throws the errors of REST. */
export async function registerCommands(
  caller: Caller,
  applicationId: string,
  commands: readonly CommandSpec[],
): Promise<boolean> {
  const wanted = commands.map(slashCommand);
  const route = Routes.applicationCommands(applicationId);
  const registered = z.array(registeredCommand).parse(await caller.get(route));
  if (fingerprint(registered) === fingerprint(wanted)) return false;
  await caller.put(route, { body: wanted.map(withoutDefaults) });
  return true;
}

function slashCommand(spec: CommandSpec): SlashCommand {
  // Discord wants required options first; our own order is for positions in text.
  const ordered = [...spec.options].sort((a, b) => Number(b.required === true) - Number(a.required === true));
  return {
    type: CHAT_INPUT,
    name: spec.name,
    description: shortened(spec.summary),
    options: ordered.map(slashOption),
  };
}

function slashOption(option: OptionSpec): SlashOption {
  const choices = option.choices && option.choices.length <= MAX_CHOICES ? option.choices : [];
  return {
    type: OPTION_TYPE[option.type],
    name: option.name,
    description: shortened(option.summary),
    required: option.required === true,
    autocomplete: option.complete !== undefined && option.type === "string" && choices.length === 0,
    choices: choices.map((choice) => ({ name: shortened(choiceText(option, choice)), value: choice })),
  };
}

const shortened = (text: string) =>
  text.length <= MAX_DESCRIPTION ? text || "-" : `${text.slice(0, MAX_DESCRIPTION - 1)}…`;

/** Commands have no order; options do. Keys come in our order on both sides. */
function fingerprint(commands: readonly SlashCommand[]): string {
  const inOneOrder = commands.map(({ type, name, description, options }) => ({
    type,
    name,
    description,
    options: options.map(({ type, name, description, required, autocomplete, choices }) => ({
      type,
      name,
      description,
      required,
      autocomplete,
      choices: choices.map(({ name, value }) => ({ name, value })),
    })),
  }));
  return JSON.stringify(inOneOrder.sort((a, b) => (a.name < b.name ? -1 : 1)));
}

function withoutDefaults(command: SlashCommand): object {
  return {
    ...command,
    options: command.options.map(({ choices, autocomplete, ...option }) => ({
      ...option,
      autocomplete: autocomplete || undefined,
      choices: choices.length > 0 ? choices : undefined,
    })),
  };
}
