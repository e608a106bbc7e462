/** `/mission report ID`: durations, retries, scores, outcomes, files. */
import type { MissionReport, TaskReport } from "../../src/domain/orchestrator/mission.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import { answer } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { maySeeReasons, readableReasons } from "../hooks/hook-reasons.js";
import { clip, code, count, plain, table } from "../show/text.js";
import { mayHearHere, needTasks } from "../tasks/desk.js";
import { missionsOf } from "./desk.js";
import { findMission } from "./find.js";
import { gateLine } from "./gate-line.js";
import { missionPicture } from "./picture.js";

const MAX_OUTCOMES = 12;
const MAX_FILES = 20;

export async function reportMission(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const { id, deadline } = await findMission(deps, context.options.id);
  const unread = await missionsOf(deps).report(id);
  const whole = { ...unread, gates: readableReasons(context, unread.gates) };
  // The words of a runner are for people who may give it work; an outcome may be the reason of a hook.
  const desk = needTasks(deps);
  const hasOutcome = (task: TaskReport) => mayHearHere(desk, context, task) && maySeeReasons(context);
  const readable = whole.tasks.map((task) => (hasOutcome(task) ? task : withoutOutcome(task)));
  const report = { ...whole, tasks: readable, files: [...new Set(readable.flatMap(({ files }) => files))] };
  const { tasks, gates, files } = report;
  // Pictures are for chats; a program takes the data.
  const picture = context.at && (await missionPicture(whole, deadline, deps));
  const outcomes = tasks.filter(({ outcome, status }) => outcome !== undefined && status !== "done");
  const unchecked = tasks.filter(({ isUnchecked }) => isUnchecked);
  return answer({
    text: [
      `**${plain(report.title)}** ${code(id)}: ${report.status}`,
      headOf(report),
      tasks.length > 0 && tableOf(tasks, context),
      unchecked.length > 0 && `Accepted without a check: ${unchecked.map(({ title }) => plain(title)).join(", ")}`,
      outcomes.length > 0 && outcomes.slice(0, MAX_OUTCOMES).map(outcomeLine).join("\n"),
      gates.length > 0 && gates.map((gate) => `- ${gateLine(gate)}`).join("\n"),
      files.length > 0 &&
        `Files: ${files.slice(0, MAX_FILES).map(code).join(", ")}${files.length > MAX_FILES ? ` and ${files.length - MAX_FILES} more` : ""}`,
    ],
    data: report,
    attachments: picture && [picture],
  });
}

function withoutOutcome({ outcome: _, ...task }: TaskReport): TaskReport {
  return { ...task, files: [] };
}

function headOf({ counts, durationMs, workMs, retries, avgScore }: MissionReport): string {
  const states = Object.entries(counts).map(([status, amount]) => `${amount} ${status.replaceAll("_", " ")}`);
  return [
    states.join(", "),
    durationMs !== undefined && `took ${formatDuration(durationMs)} (${formatDuration(workMs)} of work)`,
    count(retries, "retry", "retries"),
    avgScore !== undefined && `score ${avgScore.toFixed(2)}`,
  ]
    .filter((part) => part !== false && part !== "")
    .join(" · ");
}

function tableOf(tasks: readonly TaskReport[], context: CommandContext): string {
  return table(
    [
      { title: "group", maxCharacters: 14 },
      { title: "task", maxCharacters: 28 },
      { title: "state" },
      { title: "time", right: true },
      { title: "retries", right: true },
      { title: "score", right: true },
    ],
    tasks.map(({ group, title, status, durationMs, retries, score }) => [
      group,
      title,
      status,
      durationMs === undefined ? "" : formatDuration(durationMs),
      retries === 0 ? "" : String(retries),
      score?.toFixed(2) ?? "",
    ]),
    context,
  );
}

function outcomeLine({ title, status, outcome = "" }: TaskReport): string {
  return `- ${plain(title)} (${status.replaceAll("_", " ")}): ${plain(clip(outcome, 200))}`;
}
