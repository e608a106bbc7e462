/** A task as `task:create` shows it: what it was made from, and its id. */

import type { Task, TaskDraft } from "../../domain/task.js";
import { withoutUndefined } from "../../lib/without-undefined.js";

export function draftOf(task: Task): TaskDraft {
  const { id, title, description, assignTo, expectations, dependsOn, group, maxDuration, needsApproval, input } = task;
  const { retryPolicy, deadline, priority, missionId } = task;
  const draft = {
    ...{ id, title, description, assignTo, expectations, dependsOn, group, maxDuration, needsApproval, input },
    ...{ retryPolicy, deadline, priority, missionId },
  };
  return withoutUndefined(draft);
}
