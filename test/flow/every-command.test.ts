/** Every command and every action of it, on every surface that lists them: none is missing, each with its summary. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { commandSpecs } from "../../commands/index.js";
import { runCli } from "../cli/run-cli.js";
import { TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import { invoke, type Stack, startStack } from "./stack.js";

interface Entry {
  command: string;
  /** Undefined for the command itself. */
  action?: string;
  summary: string;
}

const entries: Entry[] = commandSpecs.flatMap(({ name: command, summary, options }) => {
  const actions = Object.entries(options.find(({ name }) => name === "action")?.choiceSummaries ?? {});
  return [{ command, summary }, ...actions.map(([action, what]) => ({ command, action, summary: what }))];
});

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ withFlow: false });
});
afterAll(() => stack.stop());

const cli = async (...args: string[]) => {
  const { gateway } = stack;
  const { code, out } = await runCli(args, {
    cwd: gateway.folder,
    env: { HOOKGATE_PORT: new URL(gateway.url).port, HOOKGATE_TOKEN: TOKEN },
  });
  return { code, text: inWords(out) };
};

const get = async (path: string) => {
  const answer = await fetch(`${stack.gateway.url}${path}`, { headers: { authorization: `Bearer ${TOKEN}` } });
  // biome-ignore lint/suspicious/noExplicitAny: read field by field
  return (await answer.json()) as any;
};

/** Terminals wrap their lines. */
const inWords = (text: string) => text.replace(/\s+/g, " ");

/** Those that the surface does not have. */
function missing(all: readonly Entry[], has: (entry: Entry) => boolean): string[] {
  return all.filter((entry) => !has(entry)).map(({ command, action = "" }) => `${command} ${action}`.trim());
}

it("there are commands with actions, and commands without", () => {
  expect(entries.length).toBeGreaterThan(80);
  expect(entries.filter(({ action }) => action === undefined)).toHaveLength(commandSpecs.length);
});

it("`hookgate --help` lists them", async () => {
  const { code, text } = await cli("--help");
  expect(code).toBe(0);
  const shown = ({ command, action = "", summary }: Entry) => inWords(` ${command} ${action} `) + summary;
  const named = text.replaceAll("fire-hook, fire ", "fire-hook ");
  expect(missing(entries, (entry) => named.includes(shown(entry)))).toEqual([]);
});

it("`hookgate help COMMAND` has the actions, and each of them explains its arguments", async () => {
  const commands = commandSpecs.filter(({ name }) => name !== "help");
  for (const { name, options } of commands) {
    const own = entries.filter(({ command }) => command === name);
    const { code, text } = await cli("help", name);
    expect(code).toBe(0);
    expect(missing(own, ({ summary }) => text.includes(summary))).toEqual([]);
    // What every action of it understands.
    const action = own.at(-1)?.action;
    const page = await cli(name, ...(action === undefined ? [] : [action]), "--help");
    const explained = options.filter((one) => one.name !== "action" && !one.only);
    for (const { summary } of explained) expect(page.text).toContain(inWords(summary));
  }
});

it("the command line runs them: the default action without its name, too", async () => {
  for (const { name, options, role } of commandSpecs.filter((one) => !one.options.some(({ required }) => required))) {
    if (name === "help" || name === "claim" || role === "operator") continue;
    const [fallback] = options.find((one) => one.name === "action")?.choices ?? [];
    const { code } = await cli(name, "--json");
    expect([name, code]).toEqual([name, expect.any(Number)]);
    if (fallback !== undefined) expect([name, (await cli(name, fallback, "--json")).code]).toEqual([name, code]);
  }
  expect((await cli("task", "add", "me", "Change", "the", "lock", "--due", "2h")).text).toContain("Change the lock");
});

it("`/help` has the commands of each subject, and each command its actions", async () => {
  const subjects = [...new Set(commandSpecs.map(({ group }) => group))];
  const pages = await Promise.all(subjects.map((group) => invoke(stack.gateway.url, `/help group=${group}`)));
  const text = pages.map((page) => page.text).join("\n");
  const commands = entries.filter(({ action }) => action === undefined);
  expect(missing(commands, ({ command, summary }) => text.includes(`\`/${command}\`: ${summary}`))).toEqual([]);
  for (const { name } of commandSpecs) {
    const actions = entries.filter(({ command, action }) => command === name && action !== undefined);
    const help = await invoke(stack.gateway.url, `/help ${name}`);
    expect(missing(actions, ({ action, summary }) => help.text.includes(`\`${action}\`: ${summary}`))).toEqual([]);
  }
});

it("`/help task` names what each action requires", async () => {
  const { text } = await invoke(stack.gateway.url, "/help task");
  expect(text).toContain("Without a role, you can only use `show`, `start`, `done`, `decline`, `ask` and `note`");
  expect(text).not.toContain("Requires no role");
});

it("completion offers them", async () => {
  const help = await get("/api/complete?command=help&option=command");
  for (const { command, action, summary } of entries) {
    const { choices } =
      action === undefined
        ? help
        : await get(`/api/complete?${new URLSearchParams({ command, option: "action", typed: action })}`);
    const value = action ?? command;
    expect(choices).toContainEqual({ value, name: `${value}: ${summary}`.slice(0, 100) });
  }
});

it("Discord has them as slash commands and their choices", async () => {
  const slash = await until(() => (stack.discord.world.commands.length > 0 ? stack.discord.world.commands : undefined));
  const has = ({ command, action, summary }: Entry) => {
    // biome-ignore lint/suspicious/noExplicitAny: as Discord keeps it
    const one = slash.find(({ name }) => name === command) as any;
    if (action === undefined) return one?.description === summary;
    // biome-ignore lint/suspicious/noExplicitAny: as Discord keeps it
    const choices = one?.options.find(({ name }: any) => name === "action")?.choices ?? [];
    // biome-ignore lint/suspicious/noExplicitAny: as Discord keeps it
    return choices.some(({ name, value }: any) => value === action && name === `${action}: ${summary}`);
  };
  expect(missing(entries, has)).toEqual([]);
});

it("Telegram's menu has the commands", async () => {
  const [call] = await until(() => {
    const calls = stack.telegram.callsOf("setMyCommands");
    return calls.length > 0 ? calls : undefined;
  });
  expect(call?.payload).toMatchObject({
    commands: commandSpecs.map(({ name, summary }) => ({ command: name.replaceAll("-", "_"), description: summary })),
  });
});

it("the HTTP API has them, as the web chat reads them", async () => {
  const { commands } = await get("/api/commands");
  const has = ({ command, action, summary }: Entry) => {
    // biome-ignore lint/suspicious/noExplicitAny: as it comes
    const one = commands.find(({ name }: any) => name === command);
    if (action === undefined) return one?.summary === summary;
    // biome-ignore lint/suspicious/noExplicitAny: as it comes
    return one?.options.find(({ name }: any) => name === "action")?.choiceSummaries[action] === summary;
  };
  expect(missing(entries, has)).toEqual([]);
});

it("docs/commands.md has them", () => {
  const page = readFileSync("docs/commands.md", "utf8");
  for (const { name } of commandSpecs) {
    const [, section = ""] = page.split(`\n### \`/${name}\`\n`);
    const [own = ""] = section.split(/\n#{2,3} /);
    const all = entries.filter(({ command }) => command === name);
    const has = ({ action, summary }: Entry) =>
      own.includes(action ? `| \`${action}\` | ${summary} |` : `\n${summary}\n`);
    expect(missing(all, has)).toEqual([]);
  }
});
