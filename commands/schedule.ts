/** `/schedule list|add|pause|resume|run|remove`: missions that start by themselves. */

import type { Schedule, ScheduleOutcome } from "../src/domain/orchestrator/schedule.js";
import type { CommandAnswer, CommandContext } from "../src/gateway/commands.js";
import { writeMoment } from "../src/lib/markdown/tokens.js";
import { formatDuration } from "../src/lib/time/duration.js";
import { answer, badUsage, choosing, commandButton, missing } from "./answer.js";
import { defineCommand } from "./define.js";
import type { CommandDeps } from "./deps.js";
import { readableReasons } from "./hooks/hook-reasons.js";
import { missionsOf, schedulesOf } from "./mission/desk.js";
import { ago, code, count, plain } from "./show/text.js";
import { nameIn, whoIs } from "./show/who-is.js";

export const schedule = defineCommand({
  name: "schedule",
  group: "tasks",
  summary: "Schedules that start missions",
  role: "viewer",
  actions: {
    list: { summary: "All schedules and when each runs next", run: list },
    add: { summary: "Run a plan by a cron expression", role: "admin", run: add },
    pause: {
      summary: "Stop a schedule until it is resumed",
      role: "operator",
      run: (deps, context) => pause(deps, context, "pause"),
    },
    resume: {
      summary: "Continue a paused schedule",
      role: "operator",
      run: (deps, context) => pause(deps, context, "resume"),
    },
    run: { summary: "Start the mission of a schedule now", role: "operator", run: runNow },
    remove: { summary: "Delete a schedule", role: "admin", run: remove },
  },
  options: [
    {
      name: "id",
      summary: "A schedule; add: a plan",
      type: "string",
      complete: "schedules",
      completeFor: { add: "plans" },
    },
    {
      name: "cron",
      summary: 'add: a cron expression in quotes, such as "0 9 * * MON-FRI"',
      type: "string",
      neededFor: ["add"],
    },
    {
      name: "timezone",
      summary: "add: the time zone, such as Europe/Berlin (that of the machine when absent)",
      type: "string",
    },
    { name: "name", summary: "add: the id of the schedule (that of the plan when absent)", type: "string" },
  ],
});

async function list(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const all = readableReasons(context, await schedulesOf(deps).list());
  const now = deps.clock.now();
  const lines = await Promise.all(
    all.map(
      async (one) =>
        `- ${code(one.id)}: ${describe(one, now)}${whyNoStart(deps, one)}${await refusedStart(deps, context, one)}`,
    ),
  );
  return answer({
    text: [all.length === 0 ? "There are no schedules." : `**${count(all.length, "schedule")}**`, lines.join("\n")],
    data: { schedules: all },
  });
}

/** Its times come, and start nothing. */
function whyNoStart(deps: CommandDeps, { planId }: Schedule): string {
  const plan = missionsOf(deps)
    .plans()
    .find((file) => file.id === planId || ("problems" in file && file.isFolder === true));
  if (plan === undefined) return `; it **cannot start**: there is no plan ${code(planId)} any more`;
  return "problems" in plan ? "; it **cannot start**: its plan is broken (/mission plans shows why)" : "";
}

/** A hook may refuse a mission after its schedule has started it. */
async function refusedStart(deps: CommandDeps, context: CommandContext, { last }: Schedule): Promise<string> {
  if (last?.kind !== "started" || last.missionId === undefined) return "";
  const hold = await missionsOf(deps)
    .get(last.missionId)
    .then(({ mission }) => readableReasons(context, mission.hold))
    .catch(() => undefined); // it was deleted meanwhile
  if (hold === undefined) return "";
  return `, which is **blocked**: ${plain(hold.by)} refused ${code(hold.point ?? "")}: ${plain(hold.reason)}`;
}

function describe(one: Schedule, now: number): string {
  const { id, planId, expression, timezone, paused, nextAt, last } = one;
  const next =
    paused !== undefined
      ? `**paused** by ${plain(nameIn(paused.by), 64)}`
      : nextAt === undefined
        ? "never comes again"
        : `next ${writeMoment({ kind: "moment", atMs: nextAt, style: "f", timezone })}, in ${formatDuration(Math.max(0, nextAt - now))}`;
  return `plan ${code(planId)} at ${code(expression)} (${timezone}), ${next}${last === undefined ? "" : `; ${lastly(id, last, now)}`}`;
}

function lastly(id: string, { kind, at, missionId, by, reason }: ScheduleOutcome, now: number): string {
  const when = ago(at, now);
  if (kind === "started") return `last started ${when}: ${code(missionId ?? "")}`;
  if (kind === "vetoed")
    return `last refused ${when} by ${plain(by ?? "")}: ${plain(reason ?? "")}. ${code(`/schedule run ${id}`)} starts it now`;
  return `last ${kind === "failed" ? "failed" : "passed by"} ${when}: ${plain(reason ?? "")}`;
}

async function add(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const planId = idOf(context, "which plan");
  const { cron, timezone, name } = context.options;
  if (typeof cron !== "string" || cron === "")
    throw badUsage("Missing: when, as a cron expression.", `/schedule add ${planId} "0 3 * * *"`);
  needRoleFor(deps, context, planId);
  const adding = schedulesOf(deps).add({
    planId,
    expression: cron,
    timezone: typeof timezone === "string" ? timezone : undefined,
    id: typeof name === "string" ? name : undefined,
    by: whoIs(context.operator),
    // The same key when the command is handled again after a crash.
    once: context.causeId,
    address: context.at,
  });
  const added = await choosing("id", planId, adding);
  return answer({
    text: [`${code(added.id)}: ${describe(added, deps.clock.now())}.`],
    data: added,
    buttons: [
      [commandButton("Run now", `/schedule run ${added.id}`), commandButton("Pause", `/schedule pause ${added.id}`)],
    ],
  });
}

async function pause(deps: CommandDeps, context: CommandContext, action: "pause" | "resume"): Promise<CommandAnswer> {
  const id = idOf(context, "which schedule");
  const by = action === "pause" ? whoIs(context.operator) : undefined;
  const changed = await choosing("id", id, schedulesOf(deps).pause(id, by));
  return answer({ text: [`${code(id)}: ${describe(changed, deps.clock.now())}.`], data: changed });
}

async function runNow(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const id = idOf(context, "which schedule");
  const schedule = (await schedulesOf(deps).list()).find((one) => one.id === id);
  // A schedule allows its plan at the agreed times only: to start it now, a person needs the role that the plan needs without a schedule.
  if (schedule !== undefined) needRoleFor(deps, context, schedule.planId);
  const { operator, causeId, attempt } = context;
  const outcome = await choosing("id", id, schedulesOf(deps).run(id, whoIs(operator), causeId, attempt));
  if (outcome.kind === "started")
    return answer({
      text: [`${code(id)} starts ${code(outcome.missionId ?? "")}; its next times do not change.`],
      data: outcome,
      buttons: [[commandButton("Show", `/mission show ${outcome.missionId}`)]],
    });
  const why = outcome.kind === "vetoed" ? `${plain(outcome.by ?? "a hook")} refused` : "it could not start";
  return answer({
    text: [`${code(id)} did not start: ${why}: ${plain(outcome.reason ?? "", 1500)}`],
    data: outcome,
    outcome: outcome.kind === "vetoed" ? "refused" : "failed",
  });
}

async function remove(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const id = idOf(context, "which schedule");
  await choosing("id", id, schedulesOf(deps).remove(id));
  return answer({ text: [`${code(id)} is gone.`], data: { id, removed: true } });
}

/** A plan that is broken is reported when it is used. */
function needRoleFor(deps: CommandDeps, context: CommandContext, planId: string): void {
  const plan = missionsOf(deps)
    .plans()
    .find(({ id }) => id === planId);
  if (plan !== undefined && "plan" in plan) context.need(missionsOf(deps).roleToRun(planId));
}

function idOf({ options }: CommandContext, what: string): string {
  if (typeof options.id === "string" && options.id.trim() !== "") return options.id.trim();
  throw missing(what, "/schedule list shows the schedules, /mission plans the plans.", "id");
}
