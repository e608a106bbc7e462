/** Escalations among the messages that wait for an operator: the people to call, the chat, and the alert. */
import { isInDoubt } from "../../../domain/deliveries/given-up.js";
import { readMention } from "../../rota/people.js";
import { shownAs } from "../shown-as.js";
import type { Telling } from "../telling.js";

const NAMED = 3;

/** `2 of them are pages: …`; undefined when none is. */
export async function lostPages({
  store,
  placeName,
  deliveryOf,
}: Pick<Telling, "store" | "placeName" | "deliveryOf">): Promise<string | undefined> {
  const notices = await store.lostPages();
  // One message may call about several alerts.
  const pages = [...new Map(notices.map((one) => [one.deliveryId, one] as const)).values()];
  if (pages.length === 0) return undefined;
  const named = await Promise.all(
    pages.slice(0, NAMED).map(async ({ alertId, destination, deliveryId, mentions, step, sentTo, copy }) => {
      const delivery = deliveryId === undefined ? undefined : await deliveryOf(deliveryId);
      const doubt = delivery && isInDoubt(delivery) ? ", which may have arrived" : "";
      const title = (await store.get(alertId))?.signal.title ?? alertId;
      const people = sentTo === undefined ? [...new Set(mentions.map((one) => readMention(one).name))] : [sentTo];
      const whom = people.length === 0 ? "" : ` to ${people.join(", ")}`;
      const page = `${copy ? "a copy of the page" : "the page"}${step === undefined ? "" : ` of step ${step}`}`;
      return `${page}${whom} about "${title}" (${shownAs(destination, placeName)}, ${alertId})${doubt}`;
    }),
  );
  const more = pages.length > NAMED ? `, and ${pages.length - NAMED} more` : "";
  return `Not delivered: ${named.join(", ")}${more}`;
}
