/** The memory of a conversation (lanes, queues) beside the real store: what it forgets, it finds there again. */
import { afterEach, describe, expect, it } from "vitest";
import type { MessageEvent } from "../../src/domain/chat/event.js";
import type { InboxStore, NewDelivery, OutboxStore, Store } from "../../src/domain/store.js";
import type { LaneRow, Queue } from "../../src/gateway/conversation.js";
import { Conversations } from "../../src/gateway/conversations.js";
import { newlyStored } from "../../src/gateway/new-rows.js";
import { silentLogger } from "../../src/lib/logger.js";
import { systemClock } from "../../src/lib/time/clock.js";
import { OrdinaryStops } from "../../src/pending/ordinary-stops.js";
import { storeConfig } from "../../src/store/config.js";
import { openStore } from "../../src/store/open.js";
import { messageOf, room } from "./rig.js";

const stores: Store[] = [];
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
});

async function newStore(): Promise<Store> {
  const { retention, dedup_for } = storeConfig.parse({});
  const store = await openStore({
    url: ":memory:",
    durability: "normal",
    retention: { ...retention, dedup_for },
    clock: systemClock,
    logger: silentLogger,
  });
  stores.push(store);
  return store;
}

function conversationsOf(
  { inbox, outbox }: Pick<Store, "inbox" | "outbox">,
  onDeliveries: (change: number) => void = () => {},
): Conversations {
  return new Conversations({
    inbox,
    outbox,
    stops: new OrdinaryStops({ get: async () => undefined, set: async () => {} }, systemClock, silentLogger),
    onDeliveries,
    handle: async () => undefined,
    send: async () => undefined,
    maxHandling: 1,
    maxSending: 1,
    clock: systemClock,
    logger: silentLogger,
  });
}

async function accept(store: Store, conversations: Conversations, text: string): Promise<void> {
  const lane = conversations.laneOf(room);
  lane.expect();
  const message = messageOf(text);
  const event: MessageEvent = { kind: "message", eventId: message.messageId, message };
  const { id } = await store.inbox.accept(event, room, 0, false);
  const row: LaneRow = {
    id,
    lane: room,
    conversation: room,
    event,
    status: "waiting",
    attempts: 0,
    deferrals: 0,
    round: 1,
    dueAt: 0,
    receivedAt: 0,
    isStarted: false,
  };
  lane.add(row);
}

/** Takes rows until the lane is empty; gives their texts. */
async function drain(store: Store, conversations: Conversations): Promise<string[]> {
  const texts: string[] = [];
  const lane = conversations.laneOf(room);
  for (let row = await lane.next(); row; row = await lane.next()) {
    texts.push("message" in row.event ? row.event.message.text : "");
    await store.inbox.settle(row.id, { outcome: "x", deliveries: [] }, 0);
    lane.finished();
  }
  return texts;
}

describe("lanes", () => {
  it("find a row that was accepted while they were reading the store", async () => {
    const store = await newStore();
    let during = async () => {};
    const inbox: InboxStore = {
      ...store.inbox,
      async lane(...query) {
        const rows = await store.inbox.lane(...query);
        const act = during;
        during = async () => {};
        await act();
        return rows;
      },
    };
    const lanes = conversationsOf({ ...store, inbox });
    lanes.laneOf(room).reload();
    await accept(store, lanes, "before");
    during = () => accept(store, lanes, "during");
    expect(await drain(store, lanes)).toEqual(["before", "during"]);
  });

  it("keep only so many rows in memory, and read the rest, in order and once each", async () => {
    const store = await newStore();
    let reads = 0;
    const inbox: InboxStore = {
      ...store.inbox,
      lane(...query) {
        reads++;
        return store.inbox.lane(...query);
      },
    };
    const lanes = conversationsOf({ ...store, inbox });
    const texts = Array.from({ length: 2_120 }, (_, i) => String(i));
    await Promise.all(texts.map((text) => accept(store, lanes, text)));
    expect(await drain(store, lanes)).toEqual(texts);
    expect(reads).toBeGreaterThanOrEqual(3);
    expect(reads).toBeLessThan(10);
  });
});

describe("a queue", () => {
  const delivery = (id: string): NewDelivery => ({
    id,
    address: { platform: "loop", botId: "bot", chatId: "room" },
    operation: "send",
    message: { text: id },
    cause: { kind: "api", id: "t", depth: 0 },
  });
  const offer = (queue: Queue, given: NewDelivery, seq: number) => queue.offer(newlyStored(given, seq, 0));

  it("reads nothing while all goes well", async () => {
    const store = await newStore();
    const outbox: OutboxStore = { ...store.outbox, next: () => Promise.reject(new Error("read")) };
    const queue = conversationsOf({ ...store, outbox }).queueOf(room);
    offer(queue, delivery("a"), 1);
    offer(queue, delivery("b"), 2);
    expect((await queue.next())?.id).toBe("a");
    queue.settled();
    expect((await queue.next())?.id).toBe("b");
    queue.settled();
    expect(await queue.next()).toBeUndefined();
  });

  it("does not lose a delivery that was committed while it was reading the store", async () => {
    const store = await newStore();
    let during = async () => {};
    const outbox: OutboxStore = {
      ...store.outbox,
      async next(conversation) {
        const next = await store.outbox.next(conversation);
        await during();
        return next;
      },
    };
    const queue = conversationsOf({ ...store, outbox }).queueOf(room);
    queue.read();
    during = async () => {
      during = async () => {};
      const [seq = 0] = await store.outbox.enqueue([delivery("a")], 0);
      offer(queue, delivery("a"), seq);
    };
    expect(await queue.next()).toBeUndefined();
    expect((await queue.next())?.id).toBe("a");
  });

  it("is taken for a reply that is sent at once only while nothing is open in it, and never for an edit", async () => {
    const store = await newStore();
    let inMemory = 0;
    const conversations = conversationsOf(store, (change) => {
      inMemory += change;
    });
    const queue = conversations.queueOf(room);
    const take = (given: NewDelivery) => conversations.take(queue, newlyStored(given, 0, 0));
    expect(take({ ...delivery("a"), operation: "edit" })).toBe(false);
    offer(queue, delivery("a"), 1);
    expect(inMemory).toBe(1);
    expect(take(delivery("b"))).toBe(false);
    queue.read();
    expect(inMemory).toBe(0);
    expect(take(delivery("b"))).toBe(false);
    expect(await queue.next()).toBeUndefined();
    expect(take(delivery("b"))).toBe(true);
    expect(inMemory).toBe(1);
    expect((await queue.next())?.id).toBe("b");
    queue.settled();
    expect(take(delivery("c"))).toBe(false);
    const { sending } = conversations;
    conversations.sendNow(queue, async () => undefined);
    await Promise.resolve();
    expect([sending, conversations.sending].map(({ active }) => active)).toEqual([1, 0]);
    expect(take(delivery("c"))).toBe(true);
  });

  it("reads a delivery whose id existed from the store", async () => {
    const store = await newStore();
    const queue = conversationsOf(store).queueOf(room);
    const [seq = 0] = await store.outbox.enqueue([delivery("a")], 0);
    const [again = -1] = await store.outbox.enqueue([{ ...delivery("a"), message: { text: "another" } }], 0);
    expect([seq, again]).toEqual([1, 0]);
    offer(queue, delivery("a"), again);
    expect(await queue.next()).toMatchObject({ seq: 1, message: { text: "a" } });
  });

  it("keeps the order of the store as soon as there is an edit", async () => {
    const store = await newStore();
    const queue = conversationsOf(store).queueOf(room);
    const edit: NewDelivery = { ...delivery("b"), operation: "edit", targetId: "a" };
    const [first = 0, second = 0] = await store.outbox.enqueue([delivery("a"), edit], 0);
    offer(queue, delivery("a"), first);
    offer(queue, edit, second);
    expect(await queue.next()).toMatchObject({ id: "a", seq: 1 });
  });
});

it("lanes of slow commands and queues of interactions that are idle are forgotten, and those in use are not", async () => {
  const store = await newStore();
  const conversation = conversationsOf(store).of(room);
  const inUse = conversation.queue(`${room}\ni-0`);
  inUse.read();
  const idle = conversation.queue(`${room}\ni-1`);
  for (let n = 2; n < 50; n++) conversation.queue(`${room}\ni-${n}`);
  expect(conversation.queue(`${room}\ni-0`)).toBe(inUse);
  expect(conversation.queue(`${room}\ni-1`)).not.toBe(idle);
});
