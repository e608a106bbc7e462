/** `/mission run|cancel|retry`. */

import type { Role } from "../../src/domain/chat/identity.js";
import { isMissionOver, type Mission } from "../../src/domain/orchestrator/mission.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { answer, choosing, commandButton, missing } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { readableReasons } from "../hooks/hook-reasons.js";
import { code, count, plain } from "../show/text.js";
import { whoIs } from "../show/who-is.js";
import { missionsOf } from "./desk.js";
import { findMission } from "./find.js";
import { missionData } from "./list.js";

/** The answer waits this long for the hooks that may refuse a start. */
const REST_WITHIN_MS = 3_000;

export async function runMission(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const planId = typeof context.options.id === "string" ? context.options.id.trim() : "";
  if (planId === "") throw missing("which plan", "/mission plans shows them.", "id");
  context.need(await choosing("id", planId, roleToRun(deps, planId)));
  const begin = missionsOf(deps).run({
    planId,
    by: whoIs(context.operator),
    cause: context.givenBy ?? { kind: "command", id: context.causeId ?? "http", depth: 0 },
    // The same key when the command is handled again after a crash.
    once: context.causeId === undefined ? undefined : `command:${context.causeId}`,
    address: context.at,
  });
  const stored = await choosing("id", planId, begin);
  const mission = await atRest(deps, stored);
  const refused = mission.hold !== undefined && mission.startedAt === undefined;
  return answer({
    text: [refused ? refusedText(readableReasons(context, mission)) : startText(mission)],
    data: missionData(mission),
    buttons: [
      [
        ...(refused ? [commandButton("Ask again", `/mission retry ${mission.id}`, "primary")] : []),
        commandButton("Show", `/mission show ${mission.id}`),
        commandButton("Cancel", `/mission cancel ${mission.id}`, "danger"),
      ],
    ],
  });
}

/** The mission after its hooks decided about its start, when they decide soon; otherwise the stored one. */
async function atRest(deps: CommandDeps, stored: Mission): Promise<Mission> {
  const signal = AbortSignal.timeout(REST_WITHIN_MS);
  const mission = await missionsOf(deps)
    .untilRest(stored.id, signal)
    .catch(() => undefined); // Its hooks take longer: its card shows how they decided.
  return mission ?? stored;
}

function startText({ id, title, taskIds, groups }: Mission): string {
  return `**${plain(title)}** starts: ${count(Object.keys(taskIds).length, "task")} in ${count(groups.length, "group")}. ${code(id)}`;
}

function refusedText({ id, title, hold, reason }: Mission): string {
  const what =
    hold?.kind === "veto" ? `${code(hold.by)} vetoed ${code(hold.point ?? "its start")}` : "its hooks were interrupted";
  return `**${plain(title)}** does not start: ${what}${reason === undefined ? "" : ` (${plain(reason)})`}. ${code(id)}`;
}

async function roleToRun(deps: CommandDeps, planId: string): Promise<Role> {
  return missionsOf(deps).roleToRun(planId);
}

export async function cancelMission(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const wanted = { isPossible: ({ status }: Mission) => !isMissionOver(status), participle: "cancelled" };
  const { id, title } = await findMission(deps, context.options.id, { wanted });
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
  const wanted = { isPossible: ({ hold }: Mission) => hold !== undefined, participle: "retried" };
  const { id, title } = await findMission(deps, context.options.id, { wanted });
  const mission = await missionsOf(deps).retry(id, whoIs(context.operator));
  return answer({
    text: [`Retrying **${plain(title)}** from where it was vetoed. ${code(id)}`],
    data: missionData(mission),
  });
}
