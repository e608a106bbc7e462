/** Alerts, composed: what raises them, what people do with them, and the looks that the time asks for. */
import { type Address, formatAddress, parseAddress } from "../domain/address.js";
import {
  type Actor,
  type Alert,
  type AlertCard,
  type AlertEvent,
  type AlertFilter,
  type CauseEnd,
  isOpen,
  type Silence,
} from "../domain/alert.js";
import type { AlertSignal, ClockStanding, RaiseAlert } from "../domain/alert-signal.js";
import type { Role } from "../domain/identity.js";
import type { Button, OutboundMessage } from "../domain/message.js";
import type { Pause, Store } from "../domain/store.js";
import type { Work } from "../domain/work.js";
import type { Clock } from "../lib/clock.js";
import { errorMessage, HookgateError } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { Destinations } from "../lib/outgoing/destinations.js";
import { guardedRequest } from "../lib/outgoing/request.js";
import { isTransientStatus } from "../lib/retry-after.js";
import { createWork } from "../lib/work.js";
import type { PersonAction } from "./act.js";
import type { Alerting } from "./alerting.js";
import { nextBusinessHour, zoneOf } from "./business-hours.js";
import { alertLine } from "./card/alert-line.js";
import { snoozing } from "./card/buttons.js";
import { renderDetails } from "./card/render.js";
import { NAMED } from "./card/words.js";
import { type AlertsConfig, spellChats } from "./config.js";
import { createDigests, DIGEST, type Digest } from "./digests.js";
import { escalatedText } from "./escalated.js";
import { createHeartbeat } from "./heartbeat.js";
import { createInhibitors } from "./inhibitors.js";
import { lastPosted } from "./last-posted.js";
import { matcherProblem, matchesUnknown, unknownLabel } from "./matchers.js";
import { askRotas, type RotaView, warningOfGaps } from "./on-call.js";
import { knownAs } from "./people.js";
import { type Occasion, type Outcome, pipeline } from "./pipeline.js";
import { createReaders, type ReadersDeps } from "./readers.js";
import { eachOpen, idsOf, reexamine } from "./reexamine.js";
import { createSilences } from "./silences.js";
import { type GatewayFacts, watchGateway } from "./sources/gateway.js";
import { routeAt } from "./steps/route.js";
import { createBudget } from "./tell/budget.js";
import { withdrawLatePages } from "./tell/late-pages.js";
import { lostPages } from "./tell/lost-pages.js";
import { sendAnew } from "./tell/send-anew.js";
import { createTakeBack } from "./tell/take-back.js";
import type { Telling } from "./tell/telling.js";
import { noteTest, retest, testOf, tryTest } from "./tell/test-arrival.js";
import { tell } from "./tell.js";
import { endUnusedGaps, watchRotas } from "./watch-rotas.js";

export interface AlertsDeps {
  config: AlertsConfig;
  store: Pick<Store, "alerts" | "keyValue" | "outbox">;
  gateway: Pick<Telling, "send" | "edit" | "discard" | "withdraw">;
  policy?: NonNullable<Alerting["policy"]>;
  /** Where admins are told when the configuration names no place. */
  admins(): readonly Address[];
  /** The private chat of an account (`platform:id`); undefined where its platform is not switched on. */
  direct?(ref: string): Address | undefined;
  /** One spelling for each chat: settings may leave out the bot's id, messages have it. As `admins` and `direct` spell it. */
  spelled?(at: Address): Address;
  placeName?: Alerting["placeName"];
  /** The account whose private chat it is; undefined for every other chat. */
  personOf?(at: Address): string | undefined;
  /** Whether an account can read a chat. */
  isReader?: ReadersDeps["isReader"];
  /** The pause of this chat while it lasts; not one of its whole platform. */
  pauseOf?(at: Address): Pause | undefined;
  /** How the platforms and the outbox are. */
  status(): Promise<GatewayFacts>;
  /** A link to the message that a delivery posted. */
  linkTo?(deliveryId: string): Promise<string | undefined>;
  /** How an SLA clock stands now; undefined when it is not known. */
  standing?(clockId: string): Promise<ClockStanding | undefined>;
  /**
   * An operator resolves an alert: ends what it is about, so that the alert cannot hide a customer who waits. `reason`: absent when
   * none was given. Undefined: there was nothing to end. Throws what keeps it from ending.
   */
  end?(alert: Alert, by: Actor, reason: string | undefined): Promise<CauseEnd | undefined>;
  /** Called when a person took an alert: assigns what the alert is about, and gives the result as text for them. */
  taken?(alert: Alert, by: Actor, role: Role | undefined): Promise<string | undefined>;
  /** The name of the person with this account (`platform:id`), where a part besides the settings of alerts knows it. */
  nameOf?(ref: string): string | undefined;
  destinations: Destinations;
  mask(text: string): string;
  clock: Clock;
  logger: Logger;
}

export interface Alerts {
  /** The entrance for everything that may break. */
  raise: RaiseAlert;
  /** On one alert (`al_…`), or on all open ones of a card (`ac_…`) or of a message (`d_…`). Rejects with NOT_FOUND. */
  act(
    id: string,
    action: PersonAction,
    by: Actor,
    role?: Role,
  ): Promise<{ alerts: Alert[]; changed: number; note?: string }>;
  /** People gave what an alert is about more time. Nothing when there is no such alert. */
  extended(fingerprint: string, by: Actor, reason: string): Promise<void>;
  whoExtended(fingerprint: string): Promise<{ by: string; at: number } | undefined>;
  get(id: string): Promise<Alert | undefined>;
  /** All there is to know of one, with every button, as it is shown in this chat. Throws NOT_FOUND. */
  details(id: string, destination: string): Promise<OutboundMessage>;
  /** The buttons that snooze it. Throws NOT_FOUND. */
  snoozeButtons(id: string, destination: string): Promise<Button[]>;
  list(filter: AlertFilter): Promise<Alert[]>;
  /** A line for lists: the person, how long they wait and for what, their last words, its id. */
  line(alert: Alert): Promise<string>;
  /** The open alert that was posted last in this chat (a formatted address), else anywhere; about work before about the gateway. */
  last(destination: string | undefined): Promise<Alert | undefined>;
  counts: Store["alerts"]["counts"];
  history(id: string): Promise<AlertEvent[]>;
  silences: {
    list(): readonly Silence[];
    add(matchers: readonly string[], forMs: number, comment: string, by: Actor): Promise<Silence>;
    expire(id: string): Promise<Silence | undefined>;
    /** What is wrong with a matcher; undefined when nothing is. */
    problemOf(matcher: string): string | undefined;
    /** No alert that is kept matches it, and nothing in the configuration does: it may be misspelt. */
    isUnknown(matcher: string): Promise<boolean>;
    /** The label that it asks for, when no alert that is kept has it. */
    unknownLabel(matcher: string): Promise<{ name: string; known: string[] } | undefined>;
  };
  digest(): Promise<Digest>;
  /** By rota. `until`: when that changes; `gaps`: the first stretches of the next 90 days without anyone. */
  onCall(): Promise<RotaView[]>;
  nextBusinessHour(): number;
  /** The zone of business hours, for times of day that a person types. */
  timezone(): string;
  /** Sends a test message to the destination that an alert says is not reached, and gives it. Undefined: it is no such alert. */
  test(id: string): Promise<string | undefined>;
  /** What a card (`ac_…`), or a reminder or escalation of an alert (`al_…`), was sent with has ended: it is looked after at once. */
  delivered(id: string): void;
  /** A person deleted its message: it is posted again while something on it is open. */
  deleted(cardId: string): void;
  /** An operator sends again what was given up or held. True for a page, whose words are of when it was due: it is written anew. */
  sendAnew(deliveryId: string): Promise<boolean>;
  /** A person (`platform:id`) wrote or pressed something in their private chat with the bot: a test message finds out whether one that refused alerts takes them again. */
  heardFrom(ref: string): void;
  /** Looks under way and waiting for room. */
  readonly depth: Work["depth"];
  /** Before a start, while nothing is sent yet: pages that a stop or a crash left and that are late by now are written anew at the start. */
  withdrawLatePages(): Promise<void>;
  start(): Promise<void>;
  /** Other settings: resolves with what puts them in force. Alerts that are open follow them, with their cards. */
  prepare(config: AlertsConfig): Promise<() => void>;
  stop(): Promise<void>;
  sweep(now: number): Promise<number>;
}

const PAGE = 200;
const HISTORY_MAX = 200;
const PARALLEL = 16;

export function createAlerts(deps: AlertsDeps): Alerts {
  const { clock, logger } = deps;
  const chatOf = (at: Address) => formatAddress(deps.spelled?.(at) ?? at);
  const spell = (chat: string) => {
    const at = parseAddress(chat);
    return at === undefined ? chat : chatOf(at);
  };
  let config = spellChats(deps.config, spell);
  let inhibitors = createInhibitors(config.inhibit);
  const store = deps.store.alerts;
  const silences = createSilences(store, config.maintenance);
  const work = createWork({ processDue, maxParallel: PARALLEL, clock, logger: logger.child({ flow: "alerts" }) });
  let isStarted = false;
  const takeBack = createTakeBack(store, clock);
  // Times that would lie ahead now are taken back, and what waits for one of them is looked at again.
  clock.onStep?.((stepMs) => stepMs < 0 && everything());
  const telling: Telling = {
    ...deps.gateway,
    get config() {
      return config;
    },
    get inhibitors() {
      return inhibitors;
    },
    store,
    silences,
    readers: createReaders({ isReader: async (at, userId) => deps.isReader?.(at, userId), clock, logger }),
    policy: deps.policy,
    admins: deps.admins,
    placeName: (at) => deps.placeName?.(at),
    direct(ref) {
      const at = deps.direct?.(ref);
      return at && formatAddress(at);
    },
    personOf(destination) {
      const at = parseAddress(destination);
      return at && deps.personOf?.(at);
    },
    chatOf,
    wakePlace: (destination) => later(`to ${destination}`),
    wakeAt: (at) => later("time", at),
    wakeAll: () => later("all"),
    clock,
    logger,
    pauseOf(destination) {
      const at = parseAddress(destination);
      return at && deps.pauseOf?.(at);
    },
    deliveryOf: (deliveryId) => deps.store.outbox.get(deliveryId),
    post,
    run: (occasion) => run(occasion),
    raiseOwn,
    mask: deps.mask,
    nameOf: (ref) => knownAs(ref, config) ?? deps.nameOf?.(ref) ?? ref,
    linkTo: async (deliveryId) => deps.linkTo?.(deliveryId),
    standing: async (clockId) => deps.standing?.(clockId),
    budget: createBudget(),
  };
  const digests = createDigests(telling, deps.store.keyValue);
  const heartbeat = createHeartbeat(telling, deps.store.keyValue);
  const gatewayWatch = watchGateway({
    config: () => config.watch_gateway,
    status: deps.status,
    lostPages: () => lostPages(telling),
    nameOf: (conversation) => {
      const at = parseAddress(conversation);
      return (at && deps.placeName?.(at)) ?? conversation;
    },
    raiseOwn,
    clock,
  });

  const run = (occasion: Occasion): Promise<Outcome | undefined> => pipeline(occasion, telling);

  /** What is raised before the start is on disk, and told from there. */
  function later(key: string, at?: number): void {
    if (isStarted) work.wake(key, at);
  }

  function everything(): void {
    for (const key of ["time", "settings", "silences", "digests", "heartbeat", "gateway"]) later(key);
  }

  async function processDue(key: string): Promise<number | undefined> {
    if (key.startsWith("to ")) {
      const destination = key.slice(3);
      await takeBack(destination);
      return tell(destination, telling);
    }
    switch (key) {
      case "time":
        return passTime();
      case "all":
        await reexamine(telling, "concerned", run);
        return undefined;
      case "settings":
        await reexamine(telling, "all", run);
        await eachOpen(telling, async (page) => {
          await retest(page, telling);
          await endUnusedGaps(page, telling);
        });
        for (const destination of await store.busyDestinations()) telling.wakePlace(destination);
        return undefined;
      case "silences":
        telling.wakeAll();
        return silences.nextChange(clock.now());
      case "digests":
        return digests.processDue();
      case "heartbeat":
        return heartbeat.processDue();
      default:
        await watchRotas(telling);
        return gatewayWatch.processDue();
    }
  }

  async function passTime(): Promise<number | undefined> {
    for (;;) {
      const due = await store.due(clock.now(), PAGE);
      await Promise.all(due.map((id) => run({ kind: "time", id })));
      if (due.length < PAGE) return store.nextDue();
    }
  }

  async function raiseOwn(signal: Omit<AlertSignal, "episode" | "at">): Promise<void> {
    const known = await store.latest(signal.fingerprint);
    const isKnown = known !== undefined && isOpen(known.state);
    if (signal.state === "resolved" && !isKnown) return;
    const episode = isKnown ? known.episode : (known?.episode ?? 0) + 1;
    // When it began, not when it was seen again: the same once more changes nothing.
    const at = isKnown && known.signal.state === signal.state ? known.signal.at : clock.now();
    await run({ kind: "signal", signal: { ...signal, episode, at } });
  }

  async function post(url: string, id: string, body: unknown): Promise<void> {
    const { status } = await guardedRequest(url, {
      method: "POST",
      headers: { "content-type": "application/json", "webhook-id": id },
      body: JSON.stringify(body),
      allow: deps.destinations,
    });
    if (status >= 300)
      throw new HookgateError({
        code: "WEBHOOK_REFUSED",
        message: `it answered ${status}`,
        retryable: isTransientStatus(status),
      });
  }

  return {
    raise: async (signal) => void (await run({ kind: "signal", signal })),
    async act(id, action, by, role) {
      const ids = await idsOf(id, store);
      const ends = new Map<string, CauseEnd>();
      if (action.kind === "resolve")
        for (const one of ids) {
          const end = await endCause(one, action.reason, by);
          if (end !== undefined) ends.set(one, end);
        }
      const alerts: Alert[] = [];
      let changed = 0;
      for (let from = 0; from < ids.length; from += PAGE) {
        const some = ids.slice(from, from + PAGE);
        const done = await Promise.all(
          some.map((one) => {
            const end = ends.get(one);
            const what = action.kind === "resolve" && end ? { ...action, reason: end.reason } : action;
            return run({ kind: "action", id: one, action: what, by });
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
      const taken = isTaken && isOne ? await deps.taken?.(first, by, role) : undefined;
      const ended = [...new Set([...ends.values()].map((end) => end.note))].slice(0, NAMED).join(" ");
      const note =
        action.kind === "escalate" && isOne ? await escalatedText(first, telling) : taken || ended || undefined;
      return { alerts, changed, note };
    },
    async extended(fingerprint, by, reason) {
      const known = await store.latest(fingerprint);
      if (known) await run({ kind: "action", id: known.id, action: { kind: "extend", reason }, by });
    },
    async whoExtended(fingerprint) {
      const known = await store.latest(fingerprint);
      const last = known && (await store.history(known.id, HISTORY_MAX)).findLast(({ event }) => event === "extend");
      return last && { by: last.actor.name, at: last.at };
    },
    get: (id) => store.get(id),
    details: async (id, destination) => renderDetails(await needAlert(id), spell(destination), telling),
    async snoozeButtons(id, destination) {
      const alert = await needAlert(id);
      return snoozing(alert, routeAt(alert, spell(destination), telling).settings);
    },
    list: (filter) => store.list(filter),
    line: (alert) => alertLine(alert, telling),
    last: (destination) => lastPosted(destination && spell(destination), store),
    counts: (filter) => store.counts(filter),
    history: (id) => store.history(id, HISTORY_MAX),
    silences: {
      list: () => silences.list(),
      problemOf: matcherProblem,
      isUnknown: async (one) => matchesUnknown(one, await store.list({ limit: 1_000 }), (id) => !!deps.policy?.(id)),
      unknownLabel: async (one) => unknownLabel(one, await store.list({ limit: 1_000 })),
      async add(matchers, forMs, comment, by) {
        const now = clock.now();
        const added = await silences.add({ matchers, until: now + forMs, comment, by }, now);
        later("silences");
        return added;
      },
      async expire(id) {
        const expired = await silences.expire(id, clock.now());
        later("silences");
        return expired;
      },
    },
    digest: () => digests.now(),
    onCall: () => askRotas(telling, clock),
    timezone: () => zoneOf(config.business_hours),
    nextBusinessHour: () => nextBusinessHour(config.business_hours, clock.now()),
    test: async (id) => testOf(await needAlert(id), telling),
    delivered(id) {
      if (id === DIGEST) later("digests");
      else void (id.startsWith("al_") ? wakePlacesOf(id) : wakeCard(id));
    },
    deleted: (cardId) =>
      void wakeCard(cardId, async ({ isClosed }) => {
        if (!isClosed) await store.redraw(cardId);
      }),
    sendAnew: (deliveryId) => sendAnew(deliveryId, deps.store.outbox, telling),
    heardFrom(ref) {
      const destination = telling.direct(ref);
      if (destination !== undefined && inhibitors.endRest(destination)) void tryTest(destination, telling);
    },
    get depth() {
      return work.depth;
    },
    async withdrawLatePages() {
      for (const destination of await store.busyDestinations()) await withdrawLatePages(destination, telling);
    },
    async start() {
      await silences.load();
      isStarted = true;
      warningOfGaps(config, clock, logger)();
      everything();
      for (const destination of await store.busyDestinations()) telling.wakePlace(destination);
    },
    async prepare(given) {
      const next = spellChats(given, spell);
      // What keeps others quiet is known before the rules change: nothing is told in between.
      const nextInhibitors = createInhibitors(next.inhibit);
      await eachOpen(telling, async (page) => {
        for (const alert of page) nextInhibitors.note(alert);
      });
      const takeWindows = silences.prepare(next.maintenance);
      const warnOfGaps = warningOfGaps(next, clock, logger);
      return () => {
        config = next;
        inhibitors = nextInhibitors;
        takeWindows();
        warnOfGaps();
        everything();
      };
    },
    async stop() {
      isStarted = false;
      await work.stop();
    },
    sweep: (now) => store.sweep(now - config.keep),
  };

  async function endCause(id: string, reason: string | undefined, by: Actor): Promise<CauseEnd | undefined> {
    const alert = await store.get(id);
    return alert !== undefined && isOpen(alert.state) ? deps.end?.(alert, by, reason) : undefined;
  }

  async function needAlert(id: string): Promise<Alert> {
    const alert = await store.get(id);
    if (alert === undefined) throw unknownAlert(id);
    return alert;
  }

  /** The code that settles deliveries does not wait; without this call the card is checked a little later. */
  async function wakeCard(cardId: string, first?: (card: AlertCard) => Promise<void>): Promise<void> {
    try {
      if (await noteTest(cardId, telling)) return;
      const card = await store.card(cardId);
      if (!card) return;
      await first?.(card);
      telling.wakePlace(card.destination);
    } catch (error) {
      logger.warn({ card: cardId, error: errorMessage(error) }, "a card could not be followed up");
    }
  }

  async function wakePlacesOf(alertId: string): Promise<void> {
    try {
      for (const { destination } of await store.placesOf(alertId)) telling.wakePlace(destination);
    } catch (error) {
      logger.warn({ alert: alertId, error: errorMessage(error) }, "messages about an alert could not be checked");
    }
  }
}

function unknownAlert(id: string): HookgateError {
  return new HookgateError({
    code: "NOT_FOUND",
    message: `There is no open alert "${id.slice(0, 80)}".`,
    hint: "/alerts lists those that are open.",
  });
}
