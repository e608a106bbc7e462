/** Discord end to end where it refuses, limits or loses a request: the whole gateway as a process on the loopback Discord. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { FaultAction } from "../fakes/discord/faults.js";
import { until } from "../support/until.js";
import { allOnline, invoke, readiness, type Stack, startStack } from "./stack.js";

let stack: Stack;
beforeAll(async () => {
  const hook = {
    id: "in-thread",
    on: "message_received",
    match: { when: 'payload.message.text.contains("open a thread")' },
    run: { chat: { thread: "run", text: "the words of the hook" } },
  };
  const report = {
    id: "to-forum",
    on: "message_received",
    match: { when: 'payload.message.text.contains("a long report")' },
  };
  const text = "a line of the report\n".repeat(200);
  stack = await startStack({
    config: ({ discord }) => ({
      hooks: [hook, { ...report, run: { chat: { to: `discord::${discord.forumId}`, text } } }],
    }),
  });
});
afterAll(() => stack.stop());
afterEach(() => stack.discord.faults.clear());

describe("an acknowledgement that fails once", () => {
  it.each<[string, FaultAction]>([
    ["with HTTP 500", { kind: "status", status: 500 }],
    ["with a proxy's page", { kind: "page", status: 503 }],
    ["with a short limit", { kind: "rate-limit", retryAfterS: 0.5, scope: "user" }],
  ])("%s still gets its answer in its own place", async (_, action) => {
    const { discord } = stack;
    discord.fail({ path: "/callback$", action });
    const before = discord.calls.length;
    const interaction = discord.people.slash("status");
    const edits = () => discord.calls.slice(before).filter(({ kind }) => kind === "original-edit");
    await until(() => edits().some(({ status }) => status === 200), "an answer in place of the acknowledgement");
    expect(interaction.originalId).toBeDefined();
    expect(edits()).toHaveLength(1);
    const calls = discord.calls.slice(before);
    expect(calls.some(({ path }) => path === "/users/@me/channels")).toBe(false);
  });
});

describe("an answer to a command that Discord refuses", () => {
  const forbidden = (code: number): FaultAction => ({
    kind: "status",
    status: 403,
    body: { code, message: code === 50013 ? "Missing Permissions" : "Missing Access" },
  });

  it.each([50013, 50001])("with %i in its place is shown to the person privately", async (code) => {
    const { discord } = stack;
    discord.fail({ method: "PATCH", path: "original$", times: 100, action: forbidden(code) });
    const before = discord.calls.length;
    const interaction = discord.people.slash("status");
    const followUps = () => discord.calls.slice(before).filter(({ kind }) => kind === "follow-up");
    await until(() => followUps().some(({ status }) => status === 200), "a private answer");
    expect(interaction.originalId).toBeDefined();
    expect(JSON.stringify(followUps()[0]?.body)).toMatch(/discord.*"flags":64/);
  });

  it.each([
    [403, 50013, "Missing Permissions"],
    [404, 10003, "Unknown Channel"],
  ])("everywhere (%i, %i) leaves the person with the reason as a direct message", async (status, code, message) => {
    const { discord } = stack;
    const action: FaultAction = { kind: "status", status, body: { code, message } };
    discord.fail({ method: "PATCH", path: "original$", times: 100, action });
    discord.fail({ method: "POST", path: "^/webhooks/", times: 100, action });
    const before = discord.calls.length;
    discord.people.slash("status");
    const calls = () => discord.calls.slice(before);
    const notice = () =>
      calls().find(
        ({ status: answered, path, body }) =>
          answered === 200 &&
          path.startsWith("/channels/") &&
          JSON.stringify(body)?.includes("its answer was given up"),
      );
    await until(() => notice() !== undefined, "the reason as a direct message");
    expect(JSON.stringify(notice()?.body)).toContain(`${message} (${code})`);
    if (status === 403)
      expect(calls().some(({ method, path }) => method === "DELETE" && path.endsWith("original"))).toBe(true);
  });
});

it("a private answer whose message was deleted is a private follow-up", async () => {
  const { discord } = stack;
  const body = { code: 10008, message: "Unknown Message" };
  discord.fail({ method: "PATCH", path: "original$", action: { kind: "status", status: 404, body } });
  const before = discord.calls.length;
  discord.people.slash("status");
  const followUp = () => discord.calls.slice(before).find(({ kind, status }) => kind === "follow-up" && status === 200);
  await until(() => followUp() !== undefined, "a private answer");
  expect(JSON.stringify(followUp()?.body)).toMatch(/discord.*"flags":64/);
});

describe("an answer to a press that Discord refuses once", () => {
  const pressed = async (status: number, code: number) => {
    const { discord, platforms } = stack;
    const [room] = platforms.discord.places;
    await platforms.discord.say(room, "guest", "card");
    const card = await until(
      async () => (await platforms.discord.seen(room)).findLast(({ buttons }) => buttons.includes("Status")),
      "the card",
    );
    const body = { code, message: "no" };
    discord.fail({ method: "PATCH", path: "original$", action: { kind: "status", status, body } });
    return discord.people.presses(card.id, "Status", { channelId: room.chatId });
  };
  const shown = (originalId: string | undefined) =>
    JSON.stringify([...stack.discord.world.channels.values()].map(({ messages }) => messages.get(originalId ?? "")));

  it("with 50001 is shown to the person all the same", async () => {
    const press = await pressed(403, 50001);
    await until(() => shown(press.originalId).includes("Platforms"), "the answer in place of thinking…");
  });

  it.each([
    [400, 200000],
    [400, 50006],
  ])("with %i (%i) has the reason in place of thinking…", async (status, code) => {
    const press = await pressed(status, code);
    await until(() => shown(press.originalId).includes("its answer was given up"), "the reason");
    expect(shown(press.originalId)).toContain(`no (${code})`);
  });
});

it("a long message to a forum is one post: what does not fit into its first message follows in the thread", async () => {
  const { discord, platforms } = stack;
  const posts = () => [...discord.world.channels.values()].filter(({ parentId }) => parentId === discord.forumId);
  const before = posts().length;
  await platforms.discord.say(platforms.discord.places[0], "guest", "a long report");
  const said = () =>
    posts()
      .slice(before)
      .map(({ messages }) => [...messages.values()].map(({ content }) => content.length));
  await until(() => said()[0]?.length === 3, "the three messages of the post");
  expect(said()).toHaveLength(1);
});

it("a hook's message whose thread cannot be opened goes to the chat", async () => {
  const { discord, platforms } = stack;
  const [room] = platforms.discord.places;
  discord.fail({ path: "/threads$", times: 100, action: { kind: "status", status: 500 } });
  await platforms.discord.say(room, "guest", "open a thread");
  const said = async () =>
    (await platforms.discord.seen(room)).some(({ text }) => text.includes("the words of the hook"));
  await until(said, "the words of the hook in the chat");
});

describe("a pause that Discord asks for", () => {
  const asked = () => stack.discord.calls.filter(({ path }) => path === "/gateway/bot").length;
  const reason = async () =>
    (await readiness(stack.gateway.url).catch(() => undefined))?.platforms.discord?.reason ?? "";
  const paused = (part: RegExp) => until(async () => part.test(await reason()), `Discord being paused for ${part}`);

  it.each<[string, FaultAction, RegExp]>([
    ["its network's ban", { kind: "page", status: 429, headers: { "retry-after": "1200" } }, /Cloudflare/],
    ["its own limit", { kind: "rate-limit", retryAfterS: 1200, scope: "user" }, /limits requests to \/gateway\/bot/],
  ])(
    "is kept while connecting, over a restart, and ends when an operator lifts it: %s",
    async (_, action, why) => {
      const { gateway, discord } = stack;
      await gateway.stop();
      const before = asked();
      discord.fail({ path: "^/gateway/bot$", action });
      await gateway.start();
      await paused(why);
      expect((await invoke(gateway.url, "/pauses")).text).toMatch(why);
      await gateway.stop();
      await gateway.start();
      await paused(why);
      expect(asked()).toBe(before + 1);
      expect((await invoke(gateway.url, "/pauses lift discord")).text).toContain("1 pause lifted");
      await allOnline(gateway, 90_000, ["discord"]);
      expect((await invoke(gateway.url, "/pauses")).text).toContain("Nothing is paused");
    },
    60_000,
  );

  it.each(["user", "shared"] as const)(
    "for a channel (%s) ends when an operator lifts it: the message goes out",
    async (scope) => {
      const { gateway, discord, platforms } = stack;
      const [room] = platforms.discord.places;
      discord.fail({ method: "POST", path: "/messages$", action: { kind: "rate-limit", retryAfterS: 600, scope } });
      await platforms.discord.say(room, "guest", `echo after the limit of a ${scope}`);
      const list = async () => (await invoke(gateway.url, "/pauses")).text;
      await until(async () => (await list()).includes("1 pause"), "the pause");
      expect((await invoke(gateway.url, "/pauses lift all")).text).toContain("1 pause lifted");
      const isAnswered = async () =>
        (await platforms.discord.seen(room)).some(({ text }) => text.includes(`after the limit of a ${scope}`));
      await until(isAnswered, "the answer");
      expect(await list()).toContain("Nothing is paused");
    },
  );

  it("for a ban met by a message ends when an operator lifts it: the message goes out", async () => {
    const { gateway, discord, platforms } = stack;
    const action: FaultAction = { kind: "page", status: 429, headers: { "retry-after": "1200" } };
    discord.fail({ method: "POST", path: "/messages$", action });
    const [room] = platforms.discord.places;
    await platforms.discord.say(room, "guest", "echo after the ban");
    const list = async () => (await invoke(gateway.url, "/pauses")).text;
    await until(async () => (await list()).includes("Cloudflare"), "the pause");
    expect(await list()).toContain("1 pause");
    expect((await invoke(gateway.url, "/pauses lift discord")).text).toContain("1 pause lifted");
    await until(
      async () => (await platforms.discord.seen(room)).some(({ text }) => text.includes("after the ban")),
      "the answer",
    );
  });
});

describe("slash commands that Discord refuses", () => {
  let refused: Stack;
  beforeAll(async () => {
    refused = await startStack({
      config: ({ discord }) => {
        const body = { code: 50001, message: "Missing Access" };
        discord.fail({ method: "PUT", path: "/commands$", times: 100, action: { kind: "status", status: 403, body } });
        return {};
      },
    });
  });
  afterAll(() => refused.stop());

  const probe = async () => {
    const answer = await fetch(`${refused.gateway.url}/readyz`);
    return { status: answer.status, body: (await answer.json()) as { state: string; platforms: { discord: object } } };
  };

  it("make /readyz degraded and stand in /status, with the reason and what to do, until they are accepted", async () => {
    const { gateway, discord } = refused;
    const reason = "Discord refuses the slash commands: missing access (50001)";
    await until(async () => (await probe()).body.state === "degraded", "/readyz being degraded");
    const { status, body } = await probe();
    expect(status).toBe(200);
    expect(body).toMatchObject({ ready: true, configuration: { problems: 0 } });
    const hint = expect.stringContaining("scope applications.commands: https://discord.com/");
    expect(body.platforms.discord).toMatchObject({ state: "online", reason, hint });
    const text = (await invoke(gateway.url, "/status")).text.replace(/[\\`*]/g, "");
    expect(text).toContain(reason);
    expect(text).toContain("Add the bot to its server again by this link");

    // Everything else works meanwhile.
    await refused.platforms.discord.say(refused.platforms.discord.places[0], "owner", "/status");
    await until(
      async () =>
        JSON.stringify(await refused.platforms.discord.seen(refused.platforms.discord.places[0])).includes("online"),
      "the answer in Discord",
    );

    discord.faults.clear();
    await gateway.kill();
    await gateway.start();
    await until(
      async () => (await probe().catch(() => undefined))?.body.state === "ready",
      "/readyz being ready again",
    );
    expect((await probe()).body.platforms.discord).not.toHaveProperty("reason", expect.anything());
    expect((await invoke(gateway.url, "/status")).text).not.toContain("refuses the slash commands");
  });
});
