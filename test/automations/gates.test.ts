import { describe, expect, test } from "vitest";
import type { Definition } from "../../src/automations/definition/definition.js";
import type { Refusal } from "../../src/automations/gates/refusal.js";
import { Gates, type Pass } from "../../src/automations/gates.js";
import { type LogLine, logTo } from "../hooks/points.js";
import { openTestStore } from "../store/support/open-test-store.js";
import { ManualClock } from "../support/manual-clock.js";
import { definition as triggered } from "./triggers/support/definition.js";

const hook = (id: string, changes: Partial<Definition> = {}): Definition => ({
  ...triggered(id, { kind: "manual" }),
  whenBusy: "skip",
  ...changes,
});
const never = new AbortController().signal;

async function setUp(maxRunning = 10, runs?: Awaited<ReturnType<typeof openTestStore>>) {
  const clock = new ManualClock();
  const broken: string[] = [];
  const log: LogLine[] = [];
  const store = runs ?? (await openTestStore());
  const gates = new Gates({
    maxRunning,
    breaker: { failures: 3, pauseMs: 60_000 },
    runs: store.automation.runs,
    keyValue: store.keyValue,
    definition: () => undefined,
    clock,
    logger: logTo(log),
    onBreak: (id, pauseMs) => void broken.push(`${id}: ${pauseMs}`),
  });
  const enter = (
    definition: Definition,
    changes: { isManual?: boolean; isRetry?: boolean; isStored?: boolean; signal?: AbortSignal } = {},
  ) =>
    gates.enter({
      definition,
      isManual: false,
      isByHand: false,
      isRetry: false,
      isStored: false,
      signal: never,
      ...changes,
    });
  const pass = async (definition: Definition, changes = {}): Promise<Pass> => {
    const result = await enter(definition, changes);
    if (result.kind === "refused") throw new Error(`${result.gate}: ${result.reason}`);
    return result;
  };
  const failing = async (definition: Definition) =>
    (await pass(definition)).leave({ status: "failed", error: "no answer", isRetryable: true });
  return { clock, store, gates, enter, pass, failing, broken, log };
}

const said = (result: Pass | Refusal) => (result.kind === "refused" ? `${result.gate}: ${result.reason}` : "open");

describe("gates", () => {
  test("are asked in order: the cap before the hook's own concurrency, that before its cooldown, that before its rate", async () => {
    const { enter, pass, clock } = await setUp(2);
    const strict = hook("strict", { cooldownMs: 60_000, maxPerHour: 1 });
    const first = await pass(strict);
    const other = await pass(hook("other"));
    expect(said(await enter(strict))).toBe(
      "cap: all places (automations.max_running: 2) are taken: 1 by strict, 1 by other",
    );
    other.leave(undefined);
    expect(said(await enter(strict))).toBe("concurrency: 1 of 1 running");
    first.leave(undefined);
    await clock.advance(20_000);
    expect(said(await enter(strict))).toBe("cooldown: 40 s left of 1 min");
    await clock.advance(40_000);
    expect(said(await enter(strict))).toBe("rate: at most 1 run in an hour");
    await clock.advance(3_600_000);
    expect(said(await enter(strict))).toBe("open");
  });

  test("a cooldown counts from start to start, also for who fires by hand, and not for a run that is tried again", async () => {
    const { enter, pass, clock } = await setUp();
    const slow = hook("slow", { cooldownMs: 60_000 });
    const running = await pass(slow);
    await clock.advance(59_000);
    running.leave(undefined);
    expect(said(await enter(slow))).toBe("cooldown: 1 s left of 1 min");
    expect(said(await enter(slow, { isManual: true }))).toBe("cooldown: 1 s left of 1 min");
    expect(said(await enter(slow, { isRetry: true }))).toBe("open");
  });

  test("a restart does not forget when a hook started", async () => {
    const { store, clock } = await setUp();
    const at = clock.now();
    await store.automation.runs.insert({
      ...{ id: "r1", hookId: "slow", trigger: "on", reason: "x", status: "succeeded", payload: null },
      ...{ isRepeatable: false, attempt: 1, attempts: [], createdAt: at, dueAt: at, startedAt: at - 10_000 },
    });
    const { enter } = await setUp(10, store);
    expect(said(await enter(hook("slow", { cooldownMs: 60_000 })))).toBe("cooldown: 50 s left of 1 min");
    expect(said(await enter(hook("slow", { maxPerHour: 1 })))).toMatch(/^rate/);
    expect(said(await enter(hook("quick", { cooldownMs: 60_000 })))).toBe("open");
  });

  test("who waits is let in in order as others leave, and gives up with its signal", async () => {
    const { enter, pass } = await setUp();
    const patient = hook("patient", { whenBusy: "queue" });
    const first = await pass(patient);
    const order: string[] = [];
    const noted = async (name: string) => {
      const one = await pass(patient);
      order.push(name);
      return one;
    };
    const second = noted("second");
    const giving = new AbortController();
    const third = enter(patient, { signal: giving.signal });
    const fourth = noted("fourth");
    giving.abort(new Error("too late"));
    await expect(third).rejects.toThrow("too late");
    first.leave(undefined);
    (await second).leave(undefined);
    (await fourth).leave(undefined);
    expect(order).toEqual(["second", "fourth"]);
  });

  test("a stored run waits for the cap, and is refused only by its own hook", async () => {
    const { enter, pass } = await setUp(1);
    const running = await pass(hook("a"));
    let isIn = false;
    const stored = enter(hook("b"), { isStored: true }).then((result) => {
      isIn = true;
      return result;
    });
    await new Promise<void>((resolve) => setImmediate(resolve));
    expect(isIn).toBe(false);
    running.leave(undefined);
    const inside = await stored;
    expect(said(inside)).toBe("open");
    if (inside.kind === "open") inside.leave(undefined);
  });

  test("a hook that fails again and again is left alone, said once, tried once, and trusted again when that goes well", async () => {
    const { enter, pass, failing, broken, clock, log } = await setUp();
    const shaky = hook("shaky", { concurrency: 5 });
    for (let i = 0; i < 3; i++) await failing(shaky);
    expect(broken).toEqual(["shaky: 60000"]);
    expect(said(await enter(shaky))).toBe("breaker: it failed 3 times in a row; the hook is paused until 00:01:00 UTC");
    expect(said(await enter(hook("sound")))).toBe("open");

    await clock.advance(60_000);
    const trial = await pass(shaky);
    expect(said(await enter(shaky))).toBe("breaker: it failed again and again; one run is under way to try it");
    trial.leave({ status: "failed", error: "no answer", isRetryable: true });
    expect(said(await enter(shaky))).toMatch(/paused until 00:03:00 UTC/);
    expect(broken).toHaveLength(1);

    await clock.advance(120_000);
    (await pass(shaky)).leave({ status: "succeeded", decision: { kind: "pass" } });
    expect(said(await enter(shaky))).toBe("open");

    expect(log.map(({ level, message }) => `${level} ${message}`)).toEqual([
      'warn Hook "shaky" failed 3 times in a row and is not run for now. One run tries it in 1 min; /hooks enable shaky runs it at once. The last error: no answer',
      'info Hook "shaky" failed again when it was tried, and is still not run. One run tries it in 2 min; /hooks enable shaky runs it at once.',
      'info The breaker of hook "shaky" is closed.',
    ]);
    expect(log[0]?.facts).toMatchObject({ hook: "shaky", failures: 3, error: "no answer" });
    expect(Date.parse(String(log[0]?.facts.triedAgainAt))).toBe(clock.now() - 180_000 + 60_000);
  });

  test("a skipped run neither counts as a failure nor mends anything", async () => {
    const { pass, failing, enter } = await setUp();
    const shaky = hook("shaky");
    await failing(shaky);
    await failing(shaky);
    (await pass(shaky)).leave({ status: "skipped", by: "skip_if", reason: "empty" });
    await failing(shaky);
    expect(said(await enter(shaky))).toMatch(/^breaker/);
  });
});
