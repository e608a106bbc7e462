/** `/gate list|release`: quality gates that hold missions up. */

import { highestRole, type Role } from "../src/domain/chat/identity.js";
import { isGateOpen, type Mission, OPEN_MISSION_STATUSES } from "../src/domain/orchestrator/mission.js";
import { groupsBefore } from "../src/domain/orchestrator/plan.js";
import type { CommandAnswer, CommandContext } from "../src/gateway/commands.js";
import { answer, badUsage, missing, notFound, word } from "./answer.js";
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
      : [await findMission(deps, options.mission, "mission")];
  const found = missions.flatMap((mission) =>
    readableReasons(context, mission.gates).map((one) => ({ mission, gate: one })),
  );
  const shut = found.filter((one) => one.gate.verdict !== undefined && !isGateOpen(one.gate));
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
  const found = await findMission(deps, context.options.mission, "mission");
  const { gate: name, reason } = context.options;
  const names = found.gates.map((one) => one.name);
  const shut = found.gates.find((one) => one.name === name);
  if (typeof name !== "string" || name === "")
    throw missing("which gate", `The gates of ${found.id}: ${names.join(", ") || "none"}.`, "gate");
  if (shut === undefined) throw notFound("gate", name, names, `/gate list ${found.id} shows them.`, "gate");
  if (typeof reason !== "string" || reason.trim() === "")
    throw badUsage("Missing: why it may open.", `/gate release ${found.id} ${name} and the reason.`);
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
