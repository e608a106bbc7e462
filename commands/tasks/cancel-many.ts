/** `/task cancel all` or a state, narrowed by `group=` and `reason=`: many tasks at once, after a question. */
import {
  isEnded,
  OPEN_TASK_STATUSES,
  TASK_STATUSES,
  type Task,
  type TaskStatus,
} from "../../src/domain/orchestrator/task.js";
import type { TaskFilter } from "../../src/domain/orchestrator/task-store.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { HookgateError } from "../../src/lib/errors.js";
import { answer, badUsage, commandButton, word } from "../answer.js";
import { changedText, hasChanged, selectionOf } from "../selection.js";
import { count, plain } from "../show/text.js";
import { actorOf, mayHearHere, type TaskDesk, textOf } from "./desk.js";

const PAGE = 200;

/** The states that `/task cancel` was given in place of an id; undefined for an id. Throws for a state that is the end of a task. */
export function statesToCancel(given: unknown): readonly TaskStatus[] | undefined {
  const asked = textOf(given)?.toLowerCase().replaceAll(/[ -]/g, "_");
  if (TASK_STATUSES.some((status) => status === asked && isEnded(status)))
    throw badUsage(
      `What is ${asked} has ended, and is not cancelled.`,
      `Write \`all\`, or one of ${OPEN_TASK_STATUSES.map((status) => status.replaceAll("_", " ")).join(", ")}.`,
    );
  if (asked === "all" || asked === "open") return OPEN_TASK_STATUSES;
  const state = OPEN_TASK_STATUSES.find((status) => status === asked);
  return state && [state];
}

/** Needs the role that cancels one task: every operator may. */
export async function cancelMany(
  desk: TaskDesk,
  context: CommandContext,
  states: readonly TaskStatus[],
): Promise<CommandAnswer> {
  context.need("operator");
  const { options } = context;
  const what = states.length === 1 ? String(states[0]) : "all";
  const group = textOf(options.group);
  const reason = textOf(options.reason);
  const tasks = await chosenTasks(desk, context, states, group, reason);
  const words = [
    states.length === 1 ? ` that ${tasks.length <= 1 ? "is" : "are"} ${what.replaceAll("_", " ")}` : "",
    group === undefined ? "" : ` in the group "${plain(group, 80)}"`,
    reason === undefined ? "" : ` with "${plain(reason, 80)}" in the reason`,
  ].join("");
  if (tasks.length === 0)
    return answer({
      text: [hasChanged(context, []) && changedText("tasks"), `There is no open task${words}.`],
      data: { cancelled: 0, wouldCancel: 0 },
    });
  const ids = tasks.map(({ id }) => id);
  const isStale = hasChanged(context, ids);
  if (isStale || options.yes !== true) {
    const line = `${group === undefined ? "" : ` group=${word(group)}`}${reason === undefined ? "" : ` reason=${word(reason)}`}`;
    return answer({
      text: [
        isStale && changedText("tasks"),
        `Cancel ${count(tasks.length, "task")}${words}? What runs of them is ended. \`yes=true\` cancels without asking.`,
      ],
      data: { cancelled: 0, wouldCancel: tasks.length },
      isQuestion: true,
      buttons: [
        [
          commandButton(
            `Cancel ${tasks.length.toLocaleString("en-US")}`,
            `/task cancel ${what}${line} yes=true selection=${selectionOf(ids)}`,
            "danger",
          ),
          commandButton("Show them", `/task list ${what === "all" ? "open" : what}`),
        ],
      ],
    });
  }
  const refused: string[] = [];
  for (const task of tasks) {
    const why = await cancelOne(desk, task, context);
    if (why !== undefined) refused.push(`✗ ${plain(task.title, 80)}: ${plain(why, 200)}`);
  }
  const cancelled = tasks.length - refused.length;
  const MAX_NAMED = 5;
  return answer({
    text: [
      `${count(cancelled, "task")} cancelled.`,
      refused.length > 0 &&
        `${count(refused.length, "task")} not cancelled:\n${refused.slice(0, MAX_NAMED).join("\n")}`,
    ],
    data: { cancelled, refused: refused.length },
    outcome: cancelled === 0 ? "failed" : "done",
  });
}

/** A search by reason finds only tasks whose reason the reader may hear: else it would reveal the reason, letter by letter. */
async function chosenTasks(
  desk: TaskDesk,
  context: CommandContext,
  status: readonly TaskStatus[],
  group: string | undefined,
  reason: string | undefined,
): Promise<Task[]> {
  const found: Task[] = [];
  const filter: TaskFilter = { status, limit: PAGE };
  if (group !== undefined) filter.group = group;
  for (;;) {
    const page = await desk.store.list(filter);
    found.push(
      ...page.filter(
        (task) => reason === undefined || (mayHearHere(desk, context, task) && includes(task.reason, reason)),
      ),
    );
    const last = page.at(-1);
    if (page.length < PAGE || last === undefined) return found;
    filter.before = last.id;
  }
}

const includes = (text: string | undefined, part: string) => text?.toLowerCase().includes(part.toLowerCase()) === true;

/** Why it was not cancelled; undefined when it was. */
async function cancelOne(desk: TaskDesk, { id }: Task, context: CommandContext): Promise<string | undefined> {
  try {
    const came = await desk.cancel(id, actorOf(context, textOf(context.options.text)));
    if (came.kind === "moved") return undefined;
    return came.kind === "vetoed" ? `${came.by} refused: ${came.reason}` : "another person was faster";
  } catch (error) {
    if (error instanceof HookgateError) return error.message; // it ended meanwhile
    throw error;
  }
}
