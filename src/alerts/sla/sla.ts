/**
 * SLA clocks, composed: policies and calendars from the configuration, clocks of tasks, missions and conversations, and what they
 * announce. Each key of `Work` reads rows: what is due next, what is to be announced, what is to be computed again, and all
 * after the clock of the system was set.
 */
import type { Actor } from "../../domain/alert.js";
import type { RaiseAlert } from "../../domain/alert-signal.js";
import type { ConversationWatch, SlaClock, SlaNews } from "../../domain/sla.js";
import type { Store } from "../../domain/store.js";
import type { EntityChanged, WatchedEntity, WatchedType } from "../../domain/watched.js";
import type { Work } from "../../domain/work.js";
import type { FormerChats } from "../../hooks/matcher.js";
import type { Clock } from "../../lib/clock.js";
import type { Logger } from "../../lib/logger.js";
import { createWork } from "../../lib/work.js";
import { type AnnounceDeps, announceWaiting } from "./announce.js";
import { ALWAYS, type WorkCalendar } from "./calendars/calendar.js";
import { type Calendars, loadCalendars } from "./calendars/load.js";
import { Clocks } from "./clocks.js";
import type { SlaConfig } from "./config.js";
import type { LinkTo, LinkToPerson, PlaceName } from "./conversations/as-entity.js";
import { Conversations } from "./conversations/conversations.js";
import { createDesk, type SlaDesk } from "./desk.js";
import { type ExtendDeps, extend } from "./extend.js";
import { createPolicies, type Policy, policiesFor } from "./policies/policies.js";

export interface SlaDeps {
  config: SlaConfig;
  store: Pick<Store, "sla" | "cursors">;
  registry: AnnounceDeps["registry"];
  attempts: AnnounceDeps["attempts"];
  raise: RaiseAlert;
  /** The truth about work, by its owner: asked before anything is announced. */
  current?(type: WatchedType, id: string): Promise<WatchedEntity | undefined>;
  /** Ends a task that is late, where its policy says so. Once more does nothing. */
  fail?(taskId: string, policyId: string): Promise<void>;
  /** All open work: asked for when policies have changed. */
  openWork?(): AsyncIterable<WatchedEntity>;
  /** Sets the own deadline of a task or a mission, by its owner. */
  moveDeadline?(entity: WatchedEntity, at: number, by: Actor, reason: string | undefined): Promise<void>;
  /** People gave more time: for the history of its alert. */
  extended?: ExtendDeps["extended"];
  whoExtended?: ExtendDeps["whoExtended"];
  linkTo?: LinkTo;
  linkToPerson?: LinkToPerson;
  placeName?: PlaceName;
  formerChats?: FormerChats;
  clock: Clock;
  logger: Logger;
}

export interface Sla {
  /** Told of tasks and missions. Rejects with SLA_DATE_INVALID. */
  readonly changed: EntityChanged;
  /** For the gateway: what it saw, when it is on disk. */
  readonly conversations: ConversationWatch;
  readonly desk: SlaDesk;
  /** A calendar by its name, for other parts of alerts (`always` is one). */
  calendar(name: string): WorkCalendar | undefined;
  /** Loads calendars and resumes what is stored. Rejects with SLA_CALENDAR_INVALID. */
  start(): Promise<void>;
  /**
   * Other policies: resolves, when all they need is there, with what puts them in force; clocks are computed again afterwards. Rejects
   * with SLA_CALENDAR_INVALID.
   */
  prepare(config: SlaConfig): Promise<() => void>;
  sweep(now: number): Promise<number>;
  stop(): Promise<void>;
}

/** The keys of its work. */
const DUE = "due";
const SAY = "say";
const RECKON = "reckon";
const CLOCK_SET = "clock set";
/** Clocks read at once. */
const PAGE = 500;
/** The cursor of the policies with which conversations were computed. */
const POLICIES = "policies";

/** Without policies it holds no clock, no timer and no library. */
export function createSla(deps: SlaDeps): Sla {
  const { store, clock, logger } = deps;
  let config = deps.config;
  let calendars: Calendars = new Map([[ALWAYS.name, ALWAYS]]);
  let policies: readonly Policy[] = [];
  let quietUntil = 0;
  let isRunning = false;
  /** No policies, and no clocks of former ones. */
  let isIdle = false;
  let noteLoaded = () => {};
  /** Without its policies a clock would count as one that no longer applies. */
  const loaded = new Promise<void>((resolve) => {
    noteLoaded = resolve;
  });

  const work: Work = createWork({
    processDue: (key) => {
      if (key === CLOCK_SET) return lookAtOverdueAgain();
      return key === DUE ? processDueClocks() : key === SAY ? announceWaiting(announceParts) : reckonAnew();
    },
    maxParallel: 3,
    clock,
    logger: logger.child({ part: "sla" }),
  });
  const wake = (key: string, at?: number) => {
    if (isRunning) work.wake(key, at);
  };
  const { registry, attempts, raise } = deps;
  const announceParts = { store: store.sla, registry, attempts, raise, violated, clock, logger };
  const clocks = new Clocks({
    store: store.sla,
    policies: () => policies,
    current: deps.current,
    wake: (at) => wake(DUE, at),
    announce: () => wake(SAY),
    clock,
  });
  const conversations = new Conversations({
    store: store.sla,
    clocks,
    config: () => config.conversations,
    hasPolicies: () => policies.some((policy) => policy.for === "conversation"),
    holdMs: () => config.after_start,
    isWatched: (entity) => policiesFor(entity, policies).size > 0,
    links: {
      linkTo: (...message) => deps.linkTo?.(...message),
      linkToPerson: (...person) => deps.linkToPerson?.(...person),
      placeName: (at) => deps.placeName?.(at),
    },
    clock,
    logger,
  });

  const extendParts: ExtendDeps = {
    policies: () => policies,
    async moveDeadline(found, at, { by, reason }) {
      if (!deps.moveDeadline) throw new Error(`the deadline cannot be set for a ${found.entity.type}`);
      await deps.moveDeadline(found.entity, at, by, reason);
      await clocks.followWork(found, { clockId: found.id, ms: 0, by: by.name });
    },
    addTime: (found, ms, { by }) => {
      const extend = { clockId: found.id, ms, by: by.name };
      return found.entity.type === "conversation"
        ? conversations.followAgain(found.entity.id, extend)
        : clocks.seeWork(found.entity, extend);
    },
    extended: async (...what) => deps.extended?.(...what),
    whoExtended: async (fingerprint) => deps.whoExtended?.(fingerprint),
    get: (id) => store.sla.get(id),
    now: () => clock.now(),
  };

  async function violated({ entityType, entityId, policyId }: SlaNews): Promise<void> {
    const policy = policies.find(({ id }) => id === policyId);
    if (policy?.onViolated === "fail" && entityType === "task") await deps.fail?.(entityId, policyId);
  }

  async function processDueClocks(): Promise<number | undefined> {
    // What platforms deliver from a time when the gateway did not listen may end a clock that looks overdue.
    if (clock.now() < quietUntil) return quietUntil;
    return clocks.processDue(followAgain);
  }

  function followAgain(due: SlaClock): Promise<void> {
    return due.entity.type === "conversation" ? conversations.followAgain(due.entity.id) : clocks.followWork(due);
  }

  /** The system clock was ahead and is right again: what was announced as overdue at a time to come is not overdue. */
  async function lookAtOverdueAgain(): Promise<undefined> {
    const early: SlaClock[] = [];
    for (let offset = 0; ; offset += PAGE) {
      const page = await store.sla.list({ state: "overdue", offset, limit: PAGE });
      early.push(...page.filter(({ violatedAt = 0 }) => violatedAt > clock.now()));
      if (page.length < PAGE) break;
    }
    await Promise.all(early.map(followAgain));
    return undefined;
  }

  clock.onStep?.((stepMs) => {
    if (stepMs > 0) return;
    quietUntil = Math.min(quietUntil, clock.now() + config.after_start);
    wake(CLOCK_SET);
  });

  async function prepare(next: SlaConfig): Promise<() => void> {
    const nextCalendars = await loadCalendars(next.calendars);
    const nextPolicies = createPolicies(next, nextCalendars, deps.formerChats);
    return () => {
      isIdle = false;
      config = next;
      calendars = nextCalendars;
      policies = nextPolicies;
      conversations.policiesChanged();
      wake(RECKON);
    };
  }

  /** Clocks that were computed with other policies; and conversations that another policy may match now. */
  async function reckonAnew(): Promise<undefined> {
    const hashes = policies.map(({ hash }) => hash);
    for (let afterSeq = 0; ; ) {
      const outdated = await store.sla.outdated(hashes, afterSeq, 500);
      await Promise.all(
        outdated.map(({ type, id, entity }) =>
          type === "conversation" ? conversations.followAgain(id) : clocks.seeWork(entity),
        ),
      );
      afterSeq = outdated.at(-1)?.seq ?? afterSeq;
      if (outdated.length < 500) break;
    }
    const cursors = store.cursors("sla");
    const all = hashes.join(" ");
    isIdle = policies.length === 0;
    if (((await cursors.get(POLICIES)) ?? "") === all) return undefined;
    await conversations.followAll();
    if (deps.openWork) for await (const entity of deps.openWork()) await clocks.seeWork(entity);
    await cursors.set(POLICIES, all);
    return undefined;
  }

  return {
    async changed(entity) {
      await loaded;
      if (!isIdle) await clocks.seeWork(entity);
    },
    conversations: {
      isWanted: () => conversations.isWanted(),
      hearsHooks: () => conversations.hearsHooks(),
      seen: (sight) => conversations.seen(sight),
    },
    desk: createDesk({
      store: store.sla,
      policies: () => policies,
      extend: (found, extension) => extend(found, extension, extendParts),
      goal: () => Number.parseFloat(config.goal) / 100,
      close: (caseId, by) => conversations.close(caseId, by),
      claim: (caseId, by) => conversations.claim(caseId, by),
      clock,
    }),
    calendar: (name) => calendars.get(name),
    async start() {
      const take = await prepare(config);
      isRunning = true;
      quietUntil = clock.now() + config.after_start;
      take();
      noteLoaded();
      await conversations.start(quietUntil);
      wake(DUE);
      wake(SAY);
      wake(CLOCK_SET);
    },
    prepare,
    sweep: (now) => store.sla.sweep(now - config.keep),
    async stop() {
      isRunning = false;
      await Promise.all([work.stop(), conversations.stop()]);
      await clocks.stop();
    },
  };
}
