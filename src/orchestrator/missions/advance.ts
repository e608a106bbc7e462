/**
 * A mission goes on: read it and its tasks, decide its next step, do that, until there is nothing to do but wait. Every step is stored
 * before the next one is decided, and a repeated step changes nothing.
 */

import {
  type GateState,
  type Mission,
  type MissionRow,
  mission as missionSchema,
} from "../../domain/orchestrator/mission.js";
import { type Actor, isEnded, type Task } from "../../domain/orchestrator/task.js";
import { title as titleForm } from "../../domain/orchestrator/title.js";
import type { Catalogue } from "../../hooks/catalogue/index.js";
import type { DispatchOptions } from "../../hooks/options.js";
import type { BeforeResult, PayloadOf } from "../../hooks/signatures.js";
import { LATEST_TIME } from "../../lib/time/instant.js";
import { pathText } from "../../lib/validation/schema-issues.js";
import { failedClosed } from "../tasks/ask-hooks.js";
import { cancelReason } from "./card.js";
import { checkPlan } from "./check-plan.js";
import type { MissionDeps } from "./deps.js";
import { firing } from "./firing.js";
import { changesOf, keep, type MissionChange, type WithChange } from "./keep.js";
import { plannedTasks, stateOfPlan } from "./new-mission.js";
import { nextStep, type Step, tasksOf } from "./next-step.js";
import { cardOfEnd, notification } from "./notify-hooks.js";
import { reportOf } from "./report.js";

/** More steps in one go are a defect of this code. */
const MAX_STEPS = 2_000;

/** The state in which the mission rests or ended; undefined when it is gone. */
export async function advance(id: string, deps: MissionDeps): Promise<{ row: MissionRow; tasks: Task[] } | undefined> {
  for (let steps = 0; steps < MAX_STEPS; steps++) {
    const row = await deps.store.get(id);
    if (row === undefined) return undefined;
    const tasks = await deps.tasks.ofMission(id);
    if (["done", "failed", "cancelled"].includes(row.mission.status)) return { row, tasks };
    const step = nextStep(row.mission, tasks);
    if (step.kind !== "rest") await take(step, row, tasks, deps);
    else if (isAtRest(row.mission, step)) return { row, tasks };
    else await keep(row, { status: step.status, reason: step.reason }, deps);
  }
  throw new Error(`the mission ${id} does not settle`);
}

function isAtRest({ status, reason }: Mission, step: Extract<Step, { kind: "rest" }>): boolean {
  return status === step.status && reason === step.reason;
}

async function take(step: Exclude<Step, { kind: "rest" }>, row: MissionRow, tasks: Task[], deps: MissionDeps) {
  switch (step.kind) {
    case "execute":
      return execute(row, deps);
    case "create":
      return createTasks(row, deps);
    case "group":
      return turnGroup(row, step, tasks, deps);
    case "let-go":
      return letGo(row, step.tasks, deps);
    case "gate":
      return checkGate(row, step, deps);
    case "finish":
      return finish(row, step.status, deps);
  }
}

/* ── beginning ─────────────────────────────────────────────────────────────────────────────────────────────────── */

async function execute(row: MissionRow, deps: MissionDeps): Promise<void> {
  const { mission } = row;
  const { id: missionId } = mission;
  const now = deps.clock.now();
  const payload = { missionId, mission, taskCount: Object.keys(mission.taskIds).length };
  const refuseChange = (data: unknown) => valueProblem((data as typeof payload).mission, mission, now);
  const asked = await ask("mission:execute", "execute", mission, payload, deps, { refuseChange });
  if (asked.cancelled) return block(row, "mission:execute", asked, deps);
  const changes = changedByHooks(mission, asked.data.mission, now, deps);
  if ("problem" in changes)
    return block(row, "mission:execute", { cancelReason: changes.problem, cancelledBy: "hookgate" }, deps);
  const begun: Mission = { ...mission, ...changes, status: "running", startedAt: now };
  const notice = { missionId, mission: begun, taskCount: Object.keys(begun.taskIds).length };
  await settle(row, { ...changes, status: "running", startedAt: now, reason: undefined }, deps, {
    pending: [
      notification(mission, { point: "mission:execute", dispatchId: `${missionId}_executed`, payload: notice }),
    ],
  });
}

/** A value that its clocks or its views cannot take. */
function valueProblem({ title, deadline }: Mission, was: Mission, now: number): string | undefined {
  if (title !== was.title && !titleForm.safeParse(title).success) return "mission.title: expected 1 to 300 characters";
  if (deadline === undefined || deadline === was.deadline) return undefined;
  if (!(deadline <= LATEST_TIME)) return `mission.deadline: expected a time before the year 2200, got ${deadline}`;
  return deadline <= now ? "mission.deadline: it is in the past" : undefined;
}

type ChangesByHooks = Pick<Mission, "title"> &
  Partial<Pick<Mission, "plan" | "deadline" | "groups" | "gates" | "taskIds">>;

/** A `before` may change the title, the deadline and the plan; a plan that cannot be carried out is a refusal. */
function changedByHooks(
  mission: Mission,
  given: unknown,
  now: number,
  { around }: MissionDeps,
): ChangesByHooks | { problem: string } {
  const parsed = missionSchema.safeParse(given);
  if (!parsed.success) return { problem: "a hook made the mission something that cannot be read" };
  const { title, plan, deadline = mission.deadline } = parsed.data;
  const named = { title: title === mission.title ? title : titleForm.parse(title), deadline };
  if (JSON.stringify(plan) === JSON.stringify(mission.plan)) return named;
  const checked = checkPlan(plan, around);
  if ("plan" in checked) return { ...named, plan: checked.plan, ...stateOfPlan(checked.plan, now) };
  const [first] = checked.issues;
  return { problem: `a hook changed the plan: ${pathText(first?.path ?? [])}: ${first?.message}` };
}

/** Creates all tasks at once, as drafts: the needs of a group behind a gate are visible from the start. */
async function createTasks(row: MissionRow, deps: MissionDeps): Promise<void> {
  const { mission } = row;
  const { id: missionId, address } = mission;
  // Nothing but its start has changed when hooks are asked for the first time.
  const round = changesOf(mission);
  for (const { id, spec } of plannedTasks(mission)) {
    const origin = { id, status: "draft" as const, missionId, round, address };
    const created = await deps.tasks.create(spec, origin, actorOf(mission));
    if (created.kind === "refused")
      return block(
        row,
        "task:create",
        { cancelReason: `${spec.title}: ${created.reason}`, cancelledBy: created.by, crashes: created.crashes },
        deps,
      );
  }
  await keep(row, { tasksCreated: true }, deps);
}

/* ── groups and gates ──────────────────────────────────────────────────────────────────────────────────────────── */

async function turnGroup(
  row: MissionRow,
  { name, status }: Extract<Step, { kind: "group" }>,
  tasks: readonly Task[],
  deps: MissionDeps,
): Promise<void> {
  const { mission } = row;
  // A task that can never start any more is ended, and not left as a draft.
  const group = mission.plan.groups.find((one) => one.name === name);
  if (status === "failed" && group) await cancelTasks(mission, tasksOf(mission, group, tasks), deps);
  const now = deps.clock.now();
  const groups = mission.groups.map((one) =>
    one.name === name ? { ...one, status, ...(status === "open" ? { openedAt: now } : { endedAt: now }) } : one,
  );
  await keep(row, { groups, status: "running", reason: undefined }, deps);
}

async function letGo(row: MissionRow, tasks: readonly Task[], deps: MissionDeps): Promise<void> {
  for (const { id, title } of tasks) {
    const moved = await deps.tasks.transition(id, "pending", actorOf(row.mission, "its group is open"));
    if (moved.kind === "vetoed")
      return block(row, "task:transition", { cancelReason: `${title}: ${moved.reason}`, cancelledBy: moved.by }, deps);
  }
}

/** `quality:gate` once per change of the verdict; a veto holds until the verdict changes again, or a person lets it open. */
async function checkGate(
  row: MissionRow,
  { group, evaluation }: Extract<Step, { kind: "gate" }>,
  deps: MissionDeps,
): Promise<void> {
  const { mission } = row;
  const gate = mission.gates.find((one) => one.group === group);
  if (gate === undefined) return;
  const { verdict, avgScore, allPassed, reason } = evaluation;
  const facts = { at: deps.clock.now(), allPassed, avgScore, reason };
  if (verdict === gate.verdict) {
    // Work that was done again changed the figures and not the verdict: shown, and no hook is asked.
    const gates = mission.gates.map((one) => (one.name === gate.name ? gateWith(one, facts) : one));
    await keep(row, { gates }, deps);
    return;
  }
  const payload = { missionId: mission.id, gateName: gate.name, ...evaluation };
  const changes = gate.changes + 1;
  const asked = await ask("quality:gate", `gate_${gate.name}`, mission, payload, deps);
  if (asked.crashes !== undefined) return block(row, "quality:gate", asked, deps);
  const judged: GateState = {
    ...gateWith({ name: gate.name, group, changes, verdict }, facts),
    veto: asked.cancelled ? vetoOf(asked, "quality:gate") : undefined,
  };
  const gates = mission.gates.map((one) => (one.name === gate.name ? judged : one));
  // As everywhere: a refused change did not happen, and is not reported as done.
  const notice = { point: "quality:gate" as const, dispatchId: `${asked.dispatchId}_told`, payload };
  const pending = asked.cancelled ? [] : [notification(mission, notice)];
  await settle(row, { gates }, deps, { pending });
}

type GateFacts = Pick<GateState, "allPassed"> & { [K in "at" | "avgScore" | "reason"]: GateState[K] | undefined };

function gateWith({ at: _, avgScore: __, reason: ___, ...gate }: GateState, facts: GateFacts): GateState {
  const { at, allPassed, avgScore, reason } = facts;
  return {
    ...gate,
    at,
    allPassed: allPassed ?? gate.allPassed,
    avgScore,
    reason,
  };
}

/* ── the end ───────────────────────────────────────────────────────────────────────────────────────────────────── */

async function finish(row: MissionRow, status: "done" | "failed" | "cancelled", deps: MissionDeps): Promise<void> {
  const { mission } = row;
  const left = await cancelTasks(mission, await deps.tasks.ofMission(mission.id), deps);
  const tasks = await deps.tasks.ofMission(mission.id);
  const now = deps.clock.now();
  const report = reportOf({ ...mission, endedAt: now }, tasks, { status, now });
  const over: Mission = { ...mission, status, endedAt: now };
  const payload = { missionId: mission.id, mission: over, allPassed: report.allPassed, report };
  if (status !== "cancelled") {
    const asked = await ask("mission:complete", "complete", mission, payload, deps);
    if (asked.cancelled) return block(row, "mission:complete", asked, deps);
  }
  const reason = [...(status === "cancelled" ? [cancelReason(mission)] : []), ...left].join("; ") || undefined;
  await settle(row, { status, endedAt: now, reason, hold: undefined }, deps, {
    report,
    pending: [
      notification(mission, { point: "mission:complete", dispatchId: `${mission.id}_completed`, payload }),
      ...(mission.address === undefined ? [] : [cardOfEnd(mission)]),
    ],
  });
}

/** Cancels tasks. Resolves with a text about those that hooks kept from being cancelled: they continue without the mission. */
async function cancelTasks(mission: Mission, tasks: readonly Task[], deps: MissionDeps): Promise<string[]> {
  const why = mission.cancel === undefined ? "its mission goes on without it" : "its mission was cancelled";
  const left: string[] = [];
  for (const { id, title, status } of tasks) {
    if (isEnded(status)) continue;
    const moved = await deps.tasks.transition(id, "cancelled", actorOf(mission, why));
    if (moved.kind === "vetoed") left.push(`${title} goes on: ${moved.by} refused (${moved.reason})`);
  }
  return left;
}

/* ── vetoes ────────────────────────────────────────────────────────────────────────────────────────────────────── */

type Refusal = Pick<BeforeResult<unknown>, "cancelReason" | "cancelledBy"> & { crashes?: number | undefined };

function vetoOf({ cancelReason, cancelledBy }: Refusal, point: string): { by: string; reason: string } {
  return { by: cancelledBy ?? "a hook", reason: cancelReason ?? `${point} was vetoed` };
}

/** Records the refusal on the mission; hooks are not asked again until a person asks (`/mission retry`). */
async function block(row: MissionRow, point: string, refusal: Refusal, deps: MissionDeps): Promise<void> {
  const { by, reason } = vetoOf(refusal, point);
  const kind = refusal.crashes === undefined ? ("veto" as const) : ("interruption" as const);
  const hold = { kind, by, reason, at: deps.clock.now(), point };
  await settle(row, { status: "blocked", hold, reason }, deps);
}

/* ── asking ────────────────────────────────────────────────────────────────────────────────────────────────────── */

/** After a crash the dispatch has the same id; it has another id when the mission has changed. */
async function ask<Point extends "mission:execute" | "quality:gate" | "mission:complete">(
  point: Point,
  step: string,
  mission: Mission,
  payload: PayloadOf<Catalogue, Point>,
  { attempts, registry }: MissionDeps,
  options: Pick<DispatchOptions, "refuseChange"> = {},
): Promise<BeforeResult<PayloadOf<Catalogue, Point>> & { dispatchId: string; crashes?: number }> {
  const dispatchId = `${mission.id}_${step}_${changesOf(mission)}`;
  return attempts.inTurn([{ point, dispatchId }], mission.id, async () => {
    const attempt = await attempts.count(point, dispatchId, { owner: mission.id });
    const given = await attempts.tooMany(point, dispatchId, attempt, { owner: mission.id });
    if (given !== undefined) {
      const { reason: cancelReason, crashes } = given;
      return { cancelled: true, cancelReason, cancelledBy: "hookgate", data: payload, dispatchId, crashes };
    }
    const answer = await registry
      .runBefore(point, payload, { attempt, ...firing(mission, dispatchId), ...options })
      .catch((error: unknown) => ({ ...failedClosed(error), data: payload }));
    return { ...answer, dispatchId };
  });
}

/** Writes the result of asking hooks. */
async function settle(row: MissionRow, change: MissionChange, deps: MissionDeps, more?: WithChange): Promise<void> {
  // If the mission was changed meanwhile, hooks are asked again: these dispatches have ended either way.
  if (!(await keep(row, change, deps, { ...more, isAnswer: true }))) await deps.attempts.forget(row.mission.id);
}

function actorOf({ id, cause }: Mission, reason?: string): Actor {
  return {
    by: `mission:${id}`,
    reason,
    cause,
  };
}
