/** A newcomer who sets two tokens and nothing else: what the start reports, how the first owner is made in chat, what people are told. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runCli } from "../cli/run-cli.js";
import { FAKE_TOKEN as DISCORD_TOKEN, type FakeDiscord, startFakeDiscord } from "../fakes/discord/server.js";
import { FakeTelegram, FAKE_TOKEN as TELEGRAM_TOKEN } from "../fakes/telegram/server.js";
import { type GatewayProcess, gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import { allOnline, invoke } from "./stack.js";

const SHIPPED = resolve(import.meta.dirname, "../../hookgate.yaml");

let folder: string;
let discord: FakeDiscord;
let telegram: FakeTelegram;
let gateway: GatewayProcess;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "hookgate-owner-"));
  discord = await startFakeDiscord();
  telegram = await new FakeTelegram().start();
  gateway = await gatewayProcess({
    folder,
    config: {},
    env: {
      HOOKGATE_CONFIG: SHIPPED,
      LOG_LEVEL: "info",
      DISCORD_TOKEN,
      DISCORD_API_URL: discord.apiUrl,
      TELEGRAM_TOKEN,
      TELEGRAM_API_URL: telegram.apiUrl,
    },
  });
  await gateway.start();
  await allOnline(gateway);
});
afterAll(async () => {
  await gateway.kill();
  await discord.stop();
  await telegram.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** What the owner gets on the gateway's machine. */
async function newCode(): Promise<string> {
  const env = { HOOKGATE_PORT: new URL(gateway.url).port, HOOKGATE_TOKEN: TOKEN };
  return JSON.parse((await runCli(["claim", "--json"], { cwd: folder, env })).out).code;
}
const statusText = async () => JSON.stringify(await invoke(gateway.url, "/status"));

/** What the bot wrote to this person directly, oldest first. */
function directTo(userId: string): string[] {
  return [...discord.world.channels.values()]
    .filter((channel) => channel.userId === userId)
    .flatMap((channel) => [...channel.messages.values()])
    .filter(({ author }) => author.id === discord.world.bot.id)
    .map(({ content }) => content);
}
const directOnTelegram = (userId: number) =>
  [...(telegram.world.chats.get(userId)?.messages.values() ?? [])]
    .filter(({ from }) => from?.id === telegram.world.bot.id)
    .map(({ text }) => text ?? "");

it("a bot that listens to nothing is reported at the start and in /status, with the way out", async () => {
  // Without a terminal the output is kept in a file or a journal, so the code is not in it.
  await until(() => gateway.output().includes("owner code   `npx hookgate claim`"), "the way to the owner code");
  for (const platform of ["discord", "telegram"])
    await until(() => gateway.output().includes(`${platform} listens to nothing`), `the warning about ${platform}`);
  await until(() => gateway.output().includes("oauth2/authorize"), "the invite link");
  expect(gateway.output()).toMatch(/client_id=\d+&scope=bot\+applications\.commands&permissions=\d+/);
  expect(gateway.output()).toContain(`https://t.me/${telegram.world.bot.username}?startgroup=true`);
  const status = await statusText();
  expect(status).toContain("discord and telegram listen to nothing");
  expect(status).not.toContain("The gateway is well");
});

it("while a code is open and there is no owner, who writes first reads how to become one", async () => {
  await newCode();
  const { id } = telegram.world.addUser({ id: 4321 });
  telegram.people.says("hello?", { dm: true, userId: id });
  await until(
    () => directOnTelegram(id).some((text) => text.includes("npx hookgate claim prints")),
    "the way to become an owner",
  );
});

it("a start with a wrong token names the platform with its reason, offers no code for it, and prints the public address", async () => {
  const wrong = await gatewayProcess({
    folder: join(folder, "wrong-token"),
    config: { http: { public_url: "https://chat.example.org" } },
    env: { LOG_LEVEL: "info", DISCORD_TOKEN: `${DISCORD_TOKEN}x`, DISCORD_API_URL: discord.apiUrl },
  });
  try {
    await wrong.start();
    const banner = await until(() => /^ {2}Hookgate [\s\S]*?\n\n/m.exec(wrong.output())?.[0], "the banner");
    expect(banner).toMatch(/^ {2}chat {9}https:\/\/chat\.example\.org\/?$/m);
    expect(banner).toMatch(/^ {2}discord {6}offline: .*token.*\n {15}\S/im);
    expect(banner).not.toContain("owner code");
    expect(wrong.output()).not.toContain("discord listens to");
    await until(() => wrong.output().includes("web listens to"), "what the web chat listens to");
  } finally {
    await wrong.kill();
  }
});

it("a start that cannot reach a platform says so, as do /status and doctor", async () => {
  const away = join(folder, "away");
  const env = { TELEGRAM_TOKEN, TELEGRAM_API_URL: "http://127.0.0.1:1" };
  const alone = await gatewayProcess({ folder: away, config: {}, env: { LOG_LEVEL: "info", ...env } });
  try {
    await alone.start();
    const banner = await until(() => /^ {2}Hookgate [\s\S]*?\n\n/m.exec(alone.output())?.[0], "the banner");
    expect(banner).toMatch(/^ {2}telegram {5}reconnecting: \S/m);
    const { text } = await invoke(alone.url, "/status");
    expect(text).toContain("Up, waiting for telegram");
    expect(text).toMatch(/telegram (re)?connecting for/);
    const port = new URL(alone.url).port;
    const doctor = await runCli(["doctor", "--json"], {
      cwd: away,
      env: { ...env, HOOKGATE_PORT: port, HOOKGATE_TOKEN: TOKEN },
    });
    expect(JSON.parse(doctor.out).findings).toContainEqual(
      expect.objectContaining({ name: "telegram", state: "warning", detail: expect.stringMatching(/connecting/) }),
    );
  } finally {
    await alone.kill();
  }
});

it("a person without a role is told once what this account is, and each ignored message leaves a line and a count", async () => {
  const mallory = discord.world.addUser({ username: "mallory2", globalName: "\u202eMal\u200blory\u3164" }).id;
  discord.people.says("hello bot", { dm: true, userId: mallory });
  await until(() => directTo(mallory).some((text) => text.includes("/whoami")), "the introduction");
  discord.people.says("are you there?", { dm: true, userId: mallory });
  await until(
    () => gateway.output().split("message ignored: direct messages are for operators").length === 3,
    "two lines",
  );
  await until(
    async () => (await statusText()).includes("2 on discord (direct messages are for operators)"),
    "the count",
  );
  const env = { HOOKGATE_PORT: new URL(gateway.url).port, HOOKGATE_TOKEN: TOKEN };
  expect(JSON.parse((await runCli(["doctor", "--json"], { cwd: folder, env })).out).findings).toContainEqual({
    name: "discord",
    state: "ok",
    detail: "messages ignored since the start: 2 (direct messages are for operators)",
  });
  expect(directTo(mallory)).toHaveLength(1);
  discord.people.says("/help", { dm: true, userId: mallory });
  await until(() => directTo(mallory).at(-1)?.includes("You have no role here. You can use:"), "the help");
  expect(directTo(mallory).at(-1)).toContain("/claim");
  expect(directTo(mallory).at(-1)).not.toContain("/task");
  expect(directTo(mallory).at(-1)).toMatch(/\/whoami.*To get a role/s);
  expect(directTo(mallory).at(-1)).not.toContain("/hooks");
  discord.people.says("/whoami", { dm: true, userId: mallory });
  await until(() => directTo(mallory).at(-1)?.startsWith("You are **Mallory**, "), "the name without what hides");
  const before = gateway.output();
  discord.people.says("hello everybody", { channelId: discord.channelId, userId: mallory });
  await until(
    () => gateway.output().slice(before.length).includes("message ignored: this place is not listed"),
    "the line",
  );
});

it("the first owner is made in chat by the printed code, which works once", async () => {
  const ann = discord.world.addUser({ username: "ann" }).id;
  const ben = discord.world.addUser({ username: "ben" }).id;
  // Before the wrong ones: a new code ends the limit that they meet.
  const code = await newCode();
  discord.people.says("/claim WRONGONE", { dm: true, userId: ann });
  await until(() => directTo(ann).some((text) => text.includes("not the current code")), "the refusal");
  discord.people.says("/claim WRONGTWO", { channelId: discord.channelId, userId: ann });
  await until(
    () => directTo(ann).filter((text) => text.includes("not the current code")).length === 2,
    "the refusal of the code in the room, sent directly",
  );
  const inRoom = [...(discord.world.channels.get(discord.channelId)?.messages.values() ?? [])];
  expect(inRoom.filter(({ author }) => author.id === discord.world.bot.id)).toEqual([]);
  const answers = async (text: string, answer: string) => {
    discord.people.says(text, { dm: true, userId: ann });
    await until(() => directTo(ann).at(-1)?.includes(answer), `the answer to ${text}`);
    discord.people.says("/whoami", { dm: true, userId: ann });
    await until(() => directTo(ann).at(-1)?.startsWith("You are"), "another answer");
  };
  await answers("/claim", "The code is missing: write `/claim CODE`");
  await answers("claim ABCD2345", "A command starts with a slash");
  await answers("/ Claim: abcd-2345.", "A command starts with a slash");
  await answers("/Claim abcd 2345", "A code holds until the gateway stops or a newer one is printed");
  const mallory = discord.world.addUser({ username: "mallory3" }).id;
  for (let i = 0; i < 12; i++) discord.people.says(`/claim WRONG${i}`, { dm: true, userId: mallory });
  await until(
    () => directTo(mallory).filter((text) => text.includes("too many wrong codes")).length === 7,
    "the limit",
  );
  discord.people.says(`/claim ${code}`, { dm: true, userId: mallory });
  await until(
    () => directTo(mallory).filter((text) => text.includes("too many wrong codes")).length === 8,
    "the limit",
  );
  discord.people.says(`/CLAIM ${code.slice(0, 4).toLowerCase()} ${code.slice(4)}`, { dm: true, userId: ann });
  await until(() => directTo(ann).some((text) => text.includes("You are an **owner** now")), "the claim");
  discord.people.says(`/claim ${code}`, { dm: true, userId: ben });
  await until(() => directTo(ben).some((text) => text.includes("No code is valid now")), "the second refusal");
  discord.people.says("something that no hook answers", { dm: true, userId: ann });
  await until(() => directTo(ann).at(-1)?.startsWith("No hook answered."), "the note");
  expect(await statusText()).toContain("listens to direct messages of people with a role (1)");
});

it("a claimed owner holds after a crash; `hookgate claim` prints another code, and an owner removes a claim", async () => {
  const ann = [...discord.world.users.values()].find(({ username }) => username === "ann")?.id as string;
  await gateway.kill();
  await gateway.start();
  await allOnline(gateway);
  discord.people.says("still nothing that a hook answers", { dm: true, userId: ann });
  await until(() => directTo(ann).filter((text) => text.startsWith("No hook answered.")).length === 2, "the note");

  const env = { HOOKGATE_PORT: new URL(gateway.url).port, HOOKGATE_TOKEN: TOKEN };
  const { out } = await runCli(["claim", "--json"], { cwd: folder, env });
  telegram.people.says(`/claim ${JSON.parse(out).code}`, { dm: true, userId: telegram.userId });
  await until(
    () => directOnTelegram(telegram.userId).some((text) => text.includes("You are an owner now")),
    "the claim",
  );
  // The same person may have an account on the other platform too.
  for (const answers of [directTo(ann), directOnTelegram(telegram.userId)])
    expect(answers.find((text) => /owner\W* now/.test(text))).toContain("npx hookgate claim");
  expect(await statusText()).not.toContain("listens to nothing");
  telegram.people.says("/start", { dm: true, userId: telegram.userId });
  await until(() => directOnTelegram(telegram.userId).at(-1)?.includes("Press a subject"), "the welcome");

  // The answer that shows a new code does not make it void.
  discord.people.says("/claim", { dm: true, userId: ann });
  const shown = await until(() => /New owner code: `(\w+)`/.exec(directTo(ann).at(-1) ?? "")?.[1], "a new code");
  const bea = discord.world.addUser({ username: "bea" }).id;
  discord.people.says(`/claim ${shown}`, { dm: true, userId: bea });
  await until(() => directTo(bea).at(-1)?.includes("You are an **owner** now"), "the second owner");
  discord.people.says(`/claim remove=discord:${bea}`, { dm: true, userId: ann });
  await until(() => directTo(ann).at(-1)?.includes("is no longer an owner"), "the removal of the second owner");

  discord.people.says(`/claim remove=telegram:${telegram.userId}`, { dm: true, userId: ann });
  await until(() => directTo(ann).at(-1)?.startsWith(`\`telegram:${telegram.userId}\` is no longer`), "the removal");
  expect(await statusText()).toContain("telegram listens to nothing");
});

it("a code that is typed in a room is used up or void, so that no reader of the room can use it", async () => {
  const env = { HOOKGATE_PORT: new URL(gateway.url).port, HOOKGATE_TOKEN: TOKEN };
  const newCode = async () => JSON.parse((await runCli(["claim", "--json"], { cwd: folder, env })).out).code as string;
  const ann = [...discord.world.users.values()].find(({ username }) => username === "ann")?.id as string;
  const [carl, dora, reader] = ["carl", "dora", "reader"].map((username) => discord.world.addUser({ username }).id);
  const { channelId } = discord;

  // With a wrong letter: the reader has few left to try.
  const first = await newCode();
  const typed = `${first.slice(0, 3)}${first[3] === "A" ? "B" : "A"}${first.slice(4)}`;
  discord.people.says(`/claim ${typed}`, { channelId, userId: carl });
  await until(
    () =>
      directTo(carl as string)
        .at(-1)
        ?.includes("could read the code, so it is void"),
    "the warning",
  );
  discord.people.says(`/claim ${first}`, { dm: true, userId: reader });
  const refusals = () => directTo(reader as string).filter((text) => text.includes("No code is valid now")).length;
  await until(() => refusals() === 1, "the refusal of the void code");

  // By an owner, who does not need it.
  const second = await newCode();
  discord.people.says(`/claim ${second}`, { channelId, userId: ann });
  const inRoom = () => [...(discord.world.channels.get(channelId)?.messages.values() ?? [])];
  await until(
    () => inRoom().some(({ content }) => content.includes("could read the code, so it is void")),
    "the warning",
  );
  discord.people.says(`/claim ${second}`, { dm: true, userId: reader });
  await until(() => refusals() === 2, "the second refusal");

  // Without the slash it is a claim all the same.
  const third = await newCode();
  discord.people.says(`<@${discord.world.bot.id}> claim ${third}`, { channelId, userId: dora });
  await until(() => inRoom().some(({ content }) => content.includes("You are an **owner** now")), "the claim");
  discord.people.says(`/claim ${third}`, { dm: true, userId: reader });
  await until(() => refusals() === 3, "the third refusal");

  // To nobody in particular: the room has read it.
  const fourth = await newCode();
  discord.people.says(`the code is ${fourth.slice(0, 4)}-${fourth.slice(4)}, is it?`, { channelId, userId: carl });
  await until(() => gateway.output().includes("is void: `npx hookgate claim` prints a new one"), "the log line");
  discord.people.says(`/claim ${fourth}`, { dm: true, userId: reader });
  await until(() => refusals() === 4, "the fourth refusal");
});

it("`hookgate token` shows the login token, a link only for a gateway that runs; --reset replaces the token at the next start", async () => {
  const env = { HOOKGATE_PORT: "1" };
  const first = JSON.parse((await runCli(["token", "--json"], { cwd: folder, env })).out);
  expect(first).not.toHaveProperty("link", expect.anything());
  expect(first.warning).toBe(
    "No gateway runs at http://127.0.0.1:1. Start it (`npx hookgate start`), then open that address and log in with the token.",
  );
  const again = JSON.parse((await runCli(["token", "--json"], { cwd: folder, env })).out);
  expect(again.token).toBe(first.token);
  const reset = JSON.parse((await runCli(["token", "--reset", "--json"], { cwd: folder, env })).out);
  expect(reset.token).not.toBe(first.token);
  expect(reset).not.toHaveProperty("link", expect.anything());
  const refused = await runCli(["token", "--reset"], { cwd: folder, env: { ...env, HOOKGATE_TOKEN: TOKEN } });
  expect(refused).toMatchObject({ code: 2, err: expect.stringContaining("HOOKGATE_TOKEN") });
});
