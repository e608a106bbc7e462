/** `/outbox [list] [status]`: by default what waits for an operator: held and dead deliveries, dead inbox messages. */
import {
  DELIVERY_STATUSES,
  type Delivery,
  type DeliveryStatus,
  type InboxRow,
  type InboxStatus,
} from "../../src/domain/store.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { formatDuration } from "../../src/lib/duration.js";
import { answer, badUsage, commandButton, word } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { pageButtons, pageOf } from "../page.js";
import { code, count, plain, table } from "../text.js";
import { isAmbiguous } from "./letter.js";

const PAGE_SIZE = 8;
const REACH = 200;

/** One row of `/outbox --json`. */
export interface LetterRow {
  id: string;
  box: "outbox" | "inbox";
  status: DeliveryStatus | InboxStatus;
  conversation: string;
  at: number;
  attempts: number;
  reason?: string;
  ambiguous: boolean;
}

export async function listOutbox(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const asked = typeof context.options.id === "string" ? context.options.id.trim().toLowerCase() : "";
  const rows = (await collect(deps, asked)).sort((a, b) => b.at - a.at);
  const [outbox, inbox] = await Promise.all([deps.store.outbox.counts(), deps.store.inbox.counts()]);
  const totals = `outbox: ${shownCounts(outbox) || "empty"}\ninbox: ${shownCounts(inbox) || "empty"}`;
  const data = { letters: rows, outbox, inbox };
  if (rows.length === 0)
    return answer({
      text: [
        asked ? `**Nothing is ${plain(asked)}.**` : "**Nothing waits for you.** No dead letters, nothing held.",
        totals,
      ],
      data,
    });
  const page = pageOf(rows, Number(context.options.page ?? 1), PAGE_SIZE);
  const now = deps.clock.now();
  const dead = rows.filter((row) => row.status === "dead").length;
  return answer({
    text: [
      `**${asked ? `${count(rows.length, "message")}: ${plain(asked)}` : `${count(rows.length, "message")} ${rows.length === 1 ? "waits" : "wait"} for an operator`}**${page.pages > 1 ? ` · page ${page.number} of ${page.pages}` : ""}`,
      table(
        [
          { title: "status" },
          { title: "where", maxCharacters: 26 },
          { title: "age", right: true },
          { title: "tried", right: true },
        ],
        page.entries.map((row) => [
          row.ambiguous ? "held?" : row.box === "inbox" ? `${row.status} in` : row.status,
          row.conversation,
          formatDuration(Math.max(0, now - row.at)),
          String(row.attempts),
        ]),
      ),
      page.entries
        .map(
          (row, index) =>
            `${index + 1 + (page.number - 1) * PAGE_SIZE}. ${code(row.id)}${row.reason ? ` ${plain(row.reason, 120)}` : ""}`,
        )
        .join("\n"),
      page.entries.some((row) => row.ambiguous) &&
        "held? = it may have arrived: look in the chat, then release it, `confirmed` if it did.",
      totals,
    ],
    data: { ...data, letters: page.entries, total: rows.length, page: page.number, pages: page.pages },
    buttons: [
      page.entries
        .slice(0, 4)
        .map((row, index) =>
          commandButton(`Show ${index + 1 + (page.number - 1) * PAGE_SIZE}`, `/outbox show ${word(row.id)}`),
        ),
      [
        ...pageButtons(page, `/outbox list${asked ? ` ${word(asked)}` : ""}`),
        ...(dead > 1 ? [commandButton("Retry all dead", "/outbox retry all", "primary")] : []),
      ],
    ],
  });
}

async function collect({ store }: CommandDeps, asked: string): Promise<LetterRow[]> {
  const deliveries = async (status: DeliveryStatus) =>
    (await store.outbox.list({ status, limit: REACH })).map(deliveryRow);
  const deadInbox = async () => (await store.inbox.list({ status: "dead", limit: REACH })).map(inboxRow);
  if (asked === "") return (await Promise.all([deliveries("held"), deliveries("dead"), deadInbox()])).flat();
  if (asked === "dead") return (await Promise.all([deliveries("dead"), deadInbox()])).flat();
  if (asked === "inbox")
    return (
      await Promise.all(
        (["dead", "deferred", "running", "waiting"] as const).map(async (status) =>
          (await store.inbox.list({ status, limit: REACH })).map(inboxRow),
        ),
      )
    ).flat();
  const status = DELIVERY_STATUSES.find((one) => one === asked);
  if (status) return deliveries(status);
  throw badUsage(`"${asked}" is no status.`, `One of ${DELIVERY_STATUSES.join(", ")}, or inbox.`);
}

export function deliveryRow(delivery: Delivery): LetterRow {
  return {
    id: delivery.id,
    box: "outbox",
    status: delivery.status,
    conversation: delivery.conversation,
    at: delivery.createdAt,
    attempts: delivery.attempts,
    ...(delivery.reason === undefined ? {} : { reason: delivery.reason }),
    ambiguous: isAmbiguous(delivery),
  };
}

export function inboxRow(row: InboxRow): LetterRow {
  return {
    id: `m${row.id}`,
    box: "inbox",
    status: row.status,
    conversation: row.lane,
    at: row.receivedAt,
    attempts: row.attempts,
    ...(row.error === undefined ? {} : { reason: row.error }),
    ambiguous: false,
  };
}

function shownCounts(counts: Record<string, number>): string {
  return Object.entries(counts)
    .filter(([, amount]) => amount > 0)
    .map(([status, amount]) => `${amount.toLocaleString("en-US")} ${status}`)
    .join(", ");
}
