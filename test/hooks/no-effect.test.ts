/** What a handler decides where nothing takes it: the hook fails or the log says so, and nothing is ignored in silence. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { definePoint, HookRegistry } from "../../src/index.js";
import { gate, type LogLine, logTo, outcomes, seen, sending, setUp } from "./points.js";

const warnings = (log: LogLine[]) => log.filter(({ level }) => level === "warn").map(({ message }) => message);
const deciding = (handler: unknown, more: object = {}) =>
  ({ hook: "task:create", phase: "before", id: "guard", handler, ...more }) as never;

describe("what a before handler returns", () => {
  it.each([
    ["fields to change", () => ({ title: "new" }), '{"title":"new"}'],
    ["a cancel", async () => ({ cancel: "no" }), '{"cancel":"no"}'],
    ["data", () => ({ data: { title: "new" } }), '{"data":{"title":"new"}}'],
  ])("fails the hook when it is %s", async (_, handler, given) => {
    const { hooks, records, log } = setUp();
    hooks.register(deciding(handler));
    expect(await hooks.runBefore("task:create", { title: "x" })).toEqual({ cancelled: false, data: { title: "x" } });
    expect(records[0]?.runs[0]).toMatchObject({
      outcome: "failed",
      error: `Result: what a before handler returns has no effect, and it returned ${given}: change ctx.data, or call ctx.cancel(reason)`,
    });
    expect(log[0]).toMatchObject({ level: "error", message: 'Hook "guard" failed at task:create' });
  });

  it("fails it at a synchronous point, too, and closes a fail-closed one", async () => {
    const { hooks, records } = setUp();
    hooks.register(deciding(() => ({ cancel: "no" }), { failurePolicy: "fail-closed" }));
    expect(() => hooks.runBeforeSync("task:create", { title: "x" })).toThrow(/guard/);
    await expect(hooks.runBefore("task:create", { title: "x" })).rejects.toMatchObject({ code: "HOOK_FAILED_CLOSED" });
    expect(records.flatMap(({ runs }) => runs.map(({ outcome }) => outcome))).toEqual(["failed", "failed"]);
  });

  it("is logged once when it is false", async () => {
    const { hooks, records, log } = setUp();
    hooks.register(deciding(() => false));
    await hooks.runBefore("task:create", { title: "x" });
    await hooks.runBefore("task:create", { title: "x" });
    hooks.runBeforeSync("task:create", { title: "x" });
    expect(records.flatMap(({ runs }) => runs.map(({ outcome }) => outcome))).toEqual(["passed", "passed", "passed"]);
    expect(warnings(log)).toEqual([
      'Hook "guard" at task:create: it returned false, which has no effect: to stop what is about to happen, call ctx.cancel(reason).',
    ]);
  });

  it.each([
    ["the data", (ctx: { data: object }) => Object.assign(ctx.data, { title: "new" })],
    [
      "a part of the data",
      (ctx: { data: { meta?: object; title: string } }) => {
        ctx.data.title = "new";
        return (ctx.data as { tags?: string[] }).tags;
      },
    ],
    [
      "the context",
      (ctx: { data: object }) => {
        Object.assign(ctx.data, { title: "new" });
        return ctx;
      },
    ],
    [
      "what the last call of an arrow function gave",
      (ctx: { data: object }) => {
        Object.assign(ctx.data, { title: "new" });
        return new Map();
      },
    ],
    [
      "a value",
      (ctx: { data: { title: string } }) => {
        ctx.data.title = "new";
        return "new";
      },
    ],
  ])("is of no interest when it is %s", async (_, handler) => {
    const { hooks, log } = setUp();
    hooks.register(deciding(handler));
    const { data } = await hooks.runBefore("task:create", { title: "x", tags: ["a"] });
    expect(data.title).toBe("new");
    expect(log).toEqual([]);
  });
});

describe("ctx.cancel", () => {
  it.each([
    [new Error("too short"), "too short", "an error"],
    [{ reason: "no" }, '{"reason":"no"}', "an object"],
    [5, "5", "a number"],
    [["a"], '["a"]', "a list"],
  ])("cancels and warns when the reason is no text: %j", async (given, reason, what) => {
    const { hooks, log } = setUp();
    hooks.register(deciding(({ cancel }: { cancel(reason: unknown): void }) => cancel(given)));
    expect(await hooks.runBefore("task:create", { title: "x" })).toMatchObject({
      cancelled: true,
      cancelReason: reason,
    });
    expect(warnings(log)).toEqual([
      `Hook "guard" at task:create: ctx.cancel expects the reason as text, and got ${what}. It is cancelled; pass a text.`,
    ]);
  });

  it.each(["", "   "])("cancels without a reason and warns when it is %j", async (given) => {
    const { hooks, log } = setUp();
    hooks.register(deciding(({ cancel }: { cancel(reason: unknown): void }) => cancel(given)));
    const result = await hooks.runBefore("task:create", { title: "x" });
    expect(result).toEqual({ cancelled: true, cancelledBy: "guard", data: { title: "x" } });
    expect(warnings(log)).toEqual([
      'Hook "guard" at task:create: ctx.cancel got an empty reason. It is cancelled without one; pass a text.',
    ]);
  });

  it("takes null for no reason", async () => {
    const { hooks, log } = setUp();
    hooks.register(deciding(({ cancel }: { cancel(reason: unknown): void }) => cancel(null)));
    const result = await hooks.runBefore("task:create", { title: "x" });
    expect(result).toEqual({ cancelled: true, cancelledBy: "guard", data: { title: "x" } });
    expect(log).toEqual([]);
  });

  it("warns at a point that nothing can cancel, and cancels nothing there", async () => {
    const shutdown = definePoint({
      name: "orchestrator:shutdown",
      model: "lifecycle",
      vetoable: false,
      payload: z.object({}),
      summary: "For tests.",
      example: {},
    });
    const log: LogLine[] = [];
    const hooks = new HookRegistry({ points: [shutdown], logger: logTo(log) });
    hooks.register({
      hook: "orchestrator:shutdown",
      phase: "before",
      id: "p.stay",
      handler: (ctx) => ctx.cancel("no"),
    });
    hooks.setPlace("p.stay", "p.mjs:3:5");
    expect(await hooks.runBefore("orchestrator:shutdown", {})).toMatchObject({ cancelled: false });
    expect(log).toMatchObject([
      {
        level: "warn",
        facts: { hook: "orchestrator:shutdown", id: "p.stay", place: "p.mjs:3:5" },
        message:
          'Hook "p.stay" at orchestrator:shutdown: ctx.cancel has no effect: nothing can cancel orchestrator:shutdown.',
      },
    ]);
  });

  it("warns in the phase after", async () => {
    const { hooks, log } = setUp();
    hooks.register({ hook: "task:create", phase: "after", id: "late", handler: (ctx) => ctx.cancel("no") });
    await hooks.runAfter("task:create", { title: "x" });
    await hooks.runAfter("task:create", { title: "x" });
    expect(warnings(log)).toEqual([
      'Hook "late" at task:create: ctx.cancel has no effect: in the phase "after", what it would stop has happened. Register the hook in the phase "before".',
    ]);
  });

  it("warns each time when it comes after the hook's time", async () => {
    const { hooks, log, clock } = setUp();
    const late = gate();
    const done = gate();
    hooks.register(
      deciding(async (ctx: { cancel(reason: string): void }) => {
        await late.promise;
        ctx.cancel("late");
        done.open();
      }),
    );
    const run = hooks.runBefore("task:create", { title: "x" });
    await clock.advance(5_010);
    expect(await run).toMatchObject({ cancelled: false });
    late.open();
    await done.promise;
    expect(warnings(log)).toEqual([
      'Hook "guard" at task:create: ctx.cancel has no effect: it was called after the hook\'s time of 5000 ms. Nothing was cancelled.',
    ]);
  });
});

describe("a decision that is returned where none is taken", () => {
  it.each([
    ["{ handled: true }", { handled: true }, "{ handled: … }"],
    ["a cancel", Promise.resolve({ cancel: "no" }), "{ cancel: … }"],
    ["a reply", { reply: "hello" }, "{ reply: … }"],
    ["false", false, "false"],
  ])("is logged once at a void point: %s", async (_, value, name) => {
    const { hooks, log, records } = setUp();
    hooks.registerVoid("seen", (() => value) as never, { id: "greeter" });
    await hooks.fireVoid("seen", seen());
    await hooks.fireVoid("seen", seen());
    expect(warnings(log)).toEqual([
      `Hook "greeter" at seen: it returned ${name}, which has no effect: a handler of seen decides nothing. Register it at a point that decides (\`npx hookgate points\` lists them).`,
    ]);
    expect(outcomes(records[1])).toEqual([["greeter", "passed"]]);
  });

  it("is logged in the phase after", async () => {
    const { hooks, log } = setUp();
    hooks.register({ hook: "task:create", phase: "after", id: "late", handler: (async () => false) as never });
    await hooks.runAfter("task:create", { title: "x" });
    expect(warnings(log)).toEqual([
      'Hook "late" at task:create: it returned false, which has no effect: in the phase "after", what it could stop has happened. Register it in the phase "before", and call ctx.cancel(reason).',
    ]);
  });

  it("is no matter when it is something else: the result of the last call of an arrow function", async () => {
    const { hooks, log } = setUp();
    for (const value of [1, "x", true, [], {}, { data: 1, error: null }, new Map()])
      hooks.registerVoid("seen", (() => value) as never);
    await hooks.fireVoid("seen", seen());
    expect(log).toEqual([]);
  });
});

it("a cancel that a modifying handler returns after its time is logged: the message was sent", async () => {
  const { hooks, log, clock } = setUp();
  const late = gate();
  hooks.registerModifying(
    "sending",
    async () => {
      await late.promise;
      return { cancel: true };
    },
    { id: "guard" },
  );
  const fired = hooks.fireModifying("sending", sending());
  await clock.advance(5_010);
  expect(await fired).toEqual({});
  late.open();
  await new Promise((resolve) => setImmediate(resolve));
  expect(warnings(log)).toEqual([
    'Hook "guard" at sending: it returned { cancel: … } after its time of 5000 ms: the result came too late and has no effect. Raise timeoutMs, or decide faster.',
  ]);
});
