import { describe, expect, it } from "vitest";
import type { Contribution, TurnOptions } from "../../src/index.js";
import { gate, never, outcomes, setUp } from "./points.js";

const request = { turnId: "t" };
const section = (text: string): Contribution => ({ kind: "prompt_section", text });
const audit = (message: string): Contribution => ({ kind: "audit", message });
const all: TurnOptions["capabilities"] = [
  "policy",
  "prompt_context",
  "prompt_section",
  "tool_bundle",
  "audit",
  "background_job",
  "noop",
];

describe("turn phases", () => {
  it("give contributions by priority, then id, with who made them", async () => {
    const { hooks } = setUp();
    hooks.registerTurn("turn.pre_policy", async () => [audit("b")], { id: "b", capabilities: all });
    hooks.registerTurn("turn.pre_policy", () => [audit("a"), { kind: "noop" }], { id: "a", capabilities: all });
    hooks.registerTurn("turn.pre_policy", () => [audit("z")], { id: "z", capabilities: all, priority: 1 });
    hooks.registerTurn("turn.pre_policy", () => null, { id: "nothing" });
    const { contributions, diagnostics, runs } = await hooks.runPhase("turn.pre_policy", request);
    expect(contributions.map(({ from, kind }) => [from, kind])).toEqual([
      ["z", "audit"],
      ["a", "audit"],
      ["a", "noop"],
      ["b", "audit"],
    ]);
    expect(diagnostics).toEqual([]);
    expect(runs.map(({ outcome }) => outcome)).toEqual(["passed", "passed", "passed", "passed"]);
  });

  it("run in dependency batches: a batch at once, the next when it has ended", async () => {
    const { hooks } = setUp();
    const events: string[] = [];
    const gates = { a: gate(), b: gate(), c: gate() };
    const handler = (id: "a" | "b" | "c") => async () => {
      events.push(`${id} starts`);
      await gates[id].promise;
      events.push(`${id} ends`);
      return [];
    };
    hooks.registerTurn("turn.pre_policy", handler("c"), { id: "c", priority: 1, after: ["a", "b"] });
    hooks.registerTurn("turn.pre_policy", handler("a"), { id: "a" });
    hooks.registerTurn("turn.pre_policy", handler("b"), { id: "b" });
    const phase = hooks.runPhase("turn.pre_policy", request);
    expect(events).toEqual(["a starts", "b starts"]);
    gates.b.open();
    gates.a.open();
    gates.c.open();
    await phase;
    expect(events.slice(2)).toEqual(["b ends", "a ends", "c starts", "c ends"]);
  });

  it("run no more at once than they may", async () => {
    const { hooks } = setUp();
    let running = 0;
    let most = 0;
    for (let i = 0; i < 9; i++)
      hooks.registerTurn("turn.pre_policy", async () => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setImmediate(resolve));
        running--;
        return [];
      });
    await hooks.runPhase("turn.pre_policy", request, { maxParallelism: 2 });
    expect(most).toBe(2);
  });

  it("drop a whole response with a kind that was not declared, or that is no contribution", async () => {
    const { hooks } = setUp();
    hooks.registerTurn("turn.pre_policy", () => [audit("fine"), section("not declared")], {
      id: "undeclared",
      capabilities: ["audit"],
    });
    hooks.registerTurn("turn.pre_policy", () => [{ kind: "nonsense" }] as never, { id: "nonsense", capabilities: all });
    hooks.registerTurn("turn.pre_policy", () => [audit("good")], { id: "silent" });
    const { contributions, runs, diagnostics } = await hooks.runPhase("turn.pre_policy", request);
    expect(contributions).toEqual([]);
    expect(runs.map(({ hookId, outcome }) => [hookId, outcome])).toEqual(
      [
        ["undeclared", "failed"],
        ["nonsense", "failed"],
        ["silent", "failed"],
      ].sort(),
    );
    expect(diagnostics[0]?.message).toMatch(/./);
  });

  it("cut by priority what is over the budget, never half a character, and say so", async () => {
    const { hooks } = setUp();
    hooks.registerTurn("turn.pre_policy", () => [section("second 😀😀")], { id: "b", priority: 2, capabilities: all });
    hooks.registerTurn("turn.pre_policy", () => [section("first")], { id: "a", priority: 1, capabilities: all });
    hooks.registerTurn("turn.pre_policy", () => [section("third"), audit("costs nothing")], {
      id: "c",
      priority: 3,
      capabilities: all,
    });
    const { contributions, diagnostics } = await hooks.runPhase("turn.pre_policy", request, {
      budget: { characters: 5 + 8 },
    });
    expect(contributions.map((one) => (one.kind === "prompt_section" ? one.text : one.kind))).toEqual([
      "first",
      "second ",
      "audit",
    ]);
    expect(diagnostics.map(({ code, hookId }) => [code, hookId])).toEqual([
      ["truncated", "b"],
      ["truncated", "c"],
    ]);
  });

  it("cut entries, for the phase and for a hook of its own budget", async () => {
    const { hooks } = setUp();
    const entries = (count: number): Contribution => ({
      kind: "prompt_context",
      set: "memory",
      entries: Array.from({ length: count }, (_, i) => ({ text: `e${i}` })),
    });
    hooks.registerTurn("turn.pre_policy", () => [entries(5)], { id: "a", capabilities: all, budget: { entries: 2 } });
    hooks.registerTurn("turn.pre_policy", () => [entries(5)], { id: "b", capabilities: all });
    const { contributions, diagnostics } = await hooks.runPhase("turn.pre_policy", request, { budget: { entries: 4 } });
    expect(contributions.map((one) => (one.kind === "prompt_context" ? one.entries.length : 0))).toEqual([2, 2]);
    expect(diagnostics).toHaveLength(2);
  });

  it("count a disabled dependency as satisfied, and say so", async () => {
    const { hooks } = setUp();
    hooks.registerTurn("turn.pre_policy", () => [], { id: "memory", enabled: false });
    hooks.registerTurn("turn.pre_policy", () => [audit("ran")], { id: "recall", after: ["memory"], capabilities: all });
    const { contributions, diagnostics } = await hooks.runPhase("turn.pre_policy", request);
    expect(contributions).toHaveLength(1);
    expect(diagnostics).toMatchObject([{ code: "dependency_disabled", hookId: "recall" }]);
    expect(hooks.validate()).toEqual([]);
  });
});

describe("failure policies of a phase", () => {
  const failing = (options: TurnOptions) => {
    const made = setUp();
    const ran: string[] = [];
    made.hooks.registerTurn("turn.pre_policy", () => Promise.reject(new Error("x")), {
      id: "bad",
      capabilities: all,
      ...options,
    });
    made.hooks.registerTurn(
      "turn.pre_policy",
      () => {
        ran.push("dependent");
        return [audit("dependent")];
      },
      { id: "dependent", after: ["bad"], capabilities: all },
    );
    return { ...made, ran };
  };

  it("best-effort, the default, goes on and tells the dependents", async () => {
    const { hooks } = failing({});
    const { contributions, diagnostics } = await hooks.runPhase("turn.pre_policy", request);
    expect(contributions.map(({ from }) => from)).toEqual(["dependent"]);
    expect(diagnostics.map(({ code, hookId }) => [code, hookId])).toEqual([
      ["failed", "bad"],
      ["dependency_failed", "dependent"],
    ]);
  });

  it("skip goes on as if it had not been subscribed", async () => {
    const { hooks } = failing({ failurePolicy: "skip" });
    const { contributions, diagnostics } = await hooks.runPhase("turn.pre_policy", request);
    expect(contributions.map(({ from }) => from)).toEqual(["dependent"]);
    expect(diagnostics).toEqual([]);
  });

  it("fallback contributes what stands in", async () => {
    const { hooks } = failing({ failurePolicy: "fallback", fallback: [audit("instead")] });
    const { contributions, diagnostics } = await hooks.runPhase("turn.pre_policy", request);
    expect(contributions.map(({ from }) => from)).toEqual(["bad", "dependent"]);
    expect(diagnostics.map(({ code }) => code)).toContain("fallback");
  });

  it.each(["required", "fail-closed"] as const)(
    "%s stops the phase: later batches do not start",
    async (failurePolicy) => {
      const { hooks, ran, records } = failing({ failurePolicy });
      await expect(hooks.runPhase("turn.pre_policy", request)).rejects.toMatchObject({
        code: "HOOK_FAILED_CLOSED",
        id: "bad",
      });
      expect(ran).toEqual([]);
      expect(records[0]?.outcome).toBe("failed");
    },
  );

  it("abandons what still runs when a required hook fails", async () => {
    const { hooks } = setUp();
    let signal: AbortSignal | undefined;
    hooks.registerTurn("turn.pre_policy", (_request, context) => {
      signal = context.signal;
      return never();
    });
    hooks.registerTurn("turn.pre_policy", () => Promise.reject(new Error("x")), {
      id: "required",
      failurePolicy: "required",
    });
    await expect(hooks.runPhase("turn.pre_policy", request)).rejects.toMatchObject({ id: "required" });
    expect(signal?.aborted).toBe(true);
  });

  it("holds for a deadline as for an error", async () => {
    const { hooks, clock } = setUp();
    hooks.registerTurn("turn.pre_policy", never, {
      id: "slow",
      execution: "deadline",
      timeoutMs: 200,
      failurePolicy: "required",
    });
    const rejected = expect(hooks.runPhase("turn.pre_policy", request)).rejects.toMatchObject({ id: "slow" });
    await clock.advance(250);
    await rejected;
  });

  it("goes on after a deadline under best-effort, without the late contributions", async () => {
    const { hooks, clock } = setUp();
    const late = gate<Contribution[]>();
    hooks.registerTurn("turn.pre_policy", () => late.promise, { id: "slow", timeoutMs: 200, capabilities: all });
    const phase = hooks.runPhase("turn.pre_policy", request);
    await clock.advance(250);
    const { contributions, runs } = await phase;
    late.open([audit("late")]);
    await clock.advance(10);
    expect(contributions).toEqual([]);
    expect(runs).toMatchObject([{ outcome: "timed_out" }]);
  });

  it("lets a detached hook run beside the phase", async () => {
    const { hooks, records } = setUp();
    const slow = gate<Contribution[]>();
    hooks.registerTurn("turn.pre_policy", () => slow.promise, {
      id: "slow",
      execution: "fire_and_record",
      failurePolicy: "required",
    });
    expect((await hooks.runPhase("turn.pre_policy", request)).contributions).toEqual([]);
    expect(records).toEqual([]);
    slow.fail(new Error("x"));
    await new Promise((resolve) => setImmediate(resolve));
    expect(outcomes(records[0])).toEqual([["slow", "failed"]]);
  });

  it("stops when the caller gives up", async () => {
    const { hooks } = setUp();
    hooks.registerTurn("turn.pre_policy", never);
    const caller = new AbortController();
    const phase = hooks.runPhase("turn.pre_policy", request, { signal: caller.signal });
    caller.abort(new Error("the person left"));
    await expect(phase).rejects.toThrow("the person left");
  });
});
