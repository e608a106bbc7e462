/** `/mission show ID`: groups, tasks and gates in their present state. */

import type { Button } from "../../src/domain/chat/message.js";
import { isMissionOver, type Mission } from "../../src/domain/orchestrator/mission.js";
import type { Task } from "../../src/domain/orchestrator/task.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import { answer, commandButton } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { readableReasons } from "../hooks/hook-reasons.js";
import { clockTime, code, plain, table } from "../show/text.js";
import { mayHearHere, needTasks } from "../tasks/desk.js";
import { nameOf, readableTask } from "../tasks/rows.js";
import { missionsOf } from "./desk.js";
import { findMission } from "./find.js";
import { gateLine } from "./gate-line.js";
import { missionData } from "./list.js";

export async function showMission(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const { id } = await findMission(deps, context.options.id);
  const found = await missionsOf(deps).get(id);
  const mission = readableReasons(context, found.mission);
  const tasks = found.tasks.map((task) => readableTask(task, context));
  const desk = needTasks(deps);
  const now = deps.clock.now();
  const link = await desk.linkOf({ id, type: "mission" });
  return answer({
    text: [
      `**${plain(mission.title)}** ${code(mission.id)} is **${mission.status}**${mission.reason === undefined ? "" : `: ${plain(mission.reason)}`}`,
      factsOf(mission, deps, now),
      link && `[its card](${link})`,
      mission.hold?.kind === "veto" &&
        `${code(mission.hold.point ?? "a hook")} was vetoed by ${code(mission.hold.by)}.`,
      mission.hold?.kind === "interruption" &&
        `${code(`/mission retry ${mission.id}`)} calls the hooks again, ${code(`/mission cancel ${mission.id}`)} ends the mission.`,
      tasks.length > 0 && tableOf(mission, tasks, deps, context),
      mission.gates.length > 0 && mission.gates.map((gate) => `- ${gateLine(gate)}`).join("\n"),
    ],
    data: {
      ...missionData(mission),
      link,
      tasks: tasks.map((task) => taskData(task, mayHearHere(desk, context, task))),
    },
    buttons: [buttonsOf(mission)],
  });
}

function factsOf(mission: Mission, deps: CommandDeps, now: number): string {
  const { planId, createdBy, startedAt, endedAt, deadline, scheduleId } = mission;
  return [
    `Plan ${code(planId)}, ${scheduleId === undefined ? `started by ${byOf(createdBy, deps)}` : `by the schedule ${code(scheduleId)}`}`,
    startedAt !== undefined &&
      `since ${clockTime(startedAt, now)} UTC, ${formatDuration((endedAt ?? now) - startedAt)}`,
    deadline !== undefined && `due ${clockTime(deadline, now)} UTC`,
  ]
    .filter((part) => part !== false)
    .join(", ");
}

const byOf = (ref: string, { tasks }: CommandDeps) => plain(tasks === undefined ? ref : nameOf(ref, tasks));

function tableOf(
  { plan, taskIds }: Mission,
  tasks: readonly Task[],
  deps: CommandDeps,
  context: CommandContext,
): string {
  const now = deps.clock.now();
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const rows = plan.groups.flatMap((group) =>
    group.tasks.flatMap(({ id: name }, index) => {
      const task = byId.get(taskIds[name] ?? "");
      if (task === undefined) return [];
      const { title, status, assignTo, attempt, assessment, startedAt, endedAt } = task;
      const score = assessment?.globalScore?.toFixed(2) ?? "";
      const time = startedAt === undefined ? "" : formatDuration((endedAt ?? now) - startedAt);
      return [
        [
          // A row of a list is complete in itself.
          index === 0 || context.at !== undefined ? group.name : "",
          title,
          status,
          nameOf(assignTo, needTasks(deps)),
          attempt > 1 ? String(attempt) : "",
          score,
          time,
        ],
      ];
    }),
  );
  return table(
    [
      { title: "group", maxCharacters: 14 },
      { title: "task", maxCharacters: 26 },
      { title: "state" },
      { title: "by", maxCharacters: 18 },
      { title: "try", right: true },
      { title: "score", right: true },
      { title: "time", right: true },
    ],
    rows,
    context,
  );
}

function buttonsOf({ id, status, hold }: Mission): Button[] {
  if (isMissionOver(status)) return [commandButton("Report", `/mission report ${id}`)];
  return [
    ...(hold === undefined ? [] : [commandButton("Ask again", `/mission retry ${id}`, "primary")]),
    commandButton("Report", `/mission report ${id}`),
    commandButton("Cancel", `/mission cancel ${id}`, "danger"),
  ];
}

/** The words of a runner, and the findings in them, are for people who may give it work. */
function taskData(task: Task, mayHearIt: boolean) {
  const { id, title, status, group, assignTo, attempt, retries, startedAt, endedAt, reason, hold, assessment } = task;
  return {
    ...{ id, title, status, group, assignTo, attempt, retries, startedAt, endedAt },
    score: assessment?.globalScore,
    reason: mayHearIt ? reason : undefined,
    hold: mayHearIt ? hold : undefined,
    assessment: mayHearIt ? assessment : undefined,
  };
}
