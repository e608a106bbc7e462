/** A mission as SLA clocks know it. */

import type { FactsOf, Watched } from "../../domain/alerts/watched.js";
import { formatAddress } from "../../domain/chat/address.js";
import { isMissionOver, type Mission } from "../../domain/orchestrator/mission.js";
import { withoutUndefined } from "../../lib/without-undefined.js";

export function watchedMission(mission: Mission): Watched<"mission"> {
  const { id, title, status, createdAt, startedAt, endedAt, deadline, address, reason, planId } = mission;
  return {
    type: "mission",
    id,
    title,
    status,
    createdAt,
    startedAt,
    deadline,
    endedAt,
    abandoned: isMissionOver(status) && status !== "done" ? true : undefined,
    pausedFor: status === "blocked" ? (reason ?? "a hook refused it") : undefined,
    owner: mission.createdBy,
    link: address && formatAddress(address),
    facts: withoutUndefined<FactsOf<"mission">>({
      planId,
      tasks: Object.keys(mission.taskIds).length,
      scheduleId: mission.scheduleId,
    }),
  };
}
