/**
 * One case of `bench/dispatch.ts` in a process of its own, in turn with what it is compared with:
 * `node <this> <case> [<base> [mixed]]` prints nanoseconds and ratio, `node <this>` the names of all cases.
 *
 * In a fresh process a subject has seen one handler and one model only. `mixed`: it has called other handlers before,
 * asynchronous and synchronous ones, and Hookgate has fired its other models too, as in a process that does real work.
 */
import { EventEmitter } from "node:events";
import Emittery from "emittery";
import { createHooks } from "hookable";
import { AsyncSeriesHook } from "tapable";
import { z } from "zod";
import type { DispatchRecord } from "../src/domain/journal.js";
import { immutable } from "../src/fast/isolate.js";
import { definePoint } from "../src/hooks/point.js";
import { HookRegistry } from "../src/hooks/registry.js";

const payloadSchema = z.object({ chatId: z.string(), text: z.string(), count: z.number() });
const example = { chatId: "1", text: "hello", count: 1 };
const facts = { payload: payloadSchema, summary: "Measured.", example };
const points = [
  definePoint({ ...facts, name: "changing", model: "modifying", result: z.object({ text: z.string().optional() }) }),
  definePoint({ ...facts, name: "claimed", model: "claiming", result: z.object({ handled: z.boolean() }) }),
  definePoint({ ...facts, name: "done", model: "lifecycle" }),
  definePoint({ ...facts, name: "seen", model: "void" }),
  definePoint({ ...facts, name: "elsewhere", model: "void" }),
] as const;

type Payload = typeof example;
type Handler = (payload: Payload) => unknown;
/** Fires once. */
type Fire = () => unknown;
type Subject = (handler: Handler, count: number) => Fire;
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
const others: Handler[] = [
  async (payload) => {
    sink += payload.text.length;
  },
  async () => null,
  async () => {
    await undefined;
    sink++;
  },
  (payload) => {
    sink += payload.chatId.length;
  },
  synchronous,
];

const times = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);
const frozen = immutable({ ...example });
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

/* ── Hookgate: always with isolation, priorities, and a deadline of 5 s (void: 30 s) armed for each handler ────────── */

function registryWith(handler: Handler, count: number, elsewhere = 0) {
  const hooks = new HookRegistry({ points });
  for (let i = 0; i < elsewhere; i++) hooks.registerVoid("elsewhere", handler);
  for (let i = 0; i < count; i++) {
    hooks.registerModifying("changing", handler as () => null);
    hooks.registerVoid("seen", handler);
  }
  return hooks;
}

const modifying: Subject = (handler, count) => {
  const hooks = registryWith(handler, count);
  return () => hooks.fireModifying("changing", frozen);
};
const crowded: Subject = (handler, count) => {
  const hooks = registryWith(handler, count, 10_000);
  return () => hooks.fireModifying("changing", frozen);
};
const parallel: Subject = (handler, count) => {
  const hooks = registryWith(handler, count);
  return () => hooks.fireVoid("seen", frozen);
};
const copying =
  (payload: Payload): Subject =>
  (handler, count) => {
    const hooks = registryWith(handler, count);
    return () => hooks.fireModifying("changing", payload);
  };
/** Each handler has a matcher to pass and a plugin that is asked for. */
const filtering: Subject = (handler, count) => {
  const hooks = new HookRegistry({ points });
  const plugins = ["guard"];
  for (let i = 0; i < count; i++)
    hooks.registerModifying("changing", handler as () => null, {
      priority: count - i,
      pluginId: "guard",
      match: { chats: ["1"] },
    });
  return () => hooks.fireModifying("changing", frozen, plugins);
};
/** With a journal that takes each record and drops it: what the kernel itself spends on recording. */
const recording: Subject = (handler, count) => {
  const record = ({ runs }: DispatchRecord) => {
    sink += runs.length;
  };
  const hooks = new HookRegistry({ points, journal: { record } });
  for (let i = 0; i < count; i++) hooks.registerModifying("changing", handler as () => null);
  return () => hooks.fireModifying("changing", frozen);
};
const otherModels: Subject = (handler, count) => {
  const hooks = registryWith(handler, count);
  for (let i = 0; i < count; i++) {
    hooks.registerClaiming("claimed", handler as () => null);
    hooks.register({ hook: "done", phase: "before", handler: () => handler(example) as Promise<void> });
    hooks.register({ hook: "done", phase: "after", handler: () => handler(example) as Promise<void> });
  }
  return async () => {
    await hooks.fireVoid("seen", frozen);
    await hooks.fireClaiming("claimed", frozen);
    await hooks.runBefore("done", example);
    await hooks.runAfter("done", example);
  };
};

/* ── What people write or take instead ────────────────────────────────────────────────────────────────────────────── */

const awaitLoop: Subject = (handler, count) => {
  const handlers = times(count, () => handler);
  return async () => {
    for (const one of handlers) await one(example);
  };
};
const loop: Subject = (handler, count) => {
  const handlers = times(count, () => handler);
  return () => {
    for (const one of handlers) one(example);
  };
};
const promiseAll: Subject = (handler, count) => {
  const handlers = times(count, () => handler);
  return () => Promise.all(handlers.map((one) => one(example)));
};
const tapable: Subject = (handler, count) => {
  const hook = new AsyncSeriesHook<[Payload]>(["payload"]);
  for (let i = 0; i < count; i++) hook.tapPromise(`h${i}`, async (payload) => void (await handler(payload)));
  return () => hook.promise(example);
};
/** Without a wrapper, which it needs for synchronous handlers only. */
const tapableAsync: Subject = (handler, count) => {
  const hook = new AsyncSeriesHook<[Payload]>(["payload"]);
  for (let i = 0; i < count; i++) hook.tapPromise(`h${i}`, handler as (payload: Payload) => Promise<void>);
  return () => hook.promise(example);
};
const hookable: Subject = (handler, count) => {
  const hooks = createHooks<{ changing: (payload: Payload) => void }>();
  for (let i = 0; i < count; i++) hooks.hook("changing", handler as (payload: Payload) => void);
  return () => hooks.callHook("changing", example);
};
const emittery: Subject = (handler, count) => {
  const emitter = new Emittery<{ changing: Payload }>();
  // It calls a listener once however often it is added, so each is a function of its own.
  for (let i = 0; i < count; i++) emitter.on("changing", async (payload) => void (await handler(payload)));
  return () => emitter.emitSerial("changing", example);
};
const eventEmitter: Subject = (handler, count) => {
  const events = new EventEmitter();
  events.setMaxListeners(0);
  for (let i = 0; i < count; i++) events.on("changing", (payload: Payload) => void handler(payload));
  return () => events.emit("changing", example);
};

/* ── The cases ────────────────────────────────────────────────────────────────────────────────────────────────────── */

const repeat =
  (fire: Fire): Case =>
  async (count) => {
    for (let i = 0; i < count; i++) await fire();
  };
const repeatSync =
  (fire: Fire): Case =>
  (count) => {
    for (let i = 0; i < count; i++) fire();
  };
const IN_FLIGHT = 1_000;
/** `count` dispatches, a thousand at once. */
const flight =
  (fire: Fire): Case =>
  async (count) => {
    for (let done = 0; done < count; done += IN_FLIGHT) await Promise.all(times(IN_FLIGHT, fire));
  };

interface Plan {
  subject: Subject;
  handler: Handler;
  count: number;
  run: (fire: Fire) => Case;
}

const plans = new Map<string, Plan>();
const plan = (name: string, count: number, subject: Subject, handler = asynchronous, run = repeat) =>
  plans.set(name, { subject, handler, count, run });

for (const count of [1, 5, 20]) {
  plan(`${count} async · await loop`, count, awaitLoop);
  plan(`${count} async · hookgate`, count, modifying);
  plan(`${count} async · hookgate, filtered`, count, filtering);
  plan(`${count} async · hookgate, payload copied`, count, copying({ ...example }));
  plan(`${count} async · hookgate, message copied`, count, copying(message()));
  plan(`${count} async · hookgate, recorded`, count, recording);
  plan(`${count} async · tapable`, count, tapableAsync);
  plan(`${count} async · hookable`, count, hookable);
  plan(`${count} async · emittery`, count, emittery);
  plan(`${count} parallel · Promise.all`, count, promiseAll);
  plan(`${count} parallel · hookgate void`, count, parallel);
  plan(`${count} sync · loop`, count, loop, synchronous, repeatSync);
  plan(`${count} sync · hookgate`, count, modifying, synchronous, repeatSync);
  plan(`${count} sync · EventEmitter`, count, eventEmitter, synchronous, repeatSync);
}
plan("0 handlers · loop", 0, loop, synchronous, repeatSync);
plan("0 handlers · hookgate", 0, modifying, synchronous, repeatSync);
plan("0 handlers · EventEmitter", 0, eventEmitter, synchronous, repeatSync);
plan("0 handlers · tapable", 0, tapable, synchronous, repeatSync);
plan("5 async, 1000 in flight · await loop", 5, awaitLoop, asynchronous, flight);
plan("5 async, 1000 in flight · hookgate", 5, modifying, asynchronous, flight);
plan("5 async · hookgate, 10,000 handlers elsewhere", 5, crowded);
// Registering is the work: a round registers on one registry, which is made for it.
plan("register", 0, modifying, synchronous, () => (count) => {
  const hooks = new HookRegistry({ points });
  for (let i = 0; i < count; i++) hooks.registerVoid("elsewhere", synchronous);
});
plan("register and remove", 0, modifying, synchronous, () => (count) => {
  const hooks = new HookRegistry({ points });
  for (let i = 0; i < count; i++) hooks.registerVoid("elsewhere", synchronous)();
});

/* ── Measuring ────────────────────────────────────────────────────────────────────────────────────────────────────── */

const WARM_UP = 40_000;
const SAMPLES = 25;
/** Long enough that most samples pay for the garbage that they make. */
const PER_SAMPLE = 5_000;
/** Synchronous cases are too quick for one reading of the clock. */
const PLAIN = 30;
const MIXED_WARM_UP = 4_000;

async function mix({ subject, count }: Plan): Promise<void> {
  const isOurs = [modifying, parallel, filtering, recording, crowded].includes(subject);
  for (const one of isOurs ? [subject, otherModels] : [subject])
    for (const other of others) await repeat(one(other, Math.max(count, 1)))(MIXED_WARM_UP);
}

async function prepare(plan: Plan, isMixed: boolean): Promise<() => Promise<number>> {
  if (isMixed) await mix(plan);
  const run = plan.run(plan.subject(plan.handler, plan.count));
  await run(WARM_UP);
  const size = plan.run === repeatSync ? PER_SAMPLE * PLAIN : PER_SAMPLE;
  return async () => {
    const from = process.hrtime.bigint();
    await run(size);
    return Number(process.hrtime.bigint() - from) / size;
  };
}

const middle = (all: number[]) => all.sort((a, b) => a - b)[Math.floor(all.length / 2)] as number;

/** In turn, so that both find the machine as it is. */
async function measure(plan: Plan, base: Plan | undefined, isMixed: boolean): Promise<{ ns: number; ratio?: number }> {
  const ofBase = base === undefined ? undefined : await prepare(base, isMixed);
  const ofPlan = await prepare(plan, isMixed);
  const all: number[] = [];
  const ratios: number[] = [];
  for (let i = 0; i < SAMPLES; i++) {
    const baseNs = await ofBase?.();
    const ns = await ofPlan();
    all.push(ns);
    if (baseNs !== undefined) ratios.push(ns / baseNs);
  }
  return { ns: middle(all), ratio: base && middle(ratios) };
}

const [, , name, baseName, mode] = process.argv;
const chosen = name === undefined ? undefined : plans.get(name);
const base = baseName === undefined ? undefined : plans.get(baseName);
const answer = chosen === undefined ? [...plans.keys()] : await measure(chosen, base, mode === "mixed");
console.log(JSON.stringify(answer));
// Use of the sum, so that it is not optimised away.
if (Number.isNaN(sink)) throw new Error("a handler added something else than a number");
