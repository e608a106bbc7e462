/** The verdict of a gate on its group. Computes only; asking hooks and keeping the verdict is the mission's business. */
import { type GateState, isGateOpen } from "../../domain/orchestrator/mission.js";
import type { GateSpec } from "../../domain/orchestrator/plan.js";
import type { Task } from "../../domain/orchestrator/task.js";
import { compileGate } from "./compile-gate.js";

export interface GateTask {
  taskId: string;
  title: string;
  status: Task["status"];
  score?: number;
}

export interface Evaluation {
  verdict: "passed" | "held";
  avgScore?: number;
  allPassed: boolean;
  /** The conditions that do not hold. */
  reason?: string;
  tasks: GateTask[];
}

export function evaluateGate(gate: GateSpec, tasks: readonly Task[]): Evaluation {
  const seen = tasks.map(gateTaskOf);
  const scores = seen.flatMap(({ score }) => score ?? []);
  const avgScore = scores.length === 0 ? undefined : scores.reduce((sum, score) => sum + score, 0) / scores.length;
  const allPassed = seen.every(({ status }) => status === "done");
  const facts = { avgScore, allPassed, tasks: seen };
  const missing = missingOf(gate, facts);
  return {
    verdict: missing.length === 0 ? "passed" : "held",
    ...facts,
    reason: missing.length === 0 ? undefined : missing.join("; "),
  };
}

function missingOf(
  { minScore, allPassed, when }: GateSpec,
  facts: { avgScore?: number; allPassed: boolean; tasks: readonly GateTask[] },
): string[] {
  const missing: string[] = [];
  const wantsAll = allPassed ?? (minScore === undefined && when === undefined);
  const notDone = facts.tasks.filter(({ status }) => status !== "done");
  if (wantsAll && notDone.length > 0)
    missing.push(`not done: ${notDone.map(({ title, status }) => `${title} (${status})`).join(", ")}`);
  if (minScore !== undefined && (facts.avgScore ?? 0) < minScore)
    missing.push(
      facts.avgScore === undefined
        ? `a score of ${minScore} is asked for, and no task was assessed`
        : `the score is ${facts.avgScore.toFixed(2)}, not ${minScore} or more`,
    );
  const holds = when === undefined ? true : compileGate(when)({ gate: facts });
  if (holds !== true) missing.push(holds);
  return missing;
}

function gateTaskOf({ id, title, status, assessment }: Task): GateTask {
  const score = assessment?.globalScore;
  return { taskId: id, title, status, score };
}

/** Why a gate is shut, for people. */
export function whyShut(gate: GateState): string | undefined {
  if (gate.verdict === undefined || isGateOpen(gate)) return undefined;
  if (gate.verdict === "held") return gate.reason ?? "it does not hold";
  return gate.veto && `${gate.veto.reason} (${gate.veto.by})`;
}
