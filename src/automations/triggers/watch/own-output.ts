/**
 * Whether a hook's own writing starts it again and again. Nobody can see who wrote a file, and that one changes while the hook runs
 * proves nothing: people write, too. So it is tried out. When changes have followed each other through more than eight runs, each
 * written while the one before it ran, or twenty in a row were written during runs, the hook stands still for twice as long as the longest pause between them. Whoever else
 * writes goes on meanwhile, and is believed. Silence, and then one run alone that is followed by a change, proves it: from then on
 * what is written while the hook runs is cut. Nothing that was held meanwhile is lost.
 */
import type { AutomationRun, AutomationRunStatus, AutomationRunStore } from "../../../domain/automation.js";

export type Verdict =
  /** `depth`: through how many of its own runs in a row it came. */
  { kind: "fire"; depth: number } | { kind: "hold"; until: number } | { kind: "cut" };

/** When a file was written, or seen to be gone: up to `lateMs` after it was. */
export interface Written {
  at: number;
  lateMs: number;
}

export interface OwnOutput {
  /** Of what is about to be fired. */
  judge(written: readonly Written[], now: number): Promise<Verdict>;
  fired(dispatchId: string, depth: number): void;
  /** What is held, or cut. */
  problem(): string | undefined;
}

type State =
  | { kind: "calm"; believedUntil: number }
  /** It stands still. */
  | { kind: "suspected"; since: number; quietMs: number }
  /** One run alone; its dispatch, once it was fired. */
  | { kind: "trial"; since: number; quietMs: number; dispatchId?: string }
  /** By the run that began then. */
  | { kind: "proven"; since: number };

/** As for hooks that start each other (run/loop.ts). */
const MAX_DEPTH = 8;
/** A hook that writes two files starts two runs, and those four: that many come long before they are deep. */
const MAX_IN_A_ROW = 20;
const RUNS_LOOKED_AT = 30;
const RAN: readonly AutomationRunStatus[] = [
  "running",
  "queued",
  "succeeded",
  "failed",
  "timed_out",
  "blocked",
  "interrupted",
];
const MAX_REMEMBERED = 1_000;
/** The clock of file systems lags behind. */
const LAG_MS = 20;
const QUIET = { leastMs: 2_000, mostMs: 600_000 };
const BELIEVED_MS = 600_000;
const LOOK_AGAIN_MS = 500;

export function createOwnOutput(hookId: string, runs: Pick<AutomationRunStore, "list">, debounceMs: number): OwnOutput {
  const depths = new Map<string, number>();
  let state: State = { kind: "calm", believedUntil: 0 };
  /** Of the chain at hand. */
  let lastAt = 0;
  let longestGapMs = 0;
  let inARow = 0;

  async function judge(written: readonly Written[], now: number): Promise<Verdict> {
    // What fires for the first time cannot be its own output yet; nobody's history is read for it.
    const ran = depths.size === 0 ? [] : await runs.list({ hookId, status: RAN, limit: RUNS_LOOKED_AT });
    const inside = ran.find((run) => written.every((one) => isDuring(run, one, now)));
    const latest = written.reduce((one, other) => (other.at > one.at ? other : one));
    switch (state.kind) {
      case "calm":
        return whenCalm(inside, latest, now, state.believedUntil);
      case "suspected":
        return whenSuspected(state, ran, inside, latest, now);
      case "trial":
        return whenTried(state, ran, inside, latest, now);
      case "proven":
        return inside?.startedAt !== undefined && inside.startedAt >= state.since ? { kind: "cut" } : fire(0);
    }
  }

  function whenCalm(inside: AutomationRun | undefined, latest: Written, now: number, believedUntil: number): Verdict {
    const depth = inside === undefined ? 0 : (depths.get(inside.dispatchId ?? "") ?? 0) + 1;
    longestGapMs = depth === 0 ? 0 : Math.max(longestGapMs, latest.at - lastAt);
    lastAt = latest.at;
    inARow = depth === 0 ? 0 : inARow + 1;
    if ((depth <= MAX_DEPTH && inARow <= MAX_IN_A_ROW) || now < believedUntil) return fire(depth);
    const leastMs = Math.max(QUIET.leastMs, 4 * debounceMs);
    const quietMs = Math.min(Math.max(leastMs, 2 * longestGapMs), QUIET.mostMs);
    state = { kind: "suspected", since: now, quietMs };
    return { kind: "hold", until: now + quietMs };
  }

  function whenSuspected(
    { since, quietMs }: State & { kind: "suspected" },
    ran: readonly AutomationRun[],
    inside: AutomationRun | undefined,
    latest: Written,
    now: number,
  ): Verdict {
    if (inside === undefined && isLaterThan(since, latest)) return believe(now);
    if (ran.some(({ endedAt }) => endedAt === undefined)) return { kind: "hold", until: now + quietMs };
    const quietSince = Math.max(since, latest.at, ...ran.map(({ endedAt = 0 }) => endedAt));
    if (now < quietSince + quietMs) return { kind: "hold", until: quietSince + quietMs };
    state = { kind: "trial", since: now, quietMs };
    return fire(0);
  }

  function whenTried(
    { since, quietMs, dispatchId }: State & { kind: "trial" },
    ran: readonly AutomationRun[],
    inside: AutomationRun | undefined,
    latest: Written,
    now: number,
  ): Verdict {
    const trial = dispatchId === undefined ? undefined : ran.find((run) => run.dispatchId === dispatchId);
    if (trial?.startedAt !== undefined && isDuring(trial, latest, now)) {
      state = { kind: "proven", since: trial.startedAt };
      return { kind: "cut" };
    }
    if (inside === undefined && isLaterThan(since, latest)) return believe(now);
    if (trial !== undefined && trial.endedAt === undefined) return { kind: "hold", until: now + LOOK_AGAIN_MS };
    // It has ended, or was refused by a gate: what it wrote would have been seen by then.
    const seenBy = (trial?.endedAt ?? since) + quietMs;
    return now < seenBy ? { kind: "hold", until: seenBy } : believe(now);
  }

  function believe(now: number): Verdict {
    state = { kind: "calm", believedUntil: now + BELIEVED_MS };
    return fire(0);
  }

  const fire = (depth: number): Verdict => ({ kind: "fire", depth });

  return {
    judge,
    fired(dispatchId, depth) {
      if (depths.size >= MAX_REMEMBERED) depths.clear();
      depths.set(dispatchId, depth);
      if (state.kind === "trial" && state.dispatchId === undefined) state.dispatchId = dispatchId;
    },
    problem() {
      if (state.kind === "calm") return undefined;
      return state.kind === "proven"
        ? "its own output started it again and again: what is written while it runs does not start it any more"
        : "its own output seems to start it again and again: it stands still until that is known";
    },
  };
}

/** That a file is gone is seen late, so it tells nothing about who else is at work. */
function isLaterThan(since: number, { at, lateMs }: Written): boolean {
  return lateMs === 0 && at > since;
}

function isDuring({ startedAt, endedAt }: AutomationRun, { at, lateMs }: Written, now: number): boolean {
  return startedAt !== undefined && at >= startedAt - LAG_MS && at - lateMs <= (endedAt ?? now);
}
