/** What the checks say together. */
import type { Assessment, Check } from "../../domain/assessment.js";

export function verdictOf(checks: readonly Check[]): Pick<Assessment, "passed" | "globalScore" | "feedback"> {
  const passed = checks.every((check) => check.passed || !check.required);
  const weight = checks.reduce((sum, check) => sum + check.weight, 0);
  const globalScore = weight === 0 ? 1 : checks.reduce((sum, check) => sum + check.score * check.weight, 0) / weight;
  const missed = checks.filter((check) => !check.passed);
  return {
    passed,
    globalScore: Math.round(globalScore * 1e6) / 1e6,
    feedback: passed ? "" : missed.map(({ name, feedback }) => `${name}: ${feedback}`).join("\n"),
  };
}
