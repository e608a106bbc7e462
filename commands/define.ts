/**
 * A command as one declaration: its name, subject, role, options, and for each action a summary and the function that runs. The command
 * line, `/help`, completion, the platforms' own menus, the HTTP API and docs/commands.md derive from it.
 */
import type { CommandSpec, OptionSpec, OptionValue } from "../src/domain/chat/command.js";
import { hasRole, type Operator, type Role } from "../src/domain/chat/identity.js";
import type { Command, CommandAnswer, CommandContext } from "../src/gateway/commands.js";
import type { CommandDeps } from "./deps.js";
import type { GroupId } from "./groups.js";

/** `specs`: all commands, also those of plugins. */
type Run = (
  deps: CommandDeps,
  context: CommandContext,
  specs: () => readonly CommandSpec[],
) => CommandAnswer | Promise<CommandAnswer>;

type Values = Readonly<Record<string, OptionValue>>;

interface Action {
  summary: string;
  /** Where it takes more than the command's own role. */
  role?: Role;
  /** A press that asks for it is answered with a note: see `Command`. */
  isNoted?: boolean;
  run: Run;
}

interface Declaration extends CommandSpec {
  group: GroupId;
  /** The options besides `action`. */
  options: readonly OptionSpec[];
  /** Whether this person may do this, where a role is not enough: see `Command`. */
  allows?(deps: CommandDeps, operator: Operator, options: Values): Promise<boolean>;
  answersWithNote?: Command["answersWithNote"];
}

/** The work of a command: one thing, or one of several actions. The first action is the default; `yields` as in `OptionSpec`. */
type Doing = { run: Run } | { actions: Readonly<Record<string, Action>>; yields?: boolean };

export interface CommandDefinition {
  readonly spec: CommandSpec;
  /** The command on the real parts. */
  create(deps: CommandDeps, specs: () => readonly CommandSpec[]): Command;
}

export function defineCommand(declaration: Declaration & Doing): CommandDefinition {
  const { name, group, summary, role, roles, isSlow, allows, answersWithNote } = declaration;
  const options = [...("actions" in declaration ? [actionOption(declaration)] : []), ...declaration.options];
  const spec: CommandSpec = { name, group, summary, role, roles, isSlow, options };
  /** The parser lets none but its choices through. */
  const chosen = ({ action }: Values): Omit<Action, "summary"> => {
    if ("run" in declaration) return { run: declaration.run };
    const { actions } = declaration;
    return actions[String(action)] ?? (Object.values(actions)[0] as Action);
  };
  return {
    spec,
    create: (deps, specs) => ({
      ...spec,
      answersWithNote: (given) => chosen(given).isNoted === true || answersWithNote?.(given) === true,
      async allows(operator, given) {
        const needed = chosen(given).role;
        if (needed !== undefined && !hasRole(operator.role, needed)) return false;
        return allows === undefined || allows(deps, operator, given);
      },
      async run(context) {
        const one = chosen(context.options);
        if (one.role !== undefined) context.need(one.role);
        return one.run(deps, context, specs);
      },
    }),
  };
}

/** Each action has a line of its own in completion, `/help`, slash commands and the docs. */
function actionOption({ actions, yields }: Extract<Doing, { actions: unknown }>): OptionSpec {
  const entries = Object.entries(actions);
  return {
    name: "action",
    summary: `Action (default: ${entries[0]?.[0]})`,
    type: "string",
    choices: Object.keys(actions),
    choiceSummaries: Object.fromEntries(
      entries.map(([name, { summary, role }]) => [name, role ? `${summary} (${role}s)` : summary]),
    ),
    yields,
  };
}
