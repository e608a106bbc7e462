/** Keeps the cards of tasks as they are: posted once, edited on every change, and at most every two seconds for progress. */

import type { Address } from "../domain/address.js";
import { hasRole, type Role } from "../domain/identity.js";
import type { OutboundMessage } from "../domain/message.js";
import { isEnded, type Task } from "../domain/task.js";
import type { TaskStore } from "../domain/task-store.js";
import type { Clock, Timer } from "../lib/clock.js";
import { errorMessage, HookgateError } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import { cardOf, formerCardOf } from "./card.js";
import type { OrchestratorDeps } from "./deps.js";
import { createOutput } from "./output.js";
import type { Progress } from "./runners/runner.js";

const EDIT_EVERY_MS = 2_000;
/** Messages that are remembered as they were sent, so that nothing is edited into what it says already. */
const REMEMBERED = 2_000;

/** A deadline that passed so long ago was shown before the gateway stopped. */
const MISSED_MS = 86_400_000;

type TaskCard = NonNullable<Task["cards"]>[number];

export interface ShowDeps {
  store: Pick<TaskStore, "get">;
  chat: OrchestratorDeps["chat"];
  progressOf(taskId: string): Progress | undefined;
  /** The role that may read its output and notes. */
  roleToHear(task: Task): Role;
  /** That of the only reader of this chat; operator where others read along. */
  readerRole(at: Address): Role;
  /** `platform:id` as people write it. */
  nameOf(ref: string): string;
  clock: Clock;
  logger: Logger;
}

export interface Show {
  /** As it is now. */
  show(task: Task): Promise<void>;
  /** Soon: more may come. */
  progressed(taskId: string): void;
  /** Cards of tasks whose deadline has passed meanwhile turn overdue. Asked with every tick. */
  passTime(): void;
  /** Open tasks at a start: their deadlines are watched again. */
  watch(task: Task): void;
  stop(): void;
}

export function createShow(deps: ShowDeps): Show {
  const { store, chat, progressOf, roleToHear, readerRole, nameOf, clock, logger } = deps;
  const output = createOutput(chat);
  const soon = new Map<string, Timer>();
  const shownWords = new Map<string, string>();
  /** Deadlines to come of tasks whose cards are shown. */
  const deadlines = new Map<string, number>();
  let isStopped = false;

  async function show(task: Task): Promise<void> {
    soon.get(task.id)?.cancel();
    soon.delete(task.id);
    // Told in order, but later than it was written: what holds now is shown.
    const now = (await store.get(task.id)) ?? task;
    watch(now);
    for (const card of now.cards ?? []) await keep(now, card);
  }

  function watch({ id, deadline, status, cards }: Task): void {
    const isComing = deadline !== undefined && !isEnded(status) && deadline > clock.now();
    if (isComing && (cards?.length ?? 0) > 0) deadlines.set(id, deadline);
    else deadlines.delete(id);
  }

  async function keep(task: Task, card: TaskCard): Promise<void> {
    if (isAhead(task) && !shownWords.has(card.id) && !(await chat.isThere(card.id))) return;
    const message = card.former === true ? formerCardOf(task) : await messageOf(task, card);
    const words = JSON.stringify(message);
    if (shownWords.get(card.id) === words) return;
    const cause = { kind: "task" as const, id: task.id, depth: task.cause?.depth ?? 0 };
    const isThere = shownWords.has(card.id) || (await chat.isThere(card.id));
    try {
      if (isThere) await chat.edit(card.id, message, { cause });
      else await post(task, card, message);
    } catch (error) {
      // Swept away since: posted anew.
      if (!(error instanceof HookgateError) || error.code !== "DELIVERY_UNKNOWN") throw error;
      await post(task, card, message);
    }
    shownWords.delete(card.id);
    shownWords.set(card.id, words);
    if (shownWords.size > REMEMBERED) shownWords.delete(shownWords.keys().next().value as string);
  }

  /** Nothing more is sent of what an operator purged; a new assignment makes another card. */
  async function post(task: Task, card: TaskCard, message: OutboundMessage): Promise<void> {
    if (await chat.wasPurged(card.id, task.createdAt)) return;
    const cause = { kind: "task" as const, id: task.id, depth: task.cause?.depth ?? 0 };
    await chat.send(card.at, message, { cause, deliveryId: card.id });
  }

  async function messageOf(task: Task, card: TaskCard): Promise<OutboundMessage> {
    const progress = progressOf(task.id);
    const roleNeeded = roleToHear(task);
    // People are given work with the access of an operator, regardless of their own role.
    const isOpen = hasRole(card.person === true ? "operator" : readerRole(card.at), roleNeeded);
    const kept = isOpen && !card.person && (await output.keep(task, card, progress).catch(unshown(task.id)));
    // Nothing else may change before the card is posted.
    if (kept === "later") progressed(task.id);
    return cardOf({
      task,
      progress,
      isPersons: card.person === true,
      isOpen,
      roleNeeded,
      hasOutput: kept !== true,
      now: clock.now(),
      nameOf,
    });
  }

  /** The card shows it then. */
  const unshown = (taskId: string) => (error: unknown) => {
    logger.warn({ task: taskId, error: errorMessage(error) }, "a task's output could not be shown in a thread");
    return false;
  };

  function progressed(taskId: string): void {
    if (isStopped || soon.has(taskId)) return;
    const timer = clock.after(EDIT_EVERY_MS, () => {
      soon.delete(taskId);
      void (async () => {
        const task = await store.get(taskId);
        if (task !== undefined && !isStopped) await show(task);
      })().catch((error: unknown) =>
        logger.warn({ task: taskId, error: errorMessage(error) }, "a task's progress could not be shown"),
      );
    });
    soon.set(taskId, timer);
  }

  return {
    show,
    progressed,
    watch(task) {
      watch(task);
      const { deadline, status } = task;
      const isMissed = deadline !== undefined && deadline <= clock.now() && deadline > clock.now() - MISSED_MS;
      if (isMissed && !isEnded(status)) progressed(task.id);
    },
    passTime() {
      const now = clock.now();
      for (const [taskId, deadline] of deadlines)
        if (deadline <= now) {
          deadlines.delete(taskId);
          progressed(taskId);
        }
    },
    stop() {
      isStopped = true;
      for (const timer of soon.values()) timer.cancel();
      soon.clear();
    },
  };
}

/** A mission's own card tells of what it may never come to; a plan with a hundred tasks does not begin with a hundred messages. */
function isAhead({ missionId, attempt, status }: Task): boolean {
  return missionId !== undefined && attempt === 0 && (status === "draft" || status === "cancelled");
}
