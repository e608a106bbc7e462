/** What the kill proof counts: from what the platforms saw, what the hooks ran, and what the store holds. */
import { existsSync } from "node:fs";
import { type Address, formatAddress } from "../../src/domain/chat/address.js";
import { addressOf } from "../../src/domain/chat/event.js";
import type { Delivery, InboxRow, Store } from "../../src/domain/store.js";
import { silentLogger } from "../../src/lib/logger.js";
import { systemClock } from "../../src/lib/time/clock.js";
import { storeConfig } from "../../src/store/config.js";
import { openSqlite } from "../../src/store/driver.js";
import { openStore } from "../../src/store/open.js";
import type { Place } from "../flow/platform.js";
import type { Stack } from "../flow/stack.js";
import type { KillReport } from "./kill-proof.js";

export type PlatformName = "web" | "discord" | "telegram";
export const NAMES: readonly PlatformName[] = ["web", "discord", "telegram"];

export interface Written {
  key: string;
  platform: PlatformName;
  place: Place;
  messageId: string;
  /** Handling it ends the process. */
  isCrashing: boolean;
}

/** The columns of the table, in this order. Crashing messages are counted in the last two only. */
export interface PlatformCount {
  messages: number;
  lost: number;
  /** Inbox rows that are not done. */
  unsettled: number;
  unanswered: number;
  doubled: number;
  /** Replies that came before the reply to an earlier message of the same conversation. */
  reordered: number;
  /** The same of deliveries in doubt that let later ones pass, as they do after three errors or five seconds. */
  aside: number;
  /** Telegram only: sends without an answer, held for an operator, and not on the platform twice. */
  held: number;
  /** Those of them that a SIGTERM left in doubt. */
  heldByStop: number;
  /** Messages and deliveries that were given up, without the crashing messages. */
  deadLetters: number;
  crashing: number;
  crashingDead: number;
}

export interface Counts {
  platforms: Record<PlatformName, PlatformCount>;
  /** Handlers that were cut off and ran again; all with the same dispatch id. */
  rerun: number;
  /** Dispatches whose attempts do not go up, or messages with more than one dispatch of a hook point. */
  badAttempts: string[];
  /** Deliveries that were sent, and that no hook on `message_sent` was called for. */
  untold: number;
  /** What was given up or must not be held, and why; without the crashing messages. */
  givenUp: string[];
}

/** What is wrong with a report, one line each; none when it is good. */
export function problemsOf({ platforms, badAttempts, badEndings, untold, givenUp }: KillReport): string[] {
  const counts = NAMES.flatMap((name) => {
    const { crashing, crashingDead, held, ...total } = platforms[name];
    const wrong = ["lost", "unsettled", "unanswered", "doubled", "reordered", "heldByStop", "deadLetters"] as const;
    const lines = wrong.filter((what) => total[what] > 0).map((what) => `${name}: ${total[what]} ${what}`);
    if (name !== "telegram" && held > 0) lines.push(`${name}: ${held} held`);
    if (crashing !== crashingDead)
      lines.push(`${name}: ${crashingDead} of ${crashing} crashing messages are dead letters`);
    return lines;
  });
  return [
    ...counts,
    ...givenUp.map((line) => `given up: ${line}`),
    ...badAttempts.map((line) => `attempts out of order: ${line}`),
    ...badEndings.map((line) => `unexpected end of the process: ${line}`),
    ...(untold > 0 ? [`${untold} deliveries were sent and no hook was called`] : []),
  ];
}

/** Deliveries that are held, or would be at the next start. The gateway is not running. */
export function inDoubt(folder: string): Set<string> {
  const file = `${folder}/data/hookgate.db`;
  if (!existsSync(file)) return new Set();
  const database = openSqlite(file, { readonly: true });
  try {
    const rows = database.prepare<[], { id: string }>(
      `SELECT id FROM deliveries WHERE status = 'held' OR (status IN ('waiting', 'sending') AND conversation LIKE 'telegram:%'
         AND EXISTS (SELECT 1 FROM json_each(parts) WHERE value ->> 'status' = 'sending'))`,
    );
    return new Set(rows.all().map(({ id }) => id));
  } finally {
    database.close();
  }
}

export async function count(stack: Stack, written: Written[], heldByStop: Set<string>): Promise<Counts> {
  const { retention, dedup_for, durability } = storeConfig.parse({});
  const store = await openStore({
    url: `file:${stack.gateway.folder}/data/hookgate.db`,
    durability,
    retention: { ...retention, dedup_for },
    clock: systemClock,
    logger: silentLogger,
    exclusive: false,
  });
  try {
    const sent = (await store.outbox.list({ status: "sent", limit: 100_000 })).filter(
      ({ operation }) => operation !== "delete",
    );
    const aside = sent.filter(({ isApart }) => isApart).map(({ message }) => message?.text.split(" ").at(-1));
    const stored: Stored = {
      store,
      held: await store.outbox.list({ status: "held", limit: 100_000 }),
      dead: await store.outbox.list({ status: "dead", limit: 100_000 }),
      deadRows: await store.inbox.list({ status: "dead", limit: 100_000 }),
      aside: new Set(aside),
      heldByStop,
    };
    const platforms = {} as Record<PlatformName, PlatformCount>;
    for (const name of NAMES) platforms[name] = await countPlatform(stack, name, written, stored);
    const told = new Set(stack.noted("message_sent").map(({ dispatchId }) => dispatchId));
    const untold = sent.filter(({ id }) => !told.has(`${id}:message_sent`)).length;
    const givenUp = [
      ...stored.deadRows
        .filter(({ event }) => !/^crash /.test("message" in event ? event.message.text : ""))
        .map(({ id, event, error }) => `inbox row ${id}, ${error}: ${JSON.stringify(event).slice(0, 300)}`),
      ...[
        ...stored.dead,
        ...stored.held.filter(({ id, address }) => address.platform !== "telegram" || heldByStop.has(id)),
      ].map(({ id, conversation, reason, message }) => `${id}, ${conversation}, ${reason}: ${message?.text}`),
    ];
    return { platforms, ...attempts(stack), untold, givenUp };
  } finally {
    await store.close();
  }
}

interface Stored {
  store: Store;
  held: Delivery[];
  dead: Delivery[];
  deadRows: InboxRow[];
  /** Keys of the replies that stepped aside. */
  aside: Set<string | undefined>;
  heldByStop: Set<string>;
}

function addressIn(stack: Stack, name: PlatformName, { chatId, threadId }: Place): Address {
  return {
    platform: name,
    botId: stack.platforms[name].botId(),
    chatId,
    threadId,
  };
}

async function countPlatform(
  stack: Stack,
  name: PlatformName,
  written: Written[],
  { store, held, dead, deadRows, aside, heldByStop }: Stored,
): Promise<PlatformCount> {
  const platform = stack.platforms[name];
  const onPlatform = written.filter((one) => one.platform === name);
  const rows = new Map<string, InboxRow | undefined>();
  for (const { key, place, messageId } of onPlatform)
    rows.set(key, await store.inbox.find(addressIn(stack, name, place), messageId));
  const crashing = onPlatform.filter(({ isCrashing }) => isCrashing);
  const mine = onPlatform.filter(({ isCrashing }) => !isCrashing);
  const crashingDead = crashing.filter(({ key }) => rows.get(key)?.status === "dead").length;
  const total: PlatformCount = {
    messages: mine.length,
    lost: onPlatform.filter(({ key }) => rows.get(key) === undefined).length,
    unsettled: mine.filter(({ key }) => rows.get(key)?.status !== "done").length,
    unanswered: 0,
    doubled: 0,
    reordered: 0,
    aside: 0,
    held: 0,
    heldByStop: held.filter(({ id, address }) => address.platform === name && heldByStop.has(id)).length,
    deadLetters:
      deadRows.filter(({ event }) => addressOf(event).platform === name).length -
      crashingDead +
      dead.filter(({ address }) => address.platform === name).length,
    crashing: crashing.length,
    crashingDead,
  };
  for (const place of [...platform.places, platform.thread]) {
    const here = mine.filter((one) => one.place === place);
    const replies = (await seenOf(stack, store, name, place))
      .map((text) => /\b(k\d+) ‹/.exec(text)?.[1])
      .filter((key) => key !== undefined);
    const heldHere = held.filter(({ conversation }) => conversation === formatAddress(addressIn(stack, name, place)));
    for (const { key } of here) {
      const times = replies.filter((reply) => reply === key).length;
      const isHeld = heldHere.some(({ message }) => message?.text.split(" ").at(-1) === key);
      if (times > 1) total.doubled++;
      else if (isHeld) total.held++;
      else if (times === 0) total.unanswered++;
    }
    // Rows are numbered in the order in which they were accepted: replies must come in that order.
    let last = 0;
    for (const key of replies) {
      const at = rows.get(key)?.id ?? 0;
      if (at < last) total[aside.has(key) ? "aside" : "reordered"]++;
      last = Math.max(last, at);
    }
  }
  return total;
}

/** The gateway is stopped by now: what its own web chat shows is read from the store. */
async function seenOf(stack: Stack, store: Store, name: PlatformName, place: Place): Promise<string[]> {
  if (name !== "web") return (await stack.platforms[name].seen(place)).map(({ text }) => text);
  const { messages } = await store.web.history(place.chatId, { limit: 1_000_000 });
  return messages
    .filter(({ userId, threadId }) => userId === undefined && threadId === place.threadId)
    .map(({ text }) => text);
}

/** Every run of a handler carries the dispatch it belongs to: a re-run has the same id and the next attempt. */
function attempts(stack: Stack): Pick<KillReport, "rerun" | "badAttempts"> {
  const byDispatch = new Map<string, number[]>();
  const dispatchOf = new Map<string, Set<string>>();
  for (const { hook, dispatchId, attempt, messageId, chat } of stack.noted("inbound_claim")) {
    byDispatch.set(`${hook} ${dispatchId}`, [...(byDispatch.get(`${hook} ${dispatchId}`) ?? []), attempt]);
    const message = `${chat} ${messageId}`;
    dispatchOf.set(message, (dispatchOf.get(message) ?? new Set()).add(dispatchId));
  }
  const wrong = [...byDispatch].filter(([, list]) =>
    list.some((attempt, i) => i > 0 && attempt <= (list[i - 1] as number)),
  );
  return {
    rerun: [...byDispatch.values()].filter((list) => list.length > 1).length,
    badAttempts: [
      ...wrong.map(([id, list]) => `${id}: ${list.join(", ")}`),
      ...[...dispatchOf]
        .filter(([, ids]) => ids.size > 1)
        .map(([message, ids]) => `${message}: ${[...ids].join(", ")}`),
    ],
  };
}
