/**
 * Looks after the cards of people who were given a task, until the cards have arrived. A card that does not arrive is noted on the task, so
 * that its other cards and the commands show it, and posted in the conversation that the task came from.
 */

import { formatAddress } from "../domain/chat/address.js";
import { type Task, undeliveredWords } from "../domain/orchestrator/task.js";
import type { TaskStore } from "../domain/orchestrator/task-store.js";
import { isUnderWay } from "../domain/store.js";
import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import { plainLine } from "../lib/markdown/escape.js";
import type { OrchestratorDeps } from "./deps.js";
import type { Transitions } from "./tasks/transition.js";

export interface ArrivalDeps {
  store: Pick<TaskStore, "get">;
  amend: Transitions["amend"];
  chat: Pick<OrchestratorDeps["chat"], "fateOf" | "wasPurged" | "send">;
  /** The name that people use for `platform:id`. */
  nameOfPerson(ref: string): Promise<string>;
  logger: Logger;
}

export interface Arrivals {
  /** Called after each change, and for open tasks at a start. */
  watch(task: Task): void;
  /** Called with every tick. */
  check(): void;
}

export function createArrivals({ store, amend, chat, nameOfPerson, logger }: ArrivalDeps): Arrivals {
  const watched = new Set<string>();
  /** Tasks whose card was gone at the last check: the audit names its purge a moment after that. */
  const gone = new Set<string>();
  let isChecking = false;

  function watch(task: Task): void {
    gone.delete(task.id);
    if (personsCard(task) === undefined) watched.delete(task.id);
    else watched.add(task.id);
  }

  async function takeArrivals(taskId: string): Promise<void> {
    const task = await store.get(taskId);
    const card = task && personsCard(task);
    if (task === undefined || card === undefined) return void watched.delete(taskId);
    const delivery = await chat.fateOf(card.id);
    if (delivery !== undefined && isUnderWay(delivery)) return;
    const end = delivery ?? (await deletedCard(task, card));
    // The card is not enqueued yet, or the change that took its place was deleted: the note on the task stays true.
    if (end === undefined || end.status === "superseded") return;
    const { status, reason } = end;
    if (status === "sent" || status === "purged") watched.delete(taskId);
    if (status === (card.undelivered?.status ?? "sent")) return;
    const undelivered = status === "sent" ? undefined : { status, reason: status === "dead" ? reason : undefined };
    const words = undelivered === undefined ? "delivered" : undeliveredWords({ ...card, undelivered });
    const { address, title, owner = task.assignTo } = task;
    if (address && undelivered && status !== "purged" && formatAddress(address) !== formatAddress(card.at)) {
      const whom = plainLine(await nameOfPerson(owner.replace(/^person:/, "")), LONGEST_NAME);
      const text = `⚠️ **${plainLine(title, LONGEST_TITLE)}** did not reach ${whom}: ${words} ${nextStep(task)}`;
      const cause = { kind: "task", id: taskId, depth: task.cause?.depth ?? 0 } as const;
      await chat.send(address, { text }, { cause, deliveryId: `d_${taskId}_u${task.version}` });
    }
    await amend(
      taskId,
      { by: "orchestrator" },
      {
        kind: "changed",
        note: undelivered === undefined ? words : `not delivered: ${words}`,
        still: (now) => personsCard(now)?.id === card.id,
        change: ({ cards }) => ({ cards: cards?.map((one) => (one.id === card.id ? { ...one, undelivered } : one)) }),
      },
    );
  }

  /** The end of a card that did not arrive, when it is not in the outbox any more. */
  async function deletedCard({ id, createdAt }: Task, { id: cardId, undelivered }: TaskCard) {
    if (undelivered === undefined) return undefined;
    if (!gone.delete(id)) return void gone.add(id);
    // A retention deletes the delivery too: its state does not change after that, and the note on the task stays true.
    watched.delete(id);
    return (await chat.wasPurged(cardId, createdAt)) ? ({ status: "purged", reason: undefined } as const) : undefined;
  }

  return {
    watch,
    check() {
      if (isChecking) return;
      isChecking = true;
      void (async () => {
        for (const taskId of [...watched])
          await takeArrivals(taskId).catch((error: unknown) =>
            logger.warn({ task: taskId, error: errorMessage(error) }, "whether a task's card arrived is not known"),
          );
        isChecking = false;
      })();
    },
  };
}

type TaskCard = NonNullable<Task["cards"]>[number];

const LONGEST_NAME = 64;
const LONGEST_TITLE = 120;

/** The assignee's card, while it is the person's turn to start. */
function personsCard({ status, cards }: Task) {
  return status === "assigned" ? cards?.find(({ person, former }) => person === true && former !== true) : undefined;
}

const nextStep = ({ id }: Task) => `To give it to another person: \`/task assign ${id} WHO\`.`;
