/** `/help [command]`: the commands by subject, from the same declarations as everything else. */
import { type CommandSpec, mayUse, type OptionSpec, roleText, usageOf } from "../src/domain/chat/command.js";
import type { Operator } from "../src/domain/chat/identity.js";
import type { CommandAnswer } from "../src/gateway/commands.js";
import { answer, commandButton, notFound } from "./answer.js";
import { defineCommand } from "./define.js";
import type { CommandDeps } from "./deps.js";
import { COMMAND_GROUPS, groupsOf } from "./groups.js";
import { pageButtons, pageOf, pageText } from "./page.js";
import { code } from "./show/text.js";
import { task } from "./task.js";
import { hasWork } from "./tasks/act.js";

/** Actions and options of one command that fit a screen of a phone. */
const PAGE_SIZE = 18;

export const help = defineCommand({
  name: "help",
  group: "start",
  summary: "The commands by subject, or one command in full",
  role: "anyone",
  options: [
    { name: "command", summary: "The command to explain", type: "string", complete: "commands" },
    {
      name: "group",
      summary: "Only the commands of one subject",
      type: "string",
      choices: COMMAND_GROUPS.map(({ id }) => id),
    },
    { name: "page", summary: "Which page of one command; in chats only", type: "integer" },
  ],
  async run(deps, { options, operator, at }, specs) {
    const mine = specs().filter((spec) => mayUse(operator.role, spec));
    const asked =
      typeof options.command === "string" ? options.command.trim().replace(/^\//, "").replaceAll("_", "-") : "";
    if (asked !== "")
      return showCommand(
        mine,
        asked,
        Number(options.page ?? 1),
        at === undefined ? Number.POSITIVE_INFINITY : PAGE_SIZE,
      );
    if (operator.role === undefined) return introduction(await offeredTo(operator, mine, deps.tasks));
    const groups = groupsOf(mine);
    if (options.group === undefined) return showGroups(groups, mine);
    const one = groups.find(({ id }) => id === options.group);
    if (one) return showGroup(one);
    return answer({ text: ["Your role allows no command of this group."], data: { commands: [] }, buttons: [[ALL]] });
  },
});

/** The commands that a person may use. `/task` needs no role; people without a role see it only when they were given a task. */
export async function offeredTo(
  operator: Operator,
  specs: readonly CommandSpec[],
  tasks: CommandDeps["tasks"],
): Promise<readonly CommandSpec[]> {
  const mine = specs.filter((spec) => mayUse(operator.role, spec));
  if (operator.role !== undefined || (tasks !== undefined && (await hasWork(tasks, operator)))) return mine;
  return mine.filter(({ name }) => name !== task.spec.name);
}

/** For people without a role: introduces this account, lists the few commands that they may use, and shows how to get more. */
function introduction(mine: readonly CommandSpec[]): CommandAnswer {
  return answer({
    text: [
      "I am an automatic account. The people who run me decide what I answer, and who may use which commands.",
      `You have no role here. You can use:\n${mine.map(line).join("\n")}`,
      `To get a role, send ${code("/whoami")} and pass the answer on to the person who runs me.`,
    ],
    data: { commands: mine },
  });
}

type Group = ReturnType<typeof groupsOf<CommandSpec>>[number];

/** The first group in full, the others as their names: each has a button. */
function showGroups(groups: readonly Group[], mine: readonly CommandSpec[]): CommandAnswer {
  const [first, ...others] = groups;
  return answer({
    text: [
      first && `**${first.title}**\n${first.specs.map(line).join("\n")}`,
      others
        .map(({ title, specs }) => `**${title}**: ${specs.map(({ name }) => code(`/${name}`)).join(" ")}`)
        .join("\n"),
      `Press a subject for its commands, or write ${code("/help NAME")} for one of them.`,
    ],
    data: { commands: mine },
    buttons: [others.map(({ id, title }) => commandButton(title, `/help group=${id}`))],
  });
}

function showGroup({ title, specs }: Group): CommandAnswer {
  const buttons = [...specs.slice(0, 7).map(({ name }) => commandButton(`/${name}`, `/help ${name}`)), ALL];
  return answer({
    text: [`**${title}**\n${specs.map(line).join("\n")}`],
    data: { commands: specs },
    buttons: [buttons.slice(0, 4), buttons.slice(4, 8)],
  });
}

/** `size`: how many of its actions and options are on one page. */
function showCommand(mine: readonly CommandSpec[], asked: string, wanted: number, size: number): CommandAnswer {
  const spec = mine.find(({ name }) => name === asked);
  if (!spec)
    throw notFound(
      "command",
      asked,
      mine.map(({ name }) => name),
      "/help lists them.",
      "command",
    );
  const entries = [
    ...spec.options.flatMap(choicesOf),
    ...spec.options.map((option) => ({ section: "Options", text: optionLine(option) })),
  ];
  const page = pageOf(entries, wanted, size);
  const sections = [...new Set(page.entries.map(({ section }) => section))].map((name) => {
    const own = page.entries.filter(({ section }) => section === name);
    return `**${name}**\n${own.map(({ text }) => text).join("\n")}`;
  });
  return answer({
    text: [
      `${code(usageOf(spec))}${pageText(page)}\n${spec.summary}`,
      ...sections,
      roleText(spec),
      spec.options.length > 0 && `Options fill by position or as ${code("name=value")}; quote what has spaces.`,
    ],
    data: { command: spec },
    buttons: [[...pageButtons(page, `/help ${spec.name}`), ALL]],
  });
}

const ALL = commandButton("All commands", "/help");

const line = ({ name, summary }: CommandSpec) => `- ${code(`/${name}`)}: ${summary}`;

/** Actions are part of the command; the choices of any other option are headed by its name. */
function choicesOf({ name, choiceSummaries = {} }: OptionSpec): { section: string; text: string }[] {
  const section = name === "action" ? "Actions" : name;
  return Object.entries(choiceSummaries).map(([choice, summary]) => ({
    section,
    text: `- ${code(choice)}: ${summary}`,
  }));
}

function optionLine(option: OptionSpec): string {
  const kind = option.choiceSummaries
    ? ""
    : option.choices
      ? option.choices.join(" | ")
      : option.type === "boolean"
        ? "true | false"
        : option.type === "integer"
          ? "number"
          : "";
  return `- ${code(option.name)}${kind ? ` (${kind})` : ""}${option.required ? ", required" : ""}: ${option.summary}${option.also ? ` (also ${option.also.map(code).join(", ")})` : ""}`;
}
