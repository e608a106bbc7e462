/** An incident of a platform in which it answers new messages with HTTP 5xx: the real client on a loopback Discord, and platforms in memory. */
import { beforeEach, describe, expect, it } from "vitest";
import { createDiscordAdapter } from "../../adapters/discord/discord.js";
import type { Cause } from "../../src/domain/journal.js";
import type { SendOptions } from "../../src/gateway/contract.js";
import { PUBLIC_ONLY } from "../../src/lib/outgoing/destinations.js";
import type { FaultAction } from "../fakes/discord/faults.js";
import { type FakeDiscord, startFakeDiscord } from "../fakes/discord/server.js";
import { afterTest } from "../support/clean-up.js";
import { until } from "../support/until.js";
import { LoopbackPlatform } from "./loopback-adapter.js";
import { interaction, type Rig, type RigOptions, restart, startRig } from "./rig.js";

/** As the adapter has it. */
const NONCE_MEMORY_MS = 120_000;
const PROXY: FaultAction = { kind: "page", status: 503 };
const cause: Cause = { kind: "api", id: "test", depth: 0 };

let discord: FakeDiscord;
/** Calls that `asked` has. */
let read: number;
beforeEach(async () => {
  asked = new Map();
  read = 0;
  discord = await startFakeDiscord();
  afterTest(() => discord.stop());
});

const connected = (): RigOptions => ({
  platforms: [],
  others: [
    createDiscordAdapter({
      token: discord.token,
      apiUrl: discord.apiUrl,
      isMessageContentWanted: true,
      isCommandRegistrationWanted: false,
      connectTimeoutMs: 10_000,
      requestTimeoutMs: 5_000,
      uploadTimeoutMs: 5_000,
      requestsPerSecond: 10_000,
      maxInvalidRequests: 1_000,
      outgoing: PUBLIC_ONLY,
      catchUp: { maxAgeMs: 24 * 3_600_000, maxMessages: 1_000 },
    }),
  ],
});
const startDiscord = () => startRig(connected());

/** Until they are removed from `faults`. */
function fail(action: FaultAction, path = "^/channels/[0-9]+/messages$"): void {
  discord.fail({ method: "POST", path, times: 100_000, action });
}

const say = (rig: Rig, text: string, chatId = discord.channelId, by = cause) =>
  rig.gateway.send({ platform: "discord", botId: "", chatId }, { text }, { cause: by });

const newChannel = () => discord.world.addChannel({ type: 0, name: "more" }).id;

const STEP_MS = 500;

/** When each text was asked for, by the clock of the test: noted up to one step later. */
let asked: Map<string, number[]>;

function noteAsked(rig: Rig): void {
  for (; read < discord.calls.length; read++) {
    const { method, path, body } = discord.calls[read] ?? {};
    if (method !== "POST" || !path?.endsWith("/messages")) continue;
    const { content = "" } = body as { content?: string };
    asked.set(content, [...(asked.get(content) ?? []), rig.clock.now()]);
  }
}

/** Time passes, and requests are answered meanwhile. */
async function pass(rig: Rig, ms: number): Promise<void> {
  const settled = () =>
    until(async () => {
      const { sending } = await rig.gateway.status();
      return sending.active + sending.waiting === 0;
    }, "all that is under way is answered");
  for (let left = ms; left > 0; left -= STEP_MS) {
    await settled();
    noteAsked(rig);
    await rig.clock.advance(Math.min(left, STEP_MS));
  }
  await settled();
  noteAsked(rig);
}

const texts = (chatId = discord.channelId) =>
  [...(discord.world.channels.get(chatId)?.messages.values() ?? [])].map(({ content }) => content);
const numbered = (name: string, from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => `${name}${from + i}`);
const shown = async (rig: Rig) => (await rig.gateway.status()).adapters[0];
const openAndHeld = async (rig: Rig) => {
  const { waiting, sending, held, dead } = await rig.store.outbox.counts();
  return { open: waiting + sending, held, dead };
};

describe("200 seconds without an answer to new messages", () => {
  it.each<[string, FaultAction, posted: number]>([
    ["a proxy's HTTP 503", PROXY, 0],
    ["Discord's HTTP 500", { kind: "status", status: 500 }, 0],
    ["a connection that breaks after the message was posted", { kind: "drop-after" }, 2],
  ])("(%s) leave two messages in doubt; the others wait, and come in order and once", async (_, action, posted) => {
    const rig = await startDiscord();
    await say(rig, "before");
    await rig.idle();
    fail(action);
    for (let n = 0; n < 20; n++) {
      await say(rig, `O${n}`);
      await pass(rig, 10_000);
    }
    expect([...asked.keys()]).toEqual(["before", ...numbered("O", 0, 3)]);
    expect(await shown(rig)).toMatchObject({
      phase: "online",
      reason: expect.stringMatching(/^it has taken no messages for 3 min 20 s \(.*\); 18 messages wait$/),
      hint: expect.stringContaining("one message at a time"),
    });
    discord.faults.clear();
    for (let n = 0; n < 3; n++) await say(rig, `after${n}`);
    await pass(rig, 20_000);
    expect(await openAndHeld(rig)).toEqual({ open: 0, held: 2, dead: 0 });
    expect(texts()).toEqual(["before", ...numbered("O", 2 - posted, 20), ...numbered("after", 0, 3)]);
    expect((await shown(rig))?.hint).toBeUndefined();
    for (const [first = 0, ...more] of asked.values())
      for (const at of more) expect(at - first).toBeLessThan(NONCE_MEMORY_MS + STEP_MS);
  });

  it("put few more messages in doubt after a restart, of many chats", async () => {
    const first = await startDiscord();
    const chats = [discord.channelId, ...Array.from({ length: 7 }, newChannel)];
    const sayAll = async (rig: Rig, name: string) => {
      for (const chatId of chats) await say(rig, `${name} ${chatId}`, chatId);
    };
    await sayAll(first, "before");
    await first.idle();
    fail(PROXY);
    await say(first, "alone");
    await pass(first, 500);
    for (let n = 0; n < 3; n++) {
      await sayAll(first, `one${n}`);
      await pass(first, 10_000);
    }
    const inDoubt = asked.size;
    const reason = (await shown(first))?.reason;
    const rig = await restart(first, connected());
    expect(reason).toContain("it has taken no messages for 31 s");
    expect((await shown(rig))?.reason).toBe(reason);
    for (let n = 0; n < 3; n++) {
      await sayAll(rig, `two${n}`);
      await pass(rig, 10_000);
    }
    expect(asked.size).toBeLessThanOrEqual(inDoubt + 2);
    discord.faults.clear();
    await pass(rig, 30_000);
    expect(await openAndHeld(rig)).toEqual({ open: 0, held: 0, dead: 0 });
    for (const chatId of chats)
      expect(texts(chatId).filter((text) => text !== "alone")).toEqual(
        ["before", ...numbered("one", 0, 3), ...numbered("two", 0, 3)].map((name) => `${name} ${chatId}`),
      );
  });
});

describe("trouble that is not the whole platform's", () => {
  const loop = { platform: "loop", botId: "bot" };
  const send = (rig: Rig, text: string, chatId: string, options: Partial<SendOptions> = {}) =>
    rig.gateway.send({ ...loop, chatId }, { text }, { cause, ...options });
  /** New messages get no answer when this is true of them. */
  const startFailing = async (isFailing: (text: string, chatId: string) => boolean) => {
    const platform = new LoopbackPlatform("loop", { idempotentCreate: true, idempotentForMs: NONCE_MEMORY_MS });
    platform.script = (operation) =>
      operation.kind === "create" && isFailing(operation.part.text, operation.address.chatId)
        ? { kind: "ambiguous", error: "HTTP 500" }
        : undefined;
    return startRig({ platforms: [platform] });
  };

  it("one message that always fails stops the others for seconds only, also beside one that fails by chance", async () => {
    let failures = 2;
    const rig = await startFailing((text) => text === "poison" || (text === "unlucky" && failures-- > 0));
    await send(rig, "poison", "room");
    await send(rig, "unlucky", "other");
    for (let n = 0; n < 5; n++) {
      await send(rig, `m${n}`, "room");
      await send(rig, `m${n}`, "other");
      await pass(rig, 10_000);
    }
    expect(rig.platform.texts("room")).toEqual(numbered("m", 0, 5));
    expect(rig.platform.texts("other")).toEqual(["unlucky", ...numbered("m", 0, 5)]);
    expect((await shown(rig))?.hint).toBeUndefined();
    await pass(rig, NONCE_MEMORY_MS);
    expect(await openAndHeld(rig)).toEqual({ open: 0, held: 1, dead: 0 });
  });

  it("a chat where all fails stops the others for seconds, and gets each of its messages once in the end", async () => {
    let isBroken = true;
    const rig = await startFailing((_, chatId) => isBroken && chatId === "broken");
    for (let n = 0; n < 4; n++) {
      await send(rig, `b${n}`, "broken");
      await pass(rig, 10_000);
      await send(rig, `m${n}`, "fine");
      await pass(rig, 1_000);
      expect(rig.platform.texts("fine")).toEqual(numbered("m", 0, n + 1));
    }
    isBroken = false;
    await pass(rig, 60_000);
    expect(await openAndHeld(rig)).toEqual({ open: 0, held: 0, dead: 0 });
    expect(rig.platform.texts("broken").sort()).toEqual(numbered("b", 0, 4));
  });

  it("three chats where all fails stop the others for a minute or so", async () => {
    const rig = await startFailing((_, chatId) => chatId.startsWith("broken"));
    for (let n = 0; n < 30; n++) {
      for (const chatId of ["broken1", "broken2", "broken3"]) await send(rig, `b${n}`, chatId);
      await pass(rig, 1_000);
    }
    await send(rig, "m", "fine");
    await pass(rig, 65_000);
    expect(rig.platform.texts("fine")).toEqual(["m"]);
  });

  it("the first message after a quiet end of it is tried at once", async () => {
    let isDown = true;
    const rig = await startFailing(() => isDown);
    await send(rig, "one", "room");
    await send(rig, "two", "other");
    await pass(rig, 2 * NONCE_MEMORY_MS);
    expect(await openAndHeld(rig)).toEqual({ open: 0, held: 2, dead: 0 });
    expect(await shown(rig)).toMatchObject({
      reason: expect.stringMatching(/; 0 messages wait$/),
      hint: "The next message will show whether it takes messages again.",
    });
    isDown = false;
    await send(rig, "three", "room");
    await pass(rig, 500);
    expect(rig.platform.texts("room")).toEqual(["three"]);
    expect((await shown(rig))?.hint).toBeUndefined();
  });

  it("alerts, answers to commands and changes are sent all the same", async () => {
    let isDown = false;
    const rig = await startFailing((text) => isDown && text.startsWith("m"));
    const card = await send(rig, "card", "cards");
    await rig.idle();
    isDown = true;
    for (const chatId of ["room", "other", "third", "last"]) await send(rig, `m ${chatId}`, chatId);
    await pass(rig, 5_000);
    expect((await shown(rig))?.hint).toBeDefined();
    await send(rig, "page", "ops", { cause: { ...cause, kind: "alert" } });
    await send(rig, "answer", "room", { interaction: interaction() });
    await rig.gateway.edit(card, { text: "card 2" }, { cause });
    await pass(rig, 500);
    expect(rig.platform.texts().sort()).toEqual(["answer", "card 2", "page"]);
  });
});

describe("a platform that cannot recognize a repeated message, and gives no answer to new ones", () => {
  const send = (rig: Rig, text: string, chatId: string) =>
    rig.gateway.send({ platform: "loop", botId: "bot", chatId }, { text }, { cause });
  const startFailing = async (isFailing: (text: string, chatId: string) => boolean, options: RigOptions = {}) => {
    const platform = new LoopbackPlatform();
    platform.script = (operation) =>
      operation.kind === "create" && isFailing(operation.part.text, operation.address.chatId)
        ? { kind: "ambiguous", error: "HTTP 502" }
        : undefined;
    return startRig({ ...options, platforms: [platform] });
  };

  it("has few messages held: the others wait, and are sent in order and once", async () => {
    let isDown = true;
    const rig = await startFailing(() => isDown);
    for (let n = 0; n < 60; n++) {
      await send(rig, `m${n}`, "room");
      await pass(rig, 5_000);
    }
    const { held, open } = await openAndHeld(rig);
    expect(held).toBeGreaterThan(2);
    expect(held).toBeLessThan(25);
    expect(open).toBe(60 - held);
    expect(rig.platform.requests).toHaveLength(held);
    expect(await shown(rig)).toMatchObject({
      reason: `it has taken no messages for 5 min (HTTP 502); ${open} messages wait`,
      hint: expect.stringContaining("one message at a time"),
    });
    isDown = false;
    await pass(rig, 31_000);
    expect(await openAndHeld(rig)).toEqual({ open: 0, held, dead: 0 });
    expect(rig.platform.texts("room")).toEqual(numbered("m", held, 60));
    expect((await shown(rig))?.hint).toBeUndefined();
  });

  it("is asked by a message to another chat first, when one chat takes none", async () => {
    const rig = await startFailing((_, chatId) => chatId === "broken");
    for (let n = 0; n < 5; n++) await send(rig, `b${n}`, "broken");
    await send(rig, "m", "fine");
    await pass(rig, 6_000);
    expect(rig.platform.texts("fine")).toEqual(["m"]);
  });

  it("gets a message that may show twice at most as often as any other", async () => {
    const rig = await startFailing(() => true, { gateway: { ambiguous: "resend", outbox_attempts: 3 } });
    for (let n = 0; n < 4; n++) await send(rig, `m${n}`, "room");
    await pass(rig, 300_000);
    const { held, dead } = await openAndHeld(rig);
    expect({ held, dead }).toEqual({ held: 4, dead: 0 });
    expect(rig.platform.requests).toHaveLength(12);
  });
});
