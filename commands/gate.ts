/** `/gate list|release`: quality gates that hold missions up. */

import { highestRole, type Role } from "../src/domain/chat/identity.js";
import { isGateOpen, isMissionOver, type Mission, OPEN_MISSION_STATUSES } from "../src/domain/orchestrator/mission.js";
import { groupsBefore } from "../src/domain/orchestrator/plan.js";
import type { CommandAnswer, CommandContext } from "../src/gateway/commands.js";
import { answer, notFound, word } from "./answer.js";
import { defineCommand } from "./define.js";
import type { CommandDeps } from "./deps.js";
import { readableReasons } from "./hooks/hook-reasons.js";
import { missionsOf } from "./mission/desk.js";
import { findMission } from "./mission/find.js";
import { gateLine } from "./mission/gate-line.js";
import { code, count, plain } from "./show/text.js";
import { whoIs } from "./show/who-is.js";
import { needTasks } from "./tasks/desk.js";

const REACH = 200;

export const gate = defineCommand({
  name: "gate",
  group: "tasks",
  summary: "Quality gates: which are shut, and opening one by hand",
  role: "viewer",
  actions: {
    list: { summary: "Gates that are shut", run: list },
    release: { summary: "Open a gate by hand", role: "admin", run: release },
  },
  options: [
    {
      name: "mission",
      summary: "A mission, or a plan for its newest one; list: all when absent",
      type: "string",
      complete: "open-missions",
      completeFor: { list: "missions" },
    },
    { name: "gate", summary: "release: which gate", type: "string", complete: "gates" },
    {
      name: "reason",
      summary: "release: why it may open (it is recorded)",
      type: "string",
      rest: true,
      neededFor: ["release"],
    },
  ],
});

async function list(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const { options } = context;
  const missions =
    options.mission === undefined
      ? await missionsOf(deps).list({ status: OPEN_MISSION_STATUSES, limit: REACH })
      : [await findMission(deps, options.mission, { option: "mission" })];
  const found = missions.flatMap((mission) =>
    readableReasons(context, mission.gates).map((one) => ({ mission, gate: one })),
  );
  const shut = found.filter((one) => isShut(one.gate));
  const shown = options.mission === undefined ? shut : found;
  const lines = shown.map(
    ({ mission, gate: one }) => `- ${gateLine(one)}: ${plain(mission.title)} ${code(mission.id)}`,
  );
  return answer({
    text: [shown.length === 0 ? "No gate is shut." : `**${count(shown.length, "gate")}**`, lines.join("\n")],
    data: { gates: shown.map(({ mission, gate: one }) => ({ missionId: mission.id, title: mission.title, ...one })) },
    buttons: shut.slice(0, 5).map(({ mission, gate: one }) => [releaseButton(mission, one.name)]),
  });
}

function releaseButton(mission: Mission, name: string) {
  const form = {
    title: "Release the gate",
    fields: [{ id: "reason", label: "Why it may open", required: true, long: true }],
  };
  const line = `/gate release ${mission.id} ${word(name)}`;
  return {
    label: `Release ${name}`.slice(0, 40),
    style: "danger" as const,
    action: { kind: "command" as const, line, form },
  };
}

async function release(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const found = await findMission(deps, context.options.mission, { option: "mission", wanted: TO_RELEASE });
  const { gate: name, reason } = context.options;
  const names = found.gates.map((one) => one.name);
  const shut = found.gates.find((one) => one.name === name);
  if (typeof name !== "string" || name === "") return whichGate(context, found);
  if (shut === undefined) throw notFound("gate", name, names, `/gate list ${found.id} shows them.`, "gate");
  if (typeof reason !== "string" || reason.trim() === "")
    return asking(found, {
      message: "Missing: why it may open.",
      hint: `/gate release ${found.id} ${name} and the reason.`,
      gates: isShut(shut) ? [shut] : [],
    });
  context.need(await roleToRelease(deps, found, shut.group));
  const mission = await missionsOf(deps).release(found.id, name, {
    by: whoIs(context.operator),
    reason: reason.trim(),
  });
  return answer({
    text: [
      `The gate **${plain(name)}** of ${plain(mission.title)} is open; the groups after it start. ${code(mission.id)}`,
    ],
    data: { missionId: mission.id, gate: mission.gates.find((one) => one.name === name) },
  });
}

/** Released gates and those that open by themselves are no choice; the button of the others asks for the reason. */
function whichGate(context: CommandContext, mission: Mission): CommandAnswer {
  const lines = readableReasons(context, mission.gates).map((one) => `- ${gateLine(one)}`);
  return asking(mission, {
    message: `Missing: which gate of ${plain(mission.title)}.`,
    hint: lines.length === 0 ? "It has no gates." : lines.join("\n"),
    gates: mission.gates.filter(isShut),
  });
}

function asking(
  mission: Mission,
  { message, hint, gates }: { message: string; hint: string; gates: Mission["gates"] },
): CommandAnswer {
  return answer({
    text: [`✗ ${message} ${code(mission.id)}`, hint],
    data: { error: { code: "BAD_USAGE", message, hint }, choices: gates.map(({ name }) => ({ value: name, name })) },
    buttons: gates.slice(0, 5).map((one) => [releaseButton(mission, one.name)]),
    outcome: "failed",
  });
}

const isShut = (one: Mission["gates"][number]): boolean => one.verdict !== undefined && !isGateOpen(one);

const TO_RELEASE = {
  isPossible: ({ status, gates }: Mission) => !isMissionOver(status) && gates.some(isShut),
  participle: "released, because no gate is shut",
};

/**
 * Opening a gate sets aside the results of its group, and starts the groups behind it up to the next gates: this takes the role of every
 * person who had or gets a task of them.
 */
async function roleToRelease(deps: CommandDeps, { id, plan, taskIds }: Mission, name: string): Promise<Role> {
  const desk = needTasks(deps);
  const { tasks } = await missionsOf(deps).get(id);
  const names = groupsReleased(plan, name);
  const ids = new Set(
    plan.groups.flatMap((one) => (names.has(one.name) ? one.tasks.map((task) => taskIds[task.id]) : [])),
  );
  return highestRole(["admin", ...tasks.filter((task) => ids.has(task.id)).map(desk.roleToHear)]);
}

/** The group before the gate, and those that start when it opens. */
function groupsReleased(plan: Mission["plan"], name: string): Set<string> {
  const found = new Set([name]);
  const leadsOn = new Set([name]);
  for (let known = 0; known !== found.size; ) {
    known = found.size;
    for (const group of plan.groups) {
      if (!groupsBefore(plan, group).some((before) => leadsOn.has(before))) continue;
      found.add(group.name);
      if (group.gate === undefined) leadsOn.add(group.name);
    }
  }
  return found;
}
