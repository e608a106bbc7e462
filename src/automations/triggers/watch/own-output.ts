/**
 * Whether a hook's own writing starts it again and again, by itself or through others that watch what it writes. The system does not record
 * the writer of a file, and that one changes while a run is under way proves nothing: people write, too. So each change is put down to a
 * run that may have written it (writers.ts), and when that makes a chain of more than eight runs in a row (or twenty changes in a row that
 * may be the hook's own), it gets a quarantine probe: the hook is held for twice as long as a round took. Other writers go on meanwhile,
 * and then count as the writers. Silence, and then one run alone that is followed by a change, proves it: from then on what is written
 * while it runs, or those that it starts, is cut. Nothing that was held meanwhile is lost.
 *
 * A chain without the hook itself cannot be probed. It is cut after the silence if only its own runs were under way all the time, and fired
 * otherwise: it ends, or the hook itself joins it later.
 */
import type { AutomationRunStore, RunSpan } from "../../../domain/automation.js";
import { type Cause, MAX_HOOK_DEPTH } from "../../../domain/journal.js";
import { createLineages } from "../../run/lineage.js";
import { createProofs, type Proof, type ProofDeps } from "./proofs.js";
import { causeBy, LINGER_MS, latestOf, type Writer, type Writers, type Written, writersOf } from "./writers.js";

export type Verdict =
  | { kind: "fire"; cause?: Cause }
  | { kind: "hold"; until: number; cause?: Cause }
  | { kind: "cut"; reason: string; cause?: Cause };

export interface OwnOutput {
  /** What was known before a restart. */
  learn(): Promise<void>;
  /** The verdict on what is about to be fired. */
  judge(written: readonly Written[], now: number): Promise<Verdict>;
  /** The verdict on what was held and is gone since: a file that was written and removed. */
  judgeGone(now: number): Promise<Verdict>;
  fired(dispatchId: string): void;
  /** What is held, or cut. */
  problem(): string | undefined;
}

type State =
  | { kind: "calm"; believedUntil: number }
  /** It stands still. `isRound`: the hook itself stands in the chain. */
  | { kind: "suspected"; since: number; quietMs: number; isRound: boolean; wasLate: boolean }
  /** One run alone; its dispatch, once it was fired. `wasLate`: the one before was followed by a change after its end only. */
  | { kind: "trial"; since: number; quietMs: number; wasLate: boolean; dispatchId?: string }
  | ({ kind: "proven" } & Proof);

/** A hook that writes two files starts two runs, and those four: that many come long before they are deep. */
const MAX_IN_A_ROW = 20;
/** Longer than a write is attributed to a run that has ended: another writer is seen before the trial. */
const QUIET = { leastMs: LINGER_MS + 1_000, mostMs: 600_000 };
const BELIEVED_MS = 600_000;
const CHECK_AGAIN_MS = 500;

export interface OwnOutputDeps extends ProofDeps {
  hookId: string;
  runs: Pick<AutomationRunStore, "list" | "span" | "spans">;
  debounceMs: number;
}

export function createOwnOutput(deps: OwnOutputDeps): OwnOutput {
  const { hookId, runs, debounceMs } = deps;
  const proofs = createProofs(deps);
  const lineageOf = createLineages(runs);
  let state: State = { kind: "calm", believedUntil: 0 };
  let inARow = 0;

  const isRound = ({ runs }: Pick<Writer, "runs">) => runs.some((run) => run.hookId === hookId);

  async function judge(written: readonly Written[], now: number): Promise<Verdict> {
    const latest = latestOf(written);
    const writers = await writersOf(written, now, { runs, lineageOf });
    switch (state.kind) {
      case "calm":
        return whenCalm(writers, latest, now, state.believedUntil);
      case "suspected":
        return whenSuspected(state, writers, latest, now);
      case "trial":
        return whenTried(state, writers, latest, now);
      case "proven":
        return whenProven(state, writers, now);
    }
  }

  function whenCalm(writers: Writers, latest: Written, now: number, believedUntil: number): Verdict {
    const presumed = writers.explain(() => true) ? presumedOf(writers.ofLatest()) : undefined;
    const round = presumed !== undefined && isRound(presumed.writer);
    inARow = round ? inARow + 1 : 0;
    const { depth = 0, isSole = false } = presumed?.cause.presumed ?? {};
    const isDeep = depth > MAX_HOOK_DEPTH && (round || isSole);
    if ((!isDeep && inARow <= MAX_IN_A_ROW) || now < believedUntil) return fire(presumed?.cause);
    const leastMs = Math.max(QUIET.leastMs, 4 * debounceMs);
    const quietMs = Math.min(Math.max(leastMs, 2 * roundMs(presumed?.writer.runs ?? [], latest.at)), QUIET.mostMs);
    state = { kind: "suspected", since: now, quietMs, isRound: round, wasLate: false };
    return { kind: "hold", until: now + quietMs, cause: presumed?.cause };
  }

  /** The deepest, of those in which the hook stands if there are such. */
  function presumedOf(writers: readonly Writer[]): { writer: Writer; cause: Cause } | undefined {
    const rounds = writers.filter(isRound);
    const [first, ...others] = rounds.length > 0 ? rounds : writers;
    if (first === undefined) return undefined;
    const writer = others.reduce((one, other) => (other.depth > one.depth ? other : one), first);
    // Those before it in its own chain are not other writers.
    const isAlone = writers.every(({ run }) => writer.runs.some(({ id }) => id === run.id));
    return { writer, cause: causeBy(writer, isAlone) };
  }

  /** From one run of the hook to the next, or from one run to the next where it does not stand in the chain: the longest. */
  function roundMs(chain: readonly RunSpan[], at: number): number {
    const own = chain.filter((run) => run.hookId === hookId);
    const starts = (own.length > 0 ? own : chain).map(({ startedAt, createdAt }) => startedAt ?? createdAt);
    return Math.max(0, ...[at, ...starts].map((later, index) => later - (starts[index] ?? later)));
  }

  async function whenSuspected(
    suspected: State & { kind: "suspected" },
    writers: Writers,
    latest: Written,
    now: number,
  ): Promise<Verdict> {
    const { since, quietMs, wasLate } = suspected;
    const isIts = (writer: Writer) => !suspected.isRound || isRound(writer);
    const under = await underWay(since, now);
    const stoodSince = Math.max(since, under.lastEndAt);
    const isOthers = !writers.explain(isIts) && isLaterThan(since, latest);
    // A write after a quiet time that is long enough proves nothing about earlier writers: that is the run to try.
    if (isOthers && latest.at < stoodSince + quietMs) return believe(now);
    if (under.isAny) return { kind: "hold", until: now + quietMs };
    const quietUntil = (isOthers ? stoodSince : Math.max(stoodSince, latest.at)) + quietMs;
    if (now < quietUntil) return { kind: "hold", until: quietUntil };
    if (suspected.isRound) {
      state = { kind: "trial", since: now, quietMs, wasLate };
      return fire();
    }
    state = { kind: "calm", believedUntil: 0 };
    const presumed = presumedOf(writers.ofLatest());
    if (presumed === undefined) return fire();
    const { writer, cause } = presumed;
    const through = writer.runs.map((run) => run.hookId).slice(0, MAX_HOOK_DEPTH + 1);
    const reason = `${writer.depth} hooks deep: they start each other through files (${through.reverse().join(" → ")})`;
    return { kind: "cut", reason, cause };
  }

  /** Standing still has ended the loop, and there is nothing left to try it with. */
  async function judgeGone(now: number): Promise<Verdict> {
    if (state.kind !== "suspected" || !state.isRound) return fire();
    const { since, quietMs } = state;
    const under = await underWay(since, now);
    const quietUntil = (under.isAny ? now : Math.max(since, under.lastEndAt)) + quietMs;
    if (now < quietUntil) return { kind: "hold", until: quietUntil };
    return { kind: "cut", reason: "its own output started it again and again" };
  }

  async function whenTried(
    { since, quietMs, wasLate, dispatchId }: State & { kind: "trial" },
    writers: Writers,
    latest: Written,
    now: number,
  ): Promise<Verdict> {
    const isOfTrial = ({ runs }: Pick<Writer, "runs">) =>
      dispatchId !== undefined && runs.some((run) => run.dispatchId === dispatchId);
    const during = writers.ofLatest(0).find(isOfTrial);
    const proof = during ?? writers.ofLatest().find(isOfTrial);
    if (proof !== undefined && latest.at >= since) {
      const lateMs = during === undefined ? latest.at - (proof.run.endedAt ?? now) : 0;
      // After its end it may have been a person who had waited for it: once is chance.
      if (lateMs > 0 && !wasLate) {
        state = { kind: "suspected", since: now, quietMs, isRound: true, wasLate: true };
        return { kind: "hold", until: now + quietMs };
      }
      const via = [...new Set(proof.runs.map((run) => run.hookId))].filter((id) => id !== hookId);
      state = { kind: "proven", since, lateMs, quietMs, via: via.reverse(), lastCutAt: now };
      await proofs.keep(state);
      return cut(state, proof);
    }
    if (!writers.explain(isRound) && isLaterThan(since, latest)) return believe(now);
    const under = await underWay(since, now);
    if (under.isAny) return { kind: "hold", until: now + CHECK_AGAIN_MS };
    // It has ended, or was refused by a gate: what it wrote would have been seen by then.
    const seenBy = Math.max(since, under.lastEndAt) + quietMs;
    return now < seenBy ? { kind: "hold", until: seenBy } : believe(now);
  }

  async function whenProven(proof: State & { kind: "proven" }, writers: Writers, now: number): Promise<Verdict> {
    const { since, lateMs } = proof;
    const isIts = (writer: Writer) => writer.runs.some((run) => run.hookId === hookId && (run.startedAt ?? 0) >= since);
    const withinMs = Math.min(2 * lateMs, LINGER_MS);
    const [writer] = writers.explain(isIts, withinMs) ? writers.ofLatest(withinMs).filter(isIts) : [];
    if (writer !== undefined) {
      state = { ...proof, lastCutAt: now };
      await proofs.keep(state);
      return cut(state, writer);
    }
    if (await proofs.isOutdated(proof, now)) {
      await proofs.drop();
      state = { kind: "calm", believedUntil: 0 };
    }
    const others = writers.ofLatest().filter((one) => !isRound(one));
    return fire(presumedOf(others)?.cause);
  }

  const cut = ({ via }: Proof, writer: Writer): Verdict => ({
    kind: "cut",
    reason: `its own output started it${via.length > 0 ? `, through ${via.join(", ")}` : ""}`,
    cause: causeBy(writer, false),
  });

  /** Runs of the hook, and of those that it started. */
  async function underWay(since: number, now: number): Promise<{ isAny: boolean; lastEndAt: number }> {
    const spans = await writersOf([{ at: now, lateMs: now - since }], now, { runs, lineageOf }, 0);
    const its = spans.ofLatest(0).filter(isRound);
    const [waiting] = await runs.list({ hookId, status: ["queued", "backgrounded", "running"], limit: 1 });
    return {
      isAny: waiting !== undefined || its.some(({ run }) => run.endedAt === undefined),
      lastEndAt: Math.max(0, ...its.map(({ run }) => run.endedAt ?? 0)),
    };
  }

  function believe(now: number): Verdict {
    state = { kind: "calm", believedUntil: now + BELIEVED_MS };
    return fire();
  }

  const fire = (cause?: Cause): Verdict => ({ kind: "fire", cause });

  return {
    async learn() {
      const proof = await proofs.read();
      if (proof !== undefined) state = { kind: "proven", ...proof };
    },
    judge,
    judgeGone,
    fired(dispatchId) {
      if (state.kind === "trial" && state.dispatchId === undefined) state.dispatchId = dispatchId;
    },
    problem() {
      switch (state.kind) {
        case "calm":
          return undefined;
        case "proven":
          return `its own output started it again and again${state.via.length > 0 ? `, through ${state.via.join(", ")}` : ""}: what is written while it runs does not start it any more`;
        default:
          return "its own output seems to start it again and again: it is paused until that is known";
      }
    },
  };
}

/** That a file is gone is seen late, so it tells nothing about who else is at work. */
function isLaterThan(since: number, { at, lateMs }: Written): boolean {
  return lateMs === 0 && at > since;
}
