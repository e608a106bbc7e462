/** Who wrote a file that starts a hook again and again: the hook, or somebody else. Times are given, rows are real. */
import { describe, expect, it } from "vitest";
import { createOwnOutput, type Verdict } from "../../../src/automations/triggers/watch/own-output.js";
import type { AutomationRun } from "../../../src/domain/automation.js";
import { openTestStore } from "../../store/support/open-test-store.js";

const written = (at: number) => [{ at, lateMs: 0 }];

/** A hook whose runs take so long, one after the other. */
async function watched(runMs = 300) {
  const { runs } = (await openTestStore()).automation;
  const own = createOwnOutput("hook", runs, 50);
  let count = 0;
  let now = 1_000_000;
  const run = async (dispatchId: string, startedAt: number) => {
    const row: AutomationRun = {
      ...{ id: `${dispatchId}/1`, hookId: "hook", trigger: "files", reason: "x", payload: null, payloadHash: "" },
      ...{ status: "succeeded", isRepeatable: false, attempt: 1, attempts: [], createdAt: startedAt, dueAt: startedAt },
      ...{ dispatchId, startedAt, endedAt: startedAt + runMs },
    };
    await runs.insert(row);
  };
  const look = async (at: number): Promise<Verdict> => {
    const verdict = await own.judge(written(at), now);
    if (verdict.kind !== "fire") return verdict;
    const dispatchId = `d${++count}`;
    own.fired(dispatchId, verdict.depth);
    await run(dispatchId, now);
    now += runMs;
    return verdict;
  };
  return {
    own,
    look,
    /** Written while the newest run was under way. */
    inside: () => look(now - runMs / 2),
    /** Written while nothing ran. */
    async outside() {
      now += 1_000;
      return look(now - 50);
    },
    waitOf: (verdict: Verdict) => (verdict.kind === "hold" ? verdict.until - now : 0),
    until(verdict: Verdict) {
      if (verdict.kind !== "hold") throw new Error(`expected hold, got ${verdict.kind}`);
      now = verdict.until;
    },
  };
}

type Watched = Awaited<ReturnType<typeof watched>>;

/** As many in a row as are still let through, and the one that is held. */
async function untilHeld({ outside, inside }: Watched): Promise<Verdict> {
  expect(await outside()).toEqual({ kind: "fire", depth: 0 });
  for (let depth = 1; depth <= 8; depth++) expect(await inside()).toEqual({ kind: "fire", depth });
  return inside();
}

describe("changes that follow each other through a hook's own runs", () => {
  it("are held after eight, tried out in silence, and cut when a run alone is followed by another", async () => {
    const hook = await watched();
    const held = await untilHeld(hook);
    expect(held).toMatchObject({ kind: "hold" });
    expect(hook.own.problem()).toContain("seems to start it");
    hook.until(held);
    expect(await hook.look(1_000_000)).toEqual({ kind: "fire", depth: 0 });
    expect(await hook.inside()).toEqual({ kind: "cut" });
    expect(hook.own.problem()).toContain("does not start it any more");
    // What somebody else writes starts it, and what that run writes does not.
    expect(await hook.outside()).toEqual({ kind: "fire", depth: 0 });
    expect(await hook.inside()).toEqual({ kind: "cut" });
  });

  it("are held when they are many, before they are deep", async () => {
    const hook = await watched(60_000);
    await hook.outside();
    const verdicts: Verdict[] = [];
    // All written during the first run, as by somebody who copies a folder.
    for (let change = 1; change <= 21; change++) verdicts.push(await hook.look(1_001_000 + change));
    expect(verdicts.map(({ kind }) => kind)).toEqual([...Array(20).fill("fire"), "hold"]);
    expect(verdicts[19]).toMatchObject({ depth: 1 });
  });

  it("are somebody else's when they go on while the hook stands still", async () => {
    const hook = await watched();
    await untilHeld(hook);
    expect(await hook.outside()).toEqual({ kind: "fire", depth: 0 });
    expect(hook.own.problem()).toBeUndefined();
    // And are believed for a while.
    for (let change = 1; change <= 12; change++) expect(await hook.inside()).toMatchObject({ kind: "fire" });
  });

  it("are somebody else's when the run that is tried alone is followed by nothing; what was held comes", async () => {
    const hook = await watched();
    const held = await untilHeld(hook);
    hook.until(held);
    const heldAt = 1_000_001;
    expect(await hook.look(heldAt)).toMatchObject({ kind: "fire" });
    const other = await hook.look(heldAt);
    hook.until(other);
    expect(await hook.look(heldAt)).toMatchObject({ kind: "fire" });
    expect(hook.own.problem()).toBeUndefined();
  });

  it("are waited for longer when they came more slowly", async () => {
    const quick = await watched(300);
    const slow = await watched(30_000);
    const [soon, late] = [quick.waitOf(await untilHeld(quick)), slow.waitOf(await untilHeld(slow))];
    expect(soon).toBe(2_000);
    expect(late).toBeGreaterThanOrEqual(60_000);
  });
});
