/** The dependencies of schedules. */
import type { ScheduleStore } from "../../domain/orchestrator/schedule.js";
import type { Attempts } from "../../hooks/attempts.js";
import type { HookRegistry } from "../../hooks/registry.js";
import type { Logger } from "../../lib/logger.js";
import type { Clock } from "../../lib/time/clock.js";
import type { Missions } from "../missions/missions.js";

export interface ScheduleDeps {
  registry: Pick<HookRegistry, "runBefore">;
  attempts: Attempts;
  store: ScheduleStore;
  missions: Pick<Missions, "draft" | "started" | "plans">;
  clock: Clock;
  logger: Logger;
}
