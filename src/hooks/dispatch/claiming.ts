/** Handlers are asked in order whether it is theirs; the first that says so ends the asking. */
import type { Entry } from "../entry.js";
import type { Kernel } from "../kernel.js";
import type { Firing } from "../options.js";
import type { HookPoint } from "../point.js";
import { overall } from "../recording.js";
import { checkClaim } from "../results.js";
import { Sequence } from "./sequence.js";

export interface ClaimResult {
  handled: boolean;
  claimedBy?: string;
  reason?: unknown;
}

export class ClaimingDispatch extends Sequence<ClaimResult> {
  private claim: ClaimResult | undefined;

  constructor(
    kernel: Kernel,
    point: HookPoint,
    entries: readonly Entry[],
    payload: unknown,
    firing: Firing | undefined,
  ) {
    super(kernel, point, entries, payload, firing, undefined);
    this.claim = undefined;
  }

  protected override absorb(entry: Entry, value: unknown, startedMs: number): boolean {
    const claim = this.take(entry, value);
    if (this.recording === undefined) return claim !== undefined;
    if (claim === undefined) this.note(entry, startedMs, { outcome: "passed" });
    else
      this.note(entry, startedMs, {
        outcome: "claimed",
        ...(typeof claim.reason === "string" ? { reason: claim.reason } : {}),
        diff: claim,
      });
    return claim !== undefined;
  }

  private take(entry: Entry, value: unknown): ClaimResult | undefined {
    const claim = checkClaim(value, this.point.result);
    if (claim !== undefined) this.claim = { ...claim, claimedBy: entry.id };
    return this.claim;
  }

  protected override fallBack(entry: Entry, fallback: unknown): boolean {
    return this.take(entry, fallback) !== undefined;
  }

  protected override revert(): void {}

  protected override conclude(): ClaimResult {
    const { claim, recording } = this;
    if (claim === undefined) recording?.end(this, { outcome: overall(recording.runs, this.failure) });
    else recording?.end(this, { outcome: "claimed", result: claim });
    return claim ?? { handled: false };
  }
}
