/** Alerts, composed: the signals that raise them, people's actions on them, and the checks that are due by time. */

import {
  type Actor,
  type Alert,
  type AlertCard,
  type AlertEvent,
  type AlertFilter,
  type CauseEnd,
  isOpen,
} from "../domain/alerts/alert.js";
import type { AlertSignal } from "../domain/alerts/alert-signal.js";
import { type Address, formatAddress, parseAddress } from "../domain/chat/address.js";
import type { Role } from "../domain/chat/identity.js";
import type { Button, OutboundMessage } from "../domain/chat/message.js";
import type { Store } from "../domain/store.js";
import type { Work } from "../domain/work.js";
import { failuresOf } from "../lib/concurrency/failures-of.js";
import { createWork } from "../lib/concurrency/work.js";
import { errorMessage, HookgateError } from "../lib/errors.js";
import type { PersonAction } from "./act.js";
import { nextBusinessHour, zoneOf } from "./business-hours.js";
import { alertLine } from "./card/alert-line.js";
import { snoozing } from "./card/buttons.js";
import { comingNow, renderDetails } from "./card/render.js";
import { NAMED } from "./card/words.js";
import type { Coming } from "./coming.js";
import { type AlertsConfig, spellChats } from "./config.js";
import type { Alerts, AlertsDeps } from "./contract.js";
import { DIGEST, type Digest, Digests } from "./digests.js";
import { escalatedText } from "./escalated.js";
import { createHeartbeat } from "./heartbeat.js";
import { createInhibitors, type Inhibitors } from "./inhibitors.js";
import { lastPosted } from "./last-posted.js";
import { matcherProblem, matchesUnknown, policyOf, unknownLabel } from "./matchers.js";
import { type Occasion, type Outcome, pipeline } from "./pipeline.js";
import { eachOpen, firedAgain, idsOf, reexamine } from "./reexamine.js";
import { askRotas, type RotaView, warningOfGaps } from "./rota/on-call.js";
import { accountsWith } from "./rota/people.js";
import { endUnusedGaps, watchRotas } from "./rota/watch-rotas.js";
import { createSilences, type Silences } from "./silences.js";
import { GatewayWatch } from "./sources/gateway.js";
import { routeAt } from "./steps/route.js";
import { withdrawLatePages } from "./tell/pages/late-pages.js";
import { noteTest, retest, testOf, tryTest } from "./tell/pages/test-arrival.js";
import { isPostedNowhere } from "./tell/posted-nowhere.js";
import { sendAnew } from "./tell/send-anew.js";
import { createTakeBack } from "./tell/take-back.js";
import type { Telling } from "./tell/telling.js";
import { type Key, tellingOf } from "./tell/telling-of.js";
import { tell } from "./tell.js";

const PAGE = 200;
/** The limit of alerts that are searched for a label. */
const KNOWN_MAX = 1_000;
const PARALLEL = 16;

const isPlace = (key: Key): key is Extract<Key, `to ${string}`> => key.startsWith("to ");

export type * from "./contract.js";

export function createAlerts(deps: AlertsDeps): Alerts {
  return new RunningAlerts(deps);
}

class RunningAlerts implements Alerts {
  readonly #deps: AlertsDeps;
  readonly #store: Store["alerts"];
  #config: AlertsConfig;
  #inhibitors: Inhibitors;
  readonly #silences: Silences;
  readonly #work: Work;
  readonly #takeBack: ReturnType<typeof createTakeBack>;
  /** The dependencies of the steps of an alert and of its messages. */
  readonly #telling: Telling;
  readonly #digests: Digests;
  readonly #heartbeat: ReturnType<typeof createHeartbeat>;
  readonly #gatewayWatch: GatewayWatch;
  #isStarted = false;
  readonly silences: Alerts["silences"];

  constructor(deps: AlertsDeps) {
    const { clock, logger } = deps;
    this.#deps = deps;
    this.#store = deps.store.alerts;
    this.#config = this.#spellChats(deps.config);
    this.#inhibitors = createInhibitors(this.#config.inhibit);
    this.#silences = createSilences(this.#store, this.#config.maintenance);
    this.#work = createWork({
      processDue: (key) => this.#processDue(key as Key),
      maxParallel: PARALLEL,
      clock,
      logger: logger.child({ flow: "alerts" }),
    });
    this.#takeBack = createTakeBack(this.#store, clock);
    this.#telling = tellingOf(deps, {
      config: () => this.#config,
      inhibitors: () => this.#inhibitors,
      silences: this.#silences,
      chatOf: (at) => this.#chatOf(at),
      later: (key, at) => this.#later(key, at),
      run: (occasion) => this.#run(occasion),
      raiseOwn: (signal) => this.#raiseOwn(signal),
    });
    this.#digests = new Digests(this.#telling, deps.store.keyValue);
    this.#heartbeat = createHeartbeat(this.#telling, deps.store.keyValue);
    this.#gatewayWatch = new GatewayWatch(this.#telling, { status: deps.status, store: deps.store });
    this.silences = this.#silencesForPeople();
    // Times that would lie ahead now are taken back, and alerts that wait for one of them are looked at again.
    clock.onStep?.((stepMs) => stepMs < 0 && this.#everything());
  }

  get depth(): Work["depth"] {
    return this.#work.depth;
  }

  async withdrawLatePages(): Promise<void> {
    for (const destination of await this.#store.busyDestinations()) await withdrawLatePages(destination, this.#telling);
  }

  async start(): Promise<void> {
    const { clock, logger } = this.#deps;
    await this.#silences.load();
    this.#isStarted = true;
    warningOfGaps(this.#config, clock, logger)();
    this.#everything();
    await this.#wakeBusyPlaces();
  }

  async prepare(config: AlertsConfig): Promise<() => void> {
    const { clock, logger } = this.#deps;
    const next = this.#spellChats(config);
    // The next inhibitors know all open alerts before the rules change: no message is sent in between.
    const nextInhibitors = createInhibitors(next.inhibit);
    await eachOpen(this.#telling, async (page) => {
      for (const alert of page) nextInhibitors.note(alert);
    });
    const takeWindows = this.#silences.prepare(next.maintenance);
    const warnOfGaps = warningOfGaps(next, clock, logger);
    return () => {
      this.#config = next;
      this.#inhibitors = nextInhibitors;
      takeWindows();
      warnOfGaps();
      this.#everything();
    };
  }

  async stop(): Promise<void> {
    this.#isStarted = false;
    await this.#work.stop();
  }

  sweep(now: number): Promise<number> {
    return this.#store.sweep(now - this.#config.keep);
  }

  async raise(signal: AlertSignal): Promise<void> {
    await this.#run({ kind: "signal", signal });
  }

  async act(id: string, action: PersonAction, by: Actor, role?: Role): ReturnType<Alerts["act"]> {
    const ids = await idsOf(id, this.#store);
    const ends =
      action.kind === "resolve" ? await this.#endCauses(ids, action.reason, by) : new Map<string, CauseEnd>();
    const alerts: Alert[] = [];
    let changed = 0;
    for (let from = 0; from < ids.length; from += PAGE) {
      const some = ids.slice(from, from + PAGE);
      const done = await Promise.all(
        some.map((one) => {
          const end = ends.get(one);
          const what = action.kind === "resolve" && end ? { ...action, reason: end.reason } : action;
          return this.#run({ kind: "action", id: one, action: what, by });
        }),
      );
      for (const outcome of done) {
        if (!outcome) continue;
        if (alerts.length < PAGE) alerts.push(outcome.alert);
        // Its source may have resolved it first, because of this very request.
        if (outcome.changed || ends.get(outcome.alert.id)?.isEnded) changed++;
      }
    }
    const [first] = alerts;
    if (first === undefined) throw unknownAlert(id);
    const isTaken = action.kind === "assign" || (action.kind === "ack" && action.assign === true);
    const isOne = alerts.length === 1 && changed > 0;
    const taken = isTaken && isOne ? await this.#deps.taken?.(first, by, role) : undefined;
    const ended = [...new Set([...ends.values()].map((end) => end.note))].slice(0, NAMED).join(" ");
    const isEscalated = action.kind === "escalate" && isOne;
    const note = isEscalated ? await escalatedText(first, this.#telling) : taken || ended || undefined;
    return { alerts, changed, note };
  }

  async extended(fingerprint: string, by: Actor, reason: string): Promise<void> {
    const known = await this.#store.latest(fingerprint);
    if (known) await this.#run({ kind: "action", id: known.id, action: { kind: "extend", reason }, by });
  }

  async whoExtended(fingerprint: string): Promise<{ by: string; at: number } | undefined> {
    const known = await this.#store.latest(fingerprint);
    const last = known && (await this.history(known.id)).findLast(({ event }) => event === "extend");
    return last && { by: last.actor.name, at: last.at };
  }

  get(id: string): Promise<Alert | undefined> {
    return this.#store.get(id);
  }

  firedAgain(alert: Alert): Promise<Alert | undefined> {
    return firedAgain(alert, this.#store);
  }

  async details(id: string, destination: string): Promise<OutboundMessage> {
    return renderDetails(await this.#need(id), this.#spell(destination), this.#telling);
  }

  async coming(id: string): Promise<Coming[]> {
    return comingNow(await this.#need(id), this.#telling);
  }

  async snoozeButtons(id: string, destination: string): Promise<Button[]> {
    const alert = await this.#need(id);
    return snoozing(alert, routeAt(alert, this.#spell(destination), this.#telling).settings);
  }

  list(filter: AlertFilter): Promise<Alert[]> {
    return this.#store.list(filter);
  }

  accountsOf(ref: string): string[] {
    return accountsWith(ref, this.#config);
  }

  line(alert: Alert): Promise<string> {
    return alertLine(alert, this.#telling);
  }

  isPostedNowhere(alert: Alert): Promise<boolean> {
    return isPostedNowhere(alert, this.#telling);
  }

  last(destination: string | undefined, person?: string): Promise<Alert | undefined> {
    if (destination === undefined) return lastPosted(undefined, this.#store);
    const direct = person === undefined ? undefined : this.#deps.direct?.(person);
    const chats = [this.#spell(destination), ...(direct ? [formatAddress(direct)] : [])];
    return lastPosted(chats, this.#store);
  }

  counts(...filter: Parameters<Alerts["counts"]>): ReturnType<Alerts["counts"]> {
    return this.#store.counts(...filter);
  }

  history(id: string): Promise<AlertEvent[]> {
    return this.#store.history(id);
  }

  digest(): Promise<Digest> {
    return this.#digests.now();
  }

  onCall(): Promise<RotaView[]> {
    return askRotas(this.#telling, this.#deps.clock);
  }

  timezone(): string {
    return zoneOf(this.#config.business_hours);
  }

  nextBusinessHour(): number {
    return nextBusinessHour(this.#config.business_hours, this.#deps.clock.now());
  }

  async test(id: string): Promise<string | undefined> {
    return testOf(await this.#need(id), this.#telling);
  }

  delivered(id: string): void {
    if (id === DIGEST) this.#later("digests");
    else void (id.startsWith("al_") ? this.#wakePlacesOf(id) : this.#wakeCard(id));
  }

  deleted(cardId: string): void {
    void this.#wakeCard(cardId, async ({ isClosed }) => {
      if (!isClosed) await this.#store.redraw(cardId);
    });
  }

  sendAnew(deliveryId: string): Promise<boolean> {
    return sendAnew(deliveryId, this.#deps.store.outbox, this.#telling);
  }

  heardFrom(ref: string): void {
    const destination = this.#telling.direct(ref);
    if (destination !== undefined && this.#inhibitors.endRest(destination)) void tryTest(destination, this.#telling);
  }

  #run(occasion: Occasion): Promise<Outcome | undefined> {
    return pipeline(occasion, this.#telling);
  }

  /** An alert that is raised before the start is on disk, and sent from there. */
  #later(key: Key, at?: number): void {
    if (this.#isStarted) this.#work.wake(key, at);
  }

  #everything(): void {
    for (const key of ["time", "settings", "silences", "digests", "heartbeat", "gateway"] as const) this.#later(key);
  }

  async #processDue(key: Key): Promise<number | undefined> {
    const telling = this.#telling;
    if (isPlace(key)) {
      const destination = key.slice(3);
      await this.#takeBack(destination);
      return tell(destination, telling);
    }
    switch (key) {
      case "time":
        return this.#passTime();
      case "rules":
        await reexamine(telling, "concerned", telling.run);
        return undefined;
      case "settings":
        await reexamine(telling, "all", telling.run);
        await eachOpen(telling, async (page) => {
          await retest(page, telling);
          await endUnusedGaps(page, telling);
        });
        await this.#wakeBusyPlaces();
        return undefined;
      case "silences":
        telling.wakeConcerned();
        return this.#silences.nextChange(this.#deps.clock.now());
      case "digests":
        return this.#digests.processDue();
      case "heartbeat":
        return this.#heartbeat.processDue();
      case "gateway":
        await watchRotas(telling);
        return this.#gatewayWatch.processDue();
    }
  }

  /** Rejects when an alert failed; the others get their time. */
  async #passTime(): Promise<number | undefined> {
    const { clock, logger } = this.#deps;
    const run = (id: string) => this.#run({ kind: "time", id });
    const noteFailure = (alert: string, error: unknown) =>
      logger.error({ alert, error: errorMessage(error) }, "an alert that is due could not be processed");
    const failures: unknown[] = [];
    for (;;) {
      const now = clock.now();
      // Those that failed are still due, and come first.
      const due = await this.#store.due(now, PAGE, failures.length);
      failures.push(...(await failuresOf(due, run, noteFailure)));
      if (due.length === PAGE) continue;
      if (failures.length === 0) return this.#store.nextDue();
      const next = await this.#store.nextDue(now);
      if (next !== undefined) this.#later("time", next);
      throw failures[0];
    }
  }

  async #raiseOwn(signal: Omit<AlertSignal, "episode" | "at">): Promise<void> {
    const known = await this.#store.latest(signal.fingerprint);
    const isKnown = known !== undefined && isOpen(known.state);
    if (signal.state === "resolved" && !isKnown) return;
    const now = this.#deps.clock.now();
    const { isMore } = isKnown ? known.signal : signal;
    const episode = isKnown ? known.episode : (known?.episode ?? 0) + 1;
    // An alert that fired stays as it is within its episode, and shows the newest reason.
    const state = isKnown && signal.state === "warned" ? known.condition : signal.state;
    // The time when the state started, not when it was seen again: a repeated signal changes nothing.
    const at = isKnown && known.signal.state === state ? known.signal.at : now;
    await this.#run({ kind: "signal", signal: { ...signal, isMore, state, episode, at } });
  }

  /** Ends the causes of open alerts, where they can be ended. */
  async #endCauses(ids: readonly string[], reason: string | undefined, by: Actor): Promise<Map<string, CauseEnd>> {
    const ends = new Map<string, CauseEnd>();
    for (const id of ids) {
      const alert = await this.#store.get(id);
      const end = alert !== undefined && isOpen(alert.state) ? await this.#deps.end?.(alert, by, reason) : undefined;
      if (end !== undefined) ends.set(id, end);
    }
    return ends;
  }

  async #need(id: string): Promise<Alert> {
    const alert = await this.#store.get(id);
    if (alert === undefined) throw unknownAlert(id);
    return alert;
  }

  async #wakeBusyPlaces(): Promise<void> {
    for (const destination of await this.#store.busyDestinations()) this.#telling.wakePlace(destination);
  }

  /** The code that settles deliveries does not wait; without this call the card is checked a little later. */
  async #wakeCard(cardId: string, first?: (card: AlertCard) => Promise<void>): Promise<void> {
    try {
      if (await noteTest(cardId, this.#telling)) return;
      const card = await this.#store.card(cardId);
      if (!card) return;
      await first?.(card);
      this.#telling.wakePlace(card.destination);
    } catch (error) {
      this.#deps.logger.warn({ card: cardId, error: errorMessage(error) }, "a card could not be followed up");
    }
  }

  async #wakePlacesOf(alertId: string): Promise<void> {
    try {
      for (const { destination } of await this.#store.placesOf(alertId)) this.#telling.wakePlace(destination);
    } catch (error) {
      const facts = { alert: alertId, error: errorMessage(error) };
      this.#deps.logger.warn(facts, "messages about an alert could not be checked");
    }
  }

  #chatOf(at: Address): string {
    return formatAddress(this.#deps.spelled?.(at) ?? at);
  }

  #spell(chat: string): string {
    const at = parseAddress(chat);
    return at === undefined ? chat : this.#chatOf(at);
  }

  #spellChats(config: AlertsConfig): AlertsConfig {
    return spellChats(config, (chat) => this.#spell(chat));
  }

  #silencesForPeople(): Alerts["silences"] {
    const { clock, policy } = this.#deps;
    const known = () => this.#store.list({ limit: KNOWN_MAX });
    return {
      list: () => this.#silences.list(),
      maintenance: () => this.#silences.maintenance(clock.now()),
      problemOf: matcherProblem,
      isUnknown: async (one) => matchesUnknown(one, await known(), (id) => !!policy?.(id)),
      unknownLabel: async (one) => unknownLabel(one, await known()),
      policyOf,
      add: async (matchers, forMs, comment, by) => {
        const now = clock.now();
        const added = await this.#silences.add({ matchers, until: now + forMs, comment, by }, now);
        this.#later("silences");
        return added;
      },
      expire: async (id) => {
        const expired = await this.#silences.expire(id, clock.now());
        this.#later("silences");
        return expired;
      },
    };
  }
}

function unknownAlert(id: string): HookgateError {
  return new HookgateError({
    code: "NOT_FOUND",
    message: `There is no open alert "${id.slice(0, 80)}".`,
    hint: "/alerts lists those that are open.",
  });
}
