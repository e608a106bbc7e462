/** The two memories of the queues (lanes, hand-over) beside the real store: what they forget, they find there again. */
import { afterEach, describe, expect, it } from "vitest";
import type { MessageEvent } from "../../src/domain/event.js";
import type { NewDelivery, OutboxStore, Store } from "../../src/domain/store.js";
import { type LaneRow, Lanes } from "../../src/gateway/inbound/lanes.js";
import { HandOver } from "../../src/gateway/outbound/hand-over.js";
import { systemClock } from "../../src/lib/clock.js";
import { silentLogger } from "../../src/lib/logger.js";
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

async function accept(store: Store, lanes: Lanes, text: string): Promise<void> {
  const lane = lanes.of(room);
  lanes.expect(lane);
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
  lanes.add(lane, row);
}

/** Takes rows until the lane is empty; gives their texts. */
async function drain(store: Store, lanes: Lanes): Promise<string[]> {
  const texts: string[] = [];
  const lane = lanes.of(room);
  for (let row = await lanes.head(lane); row; row = await lanes.head(lane)) {
    texts.push("message" in row.event ? row.event.message.text : "");
    await store.inbox.settle(row.id, { outcome: "x", deliveries: [] }, 0);
    lanes.shift(lane);
  }
  return texts;
}

describe("lanes", () => {
  it("find a row that was accepted while they were reading the store", async () => {
    const store = await newStore();
    let during = async () => {};
    const lanes = new Lanes({
      ...store.inbox,
      async lane(...query) {
        const rows = await store.inbox.lane(...query);
        const act = during;
        during = async () => {};
        await act();
        return rows;
      },
    });
    lanes.reload(room);
    await accept(store, lanes, "before");
    during = () => accept(store, lanes, "during");
    expect(await drain(store, lanes)).toEqual(["before", "during"]);
  });

  it("keep only so many rows in memory, and read the rest, in order and once each", async () => {
    const store = await newStore();
    let reads = 0;
    const lanes = new Lanes({
      ...store.inbox,
      lane(...query) {
        reads++;
        return store.inbox.lane(...query);
      },
    });
    const texts = Array.from({ length: 2_120 }, (_, i) => String(i));
    await Promise.all(texts.map((text) => accept(store, lanes, text)));
    expect(await drain(store, lanes)).toEqual(texts);
    expect(reads).toBeGreaterThanOrEqual(3);
    expect(reads).toBeLessThan(10);
  });
});

describe("the hand-over", () => {
  const delivery = (id: string): NewDelivery => ({
    id,
    address: { platform: "loop", botId: "bot", chatId: "room" },
    operation: "send",
    message: { text: id },
    cause: { kind: "api", id: "t", depth: 0 },
  });

  it("reads nothing while all goes well", async () => {
    const store = await newStore();
    const handOver = new HandOver({ ...store.outbox, next: () => Promise.reject(new Error("read")) }, () => {});
    handOver.offer(delivery("a"), 1, 0);
    handOver.offer(delivery("b"), 2, 0);
    expect((await handOver.next(handOver.of(room)))?.id).toBe("a");
    handOver.settled(handOver.of(room));
    expect((await handOver.next(handOver.of(room)))?.id).toBe("b");
    handOver.settled(handOver.of(room));
    expect(await handOver.next(handOver.of(room))).toBeUndefined();
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
    const handOver = new HandOver(outbox, () => {});
    handOver.read(handOver.of(room));
    during = async () => {
      during = async () => {};
      await store.outbox.enqueue([delivery("a")], 0);
      handOver.offer(delivery("a"), 1, 0);
    };
    expect(await handOver.next(handOver.of(room))).toBeUndefined();
    expect((await handOver.next(handOver.of(room)))?.id).toBe("a");
  });

  it("has no queue for a reply to be sent at once while something is open there, nor for an edit", async () => {
    const store = await newStore();
    let inMemory = 0;
    const handOver = new HandOver(store.outbox, (change) => {
      inMemory += change;
    });
    expect(handOver.idleFor(delivery("a"))?.key).toBe(room);
    expect(handOver.idleFor({ ...delivery("a"), operation: "edit" })).toBeUndefined();
    handOver.offer(delivery("a"), 1, 0);
    expect(inMemory).toBe(1);
    expect(handOver.idleFor(delivery("b"))).toBeUndefined();
    handOver.read(handOver.of(room));
    expect(inMemory).toBe(0);
    expect(handOver.idleFor(delivery("b"))).toBeUndefined();
    expect(await handOver.next(handOver.of(room))).toBeUndefined();
    expect(handOver.idleFor(delivery("b"))?.key).toBe(room);
  });

  it("reads a delivery whose id existed from the store", async () => {
    const store = await newStore();
    const handOver = new HandOver(store.outbox, () => {});
    const [seq = 0] = await store.outbox.enqueue([delivery("a")], 0);
    const [again = -1] = await store.outbox.enqueue([{ ...delivery("a"), message: { text: "another" } }], 0);
    expect([seq, again]).toEqual([1, 0]);
    handOver.offer(delivery("a"), again, 0);
    expect(await handOver.next(handOver.of(room))).toMatchObject({ seq: 1, message: { text: "a" } });
  });

  it("keeps the order of the store as soon as there is an edit", async () => {
    const store = await newStore();
    const handOver = new HandOver(store.outbox, () => {});
    const edit: NewDelivery = { ...delivery("b"), operation: "edit", targetId: "a" };
    await store.outbox.enqueue([delivery("a"), edit], 0);
    handOver.offer(delivery("a"), 1, 0);
    handOver.offer(edit, 2, 0);
    expect(await handOver.next(handOver.of(room))).toMatchObject({ id: "a", seq: 1 });
  });
});
