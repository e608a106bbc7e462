/** The registrations of one hook point, and the lists that its dispatches run over: made once per change, never per dispatch. */

import type { HookPoint, LifecyclePhase } from "../point.js";
import type { Entry } from "./entry.js";
import { orderEntries } from "./order.js";

const NOBODY: readonly Entry[] = Object.freeze([]);

export class PointHandlers {
  point: HookPoint;
  readonly all = new Set<Entry>();
  /** Enabled entries in order; `after` of a lifecycle point apart. Undefined after a change, until the next read. */
  #main: readonly Entry[] | undefined = NOBODY;
  #after: readonly Entry[] | undefined = NOBODY;

  constructor(point: HookPoint) {
    this.point = point;
  }

  /** The entries that a dispatch runs: a dispatch keeps the list that it started with. */
  get main(): readonly Entry[] {
    this.#main ??= this.#enabled(this.point.model === "lifecycle" ? "before" : undefined);
    return this.#main;
  }
  get after(): readonly Entry[] {
    this.#after ??= this.#enabled("after");
    return this.#after;
  }

  /** Disabled ones included. */
  ordered(phase: LifecyclePhase | undefined): Entry[] {
    return orderEntries([...this.all].filter((entry) => entry.phase === phase));
  }

  /** An entry was added, removed or switched. */
  changed(): void {
    this.#main = undefined;
    this.#after = undefined;
  }

  #enabled(phase: LifecyclePhase | undefined): readonly Entry[] {
    if (this.all.size === 0) return NOBODY;
    return this.ordered(phase).filter((entry) => entry.enabled);
  }
}
