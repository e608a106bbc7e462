/** A task as SLA clocks see it. */

import type { FactsOf, Watched } from "../../domain/alerts/watched.js";
import { formatAddress } from "../../domain/chat/address.js";
import { isEnded, type Task } from "../../domain/orchestrator/task.js";
import { withoutUndefined } from "../../lib/without-undefined.js";

export function watchedOf(task: Task): Watched<"task"> {
  const { id, title, status, createdAt, startedAt, deadline, endedAt } = task;
  const pausedFor = pauseOf(task);
  return {
    type: "task",
    id,
    title,
    status,
    createdAt,
    startedAt,
    deadline,
    endedAt,
    abandoned: isEnded(status) && status !== "done" ? true : undefined,
    pausedFor,
    owner: (task.owner ?? task.assignTo).replace(/^person:/, ""),
    link: task.address && formatAddress(task.address),
    facts: withoutUndefined<FactsOf<"task">>({
      assignTo: task.assignTo,
      priority: task.priority,
      attempt: task.attempt,
      group: task.group,
      mission: task.missionId,
    }),
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
