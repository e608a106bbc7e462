/** Run as a process of its own and killed: takes in messages and settles them, and writes to a log what was acknowledged. */
import { openSync, writeSync } from "node:fs";
import { silentLogger } from "../../../src/lib/logger.js";
import { systemClock } from "../../../src/lib/time/clock.js";
import { storeConfig } from "../../../src/store/config.js";
import { openStore } from "../../../src/store/open.js";

const [file = "", log = "", firstNumber = "0"] = process.argv.slice(2);
const { retention, dedup_for } = storeConfig.parse({});
const store = await openStore({
  url: `file:${file}`,
  durability: "normal",
  retention: { ...retention, dedup_for },
  clock: systemClock,
  logger: silentLogger,
});
const address = { platform: "web", botId: "web", chatId: "room" };
const logFile = openSync(log, "a");
/** Synchronous, so that what was said was said before the kill. */
const say = (line: string) => writeSync(logFile, `${line}\n`);
process.stdout.write("ready");

async function handle(number: number): Promise<void> {
  const event = { kind: "deleted" as const, eventId: `e${number}`, address, messageId: "1", at: 1 };
  const { id } = await store.inbox.accept(event, "web:web:room", 1, true);
  say(`accepted ${number}`);
  const cause = { kind: "reply" as const, id: String(id), depth: 0 };
  const deliveries = ["a", "b"].map((half) => ({
    id: `d${number}${half}`,
    address,
    operation: "send" as const,
    message: { text: "x".repeat(number % 3000) },
    cause,
  }));
  await store.inbox.settle(id, { outcome: "claimed", deliveries }, 2);
  say(`settled ${number}`);
  for (const { id: delivery, message } of deliveries) {
    const part = { index: 0, operation: "create" as const, nonce: delivery, status: "sending" as const, attempts: 1 };
    await store.outbox.freeze(delivery, message, [{ ...part, part: { text: message.text, body: {} } }], []);
    await store.outbox.partSent(delivery, 0, `p${delivery}`, 3);
    say(`sent ${delivery}`);
  }
}

for (let number = Number(firstNumber); ; number += 20)
  await Promise.all(Array.from({ length: 20 }, (_, i) => handle(number + i)));
