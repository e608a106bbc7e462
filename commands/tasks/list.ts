/** `/task list [filter]`: the newest first; open ones when nothing is asked for. */
import type { Operator } from "../../src/domain/chat/identity.js";
import {
  OPEN_TASK_STATUSES,
  TASK_STATUSES,
  type Task,
  type TaskStatus,
  undeliveredCard,
} from "../../src/domain/orchestrator/task.js";
import type { TaskFilter } from "../../src/domain/orchestrator/task-store.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { answer, commandButton, word } from "../answer.js";
import { readableReasons } from "../hooks/hook-reasons.js";
import { pageButtons, pageOf, pageText, sizeOf } from "../page.js";
import { clockTime, code, count, plain, table } from "../show/text.js";
import { assigneeFrom, mayHearHere, type TaskDesk, textOf } from "./desk.js";
import { dueText, nameOf, readableTask, taskData } from "./rows.js";

const PAGE_SIZE = 10;
const MAX_PAGE_SIZE = 200;
const REACH = 500;

export async function listTasks(desk: TaskDesk, context: CommandContext, now: number): Promise<CommandAnswer> {
  context.need("viewer");
  const asked = textOf(context.options.id);
  const group = textOf(context.options.group);
  const inGroup = group === undefined ? {} : { group };
  const named = await desk.store.list({ ...filterOf(asked, context.operator), ...inGroup, limit: REACH });
  const found = named.length > 0 ? named : ofPerson(asked, await desk.store.list({ ...inGroup, limit: REACH }), desk);
  const { counts, held: heldBy } = desk.status();
  const held = readableReasons(context, heldBy);
  const page = pageOf(
    found,
    Number(context.options.page ?? 1),
    sizeOf(context.options.limit, PAGE_SIZE, MAX_PAGE_SIZE),
  );
  const first = (page.number - 1) * sizeOf(context.options.limit, PAGE_SIZE, MAX_PAGE_SIZE) + 1;
  const of = group === undefined ? "" : ` in the group ${code(group)}`;
  const summary = TASK_STATUSES.filter((status) => counts[status] > 0)
    .map((status) => `${counts[status]} ${status.replaceAll("_", " ")}`)
    .join(" · ");
  return answer({
    text: [
      held && `⚠ Tasks do not start now: ${plain(held.by)} holds them (${plain(held.reason)}).`,
      found.length === 0
        ? `**No task**${asked === undefined ? " is open" : ` for ${code(asked)}`}${of}.`
        : `**${count(found.length, asked === undefined ? "open task" : "task")}**${of}${pageText(page)}`,
      found.length > 0 &&
        (context.at === undefined
          ? tableOf(page.entries, desk, now, context)
          : page.entries.map((task, index) => rowLine(task, first + index, desk, now)).join("\n")),
      summary,
    ],
    data: {
      tasks: page.entries.map((task) => taskData(readableTask(task, context), mayHearHere(desk, context, task))),
      total: found.length,
      page: page.number,
      pages: page.pages,
      counts,
      held,
    },
    buttons: [
      [
        ...pageButtons(
          page,
          `/task list${asked === undefined ? "" : ` ${word(asked)}`}${group === undefined ? "" : ` group=${word(group)}`}`,
        ),
        ...page.entries.slice(0, 3).map(({ id, title }) => commandButton(plain(title, 20), `/task show ${id}`)),
      ],
    ],
  });
}

const stateOf = (task: Task): string => (undeliveredCard(task) ? "⚠ not delivered" : task.status.replaceAll("_", " "));

/** The longest id of an account fits: people whose names are not known are told apart by its end. */
const LONGEST_WHO = 28;

/** A terminal has room for a table. */
function tableOf(tasks: readonly Task[], desk: TaskDesk, now: number, context: CommandContext): string {
  return table(
    [
      { title: "id", maxCharacters: 40 },
      { title: "task", maxCharacters: 60 },
      { title: "state" },
      { title: "who", maxCharacters: LONGEST_WHO },
      { title: "due" },
      { title: "since (UTC)" },
    ],
    tasks.map((task) => [
      task.id,
      task.title,
      stateOf(task),
      nameOf(task.owner ?? task.assignTo, desk),
      dueText(task, now),
      clockTime(task.changedAt, now),
    ]),
    context,
  );
}

/** `2. Change the lock · in progress · Ann · due in 2 h · since 14:03:12 · t_m5` */
function rowLine(task: Task, number: number, desk: TaskDesk, now: number): string {
  const due = dueText(task, now);
  const facts = [
    plain(task.title, 60),
    stateOf(task),
    plain(nameOf(task.owner ?? task.assignTo, desk), 40),
    ...(due === "" ? [] : [due.startsWith("in ") ? `due ${due}` : due]),
    `since ${clockTime(task.changedAt, now)}`,
    code(task.id),
  ];
  return `${number}. ${facts.join(" · ")}`;
}

/** People are known by their names. */
function ofPerson(asked: string | undefined, tasks: readonly Task[], desk: TaskDesk): Task[] {
  const name = asked?.toLowerCase();
  return tasks.filter(({ owner, assignTo }) => nameOf(owner ?? assignTo, desk).toLowerCase() === name);
}

function filterOf(asked: string | undefined, operator: Operator): Omit<TaskFilter, "limit"> {
  if (asked === undefined || asked === "open") return { status: OPEN_TASK_STATUSES };
  if (asked === "all") return {};
  const status = asked.replaceAll(/[ -]/g, "_");
  if (TASK_STATUSES.some((one) => one === status)) return { status: [status as TaskStatus] };
  return { text: assigneeFrom(asked, operator) };
}
