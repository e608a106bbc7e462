/** Keeps the cards of tasks as they are: posted once, edited on every change, and at most every two seconds for progress. */

import type { Address } from "../domain/chat/address.js";
import { hasRole, type Role } from "../domain/chat/identity.js";
import type { OutboundMessage } from "../domain/chat/message.js";
import { isEnded, type Task } from "../domain/orchestrator/task.js";
import type { TaskStore } from "../domain/orchestrator/task-store.js";
import { errorMessage, HookgateError } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { Clock, Timer } from "../lib/time/clock.js";
import { DAY_MS } from "../lib/time/duration.js";
import { cardOf, formerCardOf } from "./card.js";
import type { OrchestratorDeps } from "./deps.js";
import { createOutput, type Output } from "./output.js";
import type { Progress } from "./runners/runner.js";

const EDIT_EVERY_MS = 2_000;
/** Messages that are remembered as they were sent, so that no edit repeats the text that a message has already. */
const REMEMBERED = 2_000;

/** A deadline that passed so long ago was shown before the gateway stopped. */
const MISSED_MS = DAY_MS;

type TaskCard = NonNullable<Task["cards"]>[number];

export interface ShowDeps {
  store: Pick<TaskStore, "get">;
  chat: OrchestratorDeps["chat"];
  progressOf(taskId: string): Progress | undefined;
  /** The role that may read the task's output and notes. */
  roleToHear(task: Task): Role;
  /** The role of the only reader of this chat; operator where others read along. */
  readerRole(at: Address): Role;
  /** The name that people use for `platform:id`. */
  nameOf(ref: string): string;
  nameOfPerson(ref: string): Promise<string>;
  clock: Clock;
  logger: Logger;
}

export interface Show {
  /** Shows the task as it is now. */
  show(task: Task): Promise<void>;
  /** Shows the progress soon, because more may come. */
  progressed(taskId: string): void;
  /** Cards of tasks whose deadline has passed meanwhile turn overdue. Asked with every tick. */
  passTime(): void;
  /** Open tasks at a start: their deadlines are watched again. */
  watch(task: Task): void;
  stop(): void;
}

export function createShow(deps: ShowDeps): Show {
  return new ShownCards(deps);
}

class ShownCards implements Show {
  readonly #deps: ShowDeps;
  readonly #output: Output;
  /** Timers of cards that wait to be edited, by task. */
  readonly #soon = new Map<string, Timer>();
  /** The last text that was sent, by card. */
  readonly #shownWords = new Map<string, string>();
  /** Deadlines to come of tasks whose cards are shown. */
  readonly #deadlines = new Map<string, number>();
  #isStopped = false;

  constructor(deps: ShowDeps) {
    this.#deps = deps;
    this.#output = createOutput(deps.chat);
  }

  async show(task: Task): Promise<void> {
    this.#soon.get(task.id)?.cancel();
    this.#soon.delete(task.id);
    // Changes arrive in order, but later than they were written: the task's current state is shown.
    const now = (await this.#deps.store.get(task.id)) ?? task;
    this.#watchDeadline(now);
    for (const card of now.cards ?? []) await this.#keep(now, card);
  }

  progressed(taskId: string): void {
    const { store, clock, logger } = this.#deps;
    if (this.#isStopped || this.#soon.has(taskId)) return;
    const timer = clock.after(EDIT_EVERY_MS, () => {
      this.#soon.delete(taskId);
      void (async () => {
        const task = await store.get(taskId);
        if (task !== undefined && !this.#isStopped) await this.show(task);
      })().catch((error: unknown) =>
        logger.warn({ task: taskId, error: errorMessage(error) }, "a task's progress could not be shown"),
      );
    });
    this.#soon.set(taskId, timer);
  }

  passTime(): void {
    const now = this.#deps.clock.now();
    for (const [taskId, deadline] of this.#deadlines)
      if (deadline <= now) {
        this.#deadlines.delete(taskId);
        this.progressed(taskId);
      }
  }

  watch(task: Task): void {
    this.#watchDeadline(task);
    const { deadline, status } = task;
    const now = this.#deps.clock.now();
    const isMissed = deadline !== undefined && deadline <= now && deadline > now - MISSED_MS;
    if (isMissed && !isEnded(status)) this.progressed(task.id);
  }

  stop(): void {
    this.#isStopped = true;
    for (const timer of this.#soon.values()) timer.cancel();
    this.#soon.clear();
  }

  #watchDeadline({ id, deadline, status, cards }: Task): void {
    const isComing = deadline !== undefined && !isEnded(status) && deadline > this.#deps.clock.now();
    if (isComing && (cards?.length ?? 0) > 0) this.#deadlines.set(id, deadline);
    else this.#deadlines.delete(id);
  }

  async #keep(task: Task, card: TaskCard): Promise<void> {
    const { chat } = this.#deps;
    const shownWords = this.#shownWords;
    if (isAhead(task) && !shownWords.has(card.id) && !(await chat.isThere(card.id))) return;
    const message = card.former === true ? formerCardOf(task) : await this.#messageOf(task, card);
    const words = JSON.stringify(message);
    if (shownWords.get(card.id) === words) return;
    const cause = { kind: "task" as const, id: task.id, depth: task.cause?.depth ?? 0 };
    const isThere = shownWords.has(card.id) || (await chat.isThere(card.id));
    try {
      if (isThere) await chat.edit(card.id, message, { cause });
      else await this.#post(task, card, message);
    } catch (error) {
      // The delivery was swept away since: the card is posted again.
      if (!(error instanceof HookgateError) || error.code !== "DELIVERY_UNKNOWN") throw error;
      await this.#post(task, card, message);
    }
    shownWords.delete(card.id);
    shownWords.set(card.id, words);
    if (shownWords.size > REMEMBERED) shownWords.delete(shownWords.keys().next().value as string);
  }

  /** A card that an operator purged is not sent again; a new assignment makes another card. */
  async #post(task: Task, card: TaskCard, message: OutboundMessage): Promise<void> {
    const { chat } = this.#deps;
    if (await chat.wasPurged(card.id, task.createdAt)) return;
    const cause = { kind: "task" as const, id: task.id, depth: task.cause?.depth ?? 0 };
    await chat.send(card.at, message, { cause, deliveryId: card.id });
  }

  async #messageOf(task: Task, card: TaskCard): Promise<OutboundMessage> {
    const { progressOf, roleToHear, readerRole, nameOf, nameOfPerson, clock, logger } = this.#deps;
    const progress = progressOf(task.id);
    const roleNeeded = roleToHear(task);
    // People are given work with the access of an operator, regardless of their own role.
    const isOpen = hasRole(card.person === true ? "operator" : readerRole(card.at), roleNeeded);
    /** The card shows the output then. */
    const unshown = (error: unknown) => {
      logger.warn({ task: task.id, error: errorMessage(error) }, "a task's output could not be shown in a thread");
      return false;
    };
    const kept = isOpen && !card.person && (await this.#output.keep(task, card, progress).catch(unshown));
    // Nothing else may change before the card is posted.
    if (kept === "later") this.progressed(task.id);
    const whom = (task.owner ?? task.assignTo).replace(/^person:/, "");
    const known = await nameOfPerson(whom);
    // The first command of a person is in the audit log only at its end.
    const [, creator, creatorName = known] = /^(\S+) \((.+)\)$/s.exec(task.createdBy) ?? [];
    const name = known === whom && creator === whom ? creatorName : known;
    return cardOf({
      task,
      progress,
      isPersons: card.person === true,
      isOpen,
      roleNeeded,
      hasOutput: kept !== true,
      now: clock.now(),
      nameOf: (ref) => (ref === whom ? name : nameOf(ref)),
    });
  }
}

/** A mission's own card shows tasks that it may never reach; a plan with a hundred tasks does not start with a hundred messages. */
function isAhead({ missionId, attempt, status }: Task): boolean {
  return missionId !== undefined && attempt === 0 && (status === "draft" || status === "cancelled");
}
