/** A mission as SLA clocks know it. */
import { formatAddress } from "../../domain/address.js";
import { isMissionOver, type Mission } from "../../domain/mission.js";
import type { WatchedEntity } from "../../domain/watched.js";

export function watchedMission(mission: Mission): WatchedEntity {
  const { id, title, status, createdAt, startedAt, endedAt, deadline, address, reason, planId } = mission;
  return {
    type: "mission",
    id,
    title,
    status,
    createdAt,
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(deadline === undefined ? {} : { deadline }),
    ...(endedAt === undefined ? {} : { endedAt }),
    ...(isMissionOver(status) && status !== "done" ? { abandoned: true } : {}),
    ...(status === "blocked" ? { pausedFor: reason ?? "a hook refused it" } : {}),
    owner: mission.createdBy,
    ...(address === undefined ? {} : { link: formatAddress(address) }),
    facts: {
      planId,
      tasks: Object.keys(mission.taskIds).length,
      ...(mission.scheduleId === undefined ? {} : { scheduleId: mission.scheduleId }),
    },
  };
}
