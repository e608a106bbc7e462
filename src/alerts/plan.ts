/** The next changes of one alert: a draft of it and of all results, gathered step by step and then committed whole. */
import type { Actor, Alert, AlertChange, AlertEvent, KnownPlace, NewNotice, Place } from "../domain/alerts/alert.js";
import { isReadTooLate } from "./own-alerts.js";
import { type Happening, stateAfter } from "./transitions.js";

/** The fate of a message that did not arrive in time. */
export interface Loss {
  reason: string;
  /**
   * The chat refused it; or it is not known whether it arrived; or its chat is paused, and takes it after that; or it waits, as when its
   * platform is away; or it was not sent, and will not be.
   */
  fate: "refused" | "in doubt" | "paused" | "waiting" | "unsent";
  /** A hook withheld it, or failed and holds it: its chat was not asked. */
  isByHook?: boolean;
}

/** In a sentence about the message. */
export const LOSSES: Record<Loss["fate"], string> = {
  refused: "did not arrive",
  unsent: "did not arrive",
  waiting: "waits",
  "in doubt": "may not have arrived",
  paused: "waits",
};

export interface LostPage extends Loss {
  route: string;
  /** The place of the page's step among the taken steps. */
  place: number;
  key: string;
  destination: string;
  /** Only the person of that private chat knew of the page; the others read that the person did not get it. */
  isPrivate: boolean;
  /** The message was posted there because another chat did not take it. */
  isCopy: boolean;
}

export class Plan {
  readonly alert: Alert;
  readonly now: number;
  /** The places that show the alert already, or will show it. */
  readonly knownPlaces: readonly KnownPlace[];
  /** The alert is being created. */
  readonly isNew: boolean;
  readonly places: Place[] = [];
  notices: NewNotice[] = [];
  /** The places that do not show the alert any more. */
  readonly left: { destination: string; movedTo: readonly string[] }[] = [];
  /**
   * A page of a step was refused by this chat, or may have been, and people whom it called got it nowhere: the step is taken again without
   * the chat.
   */
  lostPage: LostPage | undefined;
  /** A chat where the alert joins a posted card: the card is only edited. */
  joinedAt: string | undefined;
  /** The alert before any change. */
  readonly was: Alert;
  /** For the alert's history: all changes, from any cause. */
  readonly events: AlertEvent[] = [];
  #redraw = false;
  readonly #version: number | undefined;
  readonly #was: string;

  constructor(
    alert: Alert,
    { now, knownPlaces, isNew }: { now: number; knownPlaces: readonly KnownPlace[]; isNew: boolean },
  ) {
    this.was = alert;
    this.#was = written(alert);
    this.#version = isNew ? undefined : alert.version;
    const { nextAt: _, ...draft } = structuredClone(alert);
    this.alert = draft;
    this.now = now;
    this.knownPlaces = knownPlaces;
    this.isNew = isNew;
  }

  /** Moves the alert by the table of transitions. False when that changes nothing. */
  move(happening: Happening, actor: Actor, reason?: string): boolean {
    const { alert, now } = this;
    const to = stateAfter(alert, happening);
    if (to === undefined) return false;
    this.record(happening, actor, reason, to);
    alert.state = to;
    alert.since = now;
    delete alert.called;
    return true;
  }

  /** Adds an event to the history and to the cards. */
  record(event: string, actor: Actor, reason?: string, to = this.alert.state): void {
    this.events.push({
      alertId: this.alert.id,
      at: this.now,
      event,
      from: this.isNew && this.events.length === 0 ? undefined : this.alert.state,
      to,
      actor,
      reason,
    });
    this.#redraw = true;
  }

  /** Redraws the cards without an event in the history. */
  redraw(): void {
    this.#redraw = true;
  }

  leave(destination: string, movedTo: readonly string[]): void {
    this.left.push({ destination, movedTo });
  }

  /** The alert is due then, at the latest. */
  lookAgainAt(at: number | undefined): void {
    if (at === undefined) return;
    this.alert.nextAt = Math.min(this.alert.nextAt ?? at, at);
  }

  /** Undefined when nothing changed. */
  change(): AlertChange | undefined {
    const isSame = written(this.alert) === this.#was;
    const isBare = this.events.length + this.places.length + this.left.length + this.notices.length === 0;
    if (!this.isNew && isSame && isBare) return undefined;
    this.alert.version++;
    return {
      alert: this.alert,
      before: this.#version,
      events: this.events,
      places: this.places,
      left: this.left,
      notices: this.notices.filter(({ destination }) => !isReadTooLate(this.alert, destination)),
      redraw: this.#redraw,
    };
  }

  /** Every chat that shows the alert from now on. */
  get destinations(): string[] {
    const left = new Set(this.left.map(({ destination }) => destination));
    const knownPlaces = this.knownPlaces.filter(
      ({ isWaiting, cardId, destination }) => (isWaiting || cardId !== undefined) && !left.has(destination),
    );
    return [...new Set([...knownPlaces, ...this.places].map(({ destination }) => destination))];
  }
}

/** The alert as text, to compare. `nextAt` comes after the rest: a plan removes it and sets it again, which moves it among the keys. */
const written = ({ nextAt, ...alert }: Alert) => JSON.stringify([alert, nextAt]);

export const CLOCK: Actor = { id: "clock", name: "the clock", source: "clock" };
export const RULE: Actor = { id: "rule", name: "a rule", source: "config" };
