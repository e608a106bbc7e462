/** What `domain/chat/adapter.ts` promises, held against every adapter on its own platform. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Accepted, Adapter, AdapterState } from "../../src/domain/chat/adapter.js";
import type { InboundEvent } from "../../src/domain/chat/event.js";
import type { OutboundMessage } from "../../src/domain/chat/message.js";
import type { Store } from "../../src/domain/store.js";
import { silentLogger } from "../../src/lib/logger.js";
import { systemClock } from "../../src/lib/time/clock.js";
import { storeConfig } from "../../src/store/config.js";
import { openStore } from "../../src/store/open.js";
import { until } from "../support/until.js";
import { type Rig, rigs } from "./rigs.js";

const signal = new AbortController().signal;
const OK: Accepted = { kind: "accepted", acknowledge: { kind: "none" } };

describe.each(Object.keys(rigs) as (keyof typeof rigs)[])("the %s adapter", (name) => {
  let store: Store;
  let rig: Rig;
  let events: InboundEvent[];
  let states: AdapterState[];
  let stops: (() => Promise<void>)[];

  beforeEach(async () => {
    const { retention, dedup_for } = storeConfig.parse({});
    store = await openStore({
      url: ":memory:",
      durability: "normal",
      retention: { ...retention, dedup_for },
      clock: systemClock,
      logger: silentLogger,
    });
    rig = await rigs[name](store);
    events = [];
    states = [];
    stops = [];
  });
  afterEach(async () => {
    for (const stop of stops) await stop();
    await rig.stop();
    await store.close();
  });

  /** Runs a new adapter until `stop`. */
  async function start(
    accept: (event: InboundEvent) => Promise<Accepted> = async () => OK,
  ): Promise<{ adapter: Adapter; stop(): Promise<void> }> {
    const adapter = rig.create();
    const stopping = new AbortController();
    states.length = 0;
    const ended = adapter
      .run(
        {
          gateway: {
            pause: () => undefined,
            paused: () => undefined,
            accept: async (event) => {
              const accepted = await accept(event);
              events.push(event);
              return accepted;
            },
            complete: async () => [],
            commands: () => [],
            state: (state) => void states.push(state),
          },
          cursors: store.cursors(name),
          clock: systemClock,
          logger: silentLogger,
        },
        stopping.signal,
      )
      .catch(() => {}); // a connection that a test breaks on purpose
    const stop = async () => {
      stopping.abort();
      await ended;
    };
    stops.push(stop);
    await until(() => states.some(({ phase }) => phase === "online"), `${name} being online`);
    return { adapter, stop };
  }

  const message = (text: string) => events.find((event) => event.kind === "message" && event.message.text === text);

  async function post(adapter: Adapter, outbound: OutboundMessage, nonce: string) {
    const [part] = adapter.encode(outbound, rig.address, { plain: false });
    if (!part) throw new Error("encode gave nothing");
    return adapter.send({ kind: "create", address: rig.address, part, nonce }, signal);
  }

  it("comes online and says who it is", async () => {
    await start();
    expect(states.at(-1)).toMatchObject({ phase: "online", botId: rig.address.botId });
  });

  it("hands a person's message over once, under its own id, in the conversation's address", async () => {
    await start();
    const id = await rig.say("hello there");
    const event = await until(() => message("hello there"), "the message");
    const { botId, chatId } = rig.address;
    expect(event).toMatchObject({
      kind: "message",
      eventId: id,
      message: { platform: name, botId, chatId, messageId: id, isDm: false, isEdit: false, attachments: [] },
    });
    expect((event as { message: { userId: string } }).message.userId).toMatch(/^\d+$/);
  });

  it("keeps the order of messages", async () => {
    await start();
    for (let n = 0; n < 20; n++) await rig.say(`number ${n}`);
    await until(() => message("number 19"), "the last message");
    const texts = events.flatMap((event) => (event.kind === "message" ? [event.message.text] : []));
    expect([...new Set(texts)].filter((text) => text.startsWith("number"))).toEqual(
      Array.from({ length: 20 }, (_, n) => `number ${n}`),
    );
  });

  it("hands over again after a restart what the gateway could not take", async () => {
    let refused = 0;
    const { stop } = await start(async (event) => {
      if (event.kind === "message" && event.message.text === "take me") {
        refused++;
        throw new Error("the store is full");
      }
      return OK;
    });
    await rig.say("take me").catch(() => {}); // the web chat tells the person that it is not safe yet
    await until(() => refused > 0, "the refusal");
    await stop();
    expect(message("take me")).toBeUndefined();
    await start();
    await until(() => message("take me"), "the message, again");
  });

  it("encodes anything to parts that survive JSON, never to none", async () => {
    const adapter = rig.create();
    const messages: OutboundMessage[] = [
      { text: "plain" },
      { text: "" },
      { text: "", card: { title: "T", text: "**b**", fields: [{ name: "n", value: "v" }] } },
      { text: "x".repeat(30_000) },
      { text: "👩‍👩‍👧‍👦".repeat(3000) },
      { text: "| a | b |\n|---|---|\n| 1 | 2 |", buttons: [[{ label: "B", token: "t1" }]] },
      { text: "<b>bold</b>", format: "html" },
    ];
    for (const outbound of messages)
      for (const plain of [false, true]) {
        const parts = adapter.encode(outbound, rig.address, { plain });
        expect(parts.length).toBeGreaterThan(0);
        expect(JSON.parse(JSON.stringify(parts))).toEqual(parts);
      }
  });

  it("posts, edits and deletes, and says `gone` for what is no longer there", async () => {
    const { adapter } = await start();
    const posted = await post(adapter, { text: "first **words**" }, "nonce-1");
    if (posted.kind !== "sent") throw new Error(`not sent: ${JSON.stringify(posted)}`);
    await until(async () => (await rig.posted()).find(({ text }) => text.includes("first")), "the post");

    const [part] = adapter.encode({ text: "other words" }, rig.address, { plain: false });
    if (!part) throw new Error("encode gave nothing");
    const { messageId } = posted;
    expect(await adapter.send({ kind: "edit", address: rig.address, messageId, part }, signal)).toMatchObject({
      kind: "sent",
      messageId,
    });
    expect((await rig.posted()).find(({ id }) => id === messageId)?.text).toContain("other words");
    // The same words again are no error.
    expect(await adapter.send({ kind: "edit", address: rig.address, messageId, part }, signal)).toMatchObject({
      kind: "sent",
    });

    expect(await adapter.send({ kind: "delete", address: rig.address, messageId }, signal)).toMatchObject({
      kind: "sent",
    });
    expect((await rig.posted()).some(({ id }) => id === messageId)).toBe(false);
    expect(await adapter.send({ kind: "edit", address: rig.address, messageId, part }, signal)).toMatchObject({
      kind: "gone",
    });
  });

  it("posts once for the same nonce where it says that it can", async () => {
    const { adapter } = await start();
    const first = await post(adapter, { text: "only once" }, "nonce-2");
    const second = await post(adapter, { text: "only once" }, "nonce-2");
    const posts = (await rig.posted()).filter(({ text }) => text.includes("only once"));
    expect(posts).toHaveLength(adapter.traits.idempotentCreate ? 1 : 2);
    if (adapter.traits.idempotentCreate) expect(second).toEqual(first);
  });

  it("shows a card and its buttons, and brings a press back with the button's token", async () => {
    const { adapter } = await start();
    const posted = await post(
      adapter,
      {
        text: "choose",
        card: { title: "The card", fields: [{ name: "field", value: "its value" }] },
        buttons: [[{ label: "Press me", token: "token-1" }]],
      },
      "nonce-3",
    );
    if (posted.kind !== "sent") throw new Error(`not sent: ${JSON.stringify(posted)}`);
    await rig.press(posted.messageId, "Press me");
    const press = await until(() => events.find((event) => event.kind === "action"), "the press");
    expect(press).toMatchObject({
      kind: "action",
      token: "token-1",
      message: { platform: name, chatId: rig.address.chatId },
    });
  });

  it("stops soon after it is told to", async () => {
    const { stop } = await start();
    const begun = Date.now();
    await stop();
    expect(Date.now() - begun).toBeLessThan(5000);
  });
});
