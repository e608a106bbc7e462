/**
 * The kill proof: the gateway is killed with SIGKILL at random moments while people write on all three platforms and the
 * platforms refuse, drop and delay. Then everything is counted: from what the platforms saw, what the hooks ran, and what
 * the store holds.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Address } from "../../src/domain/address.js";
import { formatAddress } from "../../src/domain/address.js";
import type { Delivery, InboxRow, Store } from "../../src/domain/store.js";
import { systemClock } from "../../src/lib/clock.js";
import { silentLogger } from "../../src/lib/logger.js";
import { storeConfig } from "../../src/store/config.js";
import { openStore } from "../../src/store/open.js";
import type { Place } from "../flow/platform.js";
import { allOnline, type Stack, startStack } from "../flow/stack.js";
import { TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";

type PlatformName = "web" | "discord" | "telegram";
const NAMES: readonly PlatformName[] = ["web", "discord", "telegram"];

interface Said {
  key: string;
  platform: PlatformName;
  place: Place;
  messageId: string;
}

export interface PlatformCount {
  said: number;
  /** Inbox rows that are done, one per message. */
  settledOnce: number;
  lost: number;
  repliedOnce: number;
  /** Telegram only: sends without an answer, held for an operator, and not on the platform twice. */
  held: number;
  unanswered: number;
  doubled: number;
  /** Replies that came before the reply to an earlier message of the same conversation. */
  outOfOrder: number;
}

export interface KillReport {
  kills: number;
  seconds: number;
  platforms: Record<PlatformName, PlatformCount>;
  /** Handlers that were cut off and ran again; all with the same dispatch id. */
  rerun: number;
  /** Dispatches whose attempts do not go 1, 2, 3, …; or messages with more than one dispatch of a point. */
  badAttempts: string[];
  /** Deliveries that were sent, and no hook on `message_sent` was ever told. */
  untold: number;
  faults: number;
}

export interface KillOptions {
  kills: number;
  /** Messages a platform for each life of the process. */
  perLife: number;
  onLife?: (life: number, said: number) => void;
}

export async function killProof({ kills, perLife, onLife }: KillOptions): Promise<KillReport> {
  const begun = Date.now();
  const stack = await startStack({
    config: { gateway: { retry_first: "50ms", retry_max: "500ms", inbox_attempts: 50, outbox_attempts: 100 } },
  });
  const said: Said[] = [];
  const writing: Promise<void>[] = [];
  let faults = 0;
  try {
    for (let life = 1; life <= kills; life++) {
      if (life > 1) await stack.gateway.start();
      for (let n = 0; n < perLife; n++)
        for (const name of NAMES) writing.push(sayLater(stack, name, said, Math.random() * 900));
      faults += trouble(stack);
      if (Math.random() < 0.15) await sleep(Math.random() * 500);
      else {
        await allOnline(stack.gateway.url).catch(() => {}); // a platform that cannot come online in time is killed too
        await sleep(Math.random() * 700);
      }
      await stack.gateway.kill();
      onLife?.(life, said.length);
    }
    stack.discord.faults.clear();
    stack.telegram.faults.clear();
    await stack.gateway.start();
    await Promise.all(writing);
    await untilIdle(stack);
    await stack.gateway.stop();
    return { kills, seconds: Math.round((Date.now() - begun) / 1000), ...(await count(stack, said)), faults };
  } finally {
    await stack.stop();
  }
}

let serial = 0;

async function sayLater(stack: Stack, name: PlatformName, said: Said[], delayMs: number): Promise<void> {
  const platform = stack.platforms[name];
  const place = [...platform.places, platform.thread][Math.floor(Math.random() * 3)] as Place;
  await sleep(delayMs);
  const key = `k${++serial}`;
  // Some handlers take their time, so that a kill cuts them off.
  const text = Math.random() < 0.3 ? `slow ${Math.round(Math.random() * 400)} ${key}` : `echo ${key}`;
  const messageId = name === "web" ? await sayOnWeb(stack, place, text) : await platform.say(place, "guest", text);
  said.push({ key, platform: name, place, messageId });
}

/** As the page does it: the same nonce until the server says that the message is safe. */
async function sayOnWeb(stack: Stack, place: Place, text: string): Promise<string> {
  const nonce = randomUUID();
  return until(
    async () => {
      const answer = await fetch(`${stack.gateway.url}/api/rooms/${place.chatId}/messages`, {
        method: "POST",
        headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
        body: JSON.stringify({ text, nonce, ...(place.threadId ? { threadId: place.threadId } : {}) }),
      }).catch(() => undefined);
      if (!answer?.ok) return void (await sleep(20));
      return String(((await answer.json()) as { message: { id: number } }).message.id);
    },
    `the web chat taking "${text}"`,
    120_000,
  );
}

function trouble({ discord, telegram }: Stack): number {
  const chance = 0.08;
  discord.faults.clear();
  telegram.faults.clear();
  const discordSends = { method: "POST", path: "/messages$", times: 50, chance };
  discord.fail({ ...discordSends, action: { kind: "rate-limit", retryAfterS: 0.1, scope: "user" } });
  discord.fail({ ...discordSends, action: { kind: "drop-before" } });
  discord.fail({ ...discordSends, action: { kind: "drop-after" } });
  discord.fail({ ...discordSends, action: { kind: "status", status: 503 } });
  const telegramSends = { method: "sendMessage", times: 50, chance };
  telegram.fail({ ...telegramSends, action: { kind: "rate-limit", retryAfterS: 1 }, chance: 0.03 });
  telegram.fail({ ...telegramSends, action: { kind: "slow", delayMs: 40 } });
  telegram.fail({ ...telegramSends, action: { kind: "drop-after" }, chance: 0.02 });
  telegram.fail({ method: "getUpdates", times: 3, chance, action: { kind: "drop-after" } });
  return 8;
}

/** Nothing unfinished is left in inbox and outbox. */
async function untilIdle(stack: Stack): Promise<void> {
  await allOnline(stack.gateway.url, 60_000);
  let quiet = 0;
  await until(
    async () => {
      await sleep(200);
      const text = await (await fetch(`${stack.gateway.url}/metrics`)).text();
      const rows = [
        ...text.matchAll(
          /^hookgate_(inbox_rows|outbox_deliveries)\{status="(waiting|running|deferred|sending)"\} (\d+)/gm,
        ),
      ];
      quiet = rows.length > 0 && rows.every(([, , , n]) => n === "0") ? quiet + 1 : 0;
      return quiet >= 10;
    },
    "everything being settled",
    180_000,
  );
}

async function count(stack: Stack, said: Said[]): Promise<Omit<KillReport, "kills" | "seconds" | "faults">> {
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
    const held = await store.outbox.list({ status: "held", limit: 100_000 });
    const platforms = {} as Record<PlatformName, PlatformCount>;
    for (const name of NAMES) {
      const mine = said.filter(({ platform }) => platform === name);
      const rows = await Promise.all(
        mine.map(({ place, messageId }) => store.inbox.find(addressIn(stack, name, place), messageId)),
      );
      platforms[name] = await countPlatform(stack, store, name, mine, rows, held);
    }
    const told = new Set(stack.noted("message_sent").map(({ dispatchId }) => dispatchId));
    const sent = (await store.outbox.list({ status: "sent", limit: 100_000 })).filter(
      ({ operation }) => operation !== "delete",
    );
    const untold = sent.filter(({ id }) => !told.has(`${id}:message_sent`)).length;
    return { platforms, ...attempts(stack), untold };
  } finally {
    await store.close();
  }
}

function addressIn(stack: Stack, name: PlatformName, { chatId, threadId }: Place): Address {
  return {
    platform: name,
    botId: stack.platforms[name].botId(),
    chatId,
    ...(threadId === undefined ? {} : { threadId }),
  };
}

async function countPlatform(
  stack: Stack,
  store: Store,
  name: PlatformName,
  mine: Said[],
  rows: (InboxRow | undefined)[],
  held: Delivery[],
): Promise<PlatformCount> {
  const platform = stack.platforms[name];
  const total: PlatformCount = {
    said: mine.length,
    settledOnce: 0,
    lost: 0,
    repliedOnce: 0,
    held: 0,
    unanswered: 0,
    doubled: 0,
    outOfOrder: 0,
  };
  total.settledOnce = rows.filter((row) => row?.status === "done").length;
  total.lost = rows.filter((row) => row === undefined).length;
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
      else if (times === 1) total.repliedOnce++;
      else total.unanswered++;
    }
    // Rows are numbered in the order in which they were accepted: replies must come in that order.
    const order = new Map(here.map((one) => [one.key, rows[mine.indexOf(one)]?.id ?? 0]));
    let last = 0;
    for (const key of replies) {
      const at = order.get(key) ?? 0;
      if (at < last) total.outOfOrder++;
      last = Math.max(last, at);
    }
  }
  return total;
}

/** The gateway is stopped by now: what its own web chat shows is read from the store. */
async function seenOf(stack: Stack, store: Store, name: PlatformName, place: Place): Promise<string[]> {
  if (name !== "web") return (await stack.platforms[name].seen(place)).map(({ text }) => text);
  const rows = await store.web.history(place.chatId, undefined, 1_000_000);
  return rows
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
