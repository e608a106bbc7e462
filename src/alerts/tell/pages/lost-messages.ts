/** The messages that wait for an operator: of escalations the people to call, the chat, and the alert; of others the chat. */
import type { Notice } from "../../../domain/alerts/alert.js";
import { formatAddress } from "../../../domain/chat/address.js";
import { isInDoubt } from "../../../domain/deliveries/given-up.js";
import type { Store } from "../../../domain/store.js";
import { groupBy } from "../../../lib/group-by.js";
import { readMention } from "../../rota/people.js";
import { isInstead, stepIn } from "../../steps/escalate.js";
import { shownAs } from "../shown-as.js";
import type { Telling } from "../telling.js";

const NAMED = 3;

export interface LostMessages {
  sentences: string[];
  /** The number of pages that call for no one: another message called people in place of them, or an operator has their alerts. */
  answered: number;
  /** When the last of the messages besides pages was given up (ms since the epoch). */
  newestAt: number;
  /** When the first of all was given up; undefined when there are more than are read. */
  oldestAt?: number | undefined;
}

type Reading = Pick<Telling, "store" | "placeName" | "deliveryOf">;

export async function lostMessages(reading: Reading, queues: Pick<Store, "outbox" | "inbox">): Promise<LostMessages> {
  const { text, deliveryIds, answered } = await lostPages(reading);
  const others = await lostOthers(deliveryIds, queues, reading.placeName);
  const sentences = [others.text, text].filter((one) => one !== undefined);
  return { sentences, answered, newestAt: others.newestAt, oldestAt: others.oldestAt };
}

interface LostPages extends Pick<LostMessages, "answered"> {
  /** `Not delivered: the page …`; undefined when none of the messages is a page. */
  text?: string;
  deliveryIds: string[];
}

async function lostPages(telling: Reading): Promise<LostPages> {
  const { store, placeName, deliveryOf } = telling;
  const notices = await store.lostPages();
  // One message may call about several alerts.
  const pages = [...new Map(notices.map((one) => [one.deliveryId, one] as const)).values()];
  if (pages.length === 0) return { deliveryIds: [], answered: 0 };
  const isAnswered = await Promise.all(
    groupBy(notices, ({ deliveryId = "" }) => deliveryId).map(async (some) =>
      (await Promise.all(some.map((one) => isPageAnswered(one, telling)))).every(Boolean),
    ),
  );
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
  return {
    text: `Not delivered: ${named.join(", ")}${more}`,
    deliveryIds: pages.flatMap(({ deliveryId }) => deliveryId ?? []),
    answered: isAnswered.filter(Boolean).length,
  };
}

/** Its alert has ended or an operator or a rule has it, or a message that was sent in place of the page has arrived and calls a person. */
async function isPageAnswered(
  { alertId, key }: Notice,
  { store, deliveryOf }: Pick<Telling, "store" | "deliveryOf">,
): Promise<boolean> {
  const alert = await store.get(alertId);
  if (alert?.state !== "firing" && alert?.state !== "warned") return true;
  for (const one of await store.noticesWith(alertId, stepIn(key) ?? key)) {
    const isReplacement = isInstead(one.key) || one.copy !== undefined;
    const isCall = one.mentions.length > 0 || one.sentTo !== undefined;
    if (!isReplacement || !isCall || one.deliveryId === undefined) continue;
    if ((await deliveryOf(one.deliveryId))?.status === "sent") return true;
  }
  return false;
}

/** How many of the newest messages are read. */
const READ = 20;

/** The messages besides pages: `Chats: General on web`, where they should go, and when the last of them was given up. `oldestAt`: of all. */
async function lostOthers(
  pages: readonly string[],
  { outbox, inbox }: Pick<Store, "outbox" | "inbox">,
  placeName: Telling["placeName"],
): Promise<{ text?: string | undefined } & Pick<LostMessages, "newestAt" | "oldestAt">> {
  const found = await Promise.all((["dead", "held"] as const).map((status) => outbox.list({ status, limit: READ })));
  const others = found.flat().filter(({ id }) => !pages.includes(id));
  const unhandled = await inbox.list({ status: "dead", limit: READ });
  const chats = [...new Set(others.map(({ address }) => shownAs(formatAddress(address), placeName)))];
  const isAll = [...found, unhandled].every(({ length }) => length < READ);
  return {
    oldestAt: isAll
      ? Math.min(...[...found.flat(), ...unhandled].flatMap(({ settledAt = [] }) => settledAt))
      : undefined,
    text:
      chats.length === 0
        ? undefined
        : `Chats: ${chats.slice(0, NAMED).join(", ")}${chats.length > NAMED ? ", and more" : ""}`,
    newestAt: Math.max(0, ...[...others, ...unhandled].map(({ settledAt = 0 }) => settledAt)),
  };
}
