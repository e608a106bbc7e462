/** The commands of a plugin: slash commands like the product's own, for as long as the plugin is loaded. */
import { z } from "zod";
import type { CommandSpec } from "../domain/command.js";
import { OPTION_TYPES } from "../domain/command.js";
import { ROLES } from "../domain/identity.js";
import type { OutboundMessage } from "../domain/message.js";
import type { Command, CommandAnswer, CommandContext } from "../gateway/commands.js";
import { HookgateError } from "../lib/errors.js";
import { type ApiParts, outbound, refuseOld, type Stage } from "./stage.js";

export interface PluginCommand {
  /** `[a-z0-9-]{1,32}`, not the name of another command. */
  name: string;
  /** One line for /help and the platforms' menus; at most 100 characters. */
  summary: string;
  /** The least role; "anyone" = no role needed. */
  role: CommandSpec["role"];
  /** They fill by position, in this order, and by name. */
  options?: CommandSpec["options"];
  /** It may take long: commands that are given later in the same conversation do not wait for it. */
  isSlow?: boolean;
  /** `options` are checked and typed by the declaration. What it returns is the answer. */
  run(context: CommandContext): Promise<PluginAnswer> | PluginAnswer;
}

/** `data`: for `--json` and the HTTP API. */
export type PluginAnswer =
  | string
  | OutboundMessage
  | (Omit<CommandAnswer, "message"> & { message: OutboundMessage | string });

export interface PluginCommands {
  /** Adds a command; only while `setup` runs. Throws PLUGIN_COMMAND when the declaration is wrong or the name is taken. */
  register(command: PluginCommand): void;
}

const declaration = z.object({
  name: z.string().regex(/^[a-z0-9-]{1,32}$/, "expected 1 to 32 lower-case letters, digits and dashes"),
  summary: z.string().min(1, "expected a line of text").max(100, "expected at most 100 characters"),
  role: z.enum([...ROLES, "anyone"], `expected ${[...ROLES, "anyone"].join(" | ")}`),
  options: z
    .array(
      z.looseObject({
        name: z.string().regex(/^[a-z0-9_-]{1,32}$/, "expected 1 to 32 lower-case letters, digits, dashes and _"),
        summary: z.string().min(1, "expected a line of text").max(100, "expected at most 100 characters"),
        type: z.enum(OPTION_TYPES, `expected ${OPTION_TYPES.join(" | ")}`),
      }),
      "expected a list",
    )
    .optional(),
  run: z.custom((value) => typeof value === "function", "expected a function"),
});

export function pluginCommands({ id, commandOwner }: ApiParts, stage: Stage): PluginCommands {
  return {
    register(given) {
      refuseOld(id, stage);
      const refuse = (message: string) => new HookgateError({ code: "PLUGIN_COMMAND", message });
      if (stage.live) throw refuse(`Command "${given.name}": commands are registered while setup runs.`);
      const problems = declaration.safeParse(given).error?.issues ?? [];
      if (problems.length > 0)
        throw refuse(
          `Command "${given.name}": ${problems.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ")}`,
        );
      const owner = stage.commands.some(({ name }) => name === given.name)
        ? `plugin "${id}"`
        : commandOwner(given.name);
      if (owner !== undefined)
        throw refuse(`Command "${given.name}" exists already, of ${owner}. Choose another name.`);
      stage.commands.push(commandOf(given));
    },
  };
}

function commandOf({ name, summary, role, options = [], isSlow = false, run }: PluginCommand): Command {
  return {
    name,
    summary,
    role,
    options,
    isSlow,
    run: async (context) => answerOf(await run(context), `The answer of /${name}`),
  };
}

function answerOf(answer: PluginAnswer, what: string): CommandAnswer {
  const isWhole = typeof answer === "object" && answer !== null && "message" in answer;
  return isWhole ? { ...answer, message: outbound(answer.message, what) } : { message: outbound(answer, what) };
}
