/** Handlers run in order and return a partial result; who has seen a value may replace it, who has not may not. */
import type { Entry } from "../entry.js";
import { copyOf, isolate } from "../isolate.js";
import type { Kernel } from "../kernel.js";
import type { Firing } from "../options.js";
import type { HookPoint } from "../point.js";
import { overall } from "../recording.js";
import { checkPatch, type Fields } from "../results.js";
import { Sequence } from "./sequence.js";

export class ModifyingDispatch extends Sequence<Fields> {
  private merged: Fields | undefined;
  /** key → the hook that set it. */
  private provenance: Record<string, string>;

  constructor(
    kernel: Kernel,
    point: HookPoint,
    entries: readonly Entry[],
    payload: unknown,
    firing: Firing | undefined,
  ) {
    super(kernel, point, entries, payload, firing, undefined);
    this.merged = undefined;
    this.provenance = NOBODY;
  }

  protected override mergedView(): unknown {
    if (this.merged === undefined) return this.view();
    return isolate({ ...(this.payload as Fields), ...this.merged }, { unfreezable: false });
  }

  protected override absorb(entry: Entry, value: unknown, startedMs: number): boolean {
    const diff = value === null || value === undefined ? undefined : this.merge(entry, value);
    if (this.recording !== undefined)
      this.note(entry, startedMs, diff === undefined ? { outcome: "passed" } : { outcome: "modified", diff });
    return false;
  }

  /** Gives what this handler set. */
  private merge(entry: Entry, value: unknown): Fields | undefined {
    const patch = checkPatch(value, this.point.result);
    const replaces = entry.seesMerged;
    let diff: Fields | undefined;
    for (const key of Object.keys(patch)) {
      const wanted = patch[key];
      if (wanted === null || wanted === undefined) continue;
      if (this.merged === undefined) {
        this.merged = {};
        this.provenance = {};
      } else if (!replaces && Object.hasOwn(this.merged, key)) continue;
      this.merged[key] = copyOf(wanted);
      this.provenance[key] = entry.id;
      diff ??= {};
      diff[key] = this.merged[key];
    }
    return diff;
  }

  protected override fallBack(entry: Entry, fallback: unknown): boolean {
    this.merge(entry, fallback);
    return false;
  }

  protected override revert(): void {}

  protected override conclude(): Fields {
    const { merged } = this;
    if (this.recording !== undefined) {
      if (merged === undefined) this.recording.end(this, { outcome: overall(this.recording.runs, this.failure) });
      else
        this.recording.end(this, {
          outcome: this.failure === undefined ? "modified" : "failed",
          result: copyOf(merged),
          provenance: this.provenance,
        });
    }
    return merged ?? {};
  }
}

const NOBODY: Record<string, string> = Object.freeze({});
