/** Who wrote a file that starts a hook again and again: the hook, or somebody else. Times are given, rows are real. */
import { describe, expect, it } from "vitest";
import { createOwnOutput, type Verdict } from "../../../src/automations/triggers/watch/own-output.js";
import { LINGER_MS } from "../../../src/automations/triggers/watch/writers.js";
import type { AutomationRun } from "../../../src/domain/automation.js";
import type { Cause } from "../../../src/domain/journal.js";
import { openTestStore } from "../../store/support/open-test-store.js";

const written = (at: number) => [{ at, lateMs: 0 }];

/** A hook whose runs take so long, one after the other; `via`: and start another each, which is what writes. */
async function watched(runMs = 300, via?: string, afterMs = 3_000) {
  const { automation, keyValue } = await openTestStore();
  const { runs } = automation;
  const open = () => createOwnOutput({ hookId: "hook", key: "hook#1", debounceMs: 50, runs, keyValue });
  let own = open();
  let count = 0;
  let now = 1_000_000;
  const run = async (hookId: string, dispatchId: string, startedAt: number, cause?: Cause) => {
    const row: AutomationRun = {
      ...{ id: `${dispatchId}/1`, hookId, trigger: "files", reason: "x", payload: null },
      ...{ status: "succeeded", isRepeatable: false, attempt: 1, attempts: [], createdAt: startedAt, dueAt: startedAt },
      ...{ dispatchId, startedAt, endedAt: startedAt + runMs },
      cause,
    };
    await runs.insert(row);
    now += runMs;
    return row.id;
  };
  const look = async (at: number): Promise<Verdict> => {
    const verdict = await own.judge(written(at), now);
    if (verdict.kind !== "fire") return verdict;
    const dispatchId = `d${++count}`;
    own.fired(dispatchId);
    const id = await run("hook", dispatchId, now, verdict.cause);
    now += afterMs;
    const presumed = { depth: (verdict.cause?.presumed?.depth ?? 0) + 1, isSole: true };
    if (via !== undefined) await run(via, `v${count}`, now, { kind: "file", id, depth: 0, presumed });
    return verdict;
  };
  return {
    look,
    run,
    problem: () => own.problem(),
    /** Written while the newest run was under way. */
    inside: () => look(via === undefined ? now - afterMs - runMs / 2 : now - runMs / 2),
    /** Written a while after anything ran. */
    async outside() {
      now += 5_000;
      return look(now - 50);
    },
    async restart() {
      own = open();
      await own.learn();
    },
    waitOf: (verdict: Verdict) => (verdict.kind === "hold" ? verdict.until - now : 0),
    until(verdict: Verdict) {
      if (verdict.kind !== "hold") throw new Error(`expected hold, got ${verdict.kind}`);
      now = verdict.until;
    },
    now: () => now,
  };
}

type Watched = Awaited<ReturnType<typeof watched>>;

const depthOf = (verdict: Verdict) => (verdict.kind === "fire" ? (verdict.cause?.presumed?.depth ?? 0) : verdict.kind);

/** As many in a row as are still let through, and the one that is held. */
async function untilHeld({ outside, inside }: Watched, step = 1): Promise<Verdict> {
  expect(depthOf(await outside())).toBe(0);
  for (let depth = step; depth <= 8; depth += step) expect(depthOf(await inside())).toBe(depth);
  return inside();
}

describe("changes that follow each other through a hook's own runs", () => {
  it("are held after eight, tried out in silence, and cut when a run alone is followed by another", async () => {
    const hook = await watched();
    const held = await untilHeld(hook);
    expect(held).toMatchObject({ kind: "hold" });
    expect(hook.problem()).toContain("seems to start it");
    hook.until(held);
    expect(await hook.look(1_000_000)).toEqual({ kind: "fire" });
    expect(await hook.inside()).toMatchObject({ kind: "cut", reason: "its own output started it" });
    expect(hook.problem()).toContain("does not start it any more");
    // What somebody else writes starts it, and what that run writes does not.
    expect(await hook.outside()).toEqual({ kind: "fire" });
    expect(await hook.inside()).toMatchObject({ kind: "cut" });
  });

  it("are held for longer than a write is put down to a run that has ended, so that who writes on is seen", async () => {
    const hook = await watched(10, undefined, 100);
    const held = await untilHeld(hook);
    // Two writes of somebody who writes twice a second fall between.
    expect(hook.waitOf(held)).toBeGreaterThanOrEqual(LINGER_MS + 1_000);
  });

  it("are cut after a restart, too, in the middle of a chain as after it was proven", async () => {
    const hook = await watched();
    expect(depthOf(await hook.outside())).toBe(0);
    for (let depth = 1; depth <= 8; depth++) {
      await hook.restart();
      expect(depthOf(await hook.inside())).toBe(depth);
    }
    await hook.restart();
    const held = await hook.inside();
    hook.until(held);
    expect(await hook.look(1_000_000)).toEqual({ kind: "fire" });
    expect(await hook.inside()).toMatchObject({ kind: "cut" });
    await hook.restart();
    expect(await hook.inside()).toMatchObject({ kind: "cut" });
    expect(await hook.outside()).toEqual({ kind: "fire" });
  });

  it("are found to come through another hook, which is named", async () => {
    const hook = await watched(300, "other");
    const held = await untilHeld(hook, 2);
    hook.until(held);
    expect(await hook.look(1_000_000)).toEqual({ kind: "fire" });
    expect(await hook.inside()).toMatchObject({ kind: "cut", reason: "its own output started it, through other" });
    expect(hook.problem()).toContain("again and again, through other");
  });

  it("start it again once its runs are followed by nothing any more", async () => {
    const hook = await watched();
    const held = await untilHeld(hook);
    hook.until(held);
    await hook.look(1_000_000);
    expect(await hook.inside()).toMatchObject({ kind: "cut" });
    for (let run = 1; run <= 4; run++) expect(await hook.outside()).toEqual({ kind: "fire" });
    expect(hook.problem()).toBeUndefined();
    expect(depthOf(await hook.inside())).toBe(1);
  });

  it("are proven by what comes after the end of a run only when it comes twice", async () => {
    const hook = await watched();
    const held = await untilHeld(hook);
    hook.until(held);
    await hook.look(1_000_000);
    const again = await hook.look(hook.now() - 2_000);
    expect(again).toMatchObject({ kind: "hold" });
    hook.until(again);
    expect(await hook.look(1_000_000)).toEqual({ kind: "fire" });
    expect(await hook.look(hook.now() - 2_000)).toMatchObject({ kind: "cut" });
    // As late as that it is cut from then on.
    await hook.outside();
    expect(await hook.look(hook.now() - 2_000)).toMatchObject({ kind: "cut" });
  });

  it.each([
    ["cut after a silence when nobody else was at work", true, "cut"],
    ["fired when somebody else was: such a chain ends by itself", false, "fire"],
  ])("from hook to hook, more than eight deep, are %s", async (_, isSole, kind) => {
    const hook = await watched();
    let id = await hook.run("h1", "h1", hook.now());
    for (let depth = 1; depth <= 8; depth++) {
      const presumed = { depth, isSole: isSole || depth !== 4 };
      id = await hook.run(`h${depth + 1}`, `h${depth + 1}`, hook.now(), { kind: "file", id, depth: 0, presumed });
    }
    const at = hook.now() - 10;
    let verdict = await hook.look(at);
    if (isSole) {
      hook.until(verdict);
      verdict = await hook.look(at);
      expect(verdict).toMatchObject({ reason: expect.stringContaining("h1 → h2 → h3") });
    }
    expect(verdict.kind).toBe(kind);
  });

  it("are held when they are many, before they are deep", async () => {
    const hook = await watched(60_000);
    await hook.outside();
    const verdicts: Verdict[] = [];
    // All written during the first run, as by somebody who copies a folder.
    for (let change = 1; change <= 21; change++) verdicts.push(await hook.look(1_005_000 + change));
    expect(verdicts.map(({ kind }) => kind)).toEqual([...Array(20).fill("fire"), "hold"]);
    expect(depthOf(verdicts[19] as Verdict)).toBe(1);
  });

  it("are somebody else's when they go on while the hook stands still", async () => {
    const hook = await watched();
    await untilHeld(hook);
    expect(await hook.outside()).toEqual({ kind: "fire" });
    expect(hook.problem()).toBeUndefined();
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
    expect(hook.problem()).toBeUndefined();
  });

  it("are waited for longer when they came more slowly", async () => {
    const quick = await watched(300);
    const slow = await watched(30_000);
    const [soon, late] = [quick.waitOf(await untilHeld(quick)), slow.waitOf(await untilHeld(slow))];
    expect(soon).toBeLessThan(10_000);
    expect(late).toBeGreaterThanOrEqual(60_000);
  });
});
