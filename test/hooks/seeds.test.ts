/** Handlers as the published hook systems show them run unchanged. */
import { describe, expect, it } from "vitest";
import { HookRegistry } from "../../src/index.js";
import { points, setUp } from "./points.js";

describe("lifecycle handlers of the orchestrator", () => {
  it("validate, default and cancel as their examples do", async () => {
    const hooks = new HookRegistry({ points });
    const unsubscribe = hooks.register({
      hook: "task:create",
      phase: "before",
      priority: 50,
      name: "validate-task-title",
      handler(ctx) {
        if (ctx.data.title.length < 5) {
          ctx.cancel("Task title must be at least 5 characters");
        }
      },
    });
    hooks.register({
      hook: "task:create",
      phase: "before",
      priority: 100,
      name: "default-deadline",
      handler(ctx) {
        if (!ctx.data.maxDuration) {
          ctx.data.maxDuration = 30 * 60 * 1000;
        }
      },
    });
    const result = await hooks.runBefore("task:create", { title: "abc" });
    expect(result).toMatchObject({
      cancelled: true,
      cancelReason: "Task title must be at least 5 characters",
      cancelledBy: "validate-task-title",
      data: { maxDuration: 1_800_000 },
    });
    unsubscribe();
    expect((await hooks.runBefore("task:create", { title: "abc" })).cancelled).toBe(false);
    expect(hooks.size).toBe(1);
    expect(hooks.list()).toMatchObject([
      { hook: "task:create", phase: "before", priority: 100, name: "default-deadline" },
    ]);
    hooks.clear();
    expect(hooks.size).toBe(0);
  });

  it("have the context that they know", async () => {
    const { hooks, clock } = setUp();
    let context: object = {};
    hooks.register({
      hook: "task:create",
      phase: "after",
      handler(ctx) {
        context = {
          hook: ctx.hook,
          phase: ctx.phase,
          data: ctx.data,
          cancelled: ctx.cancelled,
          cancelReason: ctx.cancelReason,
          timestamp: ctx.timestamp,
        };
      },
    });
    await hooks.runAfter("task:create", { title: "x" });
    expect(context).toEqual({
      hook: "task:create",
      phase: "after",
      data: { title: "x" },
      cancelled: false,
      cancelReason: undefined,
      timestamp: new Date(clock.now()).toISOString(),
    });
  });
});

describe("handlers of the agent loop and the channel gateway", () => {
  it("observe, amend and claim with the calls they know", async () => {
    const hooks = new HookRegistry();
    const seen: string[] = [];
    const { message } = hooks.point("message_received").example as { message: never };
    const sent = hooks.point("message_sending").example as never;
    const cleanups = [
      hooks.registerVoid("message_received", async (payload) => void seen.push(payload.message.text), {
        pluginId: "plugin-a",
        failurePolicy: "fail-open",
      }),
      hooks.registerModifying(
        "message_sending",
        async (payload) => ({ message: { ...payload.message, text: payload.message.text.toUpperCase() } }),
        { pluginId: "plugin-a" },
      ),
      hooks.registerModifying("message_sending", async () => null),
      hooks.registerClaiming("inbound_claim", async () => ({ handled: false })),
      hooks.registerClaiming("inbound_claim", async () => ({ handled: true, reason: "mine" }), {
        pluginId: "plugin-a",
      }),
    ];
    await hooks.fireVoid("message_received", { message, access: "allowed" }, ["plugin-a"]);
    expect(seen).toEqual(["hello"]);
    expect(await hooks.fireModifying("message_sending", sent)).toEqual({ message: { text: "HELLO BACK" } });
    expect(await hooks.fireModifying("message_sending", sent, [])).toEqual({});
    expect(await hooks.fireClaiming("inbound_claim", { message, isAnswer: false })).toMatchObject({
      handled: true,
      reason: "mine",
    });
    expect(await hooks.fireClaiming("inbound_claim", { message, isAnswer: false }, [])).toEqual({ handled: false });
    hooks.unregisterPlugin("plugin-a");
    expect(hooks.size).toBe(2);
    for (const cleanup of cleanups) cleanup();
    expect(hooks.size).toBe(0);
  });
});
