/** How many run at once, all together and for each runner. */

import { runnerNames } from "./assignee.js";
import type { OrchestratorConfig } from "./config.js";

export interface Rooms {
  /** Undefined when it is full; else gives the room back. */
  take(name: string): (() => void) | undefined;
  /** How many more this one can start now; people need no room. */
  left(name: string): number;
}

export function createRooms(config: Pick<OrchestratorConfig, "runners" | "max_running">, freed: () => void): Rooms {
  const names = new Set(runnerNames(config));
  const taken = new Map<string, number>();
  let all = 0;
  const left = (name: string) => {
    if (!names.has(name)) return Number.POSITIVE_INFINITY;
    const own = (config.runners[name]?.concurrency ?? 1) - (taken.get(name) ?? 0);
    return Math.max(0, Math.min(own, config.max_running - all));
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
