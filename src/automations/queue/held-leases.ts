/** The leases that this process holds, renewed until their runs end. */
import type { AutomationRunStore } from "../../domain/automation.js";
import { errorMessage } from "../../lib/errors.js";
import type { Logger } from "../../lib/logger.js";
import type { Clock, Timer } from "../../lib/time/clock.js";
import type { Leases } from "../run/deps.js";

export interface HeldLeases extends Leases {
  /** The run is under way in this process. */
  isHeld(id: string): boolean;
  start(): void;
  stop(): void;
}

interface Options {
  runs: Pick<AutomationRunStore, "get" | "renew">;
  owner: string;
  readonly leaseMs: number;
  clock: Clock;
  logger: Logger;
}

export function createHeldLeases(options: Options): HeldLeases {
  const { runs, owner, clock, logger } = options;
  const held = new Set<string>();
  let timer: Timer | undefined;

  function arm(): void {
    timer = clock.after(options.leaseMs / 3, () => {
      void renewAll();
      arm();
    });
  }

  async function renewAll(): Promise<void> {
    const until = clock.now() + options.leaseMs;
    await Promise.all(
      [...held].map(async (id) => {
        try {
          if (await runs.renew(id, owner, until)) return;
          // This process may have written the end just now, and drops the lease next.
          await runs.get(id);
          if (!held.delete(id)) return;
          logger.warn({ run: id }, "the lease of a run was lost: its row was ended, changed or deleted meanwhile");
        } catch (error) {
          logger.warn({ run: id, error: errorMessage(error) }, "the lease of a run could not be renewed");
        }
      }),
    );
  }

  return {
    owner,
    get leaseMs() {
      return options.leaseMs;
    },
    hold: (id) => void held.add(id),
    isHeld: (id) => held.has(id),
    drop: (id) => void held.delete(id),
    start: arm,
    stop: () => timer?.cancel(),
  };
}
