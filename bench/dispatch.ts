/**
 * What a dispatch costs, beside a hand-written await loop and the libraries that people would take instead.
 * All in one run, in interleaved rounds, medians: compare the ratios, not the nanoseconds.
 *
 *   npx tsx bench/dispatch.ts [rounds] [pattern of the cases to run]
 */
import { EventEmitter } from "node:events";
import Emittery from "emittery";
import { createHooks } from "hookable";
import { AsyncSeriesHook } from "tapable";
import { z } from "zod";
import { immutable } from "../src/hooks/isolate.js";
import { definePoint } from "../src/hooks/point.js";
import { HookRegistry } from "../src/hooks/registry.js";

const ROUNDS = Number(process.argv[2] ?? 15);
const PATTERN = new RegExp(process.argv[3] ?? "");
const PER_ROUND = 4_000;
/** Enough for the compiler to have seen everything, also on a busy machine. */
const WARM_UP = 40_000;

const payloadSchema = z.object({ chatId: z.string(), text: z.string(), count: z.number() });
const example = { chatId: "1", text: "hello", count: 1 };
const points = [
  definePoint({
    name: "changing",
    model: "modifying",
    payload: payloadSchema,
    result: z.object({ text: z.string().optional() }),
    summary: "Measured.",
    example,
  }),
  definePoint({ name: "seen", model: "void", payload: payloadSchema, summary: "Measured.", example }),
  definePoint({ name: "elsewhere", model: "void", payload: payloadSchema, summary: "Full of handlers.", example }),
] as const;

type Payload = typeof example;
type Handler = (payload: Payload) => unknown;
/** Does the work `times` times; resolves when all of it is done. */
type Case = (times: number) => Promise<void> | void;

let sink = 0;
const asynchronous: Handler = async (payload) => {
  sink += payload.count;
};
const synchronous: Handler = (payload) => {
  sink += payload.count;
  return null;
};

const times = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);
/** A message as adapters decode it, so that isolation has something to do. */
const message = () => ({
  ...example,
  message: {
    platform: "web",
    botId: "web",
    chatId: "lobby",
    userId: "1",
    displayName: "Ada",
    text: "hello",
    attachments: [],
    isDm: false,
    isGroupMention: true,
    messageId: "42",
    isEdit: false,
    receivedAt: 1,
  },
});

function registryWith(handler: Handler, count: number, elsewhere = 0) {
  const hooks = new HookRegistry({ points });
  for (let i = 0; i < elsewhere; i++) hooks.registerVoid("elsewhere", handler);
  for (let i = 0; i < count; i++) {
    hooks.registerModifying("changing", handler as () => null);
    hooks.registerVoid("seen", handler);
  }
  return hooks;
}

const repeat =
  (once: () => unknown): Case =>
  async (count) => {
    for (let i = 0; i < count; i++) await once();
  };
const repeatSync =
  (once: () => unknown): Case =>
  (count) => {
    for (let i = 0; i < count; i++) once();
  };

const ours = (handler: Handler, count: number, payload: Payload = immutable({ ...example })) => {
  const hooks = registryWith(handler, count);
  return () => hooks.fireModifying("changing", payload);
};
const oursVoid = (handler: Handler, count: number) => {
  const hooks = registryWith(handler, count);
  const payload = immutable({ ...example });
  return () => hooks.fireVoid("seen", payload);
};
const loop = (handler: Handler, count: number) => {
  const handlers = times(count, () => handler);
  return async () => {
    for (const one of handlers) await one(example);
  };
};
const loopSync = (handler: Handler, count: number) => {
  const handlers = times(count, () => handler);
  return () => {
    for (const one of handlers) one(example);
  };
};
const all = (handler: Handler, count: number) => {
  const handlers = times(count, () => handler);
  return () => Promise.all(handlers.map((one) => one(example)));
};
const tapable = (handler: Handler, count: number) => {
  const hook = new AsyncSeriesHook<[Payload]>(["payload"]);
  for (let i = 0; i < count; i++) hook.tapPromise(`h${i}`, handler as (payload: Payload) => Promise<void>);
  return () => hook.promise(example);
};
const hookable = (handler: Handler, count: number) => {
  const hooks = createHooks<{ changing: (payload: Payload) => void }>();
  for (let i = 0; i < count; i++) hooks.hook("changing", handler as (payload: Payload) => void);
  return () => hooks.callHook("changing", example);
};
const emittery = (handler: Handler, count: number) => {
  const emitter = new Emittery<{ changing: Payload }>();
  // It calls a listener once however often it is added, so each is a function of its own.
  for (let i = 0; i < count; i++) emitter.on("changing", async (payload) => void (await handler(payload)));
  return () => emitter.emitSerial("changing", example);
};
const emitter = (handler: Handler, count: number) => {
  const events = new EventEmitter();
  events.setMaxListeners(0);
  for (let i = 0; i < count; i++) events.on("changing", (payload: Payload) => void handler(payload));
  return () => events.emit("changing", example);
};

const IN_FLIGHT = 1_000;
/** `count` dispatches, a thousand at once. */
const flight =
  (once: () => unknown): Case =>
  async (count) => {
    for (let done = 0; done < count; done += IN_FLIGHT) await Promise.all(times(IN_FLIGHT, once));
  };

const cases = new Map<string, Case>();
for (const count of [1, 5, 20]) {
  cases.set(`${count} async · await loop`, repeat(loop(asynchronous, count)));
  cases.set(`${count} async · hookgate`, repeat(ours(asynchronous, count)));
  cases.set(`${count} async · hookgate, payload copied`, repeat(ours(asynchronous, count, { ...example })));
  cases.set(`${count} async · hookgate, message copied`, repeat(ours(asynchronous, count, message())));
  cases.set(`${count} async · tapable`, repeat(tapable(asynchronous, count)));
  cases.set(`${count} async · hookable`, repeat(hookable(asynchronous, count)));
  cases.set(`${count} async · emittery`, repeat(emittery(asynchronous, count)));
  cases.set(`${count} parallel · Promise.all`, repeat(all(asynchronous, count)));
  cases.set(`${count} parallel · hookgate void`, repeat(oursVoid(asynchronous, count)));
  cases.set(`${count} sync · loop`, repeatSync(loopSync(synchronous, count)));
  cases.set(`${count} sync · hookgate`, repeatSync(ours(synchronous, count)));
  cases.set(`${count} sync · EventEmitter`, repeatSync(emitter(synchronous, count)));
}
cases.set("0 handlers · loop", repeatSync(loopSync(synchronous, 0)));
cases.set("0 handlers · hookgate", repeatSync(ours(synchronous, 0)));
cases.set("0 handlers · EventEmitter", repeatSync(emitter(synchronous, 0)));
cases.set("0 handlers · tapable", repeatSync(tapable(synchronous, 0)));
cases.set("5 async, 1000 in flight · await loop", flight(loop(asynchronous, 5)));
cases.set("5 async, 1000 in flight · hookgate", flight(ours(asynchronous, 5)));
const crowded = registryWith(asynchronous, 5, 10_000);
const lonely = registryWith(asynchronous, 5);
const shared = immutable({ ...example });
cases.set(
  "5 async · hookgate, nobody elsewhere",
  repeat(() => lonely.fireModifying("changing", shared)),
);
cases.set(
  "5 async · hookgate, 10,000 handlers elsewhere",
  repeat(() => crowded.fireModifying("changing", shared)),
);
cases.set("register", (count) => {
  const hooks = new HookRegistry({ points });
  for (let i = 0; i < count; i++) hooks.registerVoid("elsewhere", synchronous);
});
cases.set("register and remove", (count) => {
  const hooks = new HookRegistry({ points });
  for (let i = 0; i < count; i++) hooks.registerVoid("elsewhere", synchronous)();
});

const PLAIN = 50;
/** Synchronous cases are too quick for one reading of the clock. */
const sizeOf = (name: string) => (/sync ·|0 handlers/.test(name) ? PER_ROUND * PLAIN : PER_ROUND);

async function measure(): Promise<Map<string, number>> {
  for (const name of [...cases.keys()]) if (!PATTERN.test(name)) cases.delete(name);
  const samples = new Map([...cases.keys()].map((name) => [name, [] as number[]]));
  for (const run of cases.values()) await run(WARM_UP);
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, run] of cases) {
      const size = sizeOf(name);
      const from = process.hrtime.bigint();
      await run(size);
      samples.get(name)?.push(Number(process.hrtime.bigint() - from) / size);
    }
  return new Map([...samples].map(([name, all]) => [name, median(all)]));
}

function median(all: number[]): number {
  const sorted = [...all].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** name → what it is compared with, and the most that the ratio (or the nanoseconds, without a base) may be. */
const TARGETS: { name: string; base?: string; most: number }[] = [
  { name: "0 handlers · hookgate", most: 20 },
  { name: "1 async · hookgate", base: "1 async · await loop", most: 1.8 },
  { name: "5 async · hookgate", base: "5 async · await loop", most: 1.2 },
  { name: "20 async · hookgate", base: "20 async · await loop", most: 1 },
  { name: "5 parallel · hookgate void", base: "5 parallel · Promise.all", most: 1.6 },
  { name: "20 parallel · hookgate void", base: "20 parallel · Promise.all", most: 1.6 },
  { name: "5 async, 1000 in flight · hookgate", base: "5 async, 1000 in flight · await loop", most: 1.1 },
  { name: "5 async · hookgate, 10,000 handlers elsewhere", base: "5 async · hookgate, nobody elsewhere", most: 1.05 },
  { name: "register", most: 1000 },
];

/** Ratios drift by a tenth from run to run, more on a busy machine. */
const verdict = (value: number, most: number) =>
  value <= most ? "holds" : value <= most * 1.1 ? "within a tenth" : "MISSED";

const results = await measure();
const baseOf = (name: string): string | undefined => {
  const [what] = name.split(" · ");
  return [`${what} · await loop`, `${what} · Promise.all`, `${what} · loop`].find((base) => results.has(base));
};
console.log(`${"case".padEnd(52)}${"ns".padStart(9)}${"ratio".padStart(8)}`);
for (const [name, ns] of [...results].sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }))) {
  const base = baseOf(name);
  const ratio = base === undefined ? "" : (ns / (results.get(base) ?? Number.NaN)).toFixed(2);
  console.log(`${name.padEnd(52)}${ns.toFixed(1).padStart(9)}${ratio.padStart(8)}`);
}
console.log(`\n${"target".padEnd(52)}${"measured".padStart(9)}${"at most".padStart(9)}`);
for (const { name, base, most } of TARGETS) {
  if (!results.has(name)) continue;
  const ns = results.get(name) ?? Number.NaN;
  const value = base === undefined ? ns : ns / (results.get(base) ?? Number.NaN);
  console.log(`${name.padEnd(52)}${value.toFixed(2).padStart(9)}${String(most).padStart(9)}  ${verdict(value, most)}`);
}
if (sink === 0) throw new Error("nothing was measured");
