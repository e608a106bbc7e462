/** Missions and schedules, where the gateway has them. */
import { hasRole } from "../../src/domain/identity.js";
import type { CommandContext } from "../../src/gateway/commands.js";
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

/** Whether what somebody's work brought may be shown to whoever asks. */
export function mayHear(deps: CommandDeps, { operator }: CommandContext, assignTo: string): boolean {
  return hasRole(operator.role, missionsOf(deps).roleFor(assignTo));
}
