/** Limits the number of runs at once, all together and for each runner. */

import type { OrchestratorConfig } from "./config.js";

export interface Rooms {
  /** Takes a room; the returned function gives it back. Undefined when there is none. */
  take(name: string): (() => void) | undefined;
  /** How many more runs this runner can start now; people need no room. */
  left(name: string): number;
}

export function createRooms(
  config: () => Pick<OrchestratorConfig, "runners" | "max_running">,
  freed: () => void,
): Rooms {
  const taken = new Map<string, number>();
  let all = 0;
  const left = (name: string) => {
    const { runners, max_running } = config();
    const runner = Object.hasOwn(runners, name) ? runners[name] : undefined;
    if (runner === undefined || runner.person !== undefined) return Number.POSITIVE_INFINITY;
    return Math.max(0, Math.min(runner.concurrency - (taken.get(name) ?? 0), max_running - all));
  };
  return {
    take(name) {
      if (left(name) === 0) return undefined;
      all++;
      taken.set(name, (taken.get(name) ?? 0) + 1);
      let isBack = false;
      return () => {
        if (isBack) return;
        isBack = true;
        all--;
        taken.set(name, (taken.get(name) ?? 1) - 1);
        freed();
      };
    },
    left,
  };
}
