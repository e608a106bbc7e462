/** How many run at once, all together and for each runner. */

import { runnerNames } from "./assignee.js";
import type { OrchestratorConfig } from "./config.js";

export interface Rooms {
  /** Undefined when it is full; else gives the room back. */
  take(name: string): (() => void) | undefined;
  /** Runners that cannot start anything now. */
  full(): string[];
}

export function createRooms(config: Pick<OrchestratorConfig, "runners" | "max_running">, freed: () => void): Rooms {
  const names = runnerNames(config);
  const taken = new Map<string, number>();
  let all = 0;
  const isFull = (name: string) =>
    all >= config.max_running || (taken.get(name) ?? 0) >= (config.runners[name]?.concurrency ?? 1);
  return {
    take(name) {
      if (isFull(name)) return undefined;
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
    full: () => names.filter(isFull),
  };
}
