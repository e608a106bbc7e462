/** Regular messages about alerts: the open ones, and the events since the last one. Their next times are rows, missed ones come once. */

import { createHash } from "node:crypto";
import { ALERT_STATES, type Alert, isOpen, isPostponed, urgencyOf } from "../domain/alerts/alert.js";
import { type AlertCounts, countTexts } from "../domain/alerts/alert-counts.js";
import { type Address, formatAddress, parseAddress } from "../domain/chat/address.js";
import type { OutboundMessage } from "../domain/chat/message.js";
import { isStoppedByHook } from "../domain/deliveries/given-up.js";
import { isUnderWay, type KeyValueStore } from "../domain/store.js";
import { nextCron } from "../lib/time/cron.js";
import { DAY_MS } from "../lib/time/duration.js";
import { localTimezone } from "../lib/time/timezone.js";
import { alertLine } from "./card/alert-line.js";
import { inline, moment } from "./card/words.js";
import type { DigestConfig } from "./config.js";
import type { Loss } from "./plan.js";
import { accountsOf, named, onCall } from "./rota/people.js";
import { isReached } from "./rota/reach.js";
import { nextShift } from "./rota/shifts.js";
import { watchRotas } from "./rota/watch-rotas.js";
import { fallbacks } from "./steps/route.js";
import { mentionsFor } from "./tell/pages/mentions.js";
import { isLost, nowhere, raiseUndelivered } from "./tell/pages/undelivered.js";
import { shownAs } from "./tell/shown-as.js";
import type { Telling } from "./tell/telling.js";

const SCOPE = "alerts.digests";
/** The key of the digests that are not known to have arrived. */
const UNSETTLED = "unsettled";
/** The cause of a digest's deliveries. */
export const DIGEST = "digest";
const CAUSE = { kind: "alert" as const, id: DIGEST, depth: 0 };
const SHOWN = 15;
/** The limit of alerts that are read for a digest. */
const REACH = 2_000;

export interface Digest {
  message: OutboundMessage;
  open: Alert[];
  counts: AlertCounts;
}

interface Due {
  /** The rota of `nextAt`. */
  rota?: string | undefined;
  nextAt: number;
  lastAt: number;
}

/** A digest that was enqueued. */
interface Sent {
  /** A formatted address. */
  to: string;
  deliveryId: string;
  sentAt: number;
  about: About;
  duty?: Duty | undefined;
  /** For a private chat: the messages in the other chats, which show that its person is notified there. */
  posts?: { to: string; deliveryId: string }[] | undefined;
  /** The digest is at the fallback already. */
  isElsewhere?: boolean;
}

/** The data to write a digest again when a chat did not take it: an alert may have ended meanwhile. */
interface About {
  title: string;
  since: number;
  timezone: string | undefined;
}

export class Digests {
  readonly #telling: Telling;
  readonly #keyValue: KeyValueStore;

  constructor(telling: Telling, keyValue: KeyValueStore) {
    this.#telling = telling;
    this.#keyValue = keyValue;
  }

  now(): Promise<Digest> {
    const since = this.#telling.clock.now() - DAY_MS;
    return write(this.#telling, { title: "Alerts", since, timezone: undefined });
  }

  /** Returns the time of the next digest or check. */
  async processDue(): Promise<number | undefined> {
    const times: number[] = [];
    for (const digest of this.#telling.config.digests) {
      const next = await this.#processDigest(digest);
      if (next !== undefined) times.push(next);
    }
    const next = await this.#followUp();
    if (next !== undefined) times.push(next);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  async #processDigest(digest: DigestConfig): Promise<number | undefined> {
    const telling = this.#telling;
    const now = telling.clock.now();
    const { timezone = localTimezone(), title } = digest;
    const { key, rota, next, duty } = timesOf(digest, telling, now);
    const known = (await this.#keyValue.get(SCOPE, key)) as Due | undefined;
    if (next === undefined) return undefined;
    // A changed rota applies at once, and the digest goes on from the last one.
    if (known === undefined || known.rota !== rota) {
      await this.#keyValue.set(SCOPE, key, { rota, nextAt: next, lastAt: known?.lastAt ?? now });
      return next;
    }
    if (known.nextAt > now) return known.nextAt;
    // The gap that this shift ends is no alert any more.
    if (duty !== undefined) await watchRotas(telling);
    const about = { title, since: known.lastAt, timezone };
    const { message } = await write(telling, about);
    // The digest was missed, and its shift has ended: the next person on call gets it.
    const isTold = digest.rota === undefined || duty !== undefined;
    const idAt = (at: Address) => digestId(key, known.nextAt, at);
    for (const one of isTold ? addressed(digest, { about, duty, sentAt: now, idAt }, telling) : [])
      await this.#post(one, message);
    await this.#keyValue.set(SCOPE, key, { rota, nextAt: next, lastAt: now });
    return next;
  }

  /** Where nothing can be enqueued it stays unsettled: `#followUp` sends it elsewhere, and the other chats get it all the same. */
  async #post(sent: Sent, message: OutboundMessage): Promise<void> {
    const { to, duty, deliveryId } = sent;
    // Known before it is enqueued: a crash in between loses none.
    await this.#keyValue.set(SCOPE, UNSETTLED, [...(await this.#unsettledBesides(deliveryId)), sent]);
    const at = parseAddress(to);
    if (at === undefined) return;
    const words = duty === undefined ? message : called(message, duty, at, this.#telling);
    try {
      await this.#telling.send(at, words, { cause: CAUSE, deliveryId });
    } catch (error) {
      if (nowhere(error) === undefined) throw error;
    }
  }

  async #unsettled(): Promise<Sent[]> {
    return ((await this.#keyValue.get(SCOPE, UNSETTLED)) ?? []) as Sent[];
  }

  async #unsettledBesides(deliveryId: string): Promise<Sent[]> {
    return (await this.#unsettled()).filter((one) => one.deliveryId !== deliveryId);
  }

  /** Sends a digest that a chat does not take to the fallback. Returns the time of the next check. */
  async #followUp(): Promise<number | undefined> {
    const telling = this.#telling;
    let next: number | undefined;
    for (const one of await this.#unsettled()) {
      const delivery = await telling.deliveryOf(one.deliveryId);
      const waits = delivery !== undefined && isUnderWay(delivery);
      const patience = one.sentAt + telling.config.fallback_after;
      if (waits && telling.clock.now() < patience) {
        next = Math.min(next ?? patience, patience);
        continue;
      }
      // Not enqueued: its platform is not switched on.
      if (delivery === undefined || waits || isLost(delivery))
        await this.#postElsewhere(one, {
          reason: delivery?.reason ?? "it was not sent: its platform is switched off, or Hookgate ended at that moment",
          isByHook: delivery !== undefined && isStoppedByHook(delivery),
        });
      await this.#keyValue.set(SCOPE, UNSETTLED, await this.#unsettledBesides(one.deliveryId));
    }
    return next;
  }

  async #postElsewhere(lost: Sent, loss: Pick<Loss, "reason" | "isByHook">): Promise<void> {
    const telling = this.#telling;
    const { to, deliveryId, duty, about } = lost;
    await raiseUndelivered(to, loss, telling, false);
    if (lost.isElsewhere) return;
    await this.#correct(lost);
    const { message } = await write(telling, about);
    const text = `${message.text} This digest did not arrive at \`${shownAs(to, telling.placeName)}\`.`.trim();
    const others = fallbacks(telling.config, () => telling.admins().map(formatAddress)).filter((one) => one !== to);
    const instead = duty === undefined ? [] : directInstead(duty, to, others, telling);
    const sent = { sentAt: telling.clock.now(), about, duty: duty && { ...duty, instead }, isElsewhere: true };
    for (const other of new Set([...others, ...instead])) {
      const at = parseAddress(other);
      if (at !== undefined)
        await this.#post({ ...sent, to: other, deliveryId: digestId(deliveryId, 0, at) }, { ...message, text });
    }
  }

  /** The private message did not arrive: the messages in the other chats are changed to show that. */
  async #correct({ posts = [], duty }: Sent): Promise<void> {
    for (const { to, deliveryId } of posts) {
      const [at, delivery] = [parseAddress(to), await this.#telling.deliveryOf(deliveryId)];
      if (at === undefined || delivery?.message === undefined || duty === undefined) continue;
      const message = called({ ...delivery.message, text: "" }, duty, at, this.#telling);
      const options = { cause: CAUSE, deliveryId: digestId(deliveryId, 0, at), isCourtesy: true };
      if (message.text !== delivery.message.text) await this.#telling.edit(deliveryId, message, options);
    }
  }
}

/** One for each chat of the digest, and for private chats of the person on duty where no chat of it notifies them. */
function addressed(
  digest: DigestConfig,
  { about, duty, sentAt, idAt }: Pick<Sent, "about" | "duty" | "sentAt"> & { idAt(at: Address): string },
  telling: Telling,
): Sent[] {
  const to = digest.to.length > 0 ? digest.to.flatMap((text) => parseAddress(text) ?? []) : telling.admins();
  const direct = duty === undefined ? [] : directFor(duty, to.map(formatAddress), telling);
  const sent = { sentAt, about, duty: duty && { ...duty, direct } };
  const sentTo = (at: Address) => ({ to: formatAddress(at), deliveryId: idAt(at) });
  return [
    ...to.map((at) => ({ ...sent, ...sentTo(at) })),
    ...direct
      .flatMap((text) => parseAddress(text) ?? [])
      .map((at) => ({ ...sent, ...sentTo(at), posts: to.map(sentTo) })),
  ];
}

interface Duty {
  rota: string;
  person: string;
  /** `platform:id|name`. */
  mentions: string[];
  /** Private chats of the person, where no chat of the digest has their platform. */
  direct?: string[];
  /** Private chats of the person, where the chat that would have notified them did not take the digest, and the fallback does not. */
  instead?: string[];
}

/** `key`: another cron makes it another digest. `rota`: its settings, to compare. `duty`: the person on call now. */
function timesOf(
  { cron = "", rota: name, title, timezone = localTimezone() }: DigestConfig,
  { config, nameOf }: Pick<Telling, "config" | "nameOf">,
  now: number,
): { key: string; rota?: string; next: number | undefined; duty?: Duty } {
  if (name === undefined) return { key: `${title}|${cron}|${timezone}`, next: nextCron({ cron, timezone }, now) };
  const rota = config.rotas[name];
  if (rota === undefined) return { key: title, next: undefined };
  const digest = createHash("sha256").update(JSON.stringify(rota)).digest("base64url").slice(0, 12);
  const person = onCall(rota, now);
  const accounts = named(accountsOf(person === undefined ? [] : [person], config, now), { nameOf });
  const mentions = accounts.map(({ ref, name: shown }) => `${ref}|${shown}`);
  return {
    key: `${title}|${name}`,
    rota: digest,
    next: nextShift(rota, now),
    duty: person === undefined ? undefined : { rota: name, person: nameOf(person), mentions },
  };
}

/** Mentions the person on the platform of the chat. The text names the person in any case, and shows where no mention notifies them. */
function called(
  message: OutboundMessage,
  { rota, person, mentions: all, direct = [], instead = [] }: Duty,
  at: Address,
  parts: Telling,
) {
  const to = formatAddress(at);
  if (direct.includes(to) || instead.includes(to)) {
    const why = direct.includes(to)
      ? " You have no account where this digest is posted, so you are notified here."
      : "";
    return { ...message, text: `You are on duty now (${inline(rota)}).${why} ${message.text}`.trim() };
  }
  const { prefix, mentions } = mentionsFor(all, to, parts);
  const who = prefix === "" ? `${inline(person)} ` : prefix;
  const missing = prefix === "" ? ` ${missingAt(at, person, all, [...direct, ...instead], parts)}` : "";
  return { ...message, text: `${who}is on duty now (${inline(rota)}).${missing} ${message.text}`.trim(), mentions };
}

function missingAt(
  { platform }: Address,
  person: string,
  accounts: readonly string[],
  direct: readonly string[],
  { inhibitors }: Telling,
) {
  const name = inline(person);
  const isTheirs = accounts.some((one) => one.startsWith(`${platform}:`));
  const missing = accounts.length === 0 ? "account in `alerts.people`" : `${platform} account`;
  const why = isTheirs ? `${name} is not in this private chat` : `${name} has no ${missing}`;
  if (!direct.every(inhibitors.takesNone)) return `${why} and is notified in a private chat.`;
  const refused = direct.length > 0 ? ", and the private chat takes no alerts now" : "";
  return `⚠ This message notifies no one: ${why}${refused}.`;
}

/** Private chats of the person on duty, where no chat of the digest would notify them. */
function directFor(
  { person, mentions }: Duty,
  to: readonly string[],
  { direct, personOf }: Pick<Telling, "direct" | "personOf">,
) {
  const accounts = mentions.map((mention) => ({ ref: mention.split("|")[0] ?? mention, name: person }));
  if (to.some((destination) => isReached(destination, accounts, personOf))) return [];
  return [...new Set(accounts.flatMap(({ ref }) => direct(ref) ?? []))];
}

/** Private chats of the person on duty, where `lost` would have notified them and none of `others` does. */
function directInstead(duty: Duty, lost: string, others: readonly string[], telling: Telling): string[] {
  if (directFor(duty, [lost], telling).length > 0) return [];
  return directFor(duty, others, telling).filter((one) => one !== lost && duty.direct?.includes(one) !== true);
}

/** The same digest at the same place is the same delivery, so a crash half-way does not repeat it. */
function digestId(key: string, dueAt: number, at: Address): string {
  const digest = createHash("sha256")
    .update(`${key}|${dueAt}|${formatAddress(at)}`)
    .digest("base64url");
  return `d_${digest.slice(0, 24)}`;
}

async function write(telling: Telling, { title, since, timezone }: About): Promise<Digest> {
  const { store } = telling;
  const listed = await store.list({ open: true, limit: REACH });
  const open = [...listed].sort((a, b) => urgencyOf(a) - urgencyOf(b)).slice(0, SHOWN);
  const all = await store.counts({});
  const counts: AlertCounts = {};
  for (const state of ALERT_STATES.filter(isOpen)) if (all[state] !== undefined) counts[state] = all[state];
  const lately = await store.list({ since, limit: REACH });
  const raised = lately.filter(({ raisedAt }) => raisedAt >= since).length;
  const closed = lately.filter(({ endedAt }) => endedAt !== undefined && endedAt >= since);
  const postponed = closed.filter(isPostponed).length;
  const ended = `${closed.length - postponed} ended${postponed > 0 ? `, ${postponed} postponed` : ""}`;
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const more = total > open.length ? `\nand ${total - open.length} more: \`/alerts\`` : "";
  const card = {
    title: total === 0 ? `${title}: nothing is open` : `${title}: ${total} open`,
    text: [
      countTexts(counts).join(" · "),
      (await Promise.all(open.map(async (alert) => `- ${await alertLine(alert, telling)}`))).join("\n") + more,
      `Since ${moment(since, timezone)}: ${raised} raised, ${ended}.`,
      total === 0 ? "`/alerts all` lists ended alerts, `/sla list` what is due next." : "",
    ]
      .filter((part) => part !== "")
      .join("\n\n"),
    tone: total === 0 ? ("good" as const) : ("neutral" as const),
  };
  return { message: { text: "", card }, open, counts };
}
