/**
 * Which open alerts keep others quiet: an index by rule and labels, so that a storm of alerts asks it in constant time. Also which chats
 * take no alerts.
 */
import { type Alert, isOpen } from "../domain/alerts/alert.js";
import type { AlertsConfig } from "./config.js";
import { type Labels, labelsOf, type Matcher, parseMatchers } from "./matchers.js";
import { isAboutPlace, isPlatformAway } from "./own-alerts.js";

export interface Inhibitors {
  /** The alert that keeps an alert with these labels quiet; never the alert itself. */
  find(labels: Labels): string | undefined;
  /** Notes a change of an alert; true when it may concern other alerts. */
  note(alert: Alert): boolean;
  /** An open alert reports that alerts, or reminders and escalations, do not reach this chat (a formatted address). */
  refuses(destination: string): boolean;
  /** An open alert reports that the chat's platform is away. */
  isAway(destination: string): boolean;
  /** The chat refuses messages or its platform is away: a message there notifies no one now. */
  takesNone(destination: string): boolean;
  /** A new message has arrived there. */
  noteArrival(destination: string, now: number): void;
  /** A new message has arrived there since that time, as far as is known. */
  hasTaken(destination: string, since: number): boolean;
  /**
   * Its platform has just refused a message to this private chat for good. Other settings come with other inhibitors, which know nothing of
   * it.
   */
  noteRefusal(destination: string, reason: string, now: number): void;
  /** Why this private chat is not tried now: it refused a message not long ago, and an open alert reports that. */
  refusalOf(destination: string, now: number): string | undefined;
  /** The chat's person was heard from. True when the chat refused a message before. */
  endRest(destination: string): boolean;
}

/** A person who has blocked the bot does not get every page; a later one finds out whether the chat works again. */
const REST_MS = 10 * 60_000;

/** Undelivered messages are no news while their platform is away. */
const OWN: AlertsConfig["inhibit"] = [
  { by: ["source=gateway", "kind=platform"], mutes: ["source=~gateway|alerts", "kind!=platform"], equal: ["platform"] },
];

/** True when the first open alert about the key is noted, or the last one ends. */
function noteIn(open: Map<string, Set<string>>, key: string, { id, state }: Alert): boolean {
  const wasOpen = open.has(key);
  const ids = open.get(key) ?? new Set<string>();
  if (isOpen(state)) ids.add(id);
  else ids.delete(id);
  if (ids.size > 0) open.set(key, ids);
  else open.delete(key);
  return open.has(key) !== wasOpen;
}

interface Rule {
  by: Matcher;
  mutes: Matcher;
  keyOf(labels: Labels): string;
  /** Alert ids by the labels that must be equal. */
  active: Map<string, Set<string>>;
}

export function createInhibitors(rules: AlertsConfig["inhibit"]): Inhibitors {
  const all = [...OWN, ...rules].map(
    ({ by, mutes, equal }): Rule => ({
      by: parseMatchers(by),
      mutes: parseMatchers(mutes),
      keyOf: (labels) => JSON.stringify(equal.map((name) => labels[name] ?? "")),
      active: new Map(),
    }),
  );
  /** Ids of alerts that report that a chat refuses messages, by chat. */
  const refused = new Map<string, Set<string>>();
  /** Ids of alerts that report that a platform is away, by platform. */
  const away = new Map<string, Set<string>>();
  /** The last refusal of each private chat. */
  const refusals = new Map<string, { at: number; reason: string }>();
  /** The last arrival in each chat. */
  const arrivals = new Map<string, number>();
  /** True when the chat, or all chats of the platform, take no alerts now and did before, or the other way round. */
  function noteOwn(alert: Alert): boolean {
    const { destination, platform } = alert.signal.labels;
    if (destination !== undefined && isAboutPlace(alert)) return noteIn(refused, destination, alert);
    return platform !== undefined && isPlatformAway(alert) && noteIn(away, platform, alert);
  }
  const refuses = (destination: string) => refused.has(destination);
  const isAway = (destination: string) => away.has(destination.split(":")[0] ?? "");
  return {
    refuses,
    isAway,
    takesNone: (destination) => refuses(destination) || isAway(destination),
    noteArrival: (destination, now) => void arrivals.set(destination, now),
    hasTaken: (destination, since) => (arrivals.get(destination) ?? Number.NEGATIVE_INFINITY) >= since,
    noteRefusal: (destination, reason, at) => void refusals.set(destination, { at, reason }),
    refusalOf(destination, now) {
      const { at, reason } = refusals.get(destination) ?? { at: Number.NEGATIVE_INFINITY };
      // The clock may have been set back.
      return refused.has(destination) && now >= at && now < at + REST_MS ? reason : undefined;
    },
    endRest: (destination) => refusals.delete(destination),
    find(labels) {
      for (const { mutes, keyOf, active } of all) {
        if (active.size === 0 || !mutes(labels)) continue;
        for (const id of active.get(keyOf(labels)) ?? []) if (id !== labels.id) return id;
      }
      return undefined;
    },
    note(alert) {
      let isNews = noteOwn(alert);
      const labels = labelsOf(alert);
      // A rule whose own alert is inhibited inhibits nothing: rules that point at each other would silence everything.
      const isActive = isOpen(alert.state) && alert.state !== "inhibited";
      for (const { by, keyOf, active } of all) {
        if (!by(labels)) continue;
        const key = keyOf(labels);
        const ids = active.get(key) ?? new Set<string>();
        if (isActive === ids.has(alert.id)) continue;
        isNews = true;
        if (isActive) ids.add(alert.id);
        else ids.delete(alert.id);
        if (ids.size > 0) active.set(key, ids);
        else active.delete(key);
      }
      return isNews;
    },
  };
}
