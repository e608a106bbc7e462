import { describe, expect, it } from "vitest";
import { HookFailedError } from "../../src/index.js";
import { gate, never, outcomes, seen, setUp } from "./points.js";

describe("void hooks", () => {
  it("start all handlers at once and wait until all have settled", async () => {
    const { hooks } = setUp();
    const events: string[] = [];
    const first = gate();
    hooks.registerVoid("seen", async () => {
      events.push("first starts");
      await first.promise;
      events.push("first ends");
    });
    hooks.registerVoid("seen", async () => void events.push("second"));
    const fired = hooks.fireVoid("seen", seen()).then(() => events.push("fired"));
    expect(events).toEqual(["first starts", "second"]);
    first.open();
    await fired;
    expect(events).toEqual(["first starts", "second", "first ends", "fired"]);
  });

  it("have no outcome once the stop cut one of them off, whatever the others say", async () => {
    const { hooks, records } = setUp();
    const [killed, other] = [gate(), gate()];
    const fails = async () => {
      await killed.promise;
      throw Object.assign(new Error("Command failed"), { signal: "SIGTERM" });
    };
    hooks.registerVoid("seen", fails, { id: "killed", failurePolicy: "fail-closed" });
    hooks.registerVoid("seen", () => other.promise, { id: "other" });
    const answers: unknown[] = [];
    const answered = (answer: unknown) => void answers.push(answer);
    hooks.fireVoid("seen", seen()).then(answered, answered);
    hooks.stopping();
    killed.open();
    await new Promise(setImmediate);
    other.open();
    await new Promise(setImmediate);
    expect(records[0]).toMatchObject({ outcome: "interrupted" });
    expect(outcomes(records[0])).toEqual([
      ["killed", "interrupted"],
      ["other", "passed"],
    ]);
    expect(answers).toEqual([]);
  });

  it("are journalled as they say themselves, unless they fail", async () => {
    const { hooks, records } = setUp();
    hooks.registerVoid("seen", (_payload, context) => context.state("skipped", "cooldown, 2 min left"), { id: "idle" });
    hooks.registerVoid(
      "seen",
      async (_payload, context) => {
        context.state("skipped", "no");
        throw new Error("broken");
      },
      { id: "broken" },
    );
    hooks.registerVoid("seen", () => {}, { id: "plain" });
    hooks.registerVoid("seen", (_payload, context) => context.state("blokked" as never, "x"), { id: "misspelt" });
    await hooks.fireVoid("seen", seen());
    expect(records[0]?.runs).toMatchObject([
      { hookId: "idle", outcome: "skipped", reason: "cooldown, 2 min left" },
      { hookId: "broken", outcome: "failed", error: "broken" },
      { hookId: "plain", outcome: "passed" },
      { hookId: "misspelt", outcome: "failed", error: expect.stringMatching(/state: expected skipped.*got blokked/) },
    ]);
  });

  it("treat a handler that throws synchronously like one that rejects: the others run, nothing comes out", async () => {
    const { hooks, log, records } = setUp();
    const ran: string[] = [];
    hooks.registerVoid(
      "seen",
      () => {
        throw new Error("at once");
      },
      { id: "thrower" },
    );
    hooks.registerVoid("seen", () => Promise.reject(new Error("later")), { id: "rejecter" });
    hooks.registerVoid("seen", () => void ran.push("good"), { id: "good" });
    await expect(hooks.fireVoid("seen", seen())).resolves.toBeUndefined();
    expect(ran).toEqual(["good"]);
    expect(outcomes(records[0])).toEqual([
      ["thrower", "failed"],
      ["rejecter", "failed"],
      ["good", "passed"],
    ]);
    expect(
      log.filter(({ level }) => level === "error").map(({ facts }) => [facts.hook, facts.id, facts.cause]),
    ).toEqual([
      ["seen", "thrower", "at once"],
      ["seen", "rejecter", "later"],
    ]);
  });

  it("reject with HookFailedError when a fail-closed handler failed, after all have settled", async () => {
    const { hooks } = setUp();
    const slow = gate();
    let slowEnded = false;
    const cause = new Error("no audit");
    hooks.registerVoid("seen", () => Promise.reject(cause), { id: "audit", failurePolicy: "fail-closed" });
    hooks.registerVoid("seen", async () => {
      await slow.promise;
      slowEnded = true;
    });
    const fired = hooks.fireVoid("seen", seen());
    slow.open();
    const error = await fired.catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(HookFailedError);
    expect(error).toMatchObject({ code: "HOOK_FAILED_CLOSED", hook: "seen", id: "audit", cause });
    expect(slowEnded).toBe(true);
  });

  it("reject when a fail-closed handler throws and nothing has to be waited for", async () => {
    const { hooks } = setUp();
    hooks.registerVoid(
      "seen",
      () => {
        throw new Error("x");
      },
      { failurePolicy: "fail-closed" },
    );
    await expect(hooks.fireVoid("seen", seen())).rejects.toMatchObject({ code: "HOOK_FAILED_CLOSED" });
  });

  it("give up a hung handler after 30 s, each handler at its own deadline", async () => {
    const { hooks, clock, records } = setUp();
    hooks.registerVoid("seen", never, { id: "hung" });
    hooks.registerVoid("seen", never, { id: "impatient", timeoutMs: 50 });
    hooks.registerVoid("seen", async () => {}, { id: "good" });
    let settled = false;
    void hooks.fireVoid("seen", seen()).then(() => {
      settled = true;
    });
    await clock.advance(29_000);
    expect(settled).toBe(false);
    await clock.advance(1_010);
    expect(settled).toBe(true);
    expect(outcomes(records[0])).toEqual([
      ["hung", "timed_out"],
      ["impatient", "timed_out"],
      ["good", "passed"],
    ]);
    expect(records[0]?.runs[1]?.latencyMs).toBeLessThan(100);
  });

  it("run a detached handler beside the caller, and put its end into the record", async () => {
    const { hooks, records } = setUp();
    const slow = gate();
    hooks.registerVoid("seen", () => slow.promise, { id: "slow", execution: "fire_and_record" });
    hooks.registerVoid("seen", () => {}, { id: "quick" });
    await hooks.fireVoid("seen", seen());
    expect(records).toEqual([]);
    slow.open();
    await slow.promise;
    await Promise.resolve();
    expect(outcomes(records[0])).toEqual([
      ["slow", "passed"],
      ["quick", "passed"],
    ]);
  });

  it("do not close anything when a detached handler fails", async () => {
    const { hooks, records, log } = setUp();
    hooks.registerVoid("seen", () => Promise.reject(new Error("x")), {
      id: "detached",
      execution: "fire_and_record",
      failurePolicy: "fail-closed",
    });
    await hooks.fireVoid("seen", seen());
    await Promise.resolve();
    expect(outcomes(records[0])).toEqual([["detached", "failed"]]);
    expect(log.some(({ level }) => level === "error")).toBe(true);
  });

  it("stop waiting when the caller gives up, and tell the handlers", async () => {
    const { hooks } = setUp();
    let signal: AbortSignal | undefined;
    hooks.registerVoid("seen", (_payload, context) => {
      signal = context.signal;
      return never();
    });
    const caller = new AbortController();
    const fired = hooks.fireVoid("seen", seen(), undefined, { signal: caller.signal });
    caller.abort(new Error("shutting down"));
    await expect(fired).rejects.toThrow("shutting down");
    expect(signal?.aborted).toBe(true);
    await expect(hooks.fireVoid("seen", seen(), undefined, { signal: caller.signal })).rejects.toThrow("shutting down");
  });

  it("accept thenables that are no promises", async () => {
    const { hooks, records } = setUp();
    // biome-ignore lint/suspicious/noThenProperty: that is what is tested
    hooks.registerVoid("seen", () => ({ then: (done: () => void) => done() }), { id: "strange" });
    await hooks.fireVoid("seen", seen());
    expect(outcomes(records[0])).toEqual([["strange", "passed"]]);
  });
});
