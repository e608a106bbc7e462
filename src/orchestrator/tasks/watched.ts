/** A task as SLA clocks see it. */
import { formatAddress } from "../../domain/address.js";
import { isEnded, type Task } from "../../domain/task.js";
import type { WatchedEntity } from "../../domain/watched.js";

export function watchedOf(task: Task): WatchedEntity {
  const { id, title, status, createdAt, startedAt, deadline, endedAt } = task;
  const pausedFor = pauseOf(task);
  return {
    type: "task",
    id,
    title,
    status,
    createdAt,
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(deadline === undefined ? {} : { deadline }),
    ...(endedAt === undefined ? {} : { endedAt }),
    ...(isEnded(status) && status !== "done" ? { abandoned: true } : {}),
    ...(pausedFor === undefined ? {} : { pausedFor }),
    owner: (task.owner ?? task.assignTo).replace(/^person:/, ""),
    ...(task.address === undefined ? {} : { link: formatAddress(task.address) }),
    facts: {
      assignTo: task.assignTo,
      priority: task.priority,
      attempt: task.attempt,
      ...(task.group === undefined ? {} : { group: task.group }),
      ...(task.missionId === undefined ? {} : { mission: task.missionId }),
    },
  };
}

function pauseOf({ status, reason }: Task): string | undefined {
  switch (status) {
    case "paused":
      return reason ?? "paused";
    case "awaiting_approval":
      return "awaiting approval";
    case "draft":
      return "not started yet";
    default:
      return undefined;
  }
}
