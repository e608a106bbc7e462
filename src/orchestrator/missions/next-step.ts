/** Decides the next step of a mission, from its row and its tasks. It only decides, so that a cut-off mission goes on from disk. */
import { type GateState, type GroupState, isGateOpen, type Mission } from "../../domain/orchestrator/mission.js";
import { groupsBefore, type PlanGroup } from "../../domain/orchestrator/plan.js";
import { isEnded, type Task } from "../../domain/orchestrator/task.js";
import { type Evaluation, evaluateGate } from "../quality-gates/evaluate.js";

export type Step =
  | { kind: "execute" }
  | { kind: "create" }
  /** A group's new status, and the reason. */
  | { kind: "group"; name: string; status: "open" | "passed" | "failed" }
  /** Drafts of open groups. */
  | { kind: "let-go"; tasks: readonly Task[] }
  | { kind: "gate"; group: string; evaluation: Evaluation }
  | { kind: "finish"; status: "done" | "failed" | "cancelled" }
  | { kind: "rest"; status: "running" | "held" | "blocked"; reason?: string };

export function nextStep(mission: Mission, tasks: readonly Task[]): Step {
  if (mission.cancel !== undefined) return { kind: "finish", status: "cancelled" };
  if (mission.hold !== undefined) return { kind: "rest", status: "blocked", reason: mission.hold.reason };
  if (mission.status === "pending") return { kind: "execute" };
  if (!mission.tasksCreated) return { kind: "create" };
  for (const group of mission.plan.groups) {
    const step = groupStep(mission, group, tasks);
    if (step !== undefined) return step;
  }
  const open = mission.groups.filter(({ status }) => status === "open");
  if (open.length > 0) return restOf(mission, open, tasks);
  return { kind: "finish", status: mission.groups.every(({ status }) => status === "passed") ? "done" : "failed" };
}

function groupStep(mission: Mission, group: PlanGroup, all: readonly Task[]): Step | undefined {
  const { name, gate } = group;
  const { status } = stateOf(mission, name);
  if (status === "passed" || status === "failed") return undefined;
  const before = groupsBefore(mission.plan, group).map((one) => stateOf(mission, one).status);
  if (status === "waiting") {
    if (before.includes("failed")) return { kind: "group", name, status: "failed" };
    return before.every((one) => one === "passed") ? { kind: "group", name, status: "open" } : undefined;
  }
  const tasks = tasksOf(mission, group, all);
  const drafts = tasks.filter((task) => task.status === "draft");
  if (drafts.length > 0) return { kind: "let-go", tasks: drafts };
  const gateState = gate === undefined ? undefined : gateOf(mission, name);
  if (!tasks.every(isSettled)) return undefined;
  if (gateState?.released !== undefined) return { kind: "group", name, status: "passed" };
  if (gate === undefined || gateState === undefined)
    return { kind: "group", name, status: tasks.every((task) => task.status === "done") ? "passed" : "failed" };
  const evaluation = evaluateGate(gate, tasks);
  if (!isAsKept(evaluation, gateState)) return { kind: "gate", group: name, evaluation };
  return isGateOpen(gateState) ? { kind: "group", name, status: "passed" } : undefined;
}

/** The verdict, and the figures and words that people see beside it. */
function isAsKept({ verdict, avgScore, allPassed, reason }: Evaluation, kept: GateState): boolean {
  return (
    verdict === kept.verdict && avgScore === kept.avgScore && allPassed === kept.allPassed && reason === kept.reason
  );
}

/** The task has ended, or waits for a task that failed: it goes on only when a person acts. */
function isSettled({ status, hold }: Task): boolean {
  return isEnded(status) || (status === "blocked" && hold?.kind === "dependency");
}

function restOf(mission: Mission, open: readonly GroupState[], tasks: readonly Task[]): Step {
  const names = new Set(open.map(({ name }) => name));
  const ofOpen = tasks.filter(({ group }) => group !== undefined && names.has(group));
  // A task that a hook or a person holds waits for a person, in any status.
  const moving = ofOpen.filter(({ status, hold }) => !isEnded(status) && status !== "blocked" && hold === undefined);
  if (moving.length > 0) return { kind: "rest", status: "running" };
  const shut = mission.gates.filter(({ group }) => names.has(group)).filter(({ verdict }) => verdict !== undefined);
  if (shut.length > 0)
    return { kind: "rest", status: "held", reason: `the gate ${shut.map(({ name }) => name).join(", ")} is shut` };
  const stuck = ofOpen.find(({ hold }) => hold !== undefined);
  return { kind: "rest", status: "held", reason: stuck && `${stuck.title}: ${stuck.hold?.reason}` };
}

export function tasksOf({ taskIds }: Mission, group: PlanGroup, all: readonly Task[]): Task[] {
  const ids = new Set(group.tasks.map(({ id }) => taskIds[id]));
  return all.filter(({ id }) => ids.has(id));
}

function stateOf({ groups }: Mission, name: string): GroupState {
  return groups.find((group) => group.name === name) ?? { name, status: "waiting" };
}

export function gateOf({ gates }: Mission, group: string): GateState | undefined {
  return gates.find((gate) => gate.group === group);
}
