/** A Telegram group that became a supergroup, while the configuration still has its old id everywhere. */
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runCli } from "../cli/run-cli.js";
import { until } from "../support/until.js";
import { allOnline, invoke, type Stack, startStack } from "./stack.js";

const BRIDGE = resolve(import.meta.dirname, "../../dist/examples/plugins/bridge.js");
const OLD = "-4777";

const policy = {
  ...{ id: "answers", for: "conversation", measure: "first_response", target: "8h" },
  match: `entity.facts.chat == "${OLD}"`,
};

let stack: Stack;
let supergroup: number;
beforeAll(async () => {
  stack = await startStack({
    withFlow: false,
    plugins: ({ discord }) => [
      { module: BRIDGE, config: { pairs: [[`discord::${discord.places[0].chatId}`, `telegram::${OLD}`]] } },
    ],
    config: {
      telegram: { access: { chats: [OLD], mention: "always" }, poll_timeout: "5s" },
      gateway: { allowed_plugins: { [`telegram:${OLD}`]: ["bridge"], discord: ["bridge"], "*": [] } },
      sla: { policies: [policy] },
      hooks: [
        {
          id: "witness",
          on: "message_received",
          match: { chats: [OLD] },
          run: { chat: { to: "here", text: "Seen: {{ event.message.text }}" } },
        },
        {
          id: "raw",
          on: "message_received",
          match: { when: `payload.message.chatId == "${OLD}"` },
          run: { chat: { to: `telegram::${OLD}`, text: "Never sent" } },
        },
      ],
    },
  });
  const { telegram } = stack;
  telegram.world.addChat({ type: "group", title: "Basic", id: Number(OLD) });
  supergroup = telegram.people.migrates(Number(OLD));
});
afterAll(() => stack.stop());

const onTelegram = (part: string) =>
  until(
    () =>
      [...(stack.telegram.world.chats.get(supergroup)?.messages.values() ?? [])].find(({ text }) =>
        text?.includes(part),
      ),
    `"${part}" on Telegram`,
  );

async function expectBridged(word: string): Promise<void> {
  const { discord } = stack.platforms;
  const room = discord.places[0];
  stack.telegram.people.says(`${word} from Telegram`, { chatId: supergroup });
  await until(
    async () => (await discord.seen(room)).some(({ text }) => text.includes(`${word} from Telegram`)),
    `"${word} from Telegram" on Discord`,
  );
  await discord.say(room, "guest", `${word} from Discord`);
  await onTelegram(`${word} from Discord`);
}

it("is bridged both ways by a plugin that is allowed in it by its old id", () => expectBridged("at first"));

it("is matched by `match.chats` with its old id; other chats are not", async () => {
  stack.telegram.people.says("of the group", { chatId: supergroup });
  await onTelegram("Seen: of the group");
  const { discord } = stack.platforms;
  expect((await discord.seen(discord.places[0])).filter(({ text }) => text.startsWith("Seen:"))).toEqual([]);
});

it("has its dead letters listed by `chat=` with either id, and without the bot account", async () => {
  const { telegram, platforms, gateway } = stack;
  const action = { kind: "refuse" as const, status: 400, description: "Bad Request: message text is odd" };
  telegram.fail({ method: "sendMessage", times: 1, action });
  await platforms.discord.say(platforms.discord.places[0], "guest", "refused by Telegram");
  await until(async () => (await invoke(gateway.url, "/outbox list dead")).text.includes("odd"), "the dead letter");
  const bot = telegram.world.bot.id;
  for (const at of [`${bot}:${OLD}`, `:${OLD}`, `${bot}:${supergroup}`, `:${supergroup}`])
    expect((await invoke(gateway.url, `/outbox list chat=telegram:${at}`)).text, at).toContain("odd");
  await invoke(gateway.url, `/outbox purge dead chat=telegram::${OLD} yes=true`);
});

it("stays bridged and matched after a restart", async () => {
  await stack.gateway.stop();
  await stack.gateway.start();
  await allOnline(stack.gateway);
  await expectBridged("later");
  await onTelegram("Seen: later from Telegram");
});

it("is named by check, /status and /hooks broken wherever its old id stands, with the new one", async () => {
  const { gateway, platforms } = stack;
  const env = { ...platforms.web.env, ...platforms.discord.env, ...platforms.telegram.env };
  const { code, err } = await runCli(["check"], { cwd: gateway.folder, env });
  expect(code).toBe(2);
  const address = `telegram::${supergroup}`;
  const follows = "The old id works only as long as the database knows of the move: write";
  const lines = [
    `telegram.access.chats.0: this chat moved. ${follows} ${supergroup} instead`,
    `gateway.allowed_plugins.telegram:${OLD}: this chat moved. ${follows} telegram:${supergroup} instead`,
    `plugins.0.config.pairs.0.1: this chat moved, and has the id ${address} now. The plugin may or may not follow the move: write ${address} instead`,
    `sla.policies.0.match: ${OLD}: this chat moved. ${follows} ${supergroup} instead`,
    `hook witness: match.chats: ${OLD}: this chat moved. ${follows} ${supergroup} instead`,
    `hook raw: match.when: ${OLD}: this chat moved, and has the id ${supergroup} now, which payloads carry: write ${supergroup} instead`,
    `hook raw: to: telegram::${OLD}: this chat moved. ${follows} ${address} instead`,
  ];
  for (const line of lines) expect(err).toContain(line);
  expect(
    err.split("\n").filter((line) => line.startsWith("warning: ") && line.includes("this chat moved")),
  ).toHaveLength(6);
  expect(err).toContain("1 problem.");
  expect((await invoke(gateway.url, "/status")).text).toContain(`${lines.length} problems of the configuration`);
  const broken = (await invoke(gateway.url, "/hooks broken")).text.replaceAll("\\", "");
  for (const line of lines) expect(broken).toContain(line);
});

it("does not fail check and doctor where the settings follow the move", async () => {
  const { gateway, platforms } = stack;
  const config = JSON.parse(readFileSync(join(gateway.folder, "hookgate.yaml"), "utf8"));
  config.hooks = config.hooks.filter(({ id }: { id: string }) => id === "witness");
  writeFileSync(join(gateway.folder, "working.yaml"), JSON.stringify(config));
  const env = { ...platforms.web.env, ...platforms.discord.env, ...platforms.telegram.env };
  const checked = await runCli(["check", "--config", "working.yaml"], { cwd: gateway.folder, env });
  expect(checked.err).toContain(`hook witness: match.chats: ${OLD}: this chat moved.`);
  expect(checked.out).toContain("is good.");
  expect(checked.code).toBe(0);
  const { out } = await runCli(["doctor", "--config", "working.yaml"], { cwd: gateway.folder, env });
  expect(out).toMatch(/! configuration .*this chat moved/);
  expect(out).not.toMatch(/✗ configuration/);
});

it("is no chat whose replies are ignored, when the access list has its new id and the default route the old one", async () => {
  const { gateway, platforms } = stack;
  const config = JSON.parse(readFileSync(join(gateway.folder, "hookgate.yaml"), "utf8"));
  config.telegram.access.chats = [String(supergroup)];
  config.gateway = { default_route: { forward: `telegram::${OLD}` } };
  writeFileSync(join(gateway.folder, "next.yaml"), JSON.stringify(config));
  const env = { ...platforms.web.env, ...platforms.discord.env, ...platforms.telegram.env };
  const { err } = await runCli(["check", "--config", "next.yaml"], { cwd: gateway.folder, env });
  const [problem, ...others] = err.split("\n").filter((line) => line.includes("gateway."));
  expect(problem).toContain("gateway.default_route.forward: this chat moved.");
  expect(others).toEqual([]);
});
