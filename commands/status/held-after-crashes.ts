/** Work that waits for an operator, or was skipped, because the gateway ended while it, or hooks about it, ran. */
import type { AutomationRun } from "../../src/domain/automation.js";
import type { Mission } from "../../src/domain/orchestrator/mission.js";
import type { Schedule } from "../../src/domain/orchestrator/schedule.js";
import type { Task } from "../../src/domain/orchestrator/task.js";
import type { CrashedDispatch } from "../../src/hooks/attempts.js";
import type { Ender } from "../../src/hooks/given-up.js";
import { DAY_MS } from "../../src/lib/time/duration.js";
import type { CommandDeps } from "../deps.js";
import { crashesText, idOf } from "../journey/cut-off-points.js";
import { ago, code, count, plain } from "../show/text.js";

/** How much blocked work is looked through. */
const LAST = 200;
const MAX_NAMED = 5;
/** Who refuses a start whose hooks are not called again. */
const GATEWAY = "hookgate";

export interface HeldAfterCrashes {
  tasks: Task[];
  missions: Mission[];
  /** Their newest start was refused, and is not made good by itself. */
  schedules: Schedule[];
  /** Background runs of the last day that are not run again. */
  runs: AutomationRun[];
}

export async function heldAfterCrashes({
  tasks,
  missions,
  schedules,
  automations,
  clock,
}: CommandDeps): Promise<HeldAfterCrashes> {
  const [blocked = [], known = [], planned = [], interrupted = []] = await Promise.all([
    tasks?.store.list({ status: ["blocked", "review"], limit: LAST }),
    missions?.list({ limit: LAST }),
    schedules?.list(),
    automations?.runs.list({ status: "interrupted", limit: LAST }),
  ]);
  const since = clock.now() - DAY_MS;
  const isHeld = ({ hold }: Pick<Task | Mission, "hold">) => hold?.kind === "interruption";
  return {
    tasks: blocked.filter(isHeld),
    missions: known.filter(isHeld),
    schedules: planned.filter(({ last }) => last?.kind === "vetoed" && last.by === GATEWAY),
    runs: interrupted.filter(({ isRepeatable, endedAt = 0 }) => isRepeatable && endedAt > since),
  };
}

/** One line for each kind of work, each with what to do about it. */
export function heldLines({ tasks, missions, schedules, runs }: HeldAfterCrashes): string[] {
  return [
    ...(tasks.length > 0
      ? [
          `⚠ ${waits(tasks.length, "task")}: the gateway ended while ${tasks.length === 1 ? "it, or hooks about it," : "they, or hooks about them,"} ran: ${named(tasks.map(({ id, title }) => `${plain(title, 40)} ${code(`/task show ${id}`)}`))}`,
        ]
      : []),
    ...(missions.length > 0
      ? [
          `⚠ ${waits(missions.length, "mission")}: the gateway ended while hooks about ${missions.length === 1 ? "it" : "them"} ran: ${named(missions.map(({ id, title }) => `${plain(title, 40)} ${code(`/mission show ${id}`)}`))}`,
        ]
      : []),
    ...schedules
      .slice(0, MAX_NAMED)
      .map(
        ({ id, last }) =>
          `⚠ schedule ${code(id)} did not start its mission: ${plain(last?.reason ?? "", 120)}. ${code(`/schedule run ${id}`)} starts it now.`,
      ),
    ...(runs.length > 0
      ? [
          `⚠ ${count(runs.length, "background run")} of ${named([...new Set(runs.map(({ hookId }) => code(hookId)))])} ${runs.length === 1 ? "does" : "do"} not run again: the gateway ended while ${runs.length === 1 ? "it" : "they"} ran. ${code("/runs interrupted")}`,
        ]
      : []),
    ...(schedules.length > MAX_NAMED ? [`and ${schedules.length - MAX_NAMED} more: ${code("/schedule list")}`] : []),
  ];
}

/** Hooks at `after`, hooks about the end of a delivery, and hooks of a command hold up no work; nor does a hook that ended the process. */
export function givenUpLines(givenUp: readonly CrashedDispatch[], now: number): string[] {
  return [
    ...givenUp
      .slice(0, MAX_NAMED)
      .map((one) => `⚠ ${crashesText(one)} (${ago(one.givenUp?.at ?? now, now)}). ${adviceOn(one)}`),
    ...(givenUp.length > MAX_NAMED ? [`and ${givenUp.length - MAX_NAMED} more of the last 24 h`] : []),
  ];
}

function adviceOn(one: CrashedDispatch): string {
  const { endedBy, point } = one;
  if (endedBy === undefined) return `They are not called again: ${code(`/hooks why ${point} ${idOf(one)}`)}`;
  const where = endedBy.hookId === undefined ? "the log has the line" : code(`/hooks show ${endedBy.hookId}`);
  return `${endedBy.hookId === undefined ? "A plugin" : "A hook"} must not call ${code("process.exit")}: ${where}`;
}

/** `2 hooks and 1 command of plugins` */
export function endersText(endings: readonly Ender[]): string {
  const hooks = endings.filter(({ hookId }) => hookId !== undefined).length;
  const commands = endings.filter(({ command }) => command !== undefined).length;
  const routes = endings.filter(({ isRoute }) => isRoute).length;
  const others = endings.length - hooks - commands - routes;
  return [
    ...(hooks > 0 ? [count(hooks, "hook")] : []),
    ...(commands > 0 ? [`${count(commands, "command")} of plugins`] : []),
    ...(routes > 0 ? [count(routes, "default route")] : []),
    ...(others > 0 ? [`other work of ${count(others, "plugin")}`] : []),
  ].join(" and ");
}

const waits = (amount: number, what: string) =>
  `${count(amount, what)} ${amount === 1 ? "waits" : "wait"} for an operator`;

function named(all: readonly string[]): string {
  return `${all.slice(0, MAX_NAMED).join(", ")}${all.length > MAX_NAMED ? ` and ${all.length - MAX_NAMED} more` : ""}`;
}
