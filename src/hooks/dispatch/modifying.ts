/** Handlers run in order and return a partial result; who has seen a value may replace it, who has not may not. */
import { isDeepStrictEqual } from "node:util";
import type { Outcome } from "../../domain/journal.js";
import { copyOf, isolate } from "../../fast/isolate.js";
import { HookgateError } from "../../lib/errors.js";
import { failedIf, type RunEnd } from "../recording.js";
import type { Entry } from "../registration/entry.js";
import { checkPatchAt, type Fields } from "../results.js";
import { HookRun } from "../run.js";
import type { Rules, Sequence } from "./sequence.js";

export class ModifyingRules implements Rules<Fields> {
  private merged: Fields | undefined;
  /** key → the hook that set it. */
  private provenance: Record<string, string>;
  /** key → the hook that set it, for keys whose value differs from the value before. */
  private changes: Record<string, string>;

  constructor() {
    this.merged = undefined;
    this.provenance = NOBODY;
    this.changes = NOBODY;
  }

  contextFor(sequence: Sequence<Fields>, entry: Entry): HookRun {
    return new HookRun(sequence, entry);
  }

  mergedView(sequence: Sequence<Fields>): unknown {
    return this.merged === undefined ? sequence.view() : isolate(this.withMerged(sequence));
  }

  seenBy(sequence: Sequence<Fields>, entry: Entry): unknown {
    return entry.seesMerged ? this.withMerged(sequence) : sequence.payload;
  }

  private withMerged({ payload }: Sequence<Fields>): unknown {
    return this.merged === undefined ? payload : { ...(payload as Fields), ...this.merged };
  }

  absorb(sequence: Sequence<Fields>, entry: Entry, value: unknown, startedMs: number): boolean {
    const end = value === null || value === undefined ? PASSED : this.merge(sequence, entry, value);
    if (sequence.recording !== undefined) sequence.note(entry, startedMs, end);
    return false;
  }

  check(sequence: Sequence<Fields>, entry: Entry, value: unknown): string | undefined {
    return value === null || value === undefined ? undefined : this.checked(sequence, entry, value).lost;
  }

  /**
   * Throws when a fail-closed handler is overruled: its decision would have no effect. A null in place of a value is no opinion of a
   * fail-open handler only: a guard must not pass in silence.
   */
  private checked(
    sequence: Sequence<Fields>,
    entry: Entry,
    value: unknown,
  ): { patch: Fields; lost: string | undefined } {
    const base = sequence.payload as Fields;
    const onNull = entry.closing === "open" ? (problem: string) => sequence.warnOnce(entry, problem) : undefined;
    const patch = checkPatchAt(sequence.point, base, value, (key) => this.merged?.[key] ?? base[key], onNull);
    const lost = entry.seesMerged ? undefined : this.lostOf(patch, entry.id);
    if (lost !== undefined && entry.closing === "closed")
      throw new HookgateError({ code: "HOOK_OVERRULED", message: lost, hint: "Register it with `sees: merged`." });
    return { patch, lost };
  }

  /** Gives the end of the run. */
  private merge(sequence: Sequence<Fields>, entry: Entry, value: unknown): RunEnd {
    const { patch, lost } = this.checked(sequence, entry, value);
    const diff: Fields = {};
    for (const key of Object.keys(patch)) {
      if (!entry.seesMerged && this.merged !== undefined && Object.hasOwn(this.merged, key)) continue;
      if (this.merged === undefined) {
        this.merged = {};
        this.provenance = {};
      }
      const before = Object.hasOwn(this.merged, key) ? this.merged[key] : (sequence.payload as Fields)[key];
      this.merged[key] = copyOf(patch[key]);
      this.provenance[key] = entry.id;
      if (isDeepStrictEqual(before, patch[key])) continue;
      if (this.changes === NOBODY) this.changes = {};
      this.changes[key] = entry.id;
      // The fields that the hook named, which may be a part of the value.
      if (sequence.recording !== undefined) diff[key] = copyOf((value as Fields)[key]);
    }
    return endOf(diff, lost);
  }

  /** In words: the values that an earlier hook set otherwise. */
  private lostOf(patch: Fields, id: string): string | undefined {
    const { merged } = this;
    if (merged === undefined) return undefined;
    const lost = Object.keys(patch).filter(
      (key) => Object.hasOwn(merged, key) && !isDeepStrictEqual(merged[key], patch[key]),
    );
    if (lost.length === 0) return undefined;
    const winners = lost.map((key) => `"${this.provenance[key]}" set ${key} before it`);
    return `${winners.join(", ")}, and "${id}" sees the original only`;
  }

  fallBack(sequence: Sequence<Fields>, entry: Entry, fallback: unknown): boolean {
    this.merge(sequence, entry, fallback);
    return false;
  }

  revert(): void {}

  conclude(sequence: Sequence<Fields>): Fields {
    const { merged } = this;
    const { recording, failure } = sequence;
    if (recording !== undefined) {
      if (merged === undefined || this.changes === NOBODY) recording.end(sequence, { outcome: failedIf(failure) });
      else
        recording.end(sequence, {
          outcome: failure === undefined ? (vetoOf(merged)?.outcome ?? "modified") : "failed",
          result: copyOf(merged),
          provenance: this.changes,
        });
    }
    return merged ?? {};
  }
}

const NOBODY: Record<string, string> = Object.freeze({});
const PASSED: RunEnd = Object.freeze({ outcome: "passed" });

/** The fields of a result that stop what is about to happen: see `vetoable` of a point. */
const VETOES = [
  ["cancel", "cancelled"],
  ["error", "blocked"],
] as const;

function vetoOf(set: Fields): { key: string; outcome: Outcome; reason: string | undefined } | undefined {
  for (const [key, outcome] of VETOES) {
    const given = set[key];
    if (given) return { key, outcome, reason: typeof given === "string" ? given : undefined };
  }
  return undefined;
}

function endOf(diff: Fields, lost: string | undefined): RunEnd {
  const veto = vetoOf(diff);
  const end: RunEnd = { outcome: "passed" };
  if (veto !== undefined) {
    end.outcome = veto.outcome;
    if (veto.reason !== undefined) {
      end.reason = veto.reason;
      delete diff[veto.key];
    }
  } else if (lost !== undefined) {
    end.outcome = "overruled";
    end.reason = lost;
  } else if (Object.keys(diff).length > 0) end.outcome = "modified";
  if (Object.keys(diff).length > 0) end.diff = diff;
  return end;
}
