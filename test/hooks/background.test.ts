import { describe, expect, it } from "vitest";
import { failedEnd } from "../../src/hooks/background.js";
import type { BackgroundPort, BackgroundRun, BackgroundRunner } from "../../src/index.js";
import { gate, outcomes, seen, sending, setUp } from "./points.js";

describe("background hooks", () => {
  it("are recorded first and run from the record, as a dispatch of their own", async () => {
    const { hooks, clock, records } = setUp();
    const ran: string[] = [];
    hooks.registerModifying("sending", async ({ message }) => void ran.push(message.text) as undefined, {
      id: "index",
      execution: "background",
    } as never);
    await hooks.fireModifying("sending", sending(), undefined, { dispatchId: "m1:sending", conversation: "web:web:1" });
    expect(ran).toEqual([]);
    expect(outcomes(records[0])).toEqual([["index", "backgrounded"]]);
    await clock.advance(10);
    expect(ran).toEqual(["hi"]);
    expect(records[1]).toMatchObject({
      id: "m1:sending/1:1",
      cause: { kind: "hook", id: "m1:sending", depth: 1 },
      conversation: "web:web:1",
      runs: [{ hookId: "index", outcome: "passed" }],
    });
  });

  it("wait for the record and for nothing else; what cannot be recorded has failed", async () => {
    const recorded: BackgroundRun[] = [];
    const durable = gate();
    const port: BackgroundPort = {
      serve: () => {},
      record: (run) => {
        recorded.push(run);
        return recorded.length === 1 ? durable.promise : Promise.reject(new Error("disk full"));
      },
    };
    const { hooks, records } = setUp({ background: port });
    hooks.registerVoid("seen", () => {}, { id: "bg", execution: "background", failurePolicy: "fail-closed" });
    let fired = false;
    const first = hooks.fireVoid("seen", seen()).then(() => {
      fired = true;
    });
    await Promise.resolve();
    expect(fired).toBe(false);
    durable.open();
    await first;
    expect(recorded[0]).toMatchObject({ hookId: "bg", hook: "seen", payload: seen() });
    expect(JSON.parse(JSON.stringify(recorded[0]))).toEqual(recorded[0]);
    await expect(hooks.fireVoid("seen", seen())).rejects.toMatchObject({ id: "bg" });
    expect(outcomes(records[1])).toEqual([["bg", "failed"]]);
  });

  it("are retried with back-off while their attempts last", async () => {
    const { hooks, clock, records } = setUp();
    let attempts = 0;
    hooks.registerVoid(
      "seen",
      (_payload, context) => {
        attempts = context.attempt;
        throw new Error("not yet");
      },
      { id: "bg", execution: "background", retry: { attempts: 3, backoffMs: 1_000, idempotent: true } },
    );
    await hooks.fireVoid("seen", seen());
    await clock.advance(10);
    expect(attempts).toBe(1);
    await clock.advance(1_010);
    expect(attempts).toBe(2);
    await clock.advance(60_000);
    expect(attempts).toBe(3);
    expect(records.map(({ outcome }) => outcome)).toEqual(["passed", "failed", "failed", "failed"]);
  });

  it("wait as long as they ask for, also above the usual ceiling of an hour", () => {
    const hour = 3_600_000;
    const pause = (firstMs: number, attempt: number) => {
      const end = failedEnd(new Error("no"), attempt, { attempts: 30, backoffMs: firstMs });
      return end.kind === "failed" ? (end.retryInMs ?? 0) : 0;
    };
    expect(pause(3 * hour, 1)).toBeGreaterThanOrEqual(1.5 * hour);
    expect(pause(1_000, 20)).toBeGreaterThanOrEqual(hour / 2);
    expect(pause(1_000, 20)).toBeLessThanOrEqual(hour);
  });

  it("must say that they are idempotent to be retried, and only they are", () => {
    const { hooks } = setUp();
    expect(() =>
      hooks.registerVoid("seen", () => {}, { execution: "background", retry: { attempts: 2 } as never }),
    ).toThrow(/idempotent/);
    expect(() => hooks.registerVoid("seen", () => {}, { retry: { attempts: 2, idempotent: true } })).toThrow(
      /only background/,
    );
  });

  it("are gone when their hook is removed or disabled before they run", async () => {
    let runner: BackgroundRunner | undefined;
    let recorded: BackgroundRun | undefined;
    const { hooks } = setUp({
      background: {
        serve: (one) => {
          runner = one;
        },
        record: (run) => {
          recorded = run;
        },
      },
    });
    const remove = hooks.registerVoid("seen", () => {}, { id: "bg", execution: "background" });
    await hooks.fireVoid("seen", seen());
    hooks.setEnabled("bg", false);
    expect(await runner?.(recorded as BackgroundRun, 1)).toEqual({ kind: "gone" });
    hooks.setEnabled("bg", true);
    expect(await runner?.(recorded as BackgroundRun, 1)).toEqual({ kind: "done" });
    remove();
    expect(await runner?.(recorded as BackgroundRun, 1)).toEqual({ kind: "gone" });
  });

  it("may contribute only audit, background_job and noop to a turn", async () => {
    const { hooks, clock, records } = setUp();
    const capabilities = ["audit", "prompt_section"] as const;
    hooks.registerTurn("turn.pre_policy", () => [{ kind: "prompt_section", text: "x" }], {
      id: "bad",
      execution: "background",
      capabilities,
    });
    hooks.registerTurn("turn.pre_policy", () => [{ kind: "audit", message: "x" }], {
      id: "good",
      execution: "background",
      capabilities,
    });
    const { diagnostics } = await hooks.runPhase("turn.pre_policy", { turnId: "t" });
    expect(diagnostics.map(({ code }) => code)).toEqual(["backgrounded", "backgrounded"]);
    await clock.advance(10);
    expect(records.slice(1).map(outcomes)).toEqual([[["bad", "failed"]], [["good", "passed"]]]);
  });

  it("know under which id they were recorded, whatever the attempt", async () => {
    const { hooks, clock } = setUp();
    const known: (string | undefined)[] = [];
    hooks.registerVoid(
      "seen",
      (_payload, { recordId, cause }) => {
        known.push(recordId, cause?.id);
        throw new Error("again");
      },
      { id: "bg", execution: "background", retry: { attempts: 2, backoffMs: 10, idempotent: true } },
    );
    await hooks.fireVoid("seen", seen(), undefined, { dispatchId: "x1" });
    await clock.advance(1000);
    expect(known).toEqual(["x1/1", "x1", "x1/1", "x1"]);
  });

  it("are not recorded by a dry run", async () => {
    const { hooks, clock, records } = setUp();
    let ran = false;
    hooks.registerVoid(
      "seen",
      () => {
        ran = true;
      },
      { id: "bg", execution: "background" },
    );
    await hooks.fireVoid("seen", seen(), undefined, { dryRun: true });
    await clock.advance(100);
    expect(ran).toBe(false);
    expect(outcomes(records[0])).toEqual([["bg", "dry_run"]]);
  });
});
