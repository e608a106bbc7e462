/** `/mission run|cancel|retry`. */
import type { Role } from "../../src/domain/identity.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { answer, choosing, commandButton, missing } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { code, count, plain } from "../text.js";
import { whoIs } from "../who.js";
import { missionsOf } from "./desk.js";
import { findMission } from "./find.js";
import { missionData } from "./list.js";

export async function runMission(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const planId = typeof context.options.id === "string" ? context.options.id.trim() : "";
  if (planId === "") throw missing("which plan", "/mission plans shows them.", "id");
  context.need(await choosing("id", planId, roleToRun(deps, planId)));
  const begin = missionsOf(deps).run({
    planId,
    by: whoIs(context.operator),
    cause: context.givenBy ?? { kind: "command", id: context.causeId ?? "http", depth: 0 },
    // The same when the command is handled once more after a crash.
    once: context.causeId === undefined ? undefined : `command:${context.causeId}`,
    address: context.at,
  });
  const mission = await choosing("id", planId, begin);
  return answer({
    text: [
      `**${plain(mission.title)}** starts: ${count(Object.keys(mission.taskIds).length, "task")} in ${count(mission.groups.length, "group")}. ${code(mission.id)}`,
    ],
    data: missionData(mission),
    buttons: [
      [
        commandButton("Show", `/mission show ${mission.id}`),
        commandButton("Cancel", `/mission cancel ${mission.id}`, "danger"),
      ],
    ],
  });
}

async function roleToRun(deps: CommandDeps, planId: string): Promise<Role> {
  return missionsOf(deps).roleToRun(planId);
}

export async function cancelMission(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const { id, title } = await findMission(deps, context.options.id);
  const { reason } = context.options;
  const mission = await missionsOf(deps).cancel(id, {
    by: whoIs(context.operator),
    reason: typeof reason === "string" && reason.trim() !== "" ? reason.trim() : undefined,
  });
  return answer({
    text: [`**${plain(title)}** is being cancelled; what runs of it is ended. ${code(id)}`],
    data: missionData(mission),
  });
}

export async function retryMission(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const { id, title } = await findMission(deps, context.options.id);
  const mission = await missionsOf(deps).retry(id, whoIs(context.operator));
  return answer({
    text: [`Retrying **${plain(title)}** from where it was vetoed. ${code(id)}`],
    data: missionData(mission),
  });
}
