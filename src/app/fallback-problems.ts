/** Fallbacks whose form is right and that would be refused when they are needed. */

import type { Definition } from "../automations/definition/definition.js";
import { taskSpec } from "../domain/task.js";
import { PLAIN } from "../lib/plain-issues.js";
import { issuesOf, pathText } from "../lib/schema-issues.js";

/** `assigneeProblem`: why no task can be given to a runner or person. */
export function fallbackProblems(
  { point, fallback }: Pick<Definition, "point" | "fallback">,
  assigneeProblem: (assignTo: string) => string | undefined,
  now: number,
): string[] {
  if (point !== "task:create" || fallback === undefined) return [];
  // A task is made of it and of what was asked for, and is checked again then.
  const read = taskSpec.partial().safeParse(fallback, PLAIN);
  if (!read.success)
    return issuesOf(read.error, []).map(({ path, message }) => `fallback.${pathText(path)}: ${message}`);
  const { deadline, assignTo } = read.data;
  const assignee = assignTo === undefined ? undefined : assigneeProblem(assignTo);
  return [
    ...(deadline !== undefined && deadline <= now
      ? [`fallback.deadline: ${new Date(deadline).toISOString()} is in the past, so the task would be refused`]
      : []),
    ...(assignee === undefined ? [] : [`fallback.assignTo: ${assignee}`]),
  ];
}
