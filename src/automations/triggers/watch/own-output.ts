/**
 * Whether a hook's own writing starts it again and again, by itself or through others that watch the files that it writes. The system
 * does not record the writer of a file, and a change while a run is under way proves nothing: people write, too. So each change is put
 * down to a run that may have written it (writers.ts). When that makes a chain of more than eight runs, or twenty runs in a row that may
 * have been started by the hook's own, nothing starts the hook for twice as long as a round took. A change by another writer in that
 * silence releases it. Otherwise one run is tried alone: when no change follows it, the hook is released; when one does, it is held until
 * a person lets it run. Nothing that is held is lost.
 *
 * A chain without the hook itself cannot be tried. It is held after the silence if only its own runs were under way all the time, and
 * fired otherwise: it ends, or the hook itself joins it later.
 */
import { z } from "zod";
import type { AutomationRunStore, RunSpan } from "../../../domain/automation.js";
import { type Cause, MAX_HOOK_DEPTH } from "../../../domain/journal.js";
import type { KeyValueStore } from "../../../domain/store.js";
import { createLineages } from "../../run/lineage.js";
import { causeBy, LINGER_MS, latestOf, type Writer, type Writers, type Written, writersOf } from "./writers.js";

/** `hold` without `until`: until a person lets it run. */
export type Verdict = { kind: "fire"; cause?: Cause } | { kind: "hold"; until?: number };

export interface OwnOutput {
  /** Loads the state that was known before a restart. */
  learn(): Promise<void>;
  /** The verdict on changes that are about to be fired. `isGone`: they were held and undone meanwhile, so there is nothing to try. */
  judge(written: readonly Written[], now: number, isGone?: boolean): Promise<Verdict>;
  fired(dispatchId: string): void;
  /** A person lets the hook run, or has corrected it. True when something was held. */
  release(): Promise<boolean>;
  /** Why nothing starts it at the moment. */
  problem(): string | undefined;
}

type State =
  | { kind: "calm"; believedUntil: number }
  /** Nothing starts the hook for a while. `isRound`: the hook itself is in the chain. */
  | { kind: "suspected"; since: number; quietMs: number; isRound: boolean }
  /** One run alone. `dispatchId`: its dispatch, once it was fired. */
  | { kind: "trial"; since: number; quietMs: number; dispatchId?: string }
  /** Until a person lets it run, also over restarts. */
  | { kind: "held"; reason: string };

/** A hook that writes two files starts two runs, and those four: that many come long before they are deep. */
const MAX_IN_A_ROW = 20;
/** Longer than a write is attributed to a run that has ended: another writer is seen before the trial. */
const QUIET = { leastMs: LINGER_MS + 1_000, mostMs: 600_000 };
const BELIEVED_MS = 600_000;
const CHECK_AGAIN_MS = 500;
const AGAIN = "its own output starts it again and again";

export const HELD_SCOPE = "automations.held-files";
const heldRow = z.object({ reason: z.string() });

export interface OwnOutputDeps {
  hookId: string;
  /** The watch's. */
  key: string;
  runs: Pick<AutomationRunStore, "list" | "span" | "spans">;
  keyValue: Pick<KeyValueStore, "get" | "set" | "delete">;
  debounceMs: number;
  /** The hook is held from now on: people have to know. */
  held(reason: string): void;
}

export function createOwnOutput(deps: OwnOutputDeps): OwnOutput {
  return new OwnOutputWatch(deps);
}

const fire = (cause?: Cause): Verdict => ({ kind: "fire", cause });

class OwnOutputWatch implements OwnOutput {
  readonly #deps: OwnOutputDeps;
  readonly #lineageOf: ReturnType<typeof createLineages>;
  #state: State = { kind: "calm", believedUntil: 0 };
  /** The runs that changes were put down to, one after the other. */
  #inARow = new Set<string>();

  constructor(deps: OwnOutputDeps) {
    this.#deps = deps;
    this.#lineageOf = createLineages(deps.runs);
  }

  async learn(): Promise<void> {
    const { keyValue, key } = this.#deps;
    const { data } = heldRow.safeParse(await keyValue.get(HELD_SCOPE, key));
    if (data !== undefined) this.#state = { kind: "held", ...data };
  }

  fired(dispatchId: string): void {
    if (this.#state.kind === "trial" && this.#state.dispatchId === undefined) this.#state.dispatchId = dispatchId;
  }

  async release(): Promise<boolean> {
    const { keyValue, key } = this.#deps;
    if (this.#state.kind === "calm") return false;
    await keyValue.delete(HELD_SCOPE, key);
    this.#calm();
    return true;
  }

  problem(): string | undefined {
    switch (this.#state.kind) {
      case "calm":
        return undefined;
      case "held":
        return `${this.#state.reason}: nothing starts it until /hooks enable ${this.#deps.hookId}`;
      default:
        return "its own output seems to start it again and again: nothing starts it until that is known";
    }
  }

  async judge(written: readonly Written[], now: number, isGone = false): Promise<Verdict> {
    if (this.#state.kind === "held") return { kind: "hold" };
    const latest = latestOf(written);
    const writers = await writersOf(written, now, { runs: this.#deps.runs, lineageOf: this.#lineageOf });
    switch (this.#state.kind) {
      case "calm":
        return this.#whenCalm(writers, latest, now, this.#state.believedUntil);
      case "suspected":
        return this.#whenSuspected(this.#state, writers, { latest, isGone }, now);
      case "trial":
        return this.#whenTried(this.#state, writers, latest, now);
    }
  }

  /** The hook itself is in the writer's chain. */
  #isRound({ runs }: Pick<Writer, "runs">): boolean {
    return runs.some((run) => run.hookId === this.#deps.hookId);
  }

  #whenCalm(writers: Writers, latest: Written, now: number, believedUntil: number): Verdict {
    const presumed = writers.explain(() => true) ? this.#presumedOf(writers.ofLatest()) : undefined;
    const round = presumed !== undefined && this.#isRound(presumed.writer);
    if (round) this.#inARow.add(presumed.writer.run.id);
    else this.#inARow = new Set();
    const { depth = 0, isSole = false } = presumed?.cause.presumed ?? {};
    const isDeep = depth > MAX_HOOK_DEPTH && (round || isSole);
    if ((!isDeep && this.#inARow.size <= MAX_IN_A_ROW) || now < believedUntil) return fire(presumed?.cause);
    const leastMs = Math.max(QUIET.leastMs, 4 * this.#deps.debounceMs);
    const quietMs = Math.min(
      Math.max(leastMs, 2 * this.#roundMs(presumed?.writer.runs ?? [], latest.at)),
      QUIET.mostMs,
    );
    this.#state = { kind: "suspected", since: now, quietMs, isRound: round };
    return { kind: "hold", until: now + quietMs };
  }

  /** The deepest writer, among those with the hook in their chain if there are any. */
  #presumedOf(writers: readonly Writer[]): { writer: Writer; cause: Cause } | undefined {
    const rounds = writers.filter((writer) => this.#isRound(writer));
    const [first, ...others] = rounds.length > 0 ? rounds : writers;
    if (first === undefined) return undefined;
    const writer = others.reduce((one, other) => (other.depth > one.depth ? other : one), first);
    // Writers before it in its own chain are not other writers.
    const isAlone = writers.every(({ run }) => writer.runs.some(({ id }) => id === run.id));
    return { writer, cause: causeBy(writer, isAlone) };
  }

  /** From one run of the hook to the next, or from one run to the next where it is not in the chain: the longest. */
  #roundMs(chain: readonly RunSpan[], at: number): number {
    const own = chain.filter((run) => run.hookId === this.#deps.hookId);
    const starts = (own.length > 0 ? own : chain).map(({ startedAt, createdAt }) => startedAt ?? createdAt);
    return Math.max(0, ...[at, ...starts].map((later, index) => later - (starts[index] ?? later)));
  }

  async #whenSuspected(
    suspected: State & { kind: "suspected" },
    writers: Writers,
    { latest, isGone }: { latest: Written; isGone: boolean },
    now: number,
  ): Promise<Verdict> {
    const { since, quietMs } = suspected;
    const isIts = (writer: Writer) => !suspected.isRound || this.#isRound(writer);
    const under = await this.#underWay(since, now);
    const quietSince = Math.max(since, under.lastEndAt);
    const isOthers = !writers.explain(isIts) && isLaterThan(since, latest);
    // A write after a quiet time that is long enough proves nothing about earlier writers: that is the run to try.
    if (isOthers && latest.at < quietSince + quietMs) return this.#believe(now);
    if (under.isAny) return { kind: "hold", until: now + quietMs };
    const quietUntil = (isOthers ? quietSince : Math.max(quietSince, latest.at)) + quietMs;
    if (now < quietUntil) return { kind: "hold", until: quietUntil };
    if (suspected.isRound && isGone) return this.#hold(AGAIN);
    if (suspected.isRound) {
      this.#state = { kind: "trial", since: now, quietMs };
      return fire();
    }
    const presumed = this.#presumedOf(writers.ofLatest());
    return presumed === undefined ? this.#calm() : this.#hold(chainOf(presumed.writer));
  }

  async #whenTried(
    { since, quietMs, dispatchId }: State & { kind: "trial" },
    writers: Writers,
    latest: Written,
    now: number,
  ): Promise<Verdict> {
    const isOfTrial = ({ runs }: Pick<Writer, "runs">) =>
      dispatchId !== undefined && runs.some((run) => run.dispatchId === dispatchId);
    const follower = writers.ofLatest(0).find(isOfTrial) ?? writers.ofLatest().find(isOfTrial);
    if (follower !== undefined && latest.at >= since) {
      const via = [...new Set(follower.runs.map((run) => run.hookId))]
        .filter((id) => id !== this.#deps.hookId)
        .reverse();
      return this.#hold(`${AGAIN}${via.length > 0 ? `, through ${via.join(", ")}` : ""}`);
    }
    if (!writers.explain((writer) => this.#isRound(writer)) && isLaterThan(since, latest)) return this.#believe(now);
    const under = await this.#underWay(since, now);
    if (under.isAny) return { kind: "hold", until: now + CHECK_AGAIN_MS };
    // The trial run has ended, or was refused by a gate: the files that it wrote would have been seen by then.
    const seenBy = Math.max(since, under.lastEndAt) + quietMs;
    return now < seenBy ? { kind: "hold", until: seenBy } : this.#believe(now);
  }

  async #hold(reason: string): Promise<Verdict> {
    if (this.#state.kind === "held") return { kind: "hold" };
    this.#state = { kind: "held", reason };
    await this.#deps.keyValue.set(HELD_SCOPE, this.#deps.key, { reason });
    this.#deps.held(reason);
    return { kind: "hold" };
  }

  /** Runs of the hook, and of those that it started. */
  async #underWay(since: number, now: number): Promise<{ isAny: boolean; lastEndAt: number }> {
    const spans = await writersOf(
      [{ at: now, lateMs: now - since }],
      now,
      { runs: this.#deps.runs, lineageOf: this.#lineageOf },
      0,
    );
    const its = spans.ofLatest(0).filter((writer) => this.#isRound(writer));
    const [waiting] = await this.#deps.runs.list({
      hookId: this.#deps.hookId,
      status: ["queued", "backgrounded", "running"],
      limit: 1,
    });
    return {
      isAny: waiting !== undefined || its.some(({ run }) => run.endedAt === undefined),
      lastEndAt: Math.max(0, ...its.map(({ run }) => run.endedAt ?? 0)),
    };
  }

  #believe(now: number): Verdict {
    return this.#calm(now + BELIEVED_MS);
  }

  #calm(believedUntil = 0): Verdict {
    this.#inARow = new Set();
    this.#state = { kind: "calm", believedUntil };
    return fire();
  }
}

function chainOf({ depth, runs }: Writer): string {
  const through = runs.map((run) => run.hookId).slice(0, MAX_HOOK_DEPTH + 1);
  return `${depth} hooks start each other through files (${through.reverse().join(" → ")})`;
}

/** The removal of a file is seen late, so it does not show who else is at work. */
function isLaterThan(since: number, { at, lateMs }: Written): boolean {
  return lateMs === 0 && at > since;
}
