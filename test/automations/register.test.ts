/** What a decision becomes at each kind of hook point, through the real registry. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Definition } from "../../src/automations/definition/definition.js";
import { registerDefinition } from "../../src/automations/register.js";
import type { RunOutcome } from "../../src/automations/run/outcome.js";
import { pointResult } from "../../src/automations/run/point-result.js";
import type { DispatchRecord } from "../../src/domain/journal.js";
import { definePoint } from "../../src/hooks/point.js";
import { HookRegistry } from "../../src/hooks/registry.js";
import { silentLogger } from "../../src/lib/logger.js";
import { definition as triggered } from "./triggers/support/definition.js";

const payload = z.object({ text: z.string() });
const example = { text: "hello" };
const points = [
  definePoint({ name: "seen", model: "void", payload, summary: "Seen.", example }),
  definePoint({
    name: "claim",
    model: "claiming",
    payload,
    result: z.object({ handled: z.boolean(), reply: z.string().optional(), reason: z.string().optional() }),
    summary: "Claim.",
    example,
  }),
  definePoint({
    name: "quiet",
    model: "claiming",
    payload,
    result: z.object({ handled: z.boolean(), reason: z.string().optional() }),
    summary: "Claim.",
    example,
  }),
  definePoint({
    name: "sending",
    model: "modifying",
    payload,
    result: z.object({ text: z.string().optional(), cancel: z.union([z.boolean(), z.string()]).optional() }),
    summary: "Send.",
    example,
  }),
  definePoint({
    name: "tool",
    model: "modifying",
    payload,
    result: z.object({ text: z.string().optional(), error: z.string().optional() }),
    summary: "Tool.",
    example,
  }),
  definePoint({ name: "work", model: "lifecycle", payload, summary: "Work.", example }),
] as const;

function setUp(point: string, outcome: RunOutcome, changes: Partial<Definition> = {}) {
  const records: DispatchRecord[] = [];
  const registry = new HookRegistry({
    points,
    logger: silentLogger,
    journal: { record: (one) => void records.push(one) },
  });
  const execution = point === "seen" || changes.phase === "after" ? "deadline" : "blocking";
  const definition: Definition = { ...triggered("hook", { kind: "on", hook: point }), point, execution, ...changes };
  registerDefinition(registry as unknown as HookRegistry, definition, async () => outcome);
  return { registry, records };
}

const blocked: RunOutcome = {
  status: "blocked",
  reason: "not today",
  decision: { kind: "block", reason: "not today" },
};
const modified: RunOutcome = { status: "succeeded", decision: { kind: "modify", patch: { text: "changed" } } };
const claimed: RunOutcome = { status: "succeeded", decision: { kind: "claim", reply: "mine" } };
const failed: RunOutcome = { status: "failed", error: "no answer", isRetryable: true };

describe("a decision becomes what its point takes", () => {
  test("a block is handled, cancelled or an error, by point", async () => {
    expect(await setUp("claim", blocked).registry.fireClaiming("claim", example)).toEqual({
      handled: true,
      reason: "not today",
      claimedBy: "hook",
    });
    expect(await setUp("sending", blocked).registry.fireModifying("sending", example)).toEqual({ cancel: "not today" });
    expect(await setUp("tool", blocked).registry.fireModifying("tool", example)).toEqual({ error: "not today" });
    expect(await setUp("work", blocked, { phase: "before" }).registry.runBefore("work", example)).toMatchObject({
      cancelled: true,
      cancelReason: "not today",
      cancelledBy: "hook",
    });
  });

  test("a change is the result, or changes the data", async () => {
    expect(await setUp("sending", modified).registry.fireModifying("sending", example)).toEqual({ text: "changed" });
    expect(await setUp("work", modified, { phase: "before" }).registry.runBefore("work", example)).toEqual({
      cancelled: false,
      data: { text: "changed" },
    });
  });

  test("a change of one field inside an object keeps the others, also as a fallback", async () => {
    const registry = new HookRegistry({ logger: silentLogger });
    const { example: data } = registry.point("mission:execute") as { example: { mission: object } };
    const patch = { mission: { title: "Renamed" } };
    const renames = async () => {
      const { data: changed } = await registry.runBefore("mission:execute", data as never);
      expect(changed).toEqual({ ...data, mission: { ...data.mission, title: "Renamed" } });
    };
    const on = { ...triggered("hook", { kind: "on", hook: "mission:execute" }), point: "mission:execute" };
    const hook: Definition = { ...on, phase: "before", execution: "blocking" };
    const end = registerDefinition(registry, hook, async () => ({
      status: "succeeded",
      decision: { kind: "modify", patch },
    }));
    await renames();
    end();
    registerDefinition(registry, { ...hook, onFailure: "fallback", fallback: patch }, async () => failed);
    await renames();
  });

  test("a change of a field that is a path is refused, for nothing reads it", async () => {
    const records: DispatchRecord[] = [];
    const registry = new HookRegistry({
      logger: silentLogger,
      journal: { record: (one) => void records.push(one) },
    });
    const on = { ...triggered("hook", { kind: "on", hook: "mission:execute" }), point: "mission:execute" };
    registerDefinition(registry, { ...on, phase: "before", execution: "blocking" }, async () => ({
      status: "succeeded",
      decision: { kind: "modify", patch: { "mission.title": "Renamed" } },
    }));
    const { example: data } = registry.point("mission:execute");
    expect((await registry.runBefore("mission:execute", data as never)).data).toEqual(data);
    expect(records[0]?.runs[0]).toMatchObject({
      outcome: "failed",
      error: 'Result: there is no field "mission.title" at mission:execute: write { mission: { title: … } }',
    });
  });

  test("a claim is a claim, with its reply where the point takes one", async () => {
    expect(await setUp("claim", claimed).registry.fireClaiming("claim", example)).toMatchObject({
      handled: true,
      reply: "mine",
    });
  });

  test("what a point cannot carry is said, and is no success", () => {
    const at = (name: string) => points.find((point) => point.name === name) as (typeof points)[number];
    expect(pointResult({ kind: "claim", reply: "mine" }, at("quiet"), undefined)).toMatchObject({
      kind: "impossible",
      error: "a hook cannot reply at quiet",
    });
    expect(pointResult({ kind: "claim" }, at("sending"), undefined)).toMatchObject({ kind: "impossible" });
    expect(pointResult({ kind: "modify", patch: {} }, at("seen"), undefined)).toMatchObject({ kind: "impossible" });
    expect(pointResult({ kind: "modify", patch: {} }, at("work"), "after")).toMatchObject({
      kind: "impossible",
      error: "a hook cannot modify anything at work (after)",
    });
  });

  test("where nothing can be stopped, a block is journalled as one and stops nothing", async () => {
    const { registry, records } = setUp("seen", blocked);
    await registry.fireVoid("seen", example);
    const after = setUp("work", blocked, { phase: "after" });
    await after.registry.runAfter("work", example);
    for (const { runs } of [...records, ...after.records])
      expect(runs).toMatchObject([{ outcome: "blocked", reason: "not today (nothing waits for it here)" }]);
  });

  test("a failure passes, stops or is stood in for, as the hook says", async () => {
    expect(await setUp("sending", failed).registry.fireModifying("sending", example)).toEqual({});
    await expect(
      setUp("sending", failed, { onFailure: "closed" }).registry.fireModifying("sending", example),
    ).rejects.toMatchObject({ code: "HOOK_FAILED_CLOSED" });
    const stand = { onFailure: "fallback" as const, fallback: { text: "stood in" } };
    expect(await setUp("sending", failed, stand).registry.fireModifying("sending", example)).toEqual({
      text: "stood in",
    });
  });

  test("a hook that must not fail open does not because a limit of its runs kept it from running", async () => {
    const skipped = (by: string): RunOutcome => ({ status: "skipped", by, reason: "x" });
    const closed = { onFailure: "closed" as const };
    for (const by of ["cap", "concurrency", "cooldown", "rate", "breaker"])
      await expect(
        setUp("sending", skipped(by), closed).registry.fireModifying("sending", example),
      ).rejects.toMatchObject({ code: "HOOK_FAILED_CLOSED" });
    expect(await setUp("sending", skipped("skip_if"), closed).registry.fireModifying("sending", example)).toEqual({});
    const { registry, records } = setUp("sending", skipped("concurrency"));
    expect(await registry.fireModifying("sending", example)).toEqual({});
    expect(records[0]?.runs).toMatchObject([{ outcome: "skipped", reason: "concurrency: x" }]);
  });
});
