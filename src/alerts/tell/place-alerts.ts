/**
 * Gives alerts their card at a destination: one of its own for the first of a group, a common one for the others, the card of all the rest
 * when there would be too many messages at once, and the catch-up for alerts that waited for the end of quiet hours.
 */
import { type Alert, type AlertCard, isOpen, type Place } from "../../domain/alerts/alert.js";
import { newId } from "../../lib/id.js";
import { defaultDestination } from "../config.js";
import { routeAt } from "../steps/route.js";
import { postponePlaces } from "./postpone.js";
import { isWebhook } from "./shown-as.js";
import type { Telling } from "./telling.js";

const PAGE = 500;

/** Returns the time when the next place falls due. */
export async function placeAlerts(destination: string, telling: Telling): Promise<number | undefined> {
  if (isWebhook(destination)) return undefined;
  await postponePlaces(destination, PAGE, telling);
  for (;;) {
    const now = telling.clock.now();
    const waiting = await telling.store.waiting(destination, PAGE);
    const due = waiting.filter(({ dueAt }) => dueAt <= now);
    if (due.length > 0) await placePage(destination, due, telling);
    if (due.length < PAGE) return waiting.find(({ dueAt }) => dueAt > now)?.dueAt;
  }
}

async function placePage(destination: string, due: readonly Place[], telling: Telling): Promise<void> {
  const page = new Page(destination, telling);
  const called = new Set((await telling.store.notices(destination, PAGE)).map(({ alertId }) => alertId));
  const assigned: { alertId: string; destination: string; cardId: string | undefined }[] = [];
  for (const place of due) {
    const alert = await telling.store.get(place.alertId);
    const card = alert && (await page.cardFor(alert, place));
    // Before the alert is placed: a crash in between repeats nothing. An alert that a message is about already needs no other.
    if (card && !called.has(alert.id) && (await page.isOnlyEdited(card, alert)))
      await telling.run({ kind: "joined", id: alert.id, destination });
    assigned.push({ alertId: place.alertId, destination, cardId: card?.id });
  }
  await telling.store.place(assigned, page.made);
}

/** Cards that are made in one go count, although they are not on disk yet. */
class Page {
  readonly made: AlertCard[] = [];
  readonly #destination: string;
  readonly #telling: Telling;
  readonly #now: number;
  readonly #alone = new Map<string, number>();

  constructor(destination: string, telling: Telling) {
    this.#destination = destination;
    this.#telling = telling;
    this.#now = telling.clock.now();
  }

  /** Undefined: there is nothing to show (any more). */
  async cardFor(alert: Alert, place: Place): Promise<AlertCard | undefined> {
    if (place.kind === "quiet") return this.#common("catch-up", String(place.dueAt), place.group);
    // An alert that a person took or escalated meanwhile is shown all the same; one that became quiet gets its place when it is loud again.
    const isQuiet = alert.state === "silenced" || alert.state === "inhibited";
    if (!isOpen(alert.state) || (isQuiet && alert.called === undefined)) return undefined;
    const old = await this.#reopened(alert);
    if (old) return old;
    const list = await this.#open("list", place.group);
    if (list) return list;
    const alone = this.#alone.get(place.group) ?? (await this.#telling.store.aloneIn(this.#destination, place.group));
    const { alone: most } = routeAt(alert, this.#destination, this.#telling).settings;
    if (alone < most && this.#mayPost()) {
      this.#alone.set(place.group, alone + 1);
      return this.#make("alert", alert.fingerprint, place.group);
    }
    if (alone >= most && this.#mayPost()) return this.#make("list", place.group, place.group);
    return this.#common("rest", "rest", "rest");
  }

  /** An alert that comes back soon keeps its former card. */
  async #reopened(alert: Alert): Promise<AlertCard | undefined> {
    const { store } = this.#telling;
    const card = await store.cardOf(this.#destination, "alert", alert.fingerprint);
    return card && (await this.#isBack(alert, card)) ? card : undefined;
  }

  async #isBack(alert: Alert, { id }: AlertCard): Promise<boolean> {
    if (alert.episode <= 1 || alert.signal.isMore) return false;
    const { reopen_within } = routeAt(alert, this.#destination, this.#telling).settings;
    return (await this.#telling.store.list({ cardId: id, limit: PAGE })).some(
      (one) =>
        one.id !== alert.id &&
        one.fingerprint === alert.fingerprint &&
        (isOpen(one.state) || this.#isRecent(one.endedAt ?? 0, reopen_within)),
    );
  }

  /** An end in the future comes from a clock that was ahead: its age is not known. */
  #isRecent(endedAt: number, withinMs: number): boolean {
    return endedAt <= this.#now && endedAt + withinMs > this.#now;
  }

  /**
   * No new message shows the alert, because its card is posted already. An alert that comes back soon may be flapping, and is announced
   * only when it has a clock.
   */
  async isOnlyEdited(card: AlertCard, alert: Alert): Promise<boolean> {
    if (this.made.includes(card)) return false;
    const isPosted = card.isPosted || (await this.#telling.deliveryOf(card.deliveryId)) !== undefined;
    return isPosted && (alert.signal.clock !== undefined || !(await this.#isBack(alert, card)));
  }

  async #common(kind: "rest" | "catch-up", key: string, group: string): Promise<AlertCard> {
    return (await this.#open(kind, key)) ?? this.#make(kind, key, group);
  }

  async #open(kind: AlertCard["kind"], key: string): Promise<AlertCard | undefined> {
    const made = this.made.find((card) => card.kind === kind && card.key === key);
    if (made) return made;
    const card = await this.#telling.store.cardOf(this.#destination, kind, key);
    return card && !card.isClosed ? card : undefined;
  }

  #mayPost(): boolean {
    const { config, budget } = this.#telling;
    const { per_minute } = config.destinations[this.#destination] ?? defaultDestination;
    return budget.take(this.#destination, per_minute, this.#now);
  }

  #make(kind: AlertCard["kind"], key: string, group: string): AlertCard {
    const card: AlertCard = {
      id: newId("ac", this.#now),
      destination: this.#destination,
      kind,
      key,
      group,
      deliveryId: newId("d", this.#now),
      isPosted: false,
      wanted: 0,
      shown: 0,
      shownAt: 0,
      createdAt: this.#now,
      isClosed: false,
    };
    this.made.push(card);
    return card;
  }
}
