/** Handlers are asked in order whether it is theirs; the first that claims it ends the asking. */

import { failedIf } from "../recording.js";
import type { Entry } from "../registration/entry.js";
import { checkClaim } from "../results.js";
import { HookRun } from "../run.js";
import type { Rules, Sequence } from "./sequence.js";

export interface ClaimResult {
  handled: boolean;
  claimedBy?: string;
  reason?: unknown;
}

export class ClaimingRules implements Rules<ClaimResult> {
  private claim: ClaimResult | undefined;

  constructor() {
    this.claim = undefined;
  }

  contextFor(sequence: Sequence<ClaimResult>, entry: Entry): HookRun {
    return new HookRun(sequence, entry);
  }

  mergedView(sequence: Sequence<ClaimResult>): unknown {
    return sequence.view();
  }

  seenBy(sequence: Sequence<ClaimResult>): unknown {
    return sequence.payload;
  }

  absorb(sequence: Sequence<ClaimResult>, entry: Entry, value: unknown, startedMs: number): boolean {
    const claim = this.take(sequence, entry, value);
    if (sequence.recording === undefined) return claim !== undefined;
    if (claim === undefined) sequence.note(entry, startedMs, { outcome: "passed" });
    else
      sequence.note(entry, startedMs, {
        outcome: "claimed",
        reason: typeof claim.reason === "string" ? claim.reason : undefined,
        diff: claim,
      });
    return claim !== undefined;
  }

  check(sequence: Sequence<ClaimResult>, _entry: Entry, value: unknown): string | undefined {
    checkClaim(value, sequence.point.result, sequence.firing?.refuseClaim);
    return undefined;
  }

  private take(sequence: Sequence<ClaimResult>, entry: Entry, value: unknown): ClaimResult | undefined {
    const claim = checkClaim(value, sequence.point.result, sequence.firing?.refuseClaim);
    if (claim !== undefined) {
      claim.claimedBy = entry.id;
      this.claim = claim;
    }
    return this.claim;
  }

  fallBack(sequence: Sequence<ClaimResult>, entry: Entry, fallback: unknown): boolean {
    return this.take(sequence, entry, fallback) !== undefined;
  }

  revert(): void {}

  conclude(sequence: Sequence<ClaimResult>): ClaimResult {
    const { claim } = this;
    const { recording } = sequence;
    if (recording !== undefined) {
      if (claim === undefined) recording.end(sequence, { outcome: failedIf(sequence.failure) });
      else recording.end(sequence, { outcome: "claimed", result: claim });
    }
    return claim ?? { handled: false };
  }
}
