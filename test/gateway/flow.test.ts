/** From a message that comes in to the answer that goes out, on the real store and registry. */
import { describe, expect, it } from "vitest";
import { formatAddress } from "../../src/domain/chat/address.js";
import type { Command } from "../../src/gateway/commands.js";
import { allowedPluginsIn } from "../../src/gateway/people/allowed-plugins.js";
import type { Route } from "../../src/gateway/routes.js";
import type { HookRegistry } from "../../src/hooks/registry.js";
import { until } from "../support/until.js";
import { messageOf, startRig } from "./rig.js";

const echo = (registry: HookRegistry) =>
  registry.registerClaiming(
    "inbound_claim",
    ({ message }) => ({ handled: true, reply: { text: `echo: ${message.text}` } }),
    {
      id: "echo",
    },
  );

describe("a message", () => {
  it("is received, claimed, answered, and its row says by whom", async () => {
    const rig = await startRig({ hooks: (registry) => void echo(registry) });
    await rig.say("hello", { messageId: "m1" });
    const row = await rig.settled("m1");
    await rig.idle();
    expect(row).toMatchObject({ status: "done", outcome: "claimed", claimedBy: "echo", attempts: 1 });
    expect(rig.platform.texts()).toEqual(["echo: hello"]);
    expect(rig.platform.messages[0]?.body.replyToId).toBe("m1");
  });

  it("fires every point once, with ids that a re-run would repeat", async () => {
    const rig = await startRig({
      hooks(registry) {
        echo(registry);
        for (const point of ["message_received", "message_sent"] as const) registry.registerVoid(point, () => {});
        registry.registerClaiming("before_dispatch", () => ({ handled: false }));
        registry.registerModifying("message_sending", () => null);
      },
    });
    await rig.say("hello", { messageId: "m1" });
    await rig.idle();
    expect(rig.dispatches.map(({ id, point, attempt }) => ({ id, point, attempt }))).toEqual([
      { id: "m1:message_received", point: "message_received", attempt: 1 },
      { id: "m1:inbound_claim", point: "inbound_claim", attempt: 1 },
      { id: "d_m1r:before_dispatch", point: "before_dispatch", attempt: 1 },
      { id: "d_m1r:message_sending", point: "message_sending", attempt: 1 },
      { id: "d_m1r:message_sent", point: "message_sent", attempt: 1 },
    ]);
  });

  it("runs the hooks of those plugins only that are allowed in its conversation", async () => {
    const allowed = { "loop:quiet": ["redact"], "*": ["redact", "fun"] };
    const rig = await startRig({
      allowedPlugins: (conversation) => allowedPluginsIn(conversation, allowed, () => undefined),
      hooks(registry) {
        echo(registry);
        registry.registerModifying(
          "message_sending",
          ({ message }) => ({ message: { text: `${message.text}, ha!` } }),
          {
            id: "fun.joke",
            pluginId: "fun",
          },
        );
      },
    });
    await rig.say("one", { chatId: "quiet" });
    await rig.say("two", { chatId: "room" });
    await rig.idle();
    expect([rig.platform.texts("quiet"), rig.platform.texts("room")]).toEqual([["echo: one"], ["echo: two, ha!"]]);
    expect(rig.dispatches.flatMap(({ runs }) => runs).find(({ outcome }) => outcome === "skipped")).toMatchObject({
      hookId: "fun.joke",
      reason: 'plugin "fun" is not allowed in this conversation',
    });
    const why = (chatId: string) =>
      rig.registry.explain("fun.joke", undefined, {
        conversation: formatAddress({ platform: "loop", botId: "bot", chatId }),
      });
    expect(why("quiet")).toMatchObject({ runs: false });
    expect(why("quiet").checks[1]?.detail).toBe(
      'Plugin "fun" is not allowed in this conversation (gateway.allowed_plugins allows redact).',
    );
    expect(why("room").runs).toBe(true);
  });

  it("handed over twice is handled once", async () => {
    const rig = await startRig({ hooks: (registry) => void echo(registry) });
    const first = await rig.say("hello", { messageId: "m1" });
    const second = await rig.say("hello", { messageId: "m1" });
    const [third, fourth] = await Promise.all([rig.say("x", { messageId: "m2" }), rig.say("x", { messageId: "m2" })]);
    await rig.idle();
    expect([first.kind, second.kind, third.kind, fourth.kind]).toEqual([
      "accepted",
      "duplicate",
      "accepted",
      "duplicate",
    ]);
    expect(rig.platform.texts()).toEqual(["echo: hello", "echo: x"]);
  });

  it("with the same text from two people is answered to both, and the same id in two chats is two messages", async () => {
    const rig = await startRig({ hooks: (registry) => void echo(registry) });
    await Promise.all([
      rig.say("ping", { messageId: "1", userId: "7" }),
      rig.say("ping", { messageId: "2", userId: "8" }),
      rig.say("ping", { messageId: "1", chatId: "other" }),
    ]);
    await rig.idle();
    expect(rig.platform.texts("room")).toEqual(["echo: ping", "echo: ping"]);
    expect(rig.platform.texts("other")).toEqual(["echo: ping"]);
  });

  it("of many in one conversation is answered in order, while conversations go in parallel", async () => {
    let active = 0;
    let most = 0;
    const rig = await startRig({
      hooks(registry) {
        registry.registerClaiming("inbound_claim", async ({ message }) => {
          most = Math.max(most, ++active);
          await new Promise((resolve) => setImmediate(resolve));
          active--;
          return { handled: true, reply: message.text };
        });
      },
    });
    const texts = Array.from({ length: 30 }, (_, i) => String(i));
    await Promise.all(
      texts.flatMap((text) => ["a", "b", "c"].map((chatId) => rig.say(text, { chatId, messageId: text }))),
    );
    await rig.idle();
    for (const chatId of ["a", "b", "c"]) expect(rig.platform.texts(chatId)).toEqual(texts);
    expect(most).toBe(3);
  });

  it("of a person without a role in direct messages that everyone may write gets no note about roles", async () => {
    const rig = await startRig({ access: { loop: { dms: "everyone" } } });
    await rig.say("where is my order?", { chatId: "dm", isDm: true, userId: "77" });
    await rig.idle();
    expect(rig.platform.texts("dm")).toEqual([]);
  });

  it("that nobody may write here is seen by hooks as denied, and not answered", async () => {
    const seen: unknown[] = [];
    const rig = await startRig({
      access: { loop: {} },
      hooks(registry) {
        echo(registry);
        registry.registerVoid("message_received", ({ access, reason }) => void seen.push([access, reason]), {
          match: { access: "any" },
        });
      },
    });
    await rig.say("hello", { messageId: "m1" });
    await rig.say("hello", { messageId: "m2", chatId: "dm", isDm: true });
    await rig.say("hello", { messageId: "m3", chatId: "dm", isDm: true, userId: "1" });
    await rig.idle();
    expect(seen).toEqual([
      ["denied", "this place is not listed"],
      ["denied", "direct messages are for operators"],
      ["allowed", undefined],
    ]);
    // The stranger in a direct message is told once what this account is; nothing else is answered.
    expect(rig.platform.texts().join("")).toMatch(/^I am Hookgate, an automatic account\..*echo: hello$/);
  });

  it("of another bot account, or of our own, is seen and never answered", async () => {
    const rig = await startRig({ hooks: (registry) => void echo(registry) });
    await rig.say("hello", { messageId: "m1", isBot: true });
    await rig.say("hello", { messageId: "m2", userId: "bot" });
    expect(await rig.settled("m1")).toMatchObject({ outcome: "denied" });
    expect(await rig.settled("m2")).toMatchObject({ outcome: "denied" });
    expect(rig.platform.texts()).toEqual([]);
  });

  it("answers nothing where it is not addressed, unless the config says always", async () => {
    const quiet = await startRig({ hooks: (registry) => void echo(registry) });
    await quiet.say("hello", { messageId: "m1", isGroupMention: false });
    expect(await quiet.settled("m1")).toMatchObject({ outcome: "denied" });
    const open = await startRig({
      hooks: (registry) => void echo(registry),
      access: { loop: { chats: ["parent"], mention: "always" } },
    });
    await open.say("hello", { messageId: "m1", isGroupMention: false, parentChatId: "parent" });
    expect(await open.settled("m1")).toMatchObject({ outcome: "claimed" });
  });

  it("in a thread is answered in the thread", async () => {
    const rig = await startRig({ hooks: (registry) => void echo(registry) });
    await rig.say("hello", { threadId: "t9" });
    await rig.idle();
    expect(rig.platform.messages).toMatchObject([{ chatId: "room", threadId: "t9" }]);
  });

  it("without text but with an attachment is a message", async () => {
    const rig = await startRig({
      hooks: (registry) =>
        void registry.registerClaiming("inbound_claim", ({ message }) => ({
          handled: true,
          reply: `${message.attachments.length} file`,
        })),
    });
    await rig.say("", { attachments: [{ type: "image", ref: "r", url: "", mimeType: "image/png" }] });
    await rig.idle();
    expect(rig.platform.texts()).toEqual(["1 file"]);
  });
});

describe("the default route", () => {
  it("of a plugin answers what no hook claimed", async () => {
    const rig = await startRig({
      gateway: { default_route: { plugin: "helper" } },
      routes: new Map([["helper", (message) => ({ reply: `route: ${message.text}` })]]),
    });
    await rig.say("hello", { messageId: "m1" });
    expect(await rig.settled("m1")).toMatchObject({ outcome: "routed" });
    await rig.idle();
    expect(rig.platform.texts()).toEqual(["route: hello"]);
  });

  it("of a plugin that has none is as without a route: the message is settled at once", async () => {
    const rig = await startRig({ gateway: { default_route: { plugin: "gone" } } });
    await rig.say("hello", { messageId: "m1" });
    expect(await rig.settled("m1")).toMatchObject({ outcome: "unrouted" });
  });

  it("forward posts it elsewhere under its author's name; none lets it rest", async () => {
    const rig = await startRig({ gateway: { default_route: { forward: "loop::desk" } } });
    await rig.say("hello", { messageId: "m1" });
    await rig.idle();
    expect(rig.platform.texts("desk")).toEqual(["**Ada** in a room: hello"]);
    // Where the copies go, nothing copies what people write: who mentions the gateway there means a customer.
    await rig.say("anyone there?", { messageId: "m2", chatId: "desk", userId: "1", isGroupMention: true });
    expect(await rig.settled("m2", "desk")).toMatchObject({ outcome: "reply" });
    await rig.idle();
    expect(rig.platform.texts("desk").join("")).toContain(
      "not sent to anyone. To answer a customer, reply to the copy",
    );
    const none = await startRig();
    await none.say("hello", { messageId: "m1" });
    expect(await none.settled("m1")).toMatchObject({ outcome: "unrouted" });
  });
});

it("START of a person whose messages are forwarded is answered and not forwarded", async () => {
  const rig = await startRig({ gateway: { default_route: { forward: "loop::desk" } } });
  await rig.say("/start", { messageId: "m1", isDm: true, userId: "9" });
  expect(await rig.settled("m1")).toMatchObject({ outcome: "command" });
  await rig.idle();
  expect(rig.platform.texts("desk")).toEqual([]);
  expect(rig.platform.texts().join("")).toMatch(/Write your message here: people read it/);
  // A colleague without a role learns each time how to answer a customer.
  for (const messageId of ["m2", "m3"]) {
    await rig.say("to bob: yes", { messageId, chatId: "desk", userId: "12", isGroupMention: true });
    expect(await rig.settled(messageId, "desk")).toMatchObject({ outcome: "reply" });
  }
  await rig.idle();
  expect(
    rig.platform
      .texts("desk")
      .join("")
      .match(/Your message was not sent to anyone/g),
  ).toHaveLength(2);
});

it("START of a person with a role is answered as /help and not forwarded", async () => {
  const help = { name: "help", summary: "What there is", role: "viewer" as const, options: [] };
  const rig = await startRig({
    gateway: { default_route: { forward: "loop::desk" } },
    commands: [{ ...help, run: async () => ({ message: { text: "Start here" } }) }],
  });
  await rig.say("/start payload", { messageId: "m1", isDm: true, userId: "1" });
  expect(await rig.settled("m1")).toMatchObject({ outcome: "command" });
  await rig.say("/stort", { messageId: "m2", isDm: true, userId: "1" });
  await rig.idle();
  expect(rig.platform.texts("room").join("")).toBe("Start hereThere is no command `/stort`. `/help` lists them.");
  expect(rig.platform.texts("desk")).toEqual([]);
});

it("START where everyone may write is answered, also without a route", async () => {
  const rig = await startRig();
  await rig.say("/start", { messageId: "m1", isDm: true, userId: "9" });
  await rig.say("hello", { messageId: "m2", isDm: true, userId: "9" });
  await rig.idle();
  expect(rig.platform.texts().join("")).toMatch(/Write your message here\. What answers it is up to/);
  expect(
    rig.platform
      .texts()
      .join("")
      .match(/automatic account/g),
  ).toHaveLength(1);
});

it("START where everyone may write is answered three times in a minute, and no more", async () => {
  const rig = await startRig();
  for (const messageId of ["m1", "m2", "m3", "m4"]) {
    await rig.say("/start", { messageId, isDm: true, userId: "9" });
    await rig.idle();
  }
  expect(rig.platform.texts().filter((text) => text.includes("automatic account"))).toHaveLength(3);
});

it("who asks the gateway what it can do is pointed to /help", async () => {
  const rig = await startRig();
  const asked = ["help", "What can you do?", "/", "can you help with the invoice"];
  for (const text of asked) await rig.say(text, { isDm: true, userId: "1" });
  await rig.idle();
  const help = "No hook answered. `/help` shows what I can do. `/hooks why last` shows why.";
  const texts = rig.platform.texts().join("");
  expect(texts).toBe(`${help}${help}${help}No hook answered. \`/hooks why last\` shows why.`);
});

it("a conversation does not wait for hooks in the background that may still answer: the note comes when they have ended", async () => {
  const ends: (() => void)[] = [];
  const rig = await startRig({
    hooks(registry) {
      registry.registerVoid(
        "message_received",
        ({ message }) => (message.text === "ask" ? new Promise<void>((end) => ends.push(end)) : undefined),
        { execution: "fire_and_record" },
      );
      registry.registerClaiming("inbound_claim", ({ message }) =>
        message.text === "ping" ? { handled: true, reply: "pong" } : undefined,
      );
    },
  });
  // No time passes until the answer has come.
  for (let asked = 0; asked < 3; asked++) await rig.say("ask", { isDm: true, userId: "1" });
  await rig.say("ping", { isDm: true, userId: "1" });
  await until(() => rig.platform.texts().includes("pong"), "the answer behind them");
  expect(rig.platform.texts()).toEqual(["pong"]);
  await until(() => ends.length === 3, "the hooks of the three");
  for (const end of ends) end();
  const note = (row: number) => `No hook answered. \`/hooks why m${row}\` shows why.`;
  const all = ["pong", note(1), note(2), note(3)].join("");
  await until(async () => {
    await rig.clock.advance(1_000);
    return rig.platform.texts().join("").length >= all.length;
  }, "the three notes");
  expect(rig.platform.texts().join("")).toBe(all);
});

it("who mentions the gateway where the copies are is told, once a hook in the background has ended, that nobody was answered", async () => {
  let end = () => {};
  const rig = await startRig({
    gateway: { default_route: { forward: "loop:bot:desk" } },
    hooks: (registry) =>
      registry.registerVoid("message_received", () => new Promise<void>((resolve) => (end = resolve)), {
        execution: "fire_and_record",
      }),
  });
  await rig.say("you can have it", { chatId: "desk", userId: "1", messageId: "m-desk" });
  expect((await rig.settled("m-desk", "desk")).reason).toContain("no note was sent yet");
  end();
  await until(async () => {
    await rig.clock.advance(1_000);
    return rig.platform.texts().join("").startsWith("Your message was not sent to anyone. To answer a customer, reply");
  }, "the note");
});

describe("a command that is not there", () => {
  it("is told to an operator in private, with the nearest; a path is talk", async () => {
    const status = { name: "status", summary: "How it is", role: "viewer" as const, options: [] };
    const rig = await startRig({ commands: [{ ...status, run: async () => ({ message: { text: "well" } }) }] });
    await rig.say("/statos now", { isDm: true, userId: "1" });
    await rig.say("/zzzzzzzzzz", { isDm: true, userId: "1" });
    await rig.say("/usr/bin/env is a path", { isDm: true, userId: "1" });
    await rig.idle();
    expect(rig.platform.texts().join("")).toBe(
      "There is no command `/statos`. Did you mean `/status`? `/help` lists them.There is no command `/zzzzzzzzzz`. `/help` lists them.No hook answered. `/hooks why last` shows why.",
    );
  });

  const status: Command = {
    name: "status",
    summary: "How it is",
    role: "viewer",
    options: [],
    run: async () => ({ message: { text: "well" } }),
  };
  const NEAR = "There is no command `/statos`. Did you mean `/status`? `/help` lists them.";
  const NONE = "There is no command `/zzzzzzzzzz`. `/help` lists them.";

  it.each([{ forward: "loop::desk" }, { plugin: "relay" }])(
    "is answered and not passed on, whatever the default route is: %o",
    async (route) => {
      const relay: Route = async () => ({ routeTo: { platform: "loop", botId: "bot", chatId: "desk" } });
      const rig = await startRig({
        gateway: { default_route: route },
        routes: new Map([["relay", relay]]),
        commands: [status],
      });
      rig.platform.width = 1_000;
      const direct = { isDm: true, isGroupMention: false };
      for (const text of ["/statos", "/zzzzzzzzzz"]) await rig.say(text, { ...direct, chatId: "dm-1", userId: "1" });
      // People without a role know no commands: what they write is for the people who read the copies.
      await rig.say("/statos", { ...direct, chatId: "dm-7", messageId: "m7" });
      await rig.idle();
      expect(rig.platform.texts("dm-1")).toEqual([NEAR, NONE]);
      expect(rig.platform.texts("desk")).toEqual(["**Ada**: /statos"]);

      // As a reply to that copy it is not sent to the customer; other words are.
      const replyToId = rig.platform.messages.find(({ chatId }) => chatId === "desk")?.id;
      const atDesk = { chatId: "desk", userId: "1", displayName: "Op", isGroupMention: true, replyToId };
      for (const text of ["/statos", "/zzzzzzzzzz now", "coming"]) await rig.say(text, atDesk);
      await rig.idle();
      expect(rig.platform.texts("desk").slice(1)).toEqual([
        `${NEAR} Your reply was not passed on.`,
        `${NONE} Your reply was not passed on.`,
      ]);
      expect(rig.platform.texts("dm-7")).toEqual(["**Op**: coming"]);
    },
  );

  it("is answered each time in a room, when it is addressed to the gateway or close to a command", async () => {
    const access = { loop: { dms: "operators", chats: ["open"], mention: "always" } };
    const rig = await startRig({ access, commands: [status] });
    rig.platform.width = 1_000;
    const inOpen = { chatId: "open", userId: "1" };
    await rig.say("/statos", { ...inOpen, messageId: "m1" });
    await rig.say("/zzzzzzzzzz", inOpen);
    for (const text of ["/statos", "/zzzzzzzzzz"]) await rig.say(text, { ...inOpen, isGroupMention: false });
    await rig.idle();
    expect(rig.platform.texts("open")).toEqual([NEAR, NONE, NEAR]);
    expect(rig.platform.messages[0]?.body).toMatchObject({ replyToId: "m1" });
  });

  it("is answered in a room that is listened to when mentioned, also without a mention when it is close to one of ours", async () => {
    const access = { loop: { dms: "operators", chats: ["listed"], mention: "required" } };
    const rig = await startRig({ access, commands: [status] });
    rig.platform.width = 1_000;
    const unaddressed = { chatId: "listed", userId: "1", isGroupMention: false };
    await rig.say("/statos", { ...unaddressed, messageId: "m1" });
    for (const text of ["/statos@otherbot", "/start@otherbot", "/zzzzzzzzzz"]) await rig.say(text, unaddressed);
    await rig.say("/statos", { ...unaddressed, userId: "9" });
    await rig.idle();
    expect(await rig.settled("m1", "listed")).toMatchObject({ outcome: "command" });
    expect(rig.platform.texts("listed")).toEqual([NEAR]);
    // Where it does not listen, commands are answered all the same.
    await rig.say("/statos", { chatId: "unlisted", userId: "1" });
    await rig.say("/statos", { chatId: "unlisted", userId: "1", isGroupMention: false });
    await rig.idle();
    expect(rig.platform.texts("unlisted")).toEqual([NEAR]);
  });
});

describe("edits, deletions and reactions of people", () => {
  it("fire their points; a deletion carries the text that was deleted", async () => {
    const seen: unknown[] = [];
    const rig = await startRig({
      hooks(registry) {
        registry.registerVoid("message_edited", ({ message }) => void seen.push(["edited", message.text]));
        registry.registerVoid("message_deleted", ({ message }) => void seen.push(["deleted", message?.text]));
        registry.registerVoid("reaction_added", ({ emoji, message }) => void seen.push([emoji, message?.text]));
      },
    });
    const address = { platform: "loop", botId: "bot", chatId: "room" };
    const message = messageOf("hello", { messageId: "m1" });
    await rig.receive({ kind: "message", eventId: "m1", message });
    await rig.receive({
      kind: "edited",
      eventId: "edit:m1:1",
      message: { ...message, text: "hello all", isEdit: true },
    });
    await rig.receive({
      kind: "reaction",
      eventId: "r1",
      address,
      messageId: "m1",
      userId: "7",
      emoji: "👍",
      isDm: false,
      at: 1,
    });
    await rig.receive({ kind: "deleted", eventId: "del:m1", address, messageId: "m1", at: 1 });
    await rig.settled("del:m1");
    expect(seen).toEqual([
      ["edited", "hello all"],
      ["👍", "hello"],
      ["deleted", "hello"],
    ]);
  });
});
