import { describe, expect, it } from "vitest";
import { z } from "zod";
import { definePoint, HookRegistry, UnknownHookError } from "../../src/index.js";
import { gate, outcomes, points, seen, sending, setUp } from "./points.js";

const thing = definePoint({
  name: "plugin:p:thing",
  model: "void",
  payload: z.object({ n: z.number() }),
  summary: "A thing.",
  example: { n: 1 },
});

describe("names", () => {
  it("that are unknown throw when registering and when firing, with the nearest that is known", () => {
    const { hooks } = setUp();
    const unknown = expect.objectContaining({
      code: "HOOK_UNKNOWN",
      hook: "sendng",
      suggestion: "sending",
      message: expect.stringContaining('Did you mean "sending"?'),
    });
    expect(() => hooks.registerModifying("sendng" as never, () => null)).toThrow(unknown);
    expect(() => hooks.register({ hook: "sendng" as never, handler: () => {} } as never)).toThrow(unknown);
    expect(() => hooks.fireModifying("sendng" as never, {} as never)).toThrow(unknown);
    expect(() => hooks.point("sendng")).toThrow(UnknownHookError);
    expect(() => hooks.fireVoid("zzzzzzzzzzzz" as never, {} as never)).toThrow(
      /There is no hook point "zzzzzzzzzzzz"\.$/,
    );
    expect(() => hooks.fireVoid("__proto__" as never, {} as never)).toThrow(UnknownHookError);
  });

  it("of another model throw, and say what to use", () => {
    const { hooks } = setUp();
    expect(() => hooks.registerVoid("sending" as never, () => {})).toThrow(/is a modifying point.*registerModifying/);
    expect(() => hooks.fireClaiming("seen" as never, {} as never)).toThrow(/is a void point.*fireVoid/);
    expect(() => hooks.runPhase("task:create" as never, {} as never)).toThrow(/runBefore or runAfter/);
  });

  it("that are aliases resolve to the canonical name, and to its phase", async () => {
    const { hooks } = setUp();
    const ran: string[] = [];
    hooks.registerModifying("pre_tool_call", ({ toolName }, { hook }) => void ran.push(hook, toolName) as undefined);
    hooks.register({ hook: "task.created", handler: (ctx) => void ran.push(ctx.hook, ctx.phase) });
    expect(hooks.list().map(({ hook, phase }) => [hook, phase])).toEqual([
      ["before_tool_call", undefined],
      ["task:create", "after"],
    ]);
    await hooks.fireModifying("before_tool_call", { toolName: "a" });
    await hooks.fireModifying("pre_tool_call", { toolName: "b" });
    await hooks.runBefore("task:create", { title: "x" });
    await hooks.runAfter("task.created", { title: "x" });
    expect(ran).toEqual(["before_tool_call", "a", "before_tool_call", "b", "task:create", "after"]);
    expect(() => hooks.register({ hook: "task.failed", handler: () => {} } as never)).toThrow(UnknownHookError);
  });
});

describe("registrations", () => {
  it("are removed by the function they return, once and only themselves", async () => {
    const { hooks } = setUp();
    const ran: string[] = [];
    const handler = () => void ran.push("x");
    const remove = hooks.registerVoid("seen", handler);
    hooks.registerVoid("seen", handler);
    expect(hooks.size).toBe(2);
    remove();
    remove();
    expect(hooks.size).toBe(1);
    await hooks.fireVoid("seen", seen());
    expect(ran).toEqual(["x"]);
  });

  it("get an id from their name, or from the point, that is theirs alone", () => {
    const { hooks } = setUp();
    hooks.registerVoid("seen", () => {}, { name: "log" });
    hooks.registerVoid("seen", () => {}, { name: "log" });
    hooks.registerVoid("seen", () => {}, { id: "log-3" });
    hooks.registerVoid("seen", () => {}, { name: "log" });
    hooks.registerVoid("seen", () => {});
    expect(hooks.list().map(({ id }) => id)).toEqual(["log", "log-2", "log-3", "log-4", "seen-1"]);
    expect(() => hooks.registerVoid("seen", () => {}, { id: "log" })).toThrow(
      expect.objectContaining({ code: "HOOK_ID_TAKEN" }),
    );
  });

  it("of one plugin replace those of the same id: a plugin loaded twice is there once", async () => {
    const { hooks } = setUp();
    const ran: string[] = [];
    const load = (version: string) =>
      hooks.registerVoid("seen", () => void ran.push(version), { id: "p.log", pluginId: "p" });
    const removeFirst = load("one");
    load("two");
    removeFirst();
    expect(hooks.size).toBe(1);
    await hooks.fireVoid("seen", seen());
    expect(ran).toEqual(["two"]);
    expect(() => hooks.registerVoid("seen", () => {}, { id: "p.log", pluginId: "q" })).toThrow(/already/);
  });

  it.each([
    [{ execution: "sometimes" }, /execution: expected blocking/],
    [{ failurePolicy: "maybe" }, /failurePolicy: expected/],
    [{ sees: "merged" }, /sees/],
    [{ capabilities: ["audit"] }, /capabilities: only turn/],
    [{ after: "a" }, /after: expected a list/],
    [{ id: "a", after: ["a"] }, /itself/],
    [{ failurePolicy: "fallback", fallback: {} }, /no result for a fallback/],
  ])("with the option %o are refused", (options, message) => {
    const { hooks } = setUp();
    expect(() => hooks.registerVoid("seen", () => {}, options as never)).toThrow(message);
  });

  it("without a function are refused", () => {
    const { hooks } = setUp();
    expect(() => hooks.registerVoid("seen", "handler" as never)).toThrow(/expected a function, got string/);
  });

  it("can be listed, looked up, switched off and on, and cleared", async () => {
    const { hooks } = setUp();
    let ran = 0;
    hooks.registerVoid("seen", () => void ran++, {
      id: "a",
      name: "A",
      pluginId: "p",
      priority: 7,
      critical: true,
      visibility: "user_audit",
    });
    expect(hooks.list()).toEqual([hooks.get("a")]);
    expect(hooks.get("a")).toMatchObject({
      id: "a",
      hook: "seen",
      model: "void",
      priority: 7,
      name: "A",
      pluginId: "p",
      enabled: true,
      critical: true,
      execution: "blocking",
      failurePolicy: "fail-open",
      timeoutMs: 30_000,
      visibility: "user_audit",
    });
    expect(hooks.get("b")).toBeUndefined();
    expect(hooks.setEnabled("b", false)).toBe(false);
    expect(hooks.setEnabled("a", false)).toBe(true);
    await hooks.fireVoid("seen", seen());
    expect([ran, hooks.get("a")?.enabled, hooks.size]).toEqual([0, false, 1]);
    hooks.setEnabled("a", true);
    await hooks.fireVoid("seen", seen());
    expect(ran).toBe(1);
    hooks.clear();
    expect([hooks.size, hooks.list()]).toEqual([0, []]);
  });
});

describe("changes during a dispatch", () => {
  it("keep a handler from running that was removed or disabled before its turn", async () => {
    const { hooks, records } = setUp();
    const ran: string[] = [];
    hooks.registerModifying(
      "sending",
      async () => {
        removeNeighbour();
        hooks.setEnabled("disabled", false);
        ran.push("first");
        return null;
      },
      { id: "first" },
    );
    const removeNeighbour = hooks.registerModifying("sending", () => void ran.push("removed") as undefined, {
      id: "removed",
    });
    hooks.registerModifying("sending", () => void ran.push("disabled") as undefined, { id: "disabled" });
    hooks.registerModifying("sending", () => void ran.push("last") as undefined, { id: "last" });
    await hooks.fireModifying("sending", sending());
    expect(ran).toEqual(["first", "last"]);
    expect(outcomes(records[0])).toEqual([
      ["first", "passed"],
      ["removed", "skipped"],
      ["disabled", "skipped"],
      ["last", "passed"],
    ]);
  });

  it("keep a void handler from starting that its neighbour removed", async () => {
    const { hooks } = setUp();
    const ran: string[] = [];
    hooks.registerVoid("seen", () => {
      ran.push("first");
      remove();
    });
    const remove = hooks.registerVoid("seen", () => void ran.push("second"));
    hooks.registerVoid("seen", () => void ran.push("third"));
    await hooks.fireVoid("seen", seen());
    expect(ran).toEqual(["first", "third"]);
  });

  it("let a handler that removes itself end, and run a new one from the next dispatch on", async () => {
    const { hooks } = setUp();
    const ran: string[] = [];
    const remove = hooks.registerVoid("seen", async () => {
      remove();
      hooks.registerVoid("seen", () => void ran.push("new"));
      await Promise.resolve();
      ran.push("old");
    });
    await hooks.fireVoid("seen", seen());
    expect(ran).toEqual(["old"]);
    await hooks.fireVoid("seen", seen());
    expect(ran).toEqual(["old", "new"]);
  });

  it("do not touch dispatches that began before", async () => {
    const { hooks } = setUp();
    const ran: string[] = [];
    const wait = gate();
    hooks.registerModifying("sending", async () => {
      await wait.promise;
      return null;
    });
    hooks.registerModifying("sending", () => void ran.push("old") as undefined);
    const fired = hooks.fireModifying("sending", sending());
    hooks.registerModifying("sending", () => void ran.push("new") as undefined, { priority: 1 });
    wait.open();
    await fired;
    expect(ran).toEqual(["old"]);
  });
});

describe("plugin filters", () => {
  const register = () => {
    const made = setUp();
    const ran: string[] = [];
    for (const pluginId of [undefined, "a", "b"]) {
      const options = pluginId === undefined ? {} : { pluginId };
      const note = () => void ran.push(pluginId ?? "built in");
      made.hooks.registerVoid("seen", note, options);
      made.hooks.registerModifying("sending", () => void note() as undefined, options);
      made.hooks.registerClaiming("claim", () => void note() as undefined, options);
      made.hooks.registerTurn("turn.pre_policy", () => void note() as undefined, options);
      made.hooks.register({ hook: "task:create", phase: "before", handler: note, ...options });
      made.hooks.register({ hook: "task:create", phase: "after", handler: note, ...options });
    }
    return { ...made, ran };
  };

  it.each([
    [undefined, ["built in", "a", "b"]],
    [[], ["built in"]],
    [["a"], ["built in", "a"]],
    [
      ["a", "b", "c"],
      ["built in", "a", "b"],
    ],
  ])("%o let %o run, in every model", async (allowed, expected) => {
    const { hooks, ran } = register();
    const options = allowed === undefined ? {} : { allowedPlugins: allowed };
    const fires = [
      () => hooks.fireVoid("seen", seen(), allowed),
      () => hooks.fireVoid("seen", seen(), undefined, options),
      () => hooks.fireModifying("sending", sending(), allowed),
      () => hooks.fireClaiming("claim", sending(), allowed),
      () => hooks.runBefore("task:create", { title: "x" }, options),
      () => hooks.runAfter("task:create", { title: "x" }, options),
      async () => hooks.runBeforeSync("task:create", { title: "x" }, options),
      async () => hooks.runPhase("turn.pre_policy", { turnId: "t" }, options),
      () => hooks.dispatch("claim", sending(), options),
    ];
    for (const fire of fires) {
      ran.length = 0;
      await fire();
      expect([...ran].sort()).toEqual([...expected].sort());
    }
  });

  it("unregisterPlugin removes a plugin from all models", async () => {
    const { hooks } = register();
    hooks.unregisterPlugin("a");
    expect(hooks.size).toBe(12);
    expect(hooks.list().some(({ pluginId }) => pluginId === "a")).toBe(false);
  });
});

describe("points", () => {
  it("are the product's by default, a given list instead, and more by declare", async () => {
    expect(new HookRegistry().points.map(({ name }) => name)).toContain("message_sending");
    const hooks = new HookRegistry({ points }).declare(thing);
    expect(hooks.points.map(({ name }) => name)).toEqual([...points.map(({ name }) => name), "plugin:p:thing"]);
    let got = 0;
    hooks.registerVoid("plugin:p:thing", ({ n }) => {
      got = n;
    });
    await hooks.fireVoid("plugin:p:thing", { n: 3 });
    expect(got).toBe(3);
  });

  it("can be declared again by a plugin that is loaded again, but not as another model under its handlers", () => {
    const { hooks } = setUp();
    hooks.declare(thing);
    hooks.declare({ ...thing });
    hooks.registerVoid("plugin:p:thing", () => {});
    hooks.declare({ ...thing, summary: "The same, said better." });
    expect(hooks.point("plugin:p:thing").summary).toBe("The same, said better.");
    expect(() => hooks.declare({ ...thing, model: "turn" })).toThrow(
      expect.objectContaining({ code: "HOOK_POINT_TAKEN" }),
    );
  });

  it("are refused when their declaration is wrong", () => {
    const good = {
      name: "x",
      model: "void",
      payload: z.object({ n: z.number() }),
      summary: "X.",
      example: { n: 1 },
    } as const;
    expect(() => definePoint({ ...good, example: { n: "1" } as never })).toThrow(/example is not a payload: n/);
    expect(() => definePoint({ ...good, name: "No Name" })).toThrow(/a name is/);
    expect(() => definePoint({ ...good, model: "modifying" })).toThrow(/needs a result/);
    expect(() => definePoint({ ...good, result: z.object({}) })).toThrow(/has no result/);
    expect(() => definePoint({ ...good, phases: ["before"] })).toThrow(/only lifecycle/);
  });

  it("of the catalogue are all as definePoint wants them, though a start does not look", () => {
    const { points } = new HookRegistry();
    expect(points.length).toBeGreaterThan(20);
    for (const { name, model, payload, result, phases, summary, example } of points)
      definePoint({
        ...{ name, model, payload, summary, example },
        result,
        phases: model === "lifecycle" ? phases : undefined,
      });
  });

  it("of the catalogue can all be fired with their examples", async () => {
    const hooks = new HookRegistry();
    for (const { name, example } of hooks.points) {
      const record = await hooks.dispatch(name, example);
      expect([record.point, record.runs]).toEqual([name, []]);
    }
  });

  it("a retired hook makes room for another of its id, and is still called by a dispatch that is under way", async () => {
    const { hooks } = setUp();
    const first = gate();
    const called: string[] = [];
    hooks.registerModifying("sending", () => first.promise.then(() => null), { id: "slow" });
    const unregister = hooks.registerModifying("sending", () => void called.push("old") as undefined, { id: "guard" });
    const underWay = hooks.fireModifying("sending", sending());
    expect(hooks.retire("guard")).toBe(true);
    hooks.registerModifying("sending", () => void called.push("new") as undefined, { id: "guard" });
    first.open();
    await underWay;
    expect(called).toEqual(["old"]);
    await hooks.fireModifying("sending", sending());
    expect(called).toEqual(["old", "new"]);
    unregister();
    expect(hooks.list().map(({ id }) => id)).toEqual(["slow", "guard"]);
    expect(hooks.retire("nobody")).toBe(false);
  });
});
