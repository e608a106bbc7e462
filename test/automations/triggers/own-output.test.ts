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
  const reasons: string[] = [];
  const held = (reason: string) => void reasons.push(reason);
  const open = () => createOwnOutput({ hookId: "hook", key: "hook#1", debounceMs: 50, runs, keyValue, held });
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
  const look = async (at: number, isGone = false): Promise<Verdict> => {
    const verdict = await own.judge(written(at), now, isGone);
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
    release: () => own.release(),
    /** What people were notified of. */
    reasons,
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
    waitOf: (verdict: Verdict) => (verdict.kind === "hold" ? (verdict.until ?? 0) - now : 0),
    until(verdict: Verdict) {
      if (verdict.kind !== "hold" || verdict.until === undefined) throw new Error(`expected a hold with an end`);
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

/** Held for good after the silence and the run that was tried alone. */
async function untilHeldForGood(hook: Watched, step = 1): Promise<void> {
  const held = await untilHeld(hook, step);
  expect(hook.problem()).toContain("seems to start it");
  hook.until(held);
  expect(await hook.look(1_000_000)).toEqual({ kind: "fire" });
  expect(hook.reasons).toEqual([]);
  expect(await hook.inside()).toEqual({ kind: "hold" });
}

describe("changes that follow each other through a hook's own runs", () => {
  it("are held after eight, tried out in silence, and held for good when a run alone is followed by another", async () => {
    const hook = await watched();
    await untilHeldForGood(hook);
    expect(hook.reasons).toEqual(["its own output starts it again and again"]);
    expect(hook.problem()).toBe("its own output starts it again and again: nothing starts it until /hooks enable hook");
    // Nothing else starts it, and people are notified once.
    expect(await hook.outside()).toEqual({ kind: "hold" });
    expect(hook.reasons).toHaveLength(1);
  });

  it("are held for longer than a write is put down to a run that has ended, so that who writes on is seen", async () => {
    const hook = await watched(10, undefined, 100);
    const held = await untilHeld(hook);
    // Two writes of somebody who writes twice a second fall between.
    expect(hook.waitOf(held)).toBeGreaterThanOrEqual(LINGER_MS + 1_000);
  });

  it("are held after a restart, too, in the middle of a chain as after it is held for good", async () => {
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
    expect(await hook.inside()).toEqual({ kind: "hold" });
    await hook.restart();
    expect(hook.problem()).toContain("nothing starts it until");
    expect(await hook.outside()).toEqual({ kind: "hold" });
    expect(hook.reasons).toHaveLength(1);
  });

  it("start it again when a person lets it run, also after a restart; people are notified again when it goes on", async () => {
    const hook = await watched();
    expect(await hook.release()).toBe(false);
    await untilHeldForGood(hook);
    expect(await hook.release()).toBe(true);
    expect(hook.problem()).toBeUndefined();
    await hook.restart();
    await untilHeld(hook);
    expect(hook.reasons).toHaveLength(1);
  });

  it("are found to come through another hook, which is named", async () => {
    const hook = await watched(300, "other");
    await untilHeldForGood(hook, 2);
    expect(hook.reasons).toEqual(["its own output starts it again and again, through other"]);
  });

  it.each([
    ["held after a silence when nobody else was at work", true, "hold"],
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
      expect(hook.reasons).toEqual([expect.stringContaining("h1 → h2 → h3")]);
    }
    expect(verdict.kind).toBe(kind);
  });

  it("are held when they come from many runs, before they are deep", async () => {
    const hook = await watched(60_000);
    await hook.outside();
    const verdicts: Verdict[] = [];
    // Each run writes two files, which start two runs: they come in the order of their depth.
    const firstAt = hook.now() - 3_000 - 60_000;
    for (let change = 0; change <= 40; change++)
      verdicts.push(await hook.look(firstAt + Math.floor(change / 2) * 63_000 + 30_000));
    const first = verdicts.findIndex(({ kind }) => kind === "hold");
    expect(first).toBe(40);
    expect(depthOf(verdicts[first - 1] as Verdict)).toBeLessThan(8);
  });

  it("are not held when they all come during one run, as from somebody who copies a folder", async () => {
    const hook = await watched(60_000);
    await hook.outside();
    for (let change = 1; change <= 60; change++)
      expect(await hook.look(1_005_000 + change)).toMatchObject({ kind: "fire" });
  });

  it("are somebody else's when they go on while nothing starts the hook", async () => {
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
    expect(hook.reasons).toEqual([]);
  });

  it("are held for good when what was held was undone meanwhile, so that no run can be tried", async () => {
    const hook = await watched();
    const held = await untilHeld(hook);
    hook.until(held);
    expect(await hook.look(1_000_001, true)).toEqual({ kind: "hold" });
    expect(hook.reasons).toEqual(["its own output starts it again and again"]);
  });

  it("are waited for longer when they came more slowly", async () => {
    const quick = await watched(300);
    const slow = await watched(30_000);
    const [soon, late] = [quick.waitOf(await untilHeld(quick)), slow.waitOf(await untilHeld(slow))];
    expect(soon).toBeLessThan(10_000);
    expect(late).toBeGreaterThanOrEqual(60_000);
  });
});
