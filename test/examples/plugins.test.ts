/** The example plugins, compiled as they are shipped, loaded by the real loader into a real gateway with a real store. */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { silentLogger } from "../../src/lib/logger.js";
import { pluginsConfig } from "../../src/plugins/config.js";
import { createPlugins } from "../../src/plugins/plugins.js";
import { LoopbackPlatform } from "../gateway/loopback-adapter.js";
import { type Rig, type RigOptions, restart, startRig } from "../gateway/rig.js";

const ROOT = resolve(import.meta.dirname, "../..");
const example = (name: string, config?: Record<string, unknown>) => ({
  module: `dist/examples/plugins/${name}.js`,
  config,
});

function infosOf(rig: Rig, entries: unknown[]) {
  const plugins = createPlugins({
    entries: pluginsConfig.parse(entries),
    baseDir: ROOT,
    registry: rig.registry,
    gateway: rig.gateway,
    keyValue: rig.store.keyValue,
    clock: rig.clock,
    logger: silentLogger,
    watch: false,
  });
  return plugins.load();
}

async function load(rig: Rig, entries: unknown[]): Promise<Rig> {
  const infos = await infosOf(rig, entries);
  expect(infos.filter(({ state }) => state !== "loaded")).toEqual([]);
  return rig;
}
/** Without the note to people whose message nothing answers: these tests are about what plugins send. */
const start = async (entries: unknown[], { gateway, ...options }: RigOptions = {}) =>
  load(await startRig({ ...options, gateway: { unanswered_note: false, ...gateway } }), entries);

const ROOM = { platform: "loop", botId: "bot", chatId: "room" };
const alert = (id: string) => ({ cause: { kind: "alert" as const, id, depth: 0 } });

describe("redact", () => {
  const send = async (rig: Rig, text: string) => {
    await rig.gateway.send(ROOM, { text }, alert("a"));
    await rig.idle();
    return rig.platform.texts().at(-1);
  };

  it("takes secrets, card numbers and chosen words out of what is sent", async () => {
    const rig = await start([example("redact", { words: ["Project Falcon"] })]);
    expect(await send(rig, "card 4111 1111 1111 1111 ok")).toBe("card [redacted] ok");
    expect(await send(rig, `key AKIA${"ABCD".repeat(4)}, ghp_${"a1".repeat(20)}`)).toBe("key [redacted], [redacted]");
    expect(await send(rig, `token 123456789:${"Ab".repeat(18)}`)).toBe("token [redacted]");
    expect(await send(rig, "about Project Falcon")).toBe("about [redacted]");
  });

  it("is recorded as a change only where something was taken out", async () => {
    const rig = await start([example("redact")]);
    const message = { text: "good morning", replyToId: undefined, card: { title: "news", fields: [] } };
    await rig.gateway.send(ROOM, message, alert("a"));
    await send(rig, "card 4111 1111 1111 1111");
    const runs = rig.dispatches.filter(({ point }) => point === "message_sending").map((one) => one.runs[0]?.outcome);
    expect(runs).toEqual(["passed", "modified"]);
  });

  it("leaves numbers that are no card numbers", async () => {
    const rig = await start([example("redact")]);
    for (const text of [
      "4111 1111 1111 1112",
      "user 123456789012345678",
      "chat -1001234567890",
      "at 1767225600000",
      "+4915123456789",
    ])
      expect(await send(rig, text)).toBe(text);
  });

  it("looks into cards and buttons, and leaves what they do alone", async () => {
    const rig = await start([example("redact")]);
    const secret = "4111111111111111";
    const message = {
      text: "x",
      card: {
        title: secret,
        text: secret,
        url: "https://a.b",
        fields: [{ name: secret, value: secret }],
        footer: secret,
      },
      buttons: [[{ label: secret, url: "https://a.b" }]],
    };
    await rig.gateway.send(ROOM, message, alert("a"));
    await rig.idle();
    expect(JSON.stringify(rig.platform.messages)).not.toContain(secret);
    expect(JSON.stringify(rig.platform.messages)).toContain("https://a.b");
  });

  it("runs after a footer and takes out what the footer brought in, without losing it", async () => {
    const rig = await start([example("redact")], {
      hooks: (registry) =>
        void registry.registerModifying(
          "message_sending",
          ({ message }) => ({ message: { ...message, text: `${message.text}\n-- sent with 4111111111111111` } }),
          { id: "footer", sees: "merged" },
        ),
    });
    expect(await send(rig, "hello")).toBe("hello\n-- sent with [redacted]");
  });

  it("holds the message when it fails, instead of sending it unguarded", async () => {
    // 600 masks of a megabyte each are more than a string can hold: the handler throws.
    const rig = await start([example("redact", { words: ["secret"], mask: "x".repeat(1_000_000) })]);
    await rig.gateway.send(ROOM, { text: "secret".repeat(600) }, alert("a"));
    await rig.idle();
    expect(rig.platform.messages).toEqual([]);
    const [held] = await rig.store.outbox.list({ status: "held", limit: 1 });
    expect(held?.reason).toContain("redact.outbound");
  });

  it("takes a megabyte of bait in its stride", async () => {
    const rig = await start([example("redact")]);
    const bait = ["eyJ-", "sk-", "4111 ", "-----BEGIN PRIVATE KEY-----", "a1-"]
      .map((unit) => unit.repeat(200_000 / unit.length))
      .join(" ");
    const began = performance.now();
    await rig.registry.fireModifying("message_sending", {
      chatId: "c",
      platform: "loop",
      deliveryId: "d",
      cause: alert("a").cause,
      message: { text: bait },
    });
    expect(performance.now() - began).toBeLessThan(10_000);
  });
});

describe("suppress-repeats", () => {
  it("sends the same alert to the same chat once in its window, and again after it", async () => {
    const rig = await start([example("suppress-repeats", { window_ms: 60_000 })]);
    for (const id of ["a1", "a2"]) await rig.gateway.send(ROOM, { text: "disk full" }, alert(id));
    await rig.gateway.send({ ...ROOM, chatId: "other" }, { text: "disk full" }, alert("a3"));
    await rig.gateway.send(ROOM, { text: "disk empty" }, alert("a4"));
    await rig.idle();
    expect(rig.platform.texts("room")).toEqual(["disk full", "disk empty"]);
    expect(rig.platform.texts("other")).toEqual(["disk full"]);
    const [suppressed] = await rig.store.outbox.list({ status: "suppressed", limit: 10 });
    expect(suppressed?.reason).toContain("the same text was sent here");
    await rig.clock.advance(60_001);
    await rig.gateway.send(ROOM, { text: "disk full" }, alert("a5"));
    await rig.idle();
    expect(rig.platform.texts("room").filter((text) => text === "disk full")).toHaveLength(2);
  });

  it("answers two people who ask the same within seconds, both", async () => {
    const rig = await start([
      example("suppress-repeats"),
      example("keyword-router", { rules: [{ words: ["ping"], reply: "pong" }] }),
    ]);
    await rig.say("ping", { userId: "7" });
    await rig.say("ping", { userId: "8" });
    await rig.idle();
    expect(rig.platform.texts()).toEqual(["pong", "pong"]);
  });

  it("lets an edit through that has the text of the message that it changes, whatever its cause", async () => {
    const rig = await start([example("suppress-repeats")]);
    const id = await rig.gateway.send(ROOM, { text: "disk full" }, alert("a1"));
    await rig.idle();
    await rig.gateway.edit(id, { text: "disk full" }, alert("a1"));
    await rig.idle();
    expect(await rig.store.outbox.list({ status: "suppressed", limit: 10 })).toEqual([]);
  });

  it("suppresses nothing because of a message that was sent before the clock was set back", async () => {
    const rig = await start([example("suppress-repeats", { window_ms: 60_000 })]);
    await rig.gateway.send(ROOM, { text: "disk full" }, alert("a1"));
    await rig.idle();
    rig.clock.set(-3_600_000);
    for (const id of ["a2", "a3"]) await rig.gateway.send(ROOM, { text: "disk full" }, alert(id));
    await rig.idle();
    expect(rig.platform.texts()).toEqual(["disk full", "disk full"]);
  });

  it("does not take a delivery that a crash cut off for a repeat of itself", async () => {
    const rig = await start([example("suppress-repeats")]);
    const payload = {
      chatId: "room",
      platform: "loop",
      botId: "bot",
      text: "x",
      deliveryId: "d_1",
      cause: alert("a").cause,
    };
    expect(await rig.registry.fireClaiming("before_dispatch", payload)).toMatchObject({ handled: false });
    expect(await rig.registry.fireClaiming("before_dispatch", payload, undefined, { attempt: 2 })).toMatchObject({
      handled: false,
    });
    expect(await rig.registry.fireClaiming("before_dispatch", { ...payload, deliveryId: "d_2" })).toMatchObject({
      handled: true,
    });
  });

  it("remembers over a restart, and forgets what is over", async () => {
    const rig = await start([example("suppress-repeats")]);
    await rig.gateway.send(ROOM, { text: "disk full" }, alert("a1"));
    await rig.idle();
    const next = await load(await restart(rig), [example("suppress-repeats")]);
    await next.gateway.send(ROOM, { text: "disk full" }, alert("a2"));
    await next.idle();
    expect(next.platform.texts()).toEqual(["disk full"]);
    await next.clock.advance(120_000);
    await next.gateway.send(ROOM, { text: "other" }, alert("a3"));
    await next.idle();
    expect(await next.store.keyValue.list("plugin:suppress-repeats", "")).toHaveLength(1);
  });
});

describe("keyword-router", () => {
  const rules = [
    { words: ["Billing", "invoice"], route_to: "loop:bot:billing" },
    { words: ["straße"], reply: "gefunden" },
  ];

  it("answers or forwards by whole words in any case", async () => {
    const rig = await start([example("keyword-router", { rules })]);
    await rig.say("about my INVOICE, please");
    await rig.say("billings are not it");
    await rig.say("Die Straße!");
    await rig.idle();
    expect(rig.platform.texts("billing").join("")).toBe("**Ada** in a room: about my INVOICE, please");
    expect(rig.platform.texts("room")).toEqual(["gefunden"]);
  });

  it("leaves a customer's question that starts with a greeting to others when its words are to stand alone", async () => {
    const { plugins } = parse(readFileSync(join(ROOT, "hookgate.yaml"), "utf8")) as {
      plugins: { module: string; config?: Record<string, unknown> }[];
    };
    const shipped = plugins.find(({ module }) => module.endsWith("keyword-router"));
    const rig = await start([example("keyword-router", shipped?.config)]);
    for (const text of ["Hi, I ordered a bike and it is broken.", "Hello!", "@Hookgate hey", "say hi to the team"])
      await rig.say(text);
    await rig.idle();
    expect(rig.platform.texts("room").filter((text) => text.startsWith("Hello! A hook"))).toHaveLength(2);
  });

  it("says what is wrong with its rules", async () => {
    const rig = await startRig();
    const rules = [{ words: ["x"] }, { words: ["y"], route_to: "nowhere" }];
    const [info] = await infosOf(rig, [example("keyword-router", { rules })]);
    expect(info?.reason).toContain("config.rules.0: expected reply, route_to or both");
    expect(info?.reason).toContain("config.rules.1.route_to: expected platform:bot:chat");
  });
});

describe("bridge", () => {
  const two = () => ["discord", "telegram"].map((name) => Object.assign(new LoopbackPlatform(name), { width: 1_000 }));

  it("carries messages both ways, with their author, and replies to the right one", async () => {
    const platforms = two();
    const rig = await start([example("bridge", { pairs: [["discord::100", "telegram::-200"]] })], { platforms });
    const [discord, telegram] = platforms as [LoopbackPlatform, LoopbackPlatform];
    await rig.say("hello there", { platform: "discord", chatId: "100", messageId: "d1", displayName: "Ada" });
    await rig.idle();
    expect(telegram.texts("-200")).toEqual(["**Ada** in a room on discord: hello there"]);
    const copy = telegram.messages[0]?.id;
    await rig.say("hello back", {
      platform: "telegram",
      chatId: "-200",
      messageId: "t1",
      displayName: "Bob",
      replyToId: copy,
    });
    await rig.idle();
    expect(discord.texts("100")).toEqual(["**Bob** in a room on telegram: hello back"]);
    expect(discord.messages[0]?.body.replyToId).toBe("d1");
    expect(telegram.texts("-200")).toHaveLength(1);
  });

  it("leaves other chats, other threads and other bots alone", async () => {
    const platforms = two();
    const rig = await start([example("bridge", { pairs: [["discord::100", "telegram::-200:7"]] })], { platforms });
    await rig.say("elsewhere", { platform: "discord", chatId: "101" });
    await rig.say("wrong topic", { platform: "telegram", chatId: "-200", threadId: "8" });
    await rig.say("from a bot", { platform: "discord", chatId: "100", isBot: true });
    await rig.say("right topic", { platform: "telegram", chatId: "-200", threadId: "7" });
    await rig.idle();
    expect(platforms[0]?.texts()).toEqual(["**Ada** in a room on telegram: right topic"]);
    expect(platforms[1]?.texts()).toEqual([]);
  });

  it("is refused when a place is in two pairs; two threads of a chat are two places", async () => {
    const platforms = two();
    const pairs = [
      ["discord::100", "telegram::-200"],
      ["telegram:bot:-200", "discord::101"],
      ["discord::102", "telegram::-200:7"],
      ["telegram::-201", "discord::100"],
    ];
    const infos = (entry: unknown[][]) => infosOf(rig, [example("bridge", { pairs: entry })]);
    const rig = await startRig({ platforms });
    const [refused] = await infos(pairs);
    expect(refused?.reason).toContain("config.pairs.1.0: telegram:bot:-200 is in an earlier pair. A message is");
    expect(refused?.reason).toContain("config.pairs.3.1: discord::100 is in an earlier pair");
    expect(refused?.reason).not.toContain("pairs.2");
    expect(await infos([pairs[0] ?? [], pairs[2] ?? []])).toMatchObject([{ state: "loaded" }]);
  });
});

describe("greeter", () => {
  it("greets a person once, over restarts, and a second person too", async () => {
    const rig = await start([example("greeter", { text: "Welcome, {name}!" }), example("suppress-repeats")]);
    await rig.say("hi", { userId: "7", displayName: "Ada" });
    await rig.idle();
    await rig.say("hi again", { userId: "7", displayName: "Ada" });
    await rig.say("hi", { userId: "8", displayName: "Ada" });
    await rig.idle();
    expect(rig.platform.texts()).toEqual(["Welcome, Ada!", "Welcome, Ada!"]);
    const options = { gateway: { unanswered_note: false } };
    const next = await load(await restart(rig, options), [example("greeter", { text: "Welcome, {name}!" })]);
    await next.say("still me", { userId: "7" });
    await next.idle();
    expect(next.platform.texts()).toHaveLength(2);
  });

  it("does not greet twice when the process died before the note was written", async () => {
    const rig = await start([example("greeter", { text: "Welcome!" })]);
    await rig.say("hi", { userId: "7" });
    await rig.idle();
    await rig.store.keyValue.delete("plugin:greeter", "loop:7");
    await rig.say("hi", { userId: "7" });
    await rig.idle();
    expect(rig.platform.texts()).toHaveLength(1);
  });

  it("does not let a name carry markup or mentions", async () => {
    const rig = await start([example("greeter", { text: "Welcome, {name}!" })]);
    await rig.say("hi", { userId: "9", displayName: "**<@123>** [x](http://e.vil) $& @everyone" });
    await rig.idle();
    expect(rig.platform.texts().join("")).toBe("Welcome, 123 x(http://e.vil) $& everyone!");
  });
});
