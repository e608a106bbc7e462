import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { copyOf, isolate } from "../../src/fast/isolate.js";
import { definePoint, HookRegistry, immutable } from "../../src/index.js";
import { seen, sending, setUp } from "./points.js";

/** Tries everything that changes an object; what is refused may throw. */
function vandalise(payload: { message: { text: string; tags: string[] } }) {
  for (const attempt of [
    () => Object.assign(payload, { message: { text: "replaced", tags: [] } }),
    () => Object.assign(payload, { extra: 1 }),
    () => Object.assign(payload.message, { text: "changed" }),
    () => payload.message.tags.push("pushed"),
    () => Reflect.deleteProperty(payload, "message"),
    () => Object.defineProperty(payload.message, "text", { value: "defined" }),
    () => Object.setPrototypeOf(payload, { inherited: 1 }),
  ])
    try {
      attempt();
    } catch {
      // refused, which is as good as unseen
    }
}

describe("isolation", () => {
  it("hides an attempted write from the other handlers and from the caller, in every read-only model", async () => {
    const { hooks } = setUp();
    const views: unknown[] = [];
    const look = (payload: unknown) => void views.push(structuredClone(payload));
    hooks.registerVoid("seen", vandalise);
    hooks.registerVoid("seen", look);
    hooks.registerModifying("sending", (payload) => vandalise(payload) as undefined);
    hooks.registerModifying("sending", (payload) => look(payload) as undefined);
    hooks.registerClaiming("claim", (payload) => vandalise(payload) as undefined);
    hooks.registerClaiming("claim", (payload) => look(payload) as undefined);
    hooks.registerTurn("turn.pre_policy", (payload) => vandalise(payload as never) as undefined);
    hooks.registerTurn("turn.pre_policy", (payload) => look(payload) as undefined, {
      id: "z",
      after: ["turn.pre_policy-1"],
    });
    hooks.register({ hook: "task:create", phase: "after", handler: ({ data }) => vandalise(data as never) });
    hooks.register({ hook: "task:create", phase: "after", handler: ({ data }) => look(data) });
    const nested = () => ({ message: { text: "hi", tags: ["a"] } });
    const payloads = [
      { ...nested(), n: 1 },
      nested(),
      nested(),
      { turnId: "t", ...nested() },
      { title: "x", ...nested() },
    ];
    const originals = structuredClone(payloads);
    await hooks.fireVoid("seen", payloads[0] as never);
    await hooks.fireModifying("sending", payloads[1] as never);
    await hooks.fireClaiming("claim", payloads[2] as never);
    await hooks.runPhase("turn.pre_policy", payloads[3] as never);
    await hooks.runAfter("task:create", payloads[4] as never);
    expect(payloads).toEqual(originals);
    expect(views).toEqual(originals);
  });

  it("leaves the caller's objects unfrozen", async () => {
    const { hooks } = setUp();
    hooks.registerVoid("seen", () => {});
    const payload = seen();
    await hooks.fireVoid("seen", payload);
    payload.n = 2;
    payload.message.tags.push("b");
    expect(payload).toEqual({ n: 2, message: { text: "hi", tags: ["a", "b"] } });
  });

  it("shows an asynchronous handler what was fired, whatever the caller does meanwhile", async () => {
    const { hooks } = setUp();
    let text = "";
    hooks.registerVoid("seen", async (payload) => {
      await Promise.resolve();
      text = payload.message.text;
    });
    const payload = seen();
    const fired = hooks.fireVoid("seen", payload);
    payload.message.text = "changed by the caller";
    await fired;
    expect(text).toBe("hi");
  });

  it("hands on an immutable payload as it is", async () => {
    const { hooks } = setUp();
    const message = immutable({ text: "hi", tags: ["a"] });
    const got: unknown[] = [];
    hooks.registerModifying("sending", (payload) => void got.push(payload, payload.message) as undefined);
    const payload = immutable({ message });
    await hooks.fireModifying("sending", payload);
    await hooks.fireModifying("sending", { message });
    expect(got[0]).toBe(payload);
    expect(got[1]).toBe(message);
    expect(got[3]).toBe(message);
    expect(Object.isFrozen(message.tags)).toBe(true);
  });

  it("freezes a payload in place that its caller hands over, all the way down, and what cannot be frozen is copied", async () => {
    const { hooks } = setUp();
    const got: unknown[] = [];
    hooks.registerVoid("seen", (payload) => void got.push(payload));
    const payload = seen();
    await hooks.fireVoid("seen", payload, undefined, { owned: true });
    expect(got[0]).toBe(payload);
    expect(() => payload.message.tags.push("b")).toThrow(TypeError);
    const odd = { ...seen(), message: { ...seen().message, when: new Date(0) } };
    hooks.registerVoid("seen", ({ message }) => void (message as typeof odd.message).when.setTime(1));
    await hooks.fireVoid("seen", odd, undefined, { owned: true });
    expect(odd.message.when.getTime()).toBe(0);
  });

  it("knows of a copy of an immutable message that it is not immutable", async () => {
    const { hooks } = setUp();
    const first = immutable({ ...seen().message });
    const second = { ...first, text: "changed" };
    const got: unknown[] = [];
    hooks.registerVoid("seen", ({ message }) => void got.push(message));
    await hooks.fireVoid("seen", { ...seen(), message: second });
    expect(got).toEqual([second]);
    expect(got[0]).not.toBe(second);
    expect(Object.isFrozen(second)).toBe(false);
  });

  it("gives each handler its own copy of what cannot be frozen", async () => {
    const point = definePoint({
      name: "odd",
      model: "void",
      payload: z.object({ when: z.date(), map: z.map(z.string(), z.number()), bytes: z.instanceof(Uint8Array) }),
      summary: "Odd.",
      example: { when: new Date(0), map: new Map(), bytes: new Uint8Array(1) },
    });
    const hooks = new HookRegistry({ points: [point] as const });
    const saw: unknown[] = [];
    for (let i = 0; i < 2; i++)
      hooks.registerVoid("odd", ({ when, map, bytes }) => {
        saw.push(when.getTime(), map.size, bytes[0]);
        when.setTime(1);
        map.set("x", 1);
        bytes[0] = 9;
      });
    const payload = { when: new Date(0), map: new Map<string, number>(), bytes: new Uint8Array(1) };
    await hooks.fireVoid("odd", payload);
    expect(saw).toEqual([0, 0, 0, 0, 0, 0]);
    expect(payload).toEqual({ when: new Date(0), map: new Map(), bytes: new Uint8Array(1) });
  });

  it("copies equal to the original, frozen all the way down, cycles and __proto__ included", () => {
    const note = { unfreezable: false };
    fc.assert(
      fc.property(fc.object({ maxDepth: 5, withNullPrototype: false }), (value) => {
        expect(isolate(value, note)).toEqual(value);
        expect(copyOf(value)).toEqual(value);
      }),
    );
    const cyclic: { name: string; children: unknown[]; parent?: unknown } = { name: "root", children: [] };
    for (let i = 0; i < 5; i++) cyclic.children.push({ name: `child ${i}`, parent: cyclic, siblings: cyclic.children });
    const copy = isolate(cyclic, note) as typeof cyclic;
    expect(copy.children).toHaveLength(5);
    expect(Object.isFrozen(copy.children[0])).toBe(true);
    const poisoned = JSON.parse('{"__proto__": {"admin": true}, "a": 1}') as object;
    const harmless = isolate(poisoned, note) as { admin?: boolean };
    expect(harmless.admin).toBeUndefined();
    expect(Object.keys(harmless)).toEqual(["__proto__", "a"]);
  });

  it("keeps a merged view from being written to as well", async () => {
    const { hooks } = setUp();
    hooks.registerModifying("sending", () => ({ text: "one" }));
    hooks.registerModifying("sending", (payload) => vandalise(payload) as undefined, { sees: "merged" });
    expect(await hooks.fireModifying("sending", sending())).toEqual({ text: "one" });
  });
});

describe("an error that throws when it is looked at", () => {
  /** As `revoked` of Proxy.revocable, or one whose traps throw. */
  const hostile = () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  };
  const ways = {
    "is thrown": () => {
      throw hostile();
    },
    "is the reason of a promise": () => Promise.reject(hostile()),
  };

  it.each(Object.entries(ways))("fails its run and nothing else, when it %s", async (_, handler) => {
    const { hooks, log, records } = setUp();
    hooks.registerVoid("seen", handler, { id: "bad.seen" });
    hooks.registerModifying("sending", handler, { id: "bad.sending" });
    hooks.registerModifying("sending", () => ({ text: "good" }), { id: "good" });
    hooks.registerClaiming("claim", handler, { id: "bad.claim" });
    hooks.registerTurn("turn.pre_policy", handler, { id: "bad.turn" });
    hooks.register({ hook: "task:create", phase: "after", id: "bad.after", handler });
    await hooks.fireVoid("seen", seen());
    expect(await hooks.fireModifying("sending", sending())).toEqual({ text: "good" });
    expect(await hooks.fireClaiming("claim", { message: { text: "hi", tags: [] } })).toEqual({ handled: false });
    await hooks.runPhase("turn.pre_policy", { turnId: "t" });
    await hooks.runAfter("task:create", { title: "deploy" });
    const failed = records.flatMap(({ runs }) => runs.filter(({ outcome }) => outcome === "failed"));
    expect(failed.map(({ hookId, error }) => [hookId, error])).toEqual(
      ["bad.seen", "bad.sending", "bad.claim", "bad.turn", "bad.after"].map((id) => [
        id,
        "an error that cannot be printed",
      ]),
    );
    expect(log.filter(({ level }) => level === "error")).toHaveLength(5);
  });
});
