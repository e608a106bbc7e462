/** Fallbacks whose form is right and that would be refused when they are needed. */

import { z } from "zod";
import type { Definition } from "../../automations/definition/definition.js";
import { address, formatAddress } from "../../domain/chat/address.js";
import { platformProblem } from "../../domain/chat/platform.js";
import { taskSpec } from "../../domain/orchestrator/task.js";
import { PLAIN } from "../../lib/validation/plain-issues.js";
import { issuesOf, pathText } from "../../lib/validation/schema-issues.js";

/** `assigneeProblem`: why no task can be given to a runner or person; `chatProblem`: why nothing can be posted to a chat. */
export function fallbackProblems(
  { point, fallback }: Pick<Definition, "point" | "fallback">,
  assigneeProblem: (assignTo: string) => string | undefined,
  now: number,
  chatProblem: (address: string) => string | undefined,
): string[] {
  if (point === "inbound_claim") return routeProblems(fallback, chatProblem);
  if (point !== "task:create" || fallback === undefined) return [];
  // A task is made of the fallback and of the fields that were asked for, and is checked again then.
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

const claimed = z.object({ routeTo: address });

/** A claim that forwards the message to a chat that nothing reaches. */
function routeProblems(fallback: unknown, chatProblem: (address: string) => string | undefined): string[] {
  const { data } = claimed.safeParse(fallback);
  const problem = data && (platformProblem(data.routeTo.platform) ?? chatProblem(formatAddress(data.routeTo)));
  return problem === undefined ? [] : [`fallback.routeTo: ${problem}`];
}
