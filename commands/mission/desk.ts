/** Missions and schedules, where the gateway has them. */
import { HookgateError } from "../../src/lib/errors.js";
import type { MissionDesk } from "../../src/orchestrator/missions/missions.js";
import type { ScheduleDesk } from "../../src/orchestrator/schedules/schedules.js";
import type { CommandDeps } from "../deps.js";

export function missionsOf({ missions }: CommandDeps): MissionDesk {
  if (missions !== undefined) return missions;
  throw new HookgateError({ code: "NOT_HERE", message: "This gateway runs no missions." });
}

export function schedulesOf({ schedules }: CommandDeps): ScheduleDesk {
  if (schedules !== undefined) return schedules;
  throw new HookgateError({ code: "NOT_HERE", message: "This gateway has no schedules." });
}
