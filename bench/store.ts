/**
 * The cost of a message in the store, beside a bare better-sqlite3 loop that does the same work with no more than a prepared
 * statement for each step: `npx tsx bench/store.ts`. Ratios count; figures of a shared machine drift.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DispatchRecord } from "../src/domain/journal.js";
import type { DeliveryPart, NewDelivery } from "../src/domain/store.js";
import { newId } from "../src/lib/id.js";
import { silentLogger } from "../src/lib/logger.js";
import { systemClock } from "../src/lib/time/clock.js";
import { storeConfig } from "../src/store/config.js";
import { openSqlite } from "../src/store/driver.js";
import { openStore } from "../src/store/open.js";

type Durability = "normal" | "full";

const MESSAGES = Number(process.argv[2] ?? 10_000);
/** Conversations at once; their writes share transactions. */
const PARALLEL = [1, 16, 100] as const;
const address = { platform: "telegram", botId: "123456", chatId: "-100200300" };
const lane = "telegram:123456:-100200300";
const text = "How do I reset the build cache on the staging machine? It has been stuck since this morning.";

const eventOf = (number: number) => ({
  kind: "message" as const,
  eventId: String(number),
  message: {
    ...address,
    userId: "987654321",
    username: "ann",
    displayName: "Ann",
    text,
    attachments: [],
    isDm: false,
    isGroupMention: true,
    messageId: String(number),
    isEdit: false,
    receivedAt: 1_700_000_000_000,
  },
});
const deliveryOf = (number: number): NewDelivery => ({
  id: newId("d"),
  address,
  operation: "send",
  message: { text: `Answer: ${text}`, replyToId: String(number) },
  cause: { kind: "reply", id: String(number), depth: 0 },
});
const partOf = (delivery: NewDelivery): DeliveryPart => ({
  index: 0,
  operation: "create",
  nonce: delivery.id,
  status: "sending",
  attempts: 1,
  part: { text, body: { text: delivery.message?.text ?? "", chat_id: address.chatId } },
});

/** Messages per second: taken in, settled with one reply as decided, the reply confirmed. Three commits one after the other. */
async function ours(durability: Durability, parallel: number): Promise<number> {
  return inFolder(async (folder) => {
    const { retention, dedup_for } = storeConfig.parse({});
    const store = await openStore({
      url: `file:${join(folder, "bench.db")}`,
      durability,
      retention: { ...retention, dedup_for },
      clock: systemClock,
      logger: silentLogger,
    });
    let next = 0;
    const one = async (number: number) => {
      const { id } = await store.inbox.accept(eventOf(number), lane, 1, true);
      const delivery = deliveryOf(number);
      const part = partOf(delivery);
      const decided = { message: delivery.message, parts: [part], tokens: [] };
      const settlement = { outcome: "claimed", claimedBy: "echo", deliveries: [delivery], decided };
      const [seq = 0] = (await store.inbox.settle(id, settlement, 2)) ?? [];
      await store.durable();
      const only = { seq, address: delivery.address, part };
      await store.outbox.partSent(delivery.id, 0, String(1_000_000 + number), 3, { only });
    };
    const conversation = async () => {
      while (next < MESSAGES) await one(next++);
    };
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: parallel }, conversation));
    const rate = (MESSAGES / (performance.now() - startedAt)) * 1000;
    await store.close();
    return rate;
  });
}

/** The same three steps as plain statements on the same schema, `perCommit` messages to a transaction. */
async function bare(durability: Durability, perCommit: number): Promise<number> {
  return inFolder(async (folder) => {
    const file = join(folder, "bench.db");
    await (await openStore({ ...bareOptions(file), durability })).close();
    const database = openSqlite(file);
    database.pragma("journal_mode = WAL");
    database.pragma(`synchronous = ${durability}`);
    const accept = database.prepare(
      `INSERT INTO inbox (chat, event_id, bot, platform, lane, status, attempts, due_at, received_at, event)
       VALUES (?, ?, ?, ?, ?, 'running', 1, 1, 1, ?)`,
    );
    const settle = database.prepare(
      "UPDATE inbox SET status = 'done', settled_at = 2, outcome = 'claimed' WHERE id = ?",
    );
    const enqueue = database.prepare(
      `INSERT INTO deliveries (id, conversation, status, created_at, due_at, data, message, frozen, parts)
       VALUES (?, ?, 'sending', 2, 2, ?, ?, '', ?)`,
    );
    const posted = database.prepare(
      "INSERT INTO posted (message_id, chat, bot, platform, delivery) VALUES (?, ?, ?, ?, ?)",
    );
    const sent = database.prepare("UPDATE deliveries SET status = 'sent', parts = ?, settled_at = 3 WHERE seq = ?");
    const { platform, botId, chatId } = address;
    const steps: ((group: Message[]) => void)[] = [
      (group) => {
        for (const message of group)
          message.id = accept.run(
            chatId,
            String(message.number),
            botId,
            platform,
            lane,
            JSON.stringify(eventOf(message.number)),
          ).lastInsertRowid;
      },
      (group) => {
        for (const message of group) {
          settle.run(message.id);
          const { id, message: content, ...data } = message.delivery;
          const parts = JSON.stringify([partOf(message.delivery)]);
          message.seq = enqueue.run(id, lane, JSON.stringify(data), JSON.stringify(content), parts).lastInsertRowid;
        }
      },
      (group) => {
        for (const { number, seq, delivery } of group) {
          const messageId = String(1_000_000 + number);
          posted.run(messageId, chatId, botId, platform, seq);
          sent.run(JSON.stringify([{ ...partOf(delivery), status: "sent", messageId }]), seq);
        }
      },
    ];
    const transactions = steps.map((step) => database.transaction(step));
    const startedAt = performance.now();
    for (let first = 0; first < MESSAGES; first += perCommit) {
      const group = Array.from({ length: Math.min(perCommit, MESSAGES - first) }, (_, i) => ({
        number: first + i,
        delivery: deliveryOf(first + i),
        id: 0,
        seq: 0,
      }));
      for (const transaction of transactions) transaction(group);
    }
    const rate = (MESSAGES / (performance.now() - startedAt)) * 1000;
    database.close();
    return rate;
  });
}

interface Message {
  number: number;
  delivery: NewDelivery;
  id: number | bigint;
  seq: number | bigint;
}

/** Microseconds of the gateway's thread for one record of a dispatch with eight runs, and of the whole way to the disk. */
async function journal(): Promise<{ recordUs: number; writtenUs: number }> {
  return inFolder(async (folder) => {
    const store = await openStore(bareOptions(join(folder, "bench.db")));
    const dispatch = (number: number): DispatchRecord => ({
      id: `m${number}:message_received`,
      point: "message_received",
      model: "void",
      at: 1_700_000_000_000,
      latencyMs: 0.2,
      payload: eventOf(number).message,
      attempt: 1,
      dryRun: false,
      outcome: "passed",
      conversation: lane,
      messageId: String(number),
      runs: Array.from({ length: 8 }, (_, i) => ({
        id: `m${number}:message_received/${i + 1}`,
        hookId: `plugin.hook-${i}`,
        position: i + 1,
        outcome: "passed" as const,
        latencyMs: 0.012 * (i + 1),
        attempt: 1,
      })),
    });
    store.journal.record(dispatch(-1));
    await store.journal.flush();
    let recordMs = 0;
    const startedAt = performance.now();
    for (let number = 0; number < MESSAGES; number++) {
      const record = dispatch(number);
      const before = performance.now();
      store.journal.record(record);
      recordMs += performance.now() - before;
      if (number % 500 === 499) await store.journal.flush();
    }
    await store.journal.flush();
    const writtenMs = performance.now() - startedAt;
    await store.close();
    return { recordUs: (recordMs * 1000) / MESSAGES, writtenUs: (writtenMs * 1000) / MESSAGES };
  });
}

function bareOptions(file: string) {
  const { retention, dedup_for } = storeConfig.parse({});
  return {
    url: `file:${file}`,
    durability: "normal" as Durability,
    retention: { ...retention, dedup_for },
    clock: systemClock,
    logger: silentLogger,
  };
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-bench-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const perSecond = (rate: number) => Math.round(rate).toLocaleString("en").padStart(9);

console.log(`${MESSAGES} messages: accept, settle with a reply as decided, partSent\n`);
console.log("durability  at once     bare/s     ours/s   ours ÷ bare");
for (const durability of ["normal", "full"] as const)
  for (const parallel of PARALLEL) {
    const bareRate = await bare(durability, parallel);
    const ourRate = await ours(durability, parallel);
    const ratio = (ourRate / bareRate).toFixed(2);
    console.log(
      `${durability.padEnd(10)}  ${String(parallel).padStart(7)}  ${perSecond(bareRate)}  ${perSecond(ourRate)}   ${ratio}`,
    );
  }
const { recordUs, writtenUs } = await journal();
console.log(
  `\njournal: ${recordUs.toFixed(1)} µs to record a dispatch of 8 runs, ${writtenUs.toFixed(1)} µs until it is on disk`,
);
