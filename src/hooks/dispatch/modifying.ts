/** Handlers run in order and return a partial result; who has seen a value may replace it, who has not may not. */
import type { Entry } from "../entry.js";
import { copyOf, isolate } from "../isolate.js";
import { overall } from "../recording.js";
import { checkPatch, type Fields } from "../results.js";
import { HookRun } from "../run.js";
import type { Rules, Sequence } from "./sequence.js";

export class ModifyingRules implements Rules<Fields> {
  declare private merged: Fields | undefined;
  /** key → the hook that set it. */
  declare private provenance: Record<string, string>;

  constructor() {
    this.merged = undefined;
    this.provenance = NOBODY;
  }

  contextFor(sequence: Sequence<Fields>, entry: Entry): HookRun {
    return new HookRun(sequence, entry);
  }

  mergedView(sequence: Sequence<Fields>): unknown {
    if (this.merged === undefined) return sequence.view();
    return isolate({ ...(sequence.payload as Fields), ...this.merged });
  }

  absorb(sequence: Sequence<Fields>, entry: Entry, value: unknown, startedMs: number): boolean {
    const diff = value === null || value === undefined ? undefined : this.merge(sequence, entry, value);
    if (sequence.recording !== undefined)
      sequence.note(entry, startedMs, diff === undefined ? { outcome: "passed" } : { outcome: "modified", diff });
    return false;
  }

  /** Gives what this handler set. */
  private merge(sequence: Sequence<Fields>, entry: Entry, value: unknown): Fields | undefined {
    const patch = checkPatch(value, sequence.point.result);
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

  fallBack(sequence: Sequence<Fields>, entry: Entry, fallback: unknown): boolean {
    this.merge(sequence, entry, fallback);
    return false;
  }

  revert(): void {}

  conclude(sequence: Sequence<Fields>): Fields {
    const { merged } = this;
    const { recording, failure } = sequence;
    if (recording !== undefined) {
      if (merged === undefined) recording.end(sequence, { outcome: overall(recording.runs, failure) });
      else
        recording.end(sequence, {
          outcome: failure === undefined ? "modified" : "failed",
          result: copyOf(merged),
          provenance: this.provenance,
        });
    }
    return merged ?? {};
  }
}

const NOBODY: Record<string, string> = Object.freeze({});
