/** `/mission list [status|plan]` and `/mission plans`. */
import {
  MISSION_STATUSES,
  type Mission,
  type MissionFilter,
  OPEN_MISSION_STATUSES,
} from "../../src/domain/orchestrator/mission.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import { answer, commandButton } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { readableReasons } from "../hooks/hook-reasons.js";
import { pageButtons, pageOf } from "../page.js";
import { clockTime, code, count, plain, table } from "../show/text.js";
import { missionsOf } from "./desk.js";

const PAGE_SIZE = 10;
const REACH = 500;

export async function listMissions(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const asked = typeof context.options.id === "string" ? context.options.id.trim() : "";
  const found = await missionsOf(deps).list({ ...filterOf(asked), limit: REACH });
  if (found.length === 0)
    return answer({
      text: [
        asked === "" ? "No mission was run yet." : `No mission is ${code(asked)}, and none is of a plan of that name.`,
        "`/mission plans` shows what can be run.",
      ],
      data: { missions: [], page: 1, pages: 1, total: 0 },
    });
  const page = pageOf(found, Number(context.options.page ?? 1), PAGE_SIZE);
  const now = deps.clock.now();
  const rows = page.entries.map((one) => [one.title, one.status, startedText(one, now), lasted(one, now), one.id]);
  const columns = [
    { title: "mission", maxCharacters: 28 },
    { title: "state" },
    { title: "started (UTC)" },
    { title: "for", right: true },
    { title: "id" },
  ];
  return answer({
    text: [
      `**${count(found.length, "mission")}**${page.pages > 1 ? `, page ${page.number} of ${page.pages}` : ""}`,
      table(columns, rows, context),
    ],
    data: {
      missions: readableReasons(context, page.entries.map(missionData)),
      page: page.number,
      pages: page.pages,
      total: page.total,
    },
    buttons: [pageButtons(page, `/mission list${asked === "" ? "" : ` id=${asked}`}`)],
  });
}

export function listPlans(deps: CommandDeps): CommandAnswer {
  const files = missionsOf(deps).plans();
  if (files.length === 0)
    return answer({
      text: ["There are no plans. A plan is a YAML or JSON file in the folder `missions` beside hookgate.yaml."],
      data: { plans: [] },
    });
  const lines = files.map((file) => {
    if ("problems" in file) return `- ${code(file.id)}: **broken**, ${plain(problemLine(file.problems[0]))}`;
    const tasks = file.plan.groups.reduce((sum, group) => sum + group.tasks.length, 0);
    const title = file.plan.title === undefined ? "" : ` ${plain(file.plan.title)},`;
    return `- ${code(file.id)}:${title} ${count(tasks, "task")} in ${count(file.plan.groups.length, "group")}`;
  });
  const first = files.find((file) => "plan" in file);
  return answer({
    text: [
      files.some((file) => "problems" in file && file.isFolder === true)
        ? "**No plan can be read**"
        : `**${count(files.length, "plan")}**`,
      lines.join("\n"),
    ],
    data: {
      plans: files.map((file) => ({
        id: file.id,
        ...("plan" in file ? { title: file.plan.title ?? file.id } : { problems: file.problems }),
      })),
    },
    buttons: first ? [[commandButton(`Run ${first.id}`.slice(0, 40), `/mission run ${first.id}`, "primary")]] : [],
  });
}

function problemLine(problem: { line?: number; path: string; message: string } | undefined): string {
  if (problem === undefined) return "";
  const { line, path, message } = problem;
  return [line !== undefined && `line ${line}`, path, message].filter(Boolean).join(": ");
}

function filterOf(asked: string): Partial<MissionFilter> {
  if (asked === "") return {};
  const status = MISSION_STATUSES.find((one) => one === asked);
  if (status !== undefined) return { status: [status] };
  return asked === "open" ? { status: OPEN_MISSION_STATUSES } : { planId: asked };
}

const startedText = ({ startedAt }: Mission, now: number) => (startedAt === undefined ? "" : clockTime(startedAt, now));
const lasted = ({ startedAt, endedAt = Number.NaN }: Mission, now: number) =>
  startedAt === undefined ? "" : formatDuration((Number.isNaN(endedAt) ? now : endedAt) - startedAt);

export function missionData(mission: Mission) {
  const { id, planId, title, status, reason, createdBy, createdAt, startedAt, endedAt, deadline, groups, gates } =
    mission;
  const { hold, scheduleId, taskIds } = mission;
  return {
    ...{ id, planId, title, status, reason, createdBy, createdAt, startedAt, endedAt, deadline, groups, gates },
    ...{ hold, scheduleId, taskIds },
  };
}
