/** The messages that show a task: one where it came from, and one for each person who was given it. */

import { type Address, parseAddress } from "../../domain/chat/address.js";
import type { Task } from "../../domain/orchestrator/task.js";
import type { OrchestratorConfig, PersonConfig } from "../config.js";
import type { OrchestratorDeps } from "../deps.js";

export type Cards = NonNullable<Task["cards"]>;

/** Older cards are left as they are. */
const MAX_CARDS = 5;

/** The card where it came from; none when it did not come from a chat and no place is configured. */
export function firstCards(id: string, address: Task["address"], { config }: Pick<OrchestratorDeps, "config">): Cards {
  const at = address ?? shownIn(config());
  return at === undefined ? [] : [{ id: firstCardId(id), at }];
}

const firstCardId = (taskId: string) => `d_${taskId}`;

/** The task's cards when it has this owner. All cards but the one where it came from are in chats of its former owners. */
export function cardsOf({ id, cards, owner: before }: Task, owner: string): Cards | undefined {
  if (owner === before) return cards;
  return cards?.map(({ person: _, ...card }) => (card.id === firstCardId(id) ? card : { ...card, former: true }));
}

/**
 * A new card for the person who is given it now: an edited one would notify no one. Only the card of a task that a person adds for
 * themselves becomes theirs, because they have just seen it. Undefined when there is no way to reach them.
 */
export function cardFor(
  task: Task,
  { user, at }: PersonConfig,
  { chat, config }: Pick<OrchestratorDeps, "chat" | "config">,
): ((now: Task) => Cards) | undefined {
  const [platform = "", userId = ""] = user.split(":");
  const place =
    (at === undefined ? undefined : parseAddress(at)) ??
    chat.direct(platform, userId) ??
    task.address ??
    shownIn(config());
  if (place === undefined) return undefined;
  const [only, ...others] = task.cards ?? [];
  if (only && others.length === 0 && task.attempt === 0 && isSamePlace(only.at, place) && wasAddedBy(task, user))
    return () => [{ ...only, person: true }];
  return (now) => [
    ...(cardsOf(now, `person:${user}`) ?? []).slice(-MAX_CARDS).map(({ person: _, ...card }) => card),
    { id: `d_${now.id}_${now.version}`, at: place, person: true },
  ];
}

const wasAddedBy = ({ createdBy }: Task, user: string) => createdBy === user || createdBy.startsWith(`${user} (`);

const isSamePlace = (a: Address, b: Address) =>
  a.platform === b.platform && a.chatId === b.chatId && a.threadId === b.threadId;

const shownIn = ({ show_in }: OrchestratorConfig) => (show_in === undefined ? undefined : parseAddress(show_in));
