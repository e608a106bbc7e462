/** `/outbox [list] [status]`: by default the messages that wait for an operator: held and dead deliveries, dead inbox messages. */

import { parseAddress } from "../../src/domain/chat/address.js";
import { conversationOf } from "../../src/domain/chat/event.js";
import { hasRole } from "../../src/domain/chat/identity.js";
import { isLeftToPeople, maySeeIt } from "../../src/domain/deliveries/given-up.js";
import type { LetterRef } from "../../src/domain/deliveries/letters.js";
import {
  DELIVERY_STATUSES,
  type Delivery,
  type DeliveryStatus,
  type InboxRow,
  type InboxStatus,
  isUnderWay,
  type Pause,
} from "../../src/domain/store.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import { answer, badUsage, commandButton, word } from "../answer.js";
import { readableEnd } from "../automations/owner-only.js";
import type { CommandDeps } from "../deps.js";
import { pageButtons, pageOf, pageText } from "../page.js";
import { clockTime, code, count, plain } from "../show/text.js";
import { conversationName, conversationText } from "../who.js";
import { chosenDeliveries, chosenInbox, listCounts, openDeliveries } from "./chosen.js";
import { type Chosen, chosenBy, isNarrowed } from "./filter.js";
import { isMaybeHandled, tries } from "./letter.js";
import { holding } from "./pauses-of.js";

const PAGE_SIZE = 8;
/** The newest open and sent deliveries that are listed. Deliveries that wait for an operator are all listed. */
const REACH = 200;

/** The two boxes are counted below that line. */
const WAITING: Readonly<Record<string, string>> = { inbox: "waiting in the inbox", waiting: "waiting to be sent" };

/** One row of `/outbox --json`. */
export interface LetterRow {
  id: string;
  box: "outbox" | "inbox";
  status: DeliveryStatus | InboxStatus;
  conversation: string;
  /** Its name; the conversation where none is known. */
  place?: string;
  at: number;
  attempts: number;
  reason?: string;
  /** The delivery may have arrived; in the inbox: the message may have been handled. */
  ambiguous: boolean;
}

export async function listOutbox(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const asked = typeof context.options.id === "string" ? context.options.id.trim().toLowerCase() : "";
  const chosen = chosenBy(context, deps);
  const { refs, all } = await collect(deps, context, asked, chosen);
  const [outbox, inbox] = await Promise.all([listCounts(deps, context), deps.store.inbox.counts()]);
  const totals = `outbox: ${shownCounts(outbox) || "empty"}\ninbox: ${shownCounts(inbox) || "empty"}`;
  const data = { letters: [] as LetterRow[], outbox, inbox };
  if (refs.length === 0)
    return answer({
      text: [
        asked || isNarrowed(chosen)
          ? `**Nothing is ${WAITING[asked] ?? plain(asked || "waiting for an operator")}${chosen.words}.**`
          : "**Nothing waits for you.** No dead letters, nothing held.",
        totals,
      ],
      data,
    });
  const shown = pageOf(refs, Number(context.options.page ?? 1), PAGE_SIZE);
  const rows = await Promise.all(shown.entries.map(({ read }) => read()));
  const found = rows.filter((row) => row !== undefined);
  const page = {
    ...shown,
    entries: await Promise.all(
      found.map(async (row) => ({
        ...(await readableEnd(deps, context, row, { id: row.id })),
        place: conversationName(deps, row.conversation),
      })),
    ),
  };
  const now = deps.clock.now();
  const { pauses } = asked === "waiting" || asked === "sending" ? await deps.status() : { pauses: [] };
  const first = (page.number - 1) * PAGE_SIZE + 1;
  const total = all ?? refs.length;
  const dead = page.entries.filter((row) => row.status === "dead" && !isLeftToPeople(row.reason)).length;
  return answer({
    text: [
      `**${asked ? `${count(total, "message")}: ${plain(asked)}` : `${count(total, "message")} ${total === 1 ? "waits" : "wait"} for an operator`}${chosen.words}**${pageText(page)}`,
      total > refs.length && `The pages show the newest ${refs.length}.`,
      page.entries.map((row, index) => letterLine(deps, row, first + index, { pauses, now })).join("\n"),
      page.entries.some((row) => row.ambiguous && row.status === "held") &&
        "held? = it may have arrived: look in the chat, then release it, `confirmed` if it did.",
      page.entries.some((row) => row.ambiguous && row.status === "cancelled") &&
        "cancelled? = it may have arrived: look in the chat.",
      page.entries.some((row) => row.ambiguous && row.box === "inbox") &&
        "dead in? = it may have been handled since the backup: look in the chat, then retry it with `confirmed=false`, or purge it.",
      totals,
    ],
    data: { ...data, letters: page.entries, total, page: page.number, pages: page.pages },
    buttons: [
      page.entries
        .slice(0, 4)
        .map((row, index) => commandButton(`Show ${first + index}`, `/outbox show ${word(row.id)}`)),
      [
        ...pageButtons(page, `/outbox list${asked ? ` ${word(asked)}` : ""}${chosen.line}`),
        ...(dead > 1 && hasRole(context.operator.role, "operator")
          ? [commandButton("Retry all dead", `/outbox retry all${chosen.line}`, "primary")]
          : []),
      ],
    ],
  });
}

/** `2. held? · 3 min old · tried 4 times · d_m5r in General (web:web:general): the answer was lost` */
function letterLine(
  deps: CommandDeps,
  row: LetterRow,
  number: number,
  { pauses, now }: { pauses: readonly Pause[]; now: number },
): string {
  const at = parseAddress(row.conversation);
  const [pause] = at && row.box === "outbox" ? holding(pauses, at, now) : [];
  const reason = row.reason ?? (pause && `paused until ${clockTime(pause.until, now)} UTC: ${pause.reason}`);
  const facts = [
    `${row.status}${row.box === "inbox" ? " in" : ""}${row.ambiguous ? "?" : ""}`,
    `${formatDuration(Math.max(0, now - row.at))} old`,
    `tried ${count(row.attempts, "time")}`,
    `${code(row.id)} in ${conversationText(deps, row.conversation)}${reason ? `: ${plain(reason, 160)}` : ""}`,
  ];
  return `${number}. ${facts.join(" · ")}`;
}

/** An entry of the list, read when its page is shown. */
interface Ref {
  at: number;
  read(): Promise<LetterRow | undefined>;
}

/** `all`: how many there are, where only the newest are listed. Newest first. */
async function collect(
  deps: CommandDeps,
  context: CommandContext,
  asked: string,
  chosen: Chosen,
): Promise<{ refs: Ref[]; all?: number }> {
  const { outbox, inbox } = deps.store;
  const newestFirst = (refs: Ref[]) => ({ refs: refs.reverse().sort((a, b) => b.at - a.at) });
  const given = (row: LetterRow): Ref => ({ at: row.at, read: async () => row });
  if (asked === "")
    return newestFirst([
      ...(await deliveries(deps, context, ["held", "dead"], chosen)),
      ...(await deadInbox(deps, context, chosen)),
    ]);
  if (asked === "dead")
    return newestFirst([
      ...(await deliveries(deps, context, ["dead"], chosen)),
      ...(await deadInbox(deps, context, chosen)),
    ]);
  if (asked === "inbox") {
    const open = await Promise.all(
      (["deferred", "running", "waiting"] as const).map((status) => inbox.list({ status, limit: REACH })),
    );
    return newestFirst([
      ...(await deadInbox(deps, context, chosen)),
      ...open.flat().map((row) => given(inboxRow(row))),
    ]);
  }
  const status = DELIVERY_STATUSES.find((one) => one === asked);
  if (status === undefined)
    throw badUsage(
      `"${asked}" is no status.`,
      `Write one of ${DELIVERY_STATUSES.join(", ")}, or inbox. Without one, /outbox list shows what is dead or held. No list has all of them.`,
    );
  if (status === "waiting" || status === "sending")
    return newestFirst(rowsOf(deps, (await openDeliveries(deps, context, chosen))[status], status));
  if (status !== "sent") return newestFirst(await deliveries(deps, context, [status], chosen));
  if (isNarrowed(chosen)) throw badUsage("chat, older and reason choose among what was not sent, not among sent.");
  const newest = await outbox.list({ status, limit: REACH });
  return { refs: newest.map((one) => given(deliveryRow(one))), all: (await outbox.counts())[status] };
}

async function deliveries(
  deps: CommandDeps,
  context: CommandContext,
  statuses: readonly DeliveryStatus[],
  chosen: Chosen,
): Promise<Ref[]> {
  return rowsOf(deps, await chosenDeliveries(deps, context, statuses, chosen));
}

/** `status`: the status that the list shows for deliveries that are under way. */
function rowsOf({ store }: CommandDeps, found: readonly LetterRef[], status?: DeliveryStatus): Ref[] {
  return found.map(({ id, at }) => ({
    at,
    async read() {
      const delivery = await store.outbox.get(id);
      if (!delivery) return undefined;
      const row = deliveryRow(delivery);
      return status && isUnderWay(delivery) ? { ...row, status } : row;
    },
  }));
}

async function deadInbox(deps: CommandDeps, context: CommandContext, chosen: Chosen): Promise<Ref[]> {
  return (await chosenInbox(deps, context, chosen)).map(({ id, at }) => ({
    at,
    async read() {
      const row = await deps.store.inbox.get(id);
      return row && inboxRow(row);
    },
  }));
}

export function deliveryRow(delivery: Delivery): LetterRow {
  return {
    id: delivery.id,
    box: "outbox",
    status: delivery.status,
    conversation: delivery.conversation,
    at: delivery.createdAt,
    attempts: tries(delivery),
    reason: delivery.reason,
    ambiguous: maySeeIt(delivery),
  };
}

export function inboxRow(row: InboxRow): LetterRow {
  return {
    id: `m${row.id}`,
    box: "inbox",
    status: row.status,
    conversation: conversationOf(row.event),
    at: row.receivedAt,
    attempts: row.attempts,
    reason: row.error,
    ambiguous: isMaybeHandled(row),
  };
}

function shownCounts(counts: Record<string, number>): string {
  return Object.entries(counts)
    .filter(([, amount]) => amount > 0)
    .map(([status, amount]) => `${amount.toLocaleString("en-US")} ${status}`)
    .join(", ");
}
