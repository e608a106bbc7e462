import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { HookRegistry } from "../../src/index.js";
import { silentLogger } from "../../src/lib/logger.js";
import { gate, never, outcomes, points, seen, sending, setUp } from "./points.js";

describe("deadlines", () => {
  it("let the dispatch go on after 5 s, fire the signal, and record the run as timed out", async () => {
    const { hooks, clock, records, log } = setUp();
    let signal: AbortSignal | undefined;
    hooks.registerModifying(
      "sending",
      (_payload, context) => {
        signal = context.signal;
        return never();
      },
      { id: "hung" },
    );
    hooks.registerModifying("sending", async () => ({ text: "good" }), { id: "good" });
    const fired = hooks.fireModifying("sending", sending());
    await clock.advance(4_980);
    expect(signal?.aborted).toBe(false);
    await clock.advance(30);
    expect(await fired).toEqual({ text: "good" });
    expect(signal?.aborted).toBe(true);
    expect(signal?.reason).toMatchObject({ name: "TimeoutError" });
    expect(outcomes(records[0])).toEqual([
      ["hung", "timed_out"],
      ["good", "modified"],
    ]);
    expect(log[0]).toMatchObject({ level: "error", facts: { hook: "sending", id: "hung" } });
  });

  it("give every handler its own time, from its own start", async () => {
    const { hooks, clock, records } = setUp();
    for (const id of ["a", "b", "c"]) hooks.registerModifying("sending", never, { id });
    let settled = false;
    void hooks.fireModifying("sending", sending()).then(() => {
      settled = true;
    });
    await clock.advance(14_900);
    expect(settled).toBe(false);
    await clock.advance(200);
    expect(settled).toBe(true);
    expect(records[0]?.runs.map(({ latencyMs }) => Math.round(latencyMs / 100))).toEqual([50, 50, 50]);
  });

  it.each([0, 5])("count for a handler that blocks the process, %i ms after its start", async (waitMs) => {
    const { hooks, clock, records, log } = setUp();
    hooks.registerClaiming(
      "claim",
      async () => {
        if (waitMs > 0) await new Promise<void>((done) => void clock.after(waitMs, done));
        clock.block(6_000);
        return { handled: true };
      },
      { id: "busy.claim", pluginId: "busy" },
    );
    const fired = hooks.fireClaiming("claim", { message: { text: "hi", tags: [] } });
    await clock.advance(waitMs);
    expect(await fired).toEqual({ handled: false });
    expect(outcomes(records[0])).toEqual([["busy.claim", "timed_out"]]);
    expect(log[0]).toMatchObject({ facts: { id: "busy.claim", plugin: "busy" } });
    expect(log[0]?.facts.cause).toMatch(/returned after 600\d ms, later than its timeout of 5000 ms/);
  });

  it("that are noticed late because the process is busy are not said to be passed by a hook that blocked it", async () => {
    const { hooks, clock, records, log } = setUp();
    const answer = gate<{ handled: true }>();
    hooks.registerClaiming("claim", () => answer.promise, { id: "slow", timeoutMs: 100 });
    const fired = hooks.fireClaiming("claim", { message: { text: "hi", tags: [] } });
    // Turns of 25 ms, of which 20 count.
    for (let n = 0; n < 4; n++) {
      clock.block(25);
      await clock.advance(0);
    }
    clock.block(20);
    answer.open({ handled: true });
    expect(await fired).toEqual({ handled: false });
    expect(outcomes(records[0])).toEqual([["slow", "timed_out"]]);
    expect(log[0]?.facts.cause).toMatch(
      /returned after 120 ms, later than its timeout of 100 ms: its result is dropped/,
    );
  });

  it("are not charged to hooks whose results wait while another hook blocks the process", async () => {
    const { hooks, clock, records } = setUp();
    const answers = [1, 2, 3].map(() => gate<{ handled: true }>());
    for (const [n, { promise }] of answers.entries())
      hooks.registerClaiming("claim", () => promise, {
        id: `innocent${n}`,
        match: { when: `payload.platform == "p${n}"` },
      });
    hooks.registerVoid("seen", () => clock.block(7_000), { id: "blocker", timeoutMs: 30_000 });
    const claims = answers.map((_, n) =>
      hooks.fireClaiming("claim", { message: { text: "hi", tags: [] }, platform: `p${n}` }),
    );
    await clock.advance(20);
    // All in one turn of the event loop: what the claims wait for has come, and is seen after the blocker returned.
    const blocked = hooks.fireVoid("seen", seen());
    for (const { open } of answers) open({ handled: true });
    expect((await Promise.all(claims)).map(({ handled }) => handled)).toEqual([true, true, true]);
    await blocked;
    expect(records.flatMap(({ runs }) => runs).filter(({ outcome }) => outcome === "timed_out")).toEqual([]);
  });

  it.each([
    ["before", 200],
    ["beside", 50],
  ])("are not charged to a hook %s which the condition of another one blocks the process", async (_, priority) => {
    const { hooks, clock, records, log } = setUp();
    let leftMs = priority > 100 ? 6_000 : 0;
    const startsBlock = async () => {
      if (priority < 100) leftMs = 6_000;
    };
    hooks.registerVoid("seen", startsBlock, { id: "innocent", priority, match: { when: "payload.n == 1" } });
    hooks.registerVoid("seen", () => {}, { id: "slow", match: { when: 'payload.access == "denied"' } });
    const payload = {
      ...seen(),
      get access() {
        clock.block(leftMs);
        leftMs = 0;
        return "allowed" as const;
      },
    };
    await hooks.fireVoid("seen", payload);
    expect(Object.fromEntries(outcomes(records[0]) ?? [])).toEqual({ innocent: "passed", slow: "skipped" });
    expect(log.map(({ message }) => message)).toEqual([
      'Hook "slow" at seen: its condition took 6000 ms and blocked the process meanwhile. Write a shorter one, or decide in a program (run.shell, run.module).',
    ]);
  });

  it("discard a late result and swallow a late rejection, said at debug level", async () => {
    const { hooks, clock, log } = setUp();
    const late = gate<{ text: string }>();
    const lateError = gate<never>();
    hooks.registerModifying("sending", () => late.promise, { timeoutMs: 100 });
    hooks.registerModifying("sending", () => lateError.promise, { id: "late-error", timeoutMs: 100 });
    const fired = hooks.fireModifying("sending", sending());
    await clock.advance(300);
    const result = await fired;
    late.open({ text: "too late" });
    lateError.fail(new Error("too late"));
    await clock.advance(10);
    expect(result).toEqual({});
    expect(log.filter(({ level }) => level === "debug")).toMatchObject([{ facts: { id: "late-error" } }]);
  });

  it("discard a late result also while the dispatch waits for a later handler", async () => {
    const { hooks, clock } = setUp();
    const late = gate<{ text: string }>();
    const second = gate<{ count: number }>();
    hooks.registerModifying("sending", () => late.promise, { timeoutMs: 100 });
    hooks.registerModifying("sending", () => second.promise);
    let ranLast = false;
    hooks.registerModifying("sending", () => {
      ranLast = true;
      return null;
    });
    const fired = hooks.fireModifying("sending", sending());
    await clock.advance(120);
    late.open({ text: "too late" });
    await clock.advance(10);
    expect(ranLast).toBe(false);
    second.open({ count: 1 });
    expect(await fired).toEqual({ count: 1 });
  });

  it("do not mix up the late handler of one dispatch with another dispatch", async () => {
    const { hooks, clock } = setUp();
    const late = gate<{ text: string }>();
    let count = 0;
    hooks.registerModifying("sending", () => (count++ === 0 ? late.promise : Promise.resolve({ text: `${count}` })), {
      timeoutMs: 100,
    });
    const first = hooks.fireModifying("sending", sending());
    await clock.advance(120);
    expect(await first).toEqual({});
    const second = hooks.fireModifying("sending", sending());
    late.open({ text: "of the first" });
    expect(await second).toEqual({ text: "2" });
    expect(await hooks.fireModifying("sending", sending())).toEqual({ text: "3" });
  });

  it("are overridden by the operator, together with the policy and the switch", async () => {
    const { hooks, clock } = setUp({
      overrides: { slow: { timeoutMs: 60_000 }, strict: { failurePolicy: "fail-closed" }, off: { enabled: false } },
    });
    hooks.registerModifying("sending", never, { id: "slow", timeoutMs: 10 });
    hooks.registerModifying("sending", () => Promise.reject(new Error("x")), { id: "strict" });
    hooks.registerModifying("sending", () => ({ text: "x" }), { id: "off" });
    expect(hooks.get("off")?.enabled).toBe(false);
    expect(hooks.get("slow")?.timeoutMs).toBe(60_000);
    const fired = hooks.fireModifying("sending", sending());
    const rejected = expect(fired).rejects.toMatchObject({ id: "strict" });
    await clock.advance(59_900);
    await clock.advance(200);
    await rejected;
  });

  it("keep up to 20 ms on the real clock, for short ones", async () => {
    const hooks = new HookRegistry({ points, logger: silentLogger });
    hooks.registerVoid("seen", () => new Promise((resolve) => setTimeout(resolve, 15)), {
      timeoutMs: 200,
      id: "in time",
      failurePolicy: "fail-closed",
    });
    await hooks.fireVoid("seen", { n: 1, message: { text: "", tags: [] } });
    hooks.registerVoid("seen", never, { timeoutMs: 30 });
    const from = performance.now();
    await hooks.fireVoid("seen", { n: 1, message: { text: "", tags: [] } });
    expect(performance.now() - from).toBeGreaterThanOrEqual(25);
  });

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, "5"])("refuse the timeout %s", (timeoutMs) => {
    const { hooks } = setUp();
    expect(() => hooks.registerVoid("seen", () => {}, { timeoutMs: timeoutMs as number })).toThrow(/timeoutMs/);
  });
});

it("a deadline is kept in a process that has nothing else to do", () => {
  const script = `
    import { HookRegistry } from ${JSON.stringify(new URL("../../dist/src/index.js", import.meta.url).href)};
    const hooks = new HookRegistry();
    hooks.registerClaiming("inbound_claim", () => new Promise(() => {}), { timeoutMs: 100 });
    const { message } = hooks.point("inbound_claim").example;
    console.log(JSON.stringify(await hooks.fireClaiming("inbound_claim", { message })));`;
  const { status, stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
  expect({ status, stdout }).toEqual({ status: 0, stdout: '{"handled":false}\n' });
});
