/** `/help [command]`: what there is, from the same declarations as everything else. */
import type { CommandSpec, OptionSpec } from "../src/domain/command.js";
import { hasRole, type Role } from "../src/domain/identity.js";
import type { Command } from "../src/gateway/commands.js";
import { answer, commandButton, notFound } from "./answer.js";
import { code } from "./text.js";

export const helpSpec: CommandSpec = {
  name: "help",
  summary: "The commands, or one of them in full",
  role: "viewer",
  options: [{ name: "command", summary: "Which one", type: "string", complete: "commands" }],
};

export function help(specs: readonly CommandSpec[]): Command {
  return {
    ...helpSpec,
    async run({ options, operator }) {
      const mine = specs.filter((spec) => mayUse(operator.role, spec));
      const asked =
        typeof options.command === "string" ? options.command.trim().replace(/^\//, "").replaceAll("_", "-") : "";
      if (asked === "")
        return answer({
          text: [
            "**Commands**",
            mine.map((spec) => `${code(usage(spec))}\n${spec.summary}`).join("\n"),
            `${code("/help NAME")} tells more. Options fill by position or as ${code("name=value")}; quote what has spaces.`,
          ],
          data: { commands: mine },
        });
      const spec = mine.find(({ name }) => name === asked);
      if (!spec)
        throw notFound(
          "command",
          asked,
          mine.map(({ name }) => name),
          "/help lists them.",
          "command",
        );
      return answer({
        text: [
          `${code(usage(spec))}\n${spec.summary}`,
          spec.options.map(optionLine).join("\n"),
          `Least role: ${spec.role === "anyone" ? "none" : spec.role}.`,
        ],
        data: { command: spec },
        buttons: [[commandButton("All commands", "/help")]],
      });
    },
  };
}

/** `/fire-hook <id> [payload] [dry-run]`. */
function usage(spec: CommandSpec): string {
  return [`/${spec.name}`, ...spec.options.map(({ name, required }) => (required ? `<${name}>` : `[${name}]`))].join(
    " ",
  );
}

function mayUse(role: Role | undefined, spec: CommandSpec): boolean {
  return spec.role === "anyone" || hasRole(role, spec.role);
}

function optionLine(option: OptionSpec): string {
  const kind = option.choices
    ? option.choices.join(" | ")
    : option.type === "boolean"
      ? "true | false"
      : option.type === "integer"
        ? "number"
        : "";
  return `- ${code(option.name)}${kind ? ` (${kind})` : ""}${option.required ? ", needed" : ""}: ${option.summary}${option.also ? ` (also ${option.also.map(code).join(", ")})` : ""}`;
}
