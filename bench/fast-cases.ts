/** The cases of `bench/fast.ts`, each in a process of its own: `node <this> <case>` prints its figures, `node <this>` the names. */
import { spawn } from "node:child_process";
import { setMaxListeners } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getHeapSpaceStatistics } from "node:v8";
import { Pool } from "undici";
import { Aborts } from "../src/fast/aborts.js";
import { Bag, type InBag } from "../src/fast/bag.js";
import { boundedMap } from "../src/fast/bounded-map.js";
import { Armed, DeadlineWheel, ticksOf } from "../src/fast/deadline-wheel.js";
import { exchange } from "../src/fast/exchange.js";
import { GroupCommit } from "../src/fast/group-commit.js";
import { immutable, isolate } from "../src/fast/isolate.js";
import { Packer } from "../src/fast/pack/packer.js";
import { TransientMap } from "../src/fast/transient-map.js";
import { systemClock } from "../src/lib/time/clock.js";
import { createWalSync } from "../src/store/database-file/wal-sync.js";
import { openSqlite } from "../src/store/driver.js";
import { storeError } from "../src/store/errors.js";
import { recordsOfAFlood } from "../test/support/records-of-a-flood.js";

interface Measured {
  unit: string;
  tuned: number;
  plain: number;
}
type Case = () => Measured | Promise<Measured>;

let sink: unknown;

/** Nanoseconds of one call, after the compiler has seen it. */
async function nsOf(times: number, call: (i: number) => unknown): Promise<number> {
  let startedAt = 0;
  for (const round of [0, 1]) {
    startedAt = performance.now();
    for (let i = 0; i < times; i++) sink = call(i);
    if (round === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return ((performance.now() - startedAt) * 1e6) / times;
}

/** Bytes of each that a collection of young objects leaves among the old ones, when many come and go. */
function keptBytes(add: (key: string, value: object) => void, remove: (key: string) => void): number {
  const gc = globalThis.gc as (options?: { type: "minor" }) => void;
  const oldBytes = () =>
    getHeapSpaceStatistics().find(({ space_name }) => space_name === "old_space")?.space_used_size ?? Number.NaN;
  const total = 20_000;
  gc();
  const before = oldBytes();
  for (let i = 0; i < total; i++) {
    add(`k${i % 200}`, { message: Array.from({ length: 100 }, () => i + 0.5) });
    if (i >= 50) remove(`k${(i - 50) % 200}`);
    if (i % 400 === 0) gc({ type: "minor" });
  }
  return (oldBytes() - before) / total;
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-bench-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

class Item extends Armed {
  override expire(): void {}
}

const message = () => ({
  message: {
    ...{
      platform: "web",
      botId: "web",
      chatId: "lobby",
      userId: "1",
      displayName: "Ada",
      text: "hello",
      attachments: [],
    },
    ...{ isDm: false, isGroupMention: true, messageId: "42", isEdit: false, receivedAt: 1 },
  },
  access: "allowed",
});

const freezeAll = (value: unknown): unknown => {
  if (typeof value === "object" && value !== null) {
    for (const part of Object.values(value)) freezeAll(part);
    Object.freeze(value);
  }
  return value;
};

/** Microseconds of this process's processor for a request, one after the other, to a server in another process. */
async function usOfRequest(ask: (pool: Pool) => Promise<unknown>): Promise<number> {
  const code = `const server = require("node:http").createServer((request, response) => request.resume().on("end", () => response.end('{"id":"1"}')));
    server.listen(0, "127.0.0.1", () => console.log(server.address().port));`;
  const server = spawn(process.execPath, ["-e", code], { stdio: ["ignore", "pipe", "inherit"] });
  const port = await new Promise((resolve) => server.stdout.once("data", resolve));
  const pool = new Pool(`http://127.0.0.1:${String(port).trim()}`);
  const many = async (count: number) => {
    for (let i = 0; i < count; i++) await ask(pool);
  };
  await many(3_000);
  const before = process.cpuUsage();
  await many(5_000);
  const { user, system } = process.cpuUsage(before);
  await pool.close();
  server.kill("SIGKILL");
  return (user + system) / 5_000;
}

/** Microseconds of a durable write, of a hundred at once. */
async function usOfWrite(folder: string, isGrouped: boolean): Promise<number> {
  const file = join(folder, `${isGrouped}.db`);
  const database = openSqlite(file);
  database.pragma("journal_mode = WAL");
  database.pragma(`synchronous = ${isGrouped ? "NORMAL" : "FULL"}`);
  database.exec("CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT)");
  const insert = database.prepare("INSERT INTO rows (text) VALUES (?)");
  const errorOf = (thrown: unknown) => storeError(thrown, file);
  const walSync = createWalSync(file, systemClock);
  const options = { file, clock: systemClock, lockWaitMs: 0, walSync, errorOf, isBusy: () => false };
  const commits = new GroupCommit(database, options);
  const write = async () => {
    if (isGrouped) await commits.write(() => void insert.run("a message"));
    else insert.run("a message");
  };
  const writes = 5_000;
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: 100 }, async () => {
      for (let i = 0; i < writes / 100; i++) await write();
    }),
  );
  const us = ((performance.now() - startedAt) * 1000) / writes;
  await commits.close();
  database.close();
  return us;
}

const cases: Record<string, Case> = {
  "deadline-wheel · a timer for each handler": async () => {
    const wheel = new DeadlineWheel(systemClock);
    const item = new Item();
    const tuned = await nsOf(500_000, () => {
      wheel.arm(item, ticksOf(5_000));
      wheel.rest(item);
    });
    wheel.close();
    return { unit: "ns", tuned, plain: await nsOf(500_000, () => systemClock.after(5_000, () => {}).cancel()) };
  },
  "group-commit · a transaction for each write": () =>
    inFolder(async (folder) => ({
      unit: "µs, durable, 100 at once",
      tuned: await usOfWrite(folder, true),
      plain: await usOfWrite(folder, false),
    })),
  "transient-map · Map": () => {
    const own = new TransientMap<string, object>();
    const builtIn = new Map<string, object>();
    return {
      unit: "bytes kept of each value of 840",
      tuned: keptBytes(
        (key, value) => own.set(key, value),
        (key) => own.delete(key),
      ),
      plain: keptBytes(
        (key, value) => builtIn.set(key, value),
        (key) => builtIn.delete(key),
      ),
    };
  },
  "bounded-map · Map": () => {
    const own = boundedMap<object>(100);
    const builtIn = new Map<string, object>();
    return {
      unit: "bytes kept of each value of 840",
      tuned: keptBytes(
        (key, value) => own.set(key, value),
        (key) => own.take(key),
      ),
      plain: keptBytes(
        (key, value) => builtIn.set(key, value),
        (key) => builtIn.delete(key),
      ),
    };
  },
  "bag · Set": () => {
    const bag = new Bag<InBag & { value: object }>();
    const inBag: (InBag & { value: object })[] = [];
    const set = new Set<object>();
    const inSet: object[] = [];
    return {
      unit: "bytes kept of each value of 840",
      tuned: keptBytes(
        (_, value) => {
          const one = { value, place: 0 };
          inBag.push(one);
          bag.add(one);
        },
        () => bag.delete(inBag.shift() as InBag & { value: object }),
      ),
      plain: keptBytes(
        (_, value) => {
          inSet.push(value);
          set.add(value);
        },
        () => set.delete(inSet.shift() as object),
      ),
    };
  },
  "aborts · a listener for each of 1,000 waits": async () => {
    const { signal } = new AbortController();
    const aborts = new Aborts();
    const waiting: (() => void)[] = [];
    for (let i = 0; i < 1_000; i++) waiting.push(aborts.on(signal, () => {}));
    const tuned = await nsOf(20_000, () => aborts.on(signal, () => {})());
    const busy = new AbortController();
    setMaxListeners(0, busy.signal);
    for (let i = 0; i < 1_000; i++) busy.signal.addEventListener("abort", () => {}, { once: true });
    const plain = await nsOf(20_000, () => {
      const stop = () => {};
      busy.signal.addEventListener("abort", stop, { once: true });
      busy.signal.removeEventListener("abort", stop);
    });
    return { unit: "ns", tuned, plain };
  },
  "exchange · request() of undici": async () => {
    const body = '{"content":"hello"}';
    const headers = { "content-type": "application/json" };
    return {
      unit: "µs of the processor, one at a time",
      tuned: await usOfRequest((pool) => exchange(pool, { path: "/", method: "POST", headers, body })),
      plain: await usOfRequest(async (pool) =>
        (await pool.request({ path: "/", method: "POST", headers, body })).body.text(),
      ),
    };
  },
  "isolate · structuredClone and Object.freeze": async () => {
    const payload = message();
    return {
      unit: "ns a payload with a message",
      tuned: await nsOf(200_000, () => isolate(payload)),
      plain: await nsOf(200_000, () => freezeAll(structuredClone(payload))),
    };
  },
  "isolate, immutable message · structuredClone and freeze": async () => {
    const payload = { ...message(), message: immutable(message().message) };
    return {
      unit: "ns a payload with a message",
      tuned: await nsOf(200_000, () => isolate(payload)),
      plain: await nsOf(200_000, () => freezeAll(structuredClone(payload))),
    };
  },
  "pack, time · JSON": async () => {
    const messages = 400;
    const records = await recordsOfAFlood(messages);
    const packed = () => {
      const packer = new Packer();
      for (const record of records) packer.add(record, "usual");
      return packer.take();
    };
    const tuned = (await nsOf(50, packed)) / 1000 / messages;
    const plain = (await nsOf(50, () => Buffer.from(JSON.stringify(records)))) / 1000 / messages;
    return { unit: "µs a message of five records", tuned, plain };
  },
  "pack, size · JSON": async () => {
    const messages = 400;
    const records = await recordsOfAFlood(messages);
    const packer = new Packer();
    for (const record of records) packer.add(record, "usual");
    const plain = Buffer.byteLength(JSON.stringify(records)) / messages;
    return { unit: "bytes a message of five records", tuned: packer.take().length / messages, plain };
  },
};

const name = process.argv[2];
if (name === undefined) console.log(JSON.stringify(Object.keys(cases)));
else console.log(JSON.stringify(await cases[name]?.()));
// So that nothing above is left out by the compiler, and no timer holds the process.
process.exit(sink === process ? 1 : 0);
