/** The reason why an expectation can never be checked, known before anything is done: for plans, and for tasks that are written in chat. */
import type { Expectation } from "../../domain/orchestrator/expectation.js";
import { errorMessage } from "../../lib/errors.js";
import { shellMarkProblems } from "../../lib/process/argument-list.js";
import { suggestion } from "../../lib/validation/schema-issues.js";
import { compileExpectation } from "./checks/compile-when.js";

export function expectationProblem(one: Expectation, models: readonly string[]): string | undefined {
  if ("when" in one) return conditionProblem(one.when);
  if ("command" in one) return shellMarkProblems(one.command, "command")[0]?.message;
  return "judge" in one ? judgeProblem(one.model, models) : undefined;
}

function conditionProblem(source: string): string | undefined {
  try {
    compileExpectation(source);
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}

export function judgeProblem(model: string | undefined, models: readonly string[]): string | undefined {
  if (model === undefined ? models.length > 0 : models.includes(model)) return undefined;
  const what = model === undefined ? "no model is configured" : `there is no model "${model}"`;
  return `${what}${suggestion(model ?? "", models)}`;
}
