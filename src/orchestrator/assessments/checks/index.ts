/** Checks one expectation, by the key that names its kind. */
import type { Expectation } from "../../../domain/orchestrator/expectation.js";
import type { CheckContext, Found } from "./check.js";
import { checkCondition } from "./condition.js";
import { checkFile } from "./file.js";
import { checkHttp } from "./http.js";
import { checkByJudge } from "./judge.js";
import { checkProgram } from "./program.js";

export async function checkExpectation(one: Expectation, context: CheckContext): Promise<Found> {
  if ("command" in one || "sh" in one) return checkProgram(one, context);
  if ("file" in one) return checkFile(one, context);
  if ("http" in one) return checkHttp(one, context);
  if ("when" in one) return checkCondition(one, context);
  return checkByJudge(one, context);
}
