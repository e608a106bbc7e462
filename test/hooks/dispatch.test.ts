import { describe, expect, it } from "vitest";
import type { BackgroundPort } from "../../src/hooks/background.js";
import type { DispatchRecord, InboundMessage, RunRecord } from "../../src/index.js";
import { HookRegistry, immutable, inDryRun } from "../../src/index.js";
import { gate, never, outcomes, points, seen, sending, setUp } from "./points.js";

describe("a caller who gives up", () => {
  it("is answered at once; the handler under way is abandoned, nobody runs after it", async () => {
    const { hooks, records } = setUp();
    const caller = new AbortController();
    let signal: AbortSignal | undefined;
    hooks.registerModifying("sending", (_payload, context) => {
      signal = context.signal;
      return never();
    });
    let ran = false;
    hooks.registerModifying("sending", () => {
      ran = true;
      return null;
    });
    const fired = hooks.fireModifying("sending", sending(), undefined, { signal: caller.signal });
    caller.abort(new Error("the person left"));
    await expect(fired).rejects.toThrow("the person left");
    expect(signal?.reason).toMatchObject({ message: "the person left" });
    expect(ran).toBe(false);
    expect(records.map(outcomes)).toEqual([[["sending-1", "timed_out"]]]);
  });

  it.each([
    { what: "returns", handler: () => null },
    { what: "has to be waited for", handler: never },
  ])("may do so inside a handler that $what: each run is recorded once", async ({ handler }) => {
    for (const before of [[], [async () => null]]) {
      const { hooks, records } = setUp();
      const caller = new AbortController();
      let ran = false;
      for (const earlier of before) hooks.registerModifying("sending", earlier);
      hooks.registerModifying("sending", () => {
        caller.abort(new Error("the person left"));
        return handler();
      });
      hooks.registerModifying("sending", () => {
        ran = true;
        return null;
      });
      await expect(hooks.fireModifying("sending", sending(), undefined, { signal: caller.signal })).rejects.toThrow(
        "the person left",
      );
      expect(ran).toBe(false);
      expect(records.map((record) => record.runs.length)).toEqual([before.length + 1]);
    }
  });

  it("is answered too when a handler of a parallel point gives up for it while all are started", async () => {
    const { hooks } = setUp();
    const caller = new AbortController();
    hooks.registerVoid("seen", () => {
      caller.abort(new Error("the person left"));
      return never();
    });
    await expect(hooks.fireVoid("seen", seen(), undefined, { signal: caller.signal })).rejects.toThrow(
      "the person left",
    );
  });
});

describe("the journal", () => {
  it("gets dispatch, runs, cause, ids and what the caller said about it", async () => {
    const { hooks, records, clock } = setUp();
    hooks.registerModifying("sending", async () => ({ text: "x" }), { id: "a", pluginId: "p" });
    await hooks.fireModifying("sending", sending(), undefined, {
      dispatchId: "m7:sending",
      attempt: 2,
      cause: { kind: "reply", id: "m7", depth: 1 },
      conversation: "web:web:lobby",
      messageId: "42",
    });
    expect(records).toEqual([
      {
        id: "m7:sending",
        point: "sending",
        model: "modifying",
        at: clock.now(),
        latencyMs: 0,
        payload: sending(),
        cause: { kind: "reply", id: "m7", depth: 1 },
        attempt: 2,
        dryRun: false,
        outcome: "modified",
        result: { text: "x" },
        provenance: { text: "a" },
        conversation: "web:web:lobby",
        messageId: "42",
        runs: [
          {
            id: "m7:sending/1",
            hookId: "a",
            pluginId: "p",
            position: 1,
            outcome: "modified",
            latencyMs: 0,
            attempt: 2,
            diff: { text: "x" },
          },
        ],
      },
    ]);
  });

  it("is not told of dispatches without handlers, unless the caller wants it", async () => {
    const { hooks, records } = setUp();
    await hooks.fireVoid("seen", seen());
    expect(records).toEqual([]);
    await hooks.fireVoid("seen", seen(), undefined, { recordEmpty: true });
    expect(records).toMatchObject([{ point: "seen", runs: [] }]);
  });

  it("never gets a platform's raw payload", async () => {
    const records: unknown[] = [];
    const hooks = new HookRegistry({ journal: { record: (dispatch) => void records.push(dispatch.payload) } });
    let raw: unknown;
    hooks.registerVoid("message_received", ({ message }) => {
      raw = message.raw;
    });
    const example = hooks.point("message_received").example as { message: object; access: "allowed" };
    await hooks.fireVoid("message_received", {
      ...example,
      message: { ...example.message, raw: { token: "secret" } } as never,
    });
    expect(raw).toEqual({ token: "secret" });
    expect(records).toEqual([example]);
  });

  it("gets the message as it is, and no copy, when it leaves the raw payload out by itself", async () => {
    const records: unknown[] = [];
    const record = (dispatch: DispatchRecord) => void records.push(dispatch.payload);
    const hooks = new HookRegistry({ journal: { leavesOutRaw: true, record } });
    hooks.registerVoid("message_received", () => {});
    const { message } = hooks.point("message_received").example as { message: InboundMessage };
    const received = immutable({ ...message, raw: { token: "secret" } });
    await hooks.fireVoid("message_received", { message: received, access: "allowed" });
    expect((records[0] as { message: unknown }).message).toBe(received);
    const told = await hooks.dispatch("message_received", { message: received, access: "allowed" });
    expect(told.payload).toEqual({ message, access: "allowed" });
  });

  it("gets what handlers said and did, and not what they do to it afterwards", async () => {
    const { hooks, records } = setUp();
    const mine = { text: "x", tags: ["a"] };
    hooks.registerModifying("sending", () => ({ message: mine }));
    const result = await hooks.fireModifying("sending", sending());
    result.message?.tags.push("by the caller");
    mine.tags.push("by the handler");
    expect(records[0]?.result).toEqual({ message: { text: "x", tags: ["a"] } });
  });
});

describe("the context of a handler", () => {
  it("says what runs, where and since when, by destructuring too", async () => {
    const { hooks, clock } = setUp();
    const at = new Date(clock.now()).toISOString();
    let got: unknown;
    hooks.registerVoid(
      "seen",
      (_payload, { hook, id, runId, dispatchId, timestamp, attempt, dryRun, signal, logger }) => {
        got = { hook, id, runId, dispatchId, timestamp, attempt, dryRun, aborted: signal.aborted };
        logger.info({});
      },
      { id: "a" },
    );
    await hooks.fireVoid("seen", seen(), undefined, { dispatchId: "d" });
    expect(got).toEqual({
      hook: "seen",
      id: "a",
      runId: "d/1",
      dispatchId: "d",
      timestamp: at,
      attempt: 1,
      dryRun: false,
      aborted: false,
    });
  });
});

describe("loops", () => {
  const tooDeep = { cause: { kind: "hook", id: "x", depth: 9 } } as const;

  it("are refused where hooks decide, so that nothing by-passes them", async () => {
    const { hooks } = setUp();
    hooks.registerModifying("sending", () => null);
    hooks.registerClaiming("claim", () => null);
    hooks.register({ hook: "task:create", phase: "before", handler: () => {} });
    hooks.registerTurn("turn.pre_policy", () => []);
    const loop = { code: "HOOK_LOOP" };
    await expect(hooks.fireModifying("sending", sending(), undefined, tooDeep)).rejects.toMatchObject(loop);
    await expect(hooks.fireClaiming("claim", sending(), undefined, tooDeep)).rejects.toMatchObject(loop);
    await expect(hooks.runBefore("task:create", { title: "x" }, tooDeep)).rejects.toMatchObject(loop);
    await expect(hooks.runPhase("turn.pre_policy", { turnId: "t" }, tooDeep)).rejects.toMatchObject(loop);
    await expect(hooks.dispatch("sending", sending(), tooDeep)).rejects.toMatchObject(loop);
    expect(() => hooks.runBeforeSync("task:create", { title: "x" }, tooDeep)).toThrow(expect.objectContaining(loop));
  });

  it("are on record, and in the history that is kept, at every kind of point", async () => {
    const refused: unknown[] = [];
    const background: BackgroundPort = {
      serve: () => {},
      record: () => {},
      refuse: ({ hookId, phase }, { by, isStored }) => void refused.push([hookId, phase, by, isStored]),
    };
    const { hooks, records } = setUp({ background });
    hooks.registerModifying("sending", () => null, { id: "m" });
    hooks.registerModifying("sending", () => null, { id: "elsewhere", match: { platforms: ["discord"] } });
    hooks.registerClaiming("claim", () => null, { id: "c" });
    hooks.register({ hook: "task:create", phase: "before", id: "b", handler: () => {} });
    hooks.registerTurn("turn.pre_policy", () => [], { id: "t" });
    hooks.registerVoid("seen", () => {}, { id: "v", execution: "background" });
    await hooks.fireModifying("sending", sending(), undefined, tooDeep).catch(() => {});
    await hooks.fireClaiming("claim", sending(), undefined, tooDeep).catch(() => {});
    await hooks.runBefore("task:create", { title: "x" }, tooDeep).catch(() => {});
    await hooks.runPhase("turn.pre_policy", { turnId: "t" }, tooDeep).catch(() => {});
    await hooks.fireVoid("seen", seen(), undefined, tooDeep);
    await hooks.fireModifying("sending", sending(), undefined, { ...tooDeep, dryRun: true }).catch(() => {});
    expect(refused).toEqual([
      ["m", undefined, "loop", false],
      ["c", undefined, "loop", false],
      ["b", "before", "loop", false],
      ["t", undefined, "loop", false],
      ["v", undefined, "loop", true],
    ]);
    expect(records.slice(1, 5).map(outcomes)).toEqual([["c"], ["b"], ["t"], ["v"]].map(([id]) => [[id, "skipped"]]));
  });

  it("are cut where hooks only look on, and said in the log", async () => {
    const { hooks, log } = setUp();
    let ran = 0;
    hooks.registerVoid("seen", () => void ran++);
    await hooks.fireVoid("seen", seen(), undefined, tooDeep);
    await hooks.fireVoid("seen", seen(), undefined, { cause: { kind: "hook", id: "x", depth: 8 } });
    expect(ran).toBe(1);
    expect(log.map(({ level }) => level)).toEqual(["warn"]);
  });
});

describe("dispatch", () => {
  it("fires any point by name and gives the whole record", async () => {
    const { hooks } = setUp();
    hooks.registerVoid("seen", () => {}, { id: "v" });
    hooks.registerClaiming("claim", () => ({ handled: true }), { id: "c" });
    hooks.register({ hook: "task:create", phase: "before", id: "b", handler: (ctx) => ctx.cancel("no") });
    hooks.register({ hook: "task:create", phase: "after", id: "a", handler: () => {} });
    hooks.registerTurn("turn.pre_policy", () => [], { id: "t" });
    expect(outcomes(await hooks.dispatch("seen", seen()))).toEqual([["v", "passed"]]);
    expect((await hooks.dispatch("claim", sending())).result).toEqual({ handled: true, claimedBy: "c" });
    expect(await hooks.dispatch("task:create", { title: "x" })).toMatchObject({
      phase: "before",
      outcome: "cancelled",
    });
    expect(outcomes(await hooks.dispatch("task:create", { title: "x" }, { phase: "after" }))).toEqual([
      ["a", "passed"],
    ]);
    expect(outcomes(await hooks.dispatch("task.created", { title: "x" }))).toEqual([["a", "passed"]]);
    expect(outcomes(await hooks.dispatch("turn.pre_policy", { turnId: "t" }))).toEqual([["t", "passed"]]);
  });

  it("gives the record also when a fail-closed hook failed", async () => {
    const { hooks } = setUp();
    hooks.registerVoid("seen", () => Promise.reject(new Error("x")), { id: "a", failurePolicy: "fail-closed" });
    hooks.registerTurn("turn.pre_policy", () => Promise.reject(new Error("x")), { id: "t", failurePolicy: "required" });
    expect(await hooks.dispatch("seen", seen())).toMatchObject({
      outcome: "failed",
      runs: [{ hookId: "a", outcome: "failed", error: "x" }],
    });
    expect(await hooks.dispatch("turn.pre_policy", { turnId: "t" })).toMatchObject({ outcome: "failed" });
  });

  it("refuses what is no payload, and says what is wrong with it", async () => {
    const { hooks } = setUp();
    await expect(hooks.dispatch("seen", { n: "1" })).rejects.toMatchObject({
      code: "HOOK_PAYLOAD_INVALID",
      message: expect.stringContaining("message:"),
    });
  });

  it("runs one hook only when asked to, whatever the model", async () => {
    const { hooks } = setUp();
    hooks.registerVoid("seen", () => {}, { id: "a" });
    hooks.registerVoid("seen", () => {}, { id: "b" });
    expect(outcomes(await hooks.dispatch("seen", seen(), { only: "b" }))).toEqual([["b", "passed"]]);
  });

  it("tells of each run as it ends", async () => {
    const { hooks } = setUp();
    const slow = gate();
    hooks.registerVoid("seen", () => slow.promise, { id: "slow" });
    hooks.registerVoid("seen", () => {}, { id: "quick" });
    const told: RunRecord[] = [];
    const dispatch = hooks.dispatch("seen", seen(), { onRun: (run) => void told.push(run) });
    await new Promise((resolve) => setImmediate(resolve));
    expect(told.map(({ hookId }) => hookId)).toEqual(["quick"]);
    slow.open();
    await dispatch;
    expect(told.map(({ hookId }) => hookId)).toEqual(["quick", "slow"]);
  });
});

describe("dry runs", () => {
  it("are seen by the handlers and by everything they call, however late, and by nobody else", async () => {
    const { hooks, records } = setUp();
    const saw: [string, boolean][] = [];
    const left = gate();
    hooks.registerVoid("seen", async (_payload, { dryRun }) => {
      saw.push(["context", dryRun], ["at once", inDryRun()]);
      await new Promise((resolve) => setImmediate(resolve));
      saw.push(["later", inDryRun()]);
      setTimeout(() => {
        saw.push(["left behind", inDryRun()]);
        left.open();
      }, 5);
    });
    const fired = hooks.fireVoid("seen", seen(), undefined, { dryRun: true });
    saw.push(["outside", inDryRun()]);
    await fired;
    await left.promise;
    expect(saw).toEqual([
      ["context", true],
      ["at once", true],
      ["outside", false],
      ["later", true],
      ["left behind", true],
    ]);
    expect(records[0]?.dryRun).toBe(true);
    expect(inDryRun()).toBe(false);
  });
});

describe("explain", () => {
  it("reports that an async handler at a synchronous point is skipped", () => {
    const hooks = new HookRegistry();
    const register = (id: string, handler: () => unknown) =>
      hooks.register({ hook: "orchestrator:tick", phase: "before", id, handler: handler as () => void });
    register("slow", async () => {});
    register("quick", () => {});
    expect(hooks.explain("slow")).toMatchObject({ runs: false });
    expect(hooks.explain("slow").checks.find(({ passed }) => !passed)?.detail).toMatch(/async.*skipped/);
    expect(hooks.explain("quick")).toMatchObject({ runs: true });
  });

  const reasons = (explanation: ReturnType<HookRegistry["explain"]>) =>
    explanation.checks.filter(({ passed }) => !passed).map(({ check }) => check);

  it("says which check keeps a hook from running", () => {
    const { hooks } = setUp();
    hooks.registerModifying("sending", () => null, { id: "first" });
    hooks.registerModifying("sending", () => null, {
      id: "x",
      pluginId: "p",
      match: { severities: ["high"], access: "allowed" },
      after: ["first", "gone"],
    });
    expect(hooks.explain("x", { severity: "high" })).toMatchObject({ runs: true, hook: { id: "x" } });
    expect(reasons(hooks.explain("x", { severity: "low" }))).toEqual(["match"]);
    expect(reasons(hooks.explain("x", { severity: "high" }, { access: "denied" }))).toEqual(["access"]);
    expect(reasons(hooks.explain("x", { severity: "high" }, { allowedPlugins: [] }))).toEqual(["plugin"]);
    expect(reasons(hooks.explain("x", { severity: "high" }, { only: "first" }))).toEqual(["only"]);
    hooks.setEnabled("x", false);
    expect(reasons(hooks.explain("x", { severity: "high" }))).toContain("enabled");
    expect(
      hooks
        .explain("x")
        .checks.map(({ detail }) => detail)
        .join(" "),
    ).toContain("severities");
    expect(() => hooks.explain("nobody")).toThrow(expect.objectContaining({ code: "HOOK_NOT_FOUND" }));
  });

  it("agrees with what a dispatch does", async () => {
    const { hooks } = setUp();
    const options = [
      {},
      { severities: ["high"] },
      { tools: ["a"] },
      { when: 'payload.message.text == "hi"' },
      { access: "allowed" as const },
    ];
    for (const [i, match] of options.entries()) hooks.registerModifying("sending", () => null, { id: `h${i}`, match });
    for (const extra of [{}, { severity: "high" }, { toolName: "a" }])
      for (const access of ["allowed", "denied"] as const) {
        const payload = { ...sending(), ...extra };
        const record = await hooks.dispatch("sending", payload, { access });
        for (const { hookId, outcome } of record.runs)
          expect([hookId, hooks.explain(hookId, payload, { access }).runs]).toEqual([hookId, outcome !== "skipped"]);
      }
  });
});

describe("an idle registry", () => {
  it("gives the same promise for every dispatch to a point without handlers", () => {
    const hooks = new HookRegistry({ points });
    expect(hooks.fireVoid("seen", seen())).toBe(hooks.fireVoid("seen", seen()));
    expect(hooks.fireModifying("sending", sending())).toBe(hooks.fireModifying("sending", sending()));
    expect(hooks.fireClaiming("claim", sending())).toBe(hooks.fireClaiming("claim", sending()));
  });

  it("runs synchronous handlers before the call returns", () => {
    const hooks = new HookRegistry({ points });
    const ran: string[] = [];
    hooks.registerModifying("sending", () => void ran.push("a") as undefined);
    hooks.registerModifying("sending", () => void ran.push("b") as undefined);
    void hooks.fireModifying("sending", sending());
    expect(ran).toEqual(["a", "b"]);
  });

  it("keeps a thousand dispatches apart", async () => {
    const { hooks, clock } = setUp();
    hooks.registerModifying("sending", async ({ message }) => {
      await Promise.resolve();
      return message.text === "hang" ? never() : { text: message.text };
    });
    hooks.registerModifying("sending", async ({ message }) => ({ count: message.text.length }));
    const fired = Array.from({ length: 1_000 }, (_, i) =>
      hooks.fireModifying("sending", { message: { text: i % 10 === 0 ? "hang" : `m${i}`, tags: [] } }),
    );
    await clock.advance(5_020);
    const results = await Promise.all(fired);
    results.forEach((result, i) => {
      const text = i % 10 === 0 ? "hang" : `m${i}`;
      expect(result).toEqual({ text: text === "hang" ? undefined : text, count: text.length });
    });
  });
});

it("a fallback that is refused when it is needed fails the dispatch, for a handler that was waited for, too", async () => {
  for (const isAsync of [false, true]) {
    const registry = new HookRegistry();
    const handler = isAsync ? async () => Promise.reject(new Error("down")) : () => fail();
    const fallback = { handled: true as const, routeTo: { platform: "discord", botId: "x", chatId: "y" } };
    registry.registerClaiming("inbound_claim", handler, { id: "guard", failurePolicy: "fallback", fallback });
    const { example } = registry.point("inbound_claim");
    const fired = registry.fireClaiming("inbound_claim", example as never, undefined, {
      refuseClaim: () => 'routeTo: the platform "discord" is not switched on',
    });
    await expect(fired).rejects.toMatchObject({
      code: "HOOK_FAILED_CLOSED",
      message: expect.stringContaining('Hook "guard" failed at inbound_claim and its fallback was refused'),
    });
  }
});

function fail(): never {
  throw new Error("down");
}
