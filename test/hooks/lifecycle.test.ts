import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type DispatchRecord, definePoint, HookRegistry } from "../../src/index.js";
import { gate, logTo, never, outcomes, setUp } from "./points.js";

const guarded = definePoint({
  name: "task:spawn",
  model: "lifecycle",
  mutable: ["task.title", "reason"],
  payload: z.object({ task: z.object({ title: z.string(), id: z.string() }), reason: z.string().optional() }),
  summary: "For tests.",
  example: { task: { title: "deploy", id: "t_1" } },
});

describe("what a before handler may change", () => {
  const start = () => {
    const records: DispatchRecord[] = [];
    const journal = { record: (dispatch: DispatchRecord) => void records.push(dispatch) };
    return { hooks: new HookRegistry({ points: [guarded], journal, logger: logTo([]) }), records };
  };
  const data = () => ({ task: { title: "deploy", id: "t_1" } });

  it("is what its point names", async () => {
    const { hooks, records } = start();
    hooks.register({
      hook: "task:spawn",
      phase: "before",
      handler({ data }) {
        data.task.title = "deploy now";
        data.reason = "urgent";
      },
    });
    const { data: changed } = await hooks.runBefore("task:spawn", data());
    expect(changed).toEqual({ task: { title: "deploy now", id: "t_1" }, reason: "urgent" });
    expect(records[0]?.outcome).toBe("modified");
  });

  it.each([
    [
      "another field",
      (ctx: { data: unknown }) => Object.assign((ctx.data as { task: object }).task, { id: "t_2" }),
      "task.id cannot be changed at task:spawn (only task.title, reason can be)",
    ],
    [
      "a new field",
      (ctx: { data: unknown }) => Object.assign(ctx.data as object, { agent: "x" }),
      "agent cannot be changed",
    ],
    [
      "a value of the wrong type",
      (ctx: { data: unknown }) => Object.assign(ctx.data as object, { reason: 5 }),
      "reason: ",
    ],
  ])("is refused otherwise: %s", async (_what, change, error) => {
    const { hooks, records } = start();
    hooks.register({ hook: "task:spawn", phase: "before", id: "meddler", handler: (ctx) => void change(ctx) });
    expect((await hooks.runBefore("task:spawn", data())).data).toEqual(data());
    expect(() => hooks.runBeforeSync("task:spawn", data())).not.toThrow();
    expect(records.map(({ runs }) => runs[0])).toMatchObject([
      { outcome: "failed", error: expect.stringContaining(error) },
      { outcome: "failed", error: expect.stringContaining(error) },
    ]);
  });
});

describe("before hooks", () => {
  it.each([
    ["a value of the wrong type", { maxDuration: "soon" }, 'maxDuration: expected a number, got "soon"'],
    ["no value where one is needed", { title: undefined }, "title: it is missing: expected text"],
  ])(
    "cannot change the data to what the point's schema refuses, wherever its point allows all changes: %s",
    async (_, change, error) => {
      const { hooks, records } = setUp();
      hooks.register({ hook: "task:create", phase: "before", handler: (ctx) => void Object.assign(ctx.data, change) });
      expect((await hooks.runBefore("task:create", { title: "x" })).data).toEqual({ title: "x" });
      expect(records[0]?.runs[0]).toMatchObject({ outcome: "failed", error: `Result: ${error}` });
    },
  );

  it("share one mutable data, in order, and leave the caller's own object alone", async () => {
    const { hooks, records } = setUp();
    hooks.register({
      hook: "task:create",
      phase: "before",
      handler: async (ctx) => {
        ctx.data.maxDuration = 5;
        ctx.data.tags?.push("b");
      },
    });
    hooks.register({
      hook: "task:create",
      phase: "before",
      handler(ctx) {
        ctx.data = { ...ctx.data, title: `${ctx.data.title} ${ctx.data.maxDuration}` };
      },
    });
    const data = { title: "deploy", tags: ["a"] };
    expect(await hooks.runBefore("task:create", data)).toEqual({
      cancelled: false,
      data: { title: "deploy 5", maxDuration: 5, tags: ["a", "b"] },
    });
    expect(data).toEqual({ title: "deploy", tags: ["a"] });
    expect(records[0]?.runs.map(({ diff }) => diff)).toEqual([
      { maxDuration: 5, tags: ["a", "b"] },
      { title: "deploy 5" },
    ]);
  });

  it("cancel without stopping the chain: the first reason is kept, and who cancelled first is said", async () => {
    const { hooks, records } = setUp();
    const saw: unknown[] = [];
    hooks.register({ hook: "task:create", phase: "before", id: "one", handler: (ctx) => ctx.cancel() });
    hooks.register({ hook: "task:create", phase: "before", id: "two", handler: (ctx) => ctx.cancel("too short") });
    hooks.register({
      hook: "task:create",
      phase: "before",
      id: "three",
      handler: ({ cancel, cancelled, cancelReason }) => {
        saw.push(cancelled, cancelReason);
        cancel();
      },
    });
    const result = await hooks.runBefore("task:create", { title: "x" });
    expect(result).toEqual({ cancelled: true, cancelReason: "too short", cancelledBy: "one", data: { title: "x" } });
    expect(saw).toEqual([true, "too short"]);
    expect(records[0]).toMatchObject({ outcome: "cancelled" });
    expect(outcomes(records[0])).toEqual([
      ["one", "cancelled"],
      ["two", "passed"],
      ["three", "passed"],
    ]);
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("x");
      },
    ],
    ["rejects", () => Promise.reject(new Error("x"))],
  ])("take back what a handler changed that then %s", async (_how, fail) => {
    const { hooks } = setUp();
    hooks.register({
      hook: "task:create",
      phase: "before",
      handler(ctx) {
        ctx.data.title = "half done";
        ctx.data.tags?.push("half done");
        return fail();
      },
    });
    hooks.register({
      hook: "task:create",
      phase: "before",
      handler: (ctx) => void ctx.data.tags?.push(ctx.data.title),
    });
    expect((await hooks.runBefore("task:create", { title: "x", tags: [] })).data).toEqual({ title: "x", tags: ["x"] });
  });

  it("do not take a failure for a cancel, but keep a cancel that was said before it", async () => {
    const { hooks } = setUp();
    hooks.register({ hook: "task:create", phase: "before", handler: () => Promise.reject(new Error("x")) });
    expect((await hooks.runBefore("task:create", { title: "x" })).cancelled).toBe(false);
    hooks.register({
      hook: "task:create",
      phase: "before",
      handler(ctx) {
        ctx.cancel("no");
        throw new Error("and then this");
      },
    });
    expect(await hooks.runBefore("task:create", { title: "x" })).toMatchObject({ cancelled: true, cancelReason: "no" });
  });

  it("leave a late handler with an object that nobody sees, and without a say", async () => {
    const { hooks, clock } = setUp();
    const late = gate();
    const done = gate();
    hooks.register({
      hook: "task:create",
      phase: "before",
      async handler(ctx) {
        ctx.data.title = "early";
        await late.promise;
        ctx.data.title = "late";
        ctx.data.tags?.push("late");
        ctx.cancel("late");
        done.open();
      },
    });
    const run = hooks.runBefore("task:create", { title: "x", tags: [] });
    await clock.advance(5_010);
    const result = await run;
    late.open();
    await done.promise;
    expect(result).toEqual({ cancelled: false, data: { title: "x", tags: [] } });
  });

  it("reject at once when a fail-closed handler fails", async () => {
    const { hooks } = setUp();
    hooks.register({
      hook: "task:create",
      phase: "before",
      id: "guard",
      failurePolicy: "fail-closed",
      handler: () => Promise.reject(new Error("x")),
    });
    hooks.register({ hook: "task:create", phase: "before", handler: never });
    await expect(hooks.runBefore("task:create", { title: "x" })).rejects.toMatchObject({
      code: "HOOK_FAILED_CLOSED",
      id: "guard",
    });
  });

  it("give the data back when there is nobody", async () => {
    const { hooks } = setUp();
    const data = { title: "x" };
    expect(await hooks.runBefore("task:create", data)).toEqual({ cancelled: false, data });
  });
});

describe("after hooks", () => {
  it("cannot cancel or change anything, and their failures go to the log only", async () => {
    const { hooks, log } = setUp();
    const saw: string[] = [];
    hooks.register({
      hook: "task:create",
      phase: "after",
      id: "bad",
      failurePolicy: "fail-closed",
      handler: () => Promise.reject(new Error("x")),
    });
    hooks.register({
      hook: "task:create",
      phase: "after",
      handler(ctx) {
        ctx.cancel("no");
        saw.push(String(ctx.cancelled));
        ctx.data = { title: "replaced" };
        saw.push(ctx.data.title);
        ctx.data.title = "changed";
      },
    });
    hooks.register({ hook: "task:create", phase: "after", handler: (ctx) => void saw.push(ctx.data.title) });
    const data = { title: "x" };
    await expect(hooks.runAfter("task:create", data)).resolves.toBeUndefined();
    expect(saw).toEqual(["false", "x", "x"]);
    expect(data).toEqual({ title: "x" });
    expect(log.some(({ facts }) => facts.id === "bad")).toBe(true);
  });

  it("resolve when all have settled", async () => {
    const { hooks } = setUp();
    const slow = gate();
    hooks.register({ hook: "task:create", phase: "after", handler: () => slow.promise });
    let settled = false;
    const run = hooks.runAfter("task:create", { title: "x" }).then(() => {
      settled = true;
    });
    await Promise.resolve();
    expect(settled).toBe(false);
    slow.open();
    await run;
  });

  it("are not run by runBefore, nor the other way round", async () => {
    const { hooks } = setUp();
    const ran: string[] = [];
    hooks.register({ hook: "task:create", phase: "before", handler: (ctx) => void ran.push(ctx.phase) });
    hooks.register({ hook: "task:create", phase: "after", handler: (ctx) => void ran.push(ctx.phase) });
    await hooks.runBefore("task:create", { title: "x" });
    await hooks.runAfter("task:create", { title: "x" });
    expect(ran).toEqual(["before", "after"]);
  });
});

describe("runBeforeSync", () => {
  it("returns at once what the synchronous handlers made of the data", () => {
    const { hooks } = setUp();
    hooks.register({
      hook: "task:create",
      phase: "before",
      handler(ctx) {
        ctx.data.maxDuration = 5;
      },
    });
    hooks.register({ hook: "task:create", phase: "before", id: "no", handler: (ctx) => ctx.cancel("no") });
    expect(hooks.runBeforeSync("task:create", { title: "x" })).toEqual({
      cancelled: true,
      cancelReason: "no",
      cancelledBy: "no",
      data: { title: "x", maxDuration: 5 },
    });
  });

  it("does not start an async handler, and warns", () => {
    const { hooks, log, records } = setUp();
    let started = false;
    hooks.register({
      hook: "task:create",
      phase: "before",
      id: "async",
      async handler() {
        started = true;
      },
    });
    hooks.runBeforeSync("task:create", { title: "x" });
    expect(started).toBe(false);
    expect(log).toMatchObject([{ level: "warn", facts: { hook: "task:create", id: "async" } }]);
    expect(outcomes(records[0])).toEqual([["async", "skipped"]]);
  });

  it("ignores the promise of a plain function: no unhandled rejection, no cancel, no change afterwards", async () => {
    const { hooks, log } = setUp();
    const later = gate();
    hooks.register({
      hook: "task:create",
      phase: "before",
      handler(ctx) {
        ctx.data.title = "at once";
        return later.promise.then(() => {
          ctx.data.title = "afterwards";
          ctx.data.tags?.push("afterwards");
          ctx.cancel("afterwards");
          throw new Error("unhandled?");
        });
      },
    });
    const result = hooks.runBeforeSync("task:create", { title: "x", tags: [] });
    later.open();
    await new Promise((resolve) => setImmediate(resolve));
    expect(result).toEqual({ cancelled: false, data: { title: "at once", tags: [] } });
    expect(log.map(({ level }) => level)).toEqual(["warn", "warn", "debug"]);
    expect(log[1]?.message).toContain("it was called when the hook had ended. Nothing was cancelled.");
  });

  it("takes back the changes of a handler that throws, and throws for a fail-closed one", () => {
    const { hooks } = setUp();
    const thrower = (ctx: { data: { title: string } }) => {
      ctx.data.title = "half";
      throw new Error("x");
    };
    const remove = hooks.register({ hook: "task:create", phase: "before", handler: thrower });
    expect(hooks.runBeforeSync("task:create", { title: "x" })).toEqual({ cancelled: false, data: { title: "x" } });
    remove();
    hooks.register({ hook: "task:create", phase: "before", failurePolicy: "fail-closed", handler: thrower });
    expect(() => hooks.runBeforeSync("task:create", { title: "x" })).toThrow(/fail-closed/);
  });
});

describe("phases of a registration", () => {
  it("must be said, must exist, and beforeSync is told what to do instead", () => {
    const { hooks } = setUp();
    const handler = () => {};
    expect(() => hooks.register({ hook: "task:create", handler } as never)).toThrow(/expected before or after/);
    expect(() => hooks.register({ hook: "task:create", phase: "beforeSync" as never, handler })).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('phase "before"') }),
    );
    expect(() => hooks.register({ hook: "pre_agent_start", phase: "after", handler })).toThrow(/fires before only/);
    expect(() => hooks.register({ hook: "seen", phase: "before", handler } as never)).toThrow(/has no phases/);
  });
});
