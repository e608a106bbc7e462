/** Where tasks and missions can be read: the message that shows them in a chat. */
import type { Store } from "../domain/store.js";
import type { WatchedEntity } from "../domain/watched.js";
import { missionCardId } from "../orchestrator/missions/missions.js";
import type { Posted } from "./posted.js";

export type LinkOf = (entity: Pick<WatchedEntity, "type" | "id">) => Promise<string | undefined>;

export function linksOf({ tasks }: Pick<Store, "tasks">, { linkTo }: Pick<Posted, "linkTo">): LinkOf {
  return async ({ type, id }) => {
    if (type === "mission") return linkTo(missionCardId(id));
    if (type !== "task") return undefined;
    const cards = (await tasks.get(id))?.cards ?? [];
    // Where all can read it, before the conversation with whoever does it.
    for (const card of [...cards.filter(({ person }) => !person), ...cards.filter(({ person }) => person).reverse()]) {
      const link = await linkTo(card.id);
      if (link !== undefined) return link;
    }
    return undefined;
  };
}
