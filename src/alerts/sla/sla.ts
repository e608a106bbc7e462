/**
 * SLA clocks, composed: policies and calendars from the configuration, clocks of tasks, missions and conversations, and their
 * announcements. Each key of `Work` reads rows: clocks that are due next, waiting announcements, clocks to compute again, and all after the
 * clock of the system was set.
 */
import type { Actor } from "../../domain/alerts/alert.js";
import type { RaiseAlert } from "../../domain/alerts/alert-signal.js";
import type { ConversationWatch, SlaClock, SlaNews } from "../../domain/alerts/sla.js";
import type { EntityChanged, WatchedEntity, WatchedType } from "../../domain/alerts/watched.js";
import type { Store } from "../../domain/store.js";
import type { Work } from "../../domain/work.js";
import type { FormerChats } from "../../hooks/registration/matcher.js";
import { failuresOf } from "../../lib/concurrency/failures-of.js";
import { createWork } from "../../lib/concurrency/work.js";
import { errorMessage } from "../../lib/errors.js";
import type { Logger } from "../../lib/logger.js";
import type { Clock } from "../../lib/time/clock.js";
import { type AnnounceDeps, announceWaiting } from "./announce.js";
import { loadCalendars } from "./calendars/load.js";
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
  /** The current state of work, by its owner: asked before any announcement. */
  current?(type: WatchedType, id: string): Promise<WatchedEntity | undefined>;
  /** Ends a task that is late, where its policy demands that. A second call does nothing. */
  fail?(taskId: string, policyId: string): Promise<void>;
  /** All open work: asked for when policies have changed. */
  openWork?(): AsyncIterable<WatchedEntity>;
  /** Sets the own deadline of a task or a mission, by its owner. */
  moveDeadline?(entity: WatchedEntity, at: number, by: Actor, reason: string | undefined): Promise<void>;
  /** People gave more time: for the history of the clock's alert. */
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
  /** Called with changed tasks and missions. Rejects with SLA_DATE_INVALID. */
  readonly changed: EntityChanged;
  /** Takes the gateway's sightings, when they are on disk. */
  readonly conversations: ConversationWatch;
  readonly desk: SlaDesk;
  /**
   * Puts the policies in force, before the gateway handles the first event: what waited for it when the process ended is seen, too. Rejects
   * with SLA_CALENDAR_INVALID.
   */
  load(): Promise<void>;
  /** Resumes the stored clocks. */
  start(): Promise<void>;
  /**
   * Other policies: when they are loaded, resolves with a function that puts them in force; clocks are computed again afterwards. Rejects
   * with SLA_CALENDAR_INVALID.
   */
  prepare(config: SlaConfig): Promise<() => void>;
  sweep(now: number): Promise<number>;
  /** The times at which announcements are tried again have changed. */
  wake(): void;
  stop(): Promise<void>;
}

/** The keys of the work of SLA clocks. */
const DUE = "due";
const SAY = "say";
const RECALCULATE = "recalculate";
const CLOCK_SET = "clock set";
type Key = typeof DUE | typeof SAY | typeof RECALCULATE | typeof CLOCK_SET;
/** Clocks read at once. */
const PAGE = 500;
/** The cursor of the policies with which conversations were computed. */
const POLICIES = "policies";

/** Without policies there is no clock, no timer and no loaded library. */
export function createSla(deps: SlaDeps): Sla {
  return new FollowedWork(deps);
}

class FollowedWork implements Sla {
  readonly #deps: SlaDeps;
  readonly #work: Work;
  readonly #clocks: Clocks;
  readonly conversations: Conversations;
  readonly desk: SlaDesk;
  #config: SlaConfig;
  #policies: readonly Policy[] = [];
  #quietUntil = 0;
  #isRunning = false;
  /** No policies, and no clocks of former ones. */
  #isIdle = false;
  #noteLoaded = () => {};
  /** Without its policies a clock would count as one that no longer applies. */
  readonly #loaded = new Promise<void>((resolve) => {
    this.#noteLoaded = resolve;
  });

  /** A field, because the owners of work are given it by itself. */
  readonly changed: EntityChanged = async (entity) => {
    await this.#loaded;
    if (!this.#isIdle) await this.#clocks.seeWork(entity);
  };

  constructor(deps: SlaDeps) {
    const { config, store, registry, attempts, raise, clock, logger } = deps;
    this.#deps = deps;
    this.#config = config;
    const policies = () => this.#policies;
    const violated = (news: SlaNews) => this.#violated(news);
    const announceDeps: AnnounceDeps = { store: store.sla, registry, attempts, raise, violated, clock, logger };
    this.#work = createWork({
      processDue: (key) => this.#processDue(key as Key, announceDeps),
      maxParallel: 3,
      clock,
      logger: logger.child({ part: "sla" }),
    });
    this.#clocks = new Clocks({
      store: store.sla,
      policies,
      current: deps.current,
      wake: (at) => this.#wake(DUE, at),
      announce: () => this.#wake(SAY),
      clock,
      logger,
    });
    this.conversations = new Conversations({
      store: store.sla,
      clocks: this.#clocks,
      config: () => this.#config.conversations,
      hasPolicies: () => this.#policies.some((policy) => policy.for === "conversation"),
      holdMs: () => this.#config.after_start,
      isWatched: (entity) => policiesFor(entity, this.#policies).size > 0,
      links: {
        linkTo: (...message) => deps.linkTo?.(...message),
        linkToPerson: (...person) => deps.linkToPerson?.(...person),
        placeName: (at) => deps.placeName?.(at),
      },
      clock,
      logger,
    });
    this.desk = createDesk({
      store: store.sla,
      policies,
      extend: (found, extension) => extend(found, extension, this.#extendDeps()),
      goal: () => Number.parseFloat(this.#config.goal) / 100,
      close: (caseId, by) => this.conversations.close(caseId, by),
      claim: (caseId, by) => this.conversations.claim(caseId, by),
      clock,
    });
    clock.onStep?.((stepMs) => this.#clockStepped(stepMs));
  }

  async load(): Promise<void> {
    const take = await this.prepare(this.#config);
    take();
    this.#noteLoaded();
  }

  async start(): Promise<void> {
    this.#isRunning = true;
    this.#quietUntil = this.#deps.clock.now() + this.#config.after_start;
    await this.conversations.start(this.#quietUntil);
    this.#wake(RECALCULATE);
    this.#wake(DUE);
    this.#wake(SAY);
    this.#wake(CLOCK_SET);
  }

  async prepare(next: SlaConfig): Promise<() => void> {
    const { formerChats, logger } = this.#deps;
    const calendars = await loadCalendars(next.calendars);
    const policies = createPolicies(next, calendars, { formerChats, logger, former: this.#policies });
    return () => {
      this.#isIdle = false;
      this.#config = next;
      this.#policies = policies;
      this.conversations.policiesChanged();
      this.#wake(RECALCULATE);
    };
  }

  sweep(now: number): Promise<number> {
    return this.#deps.store.sla.sweep(now - this.#config.keep);
  }

  wake(): void {
    this.#wake(SAY);
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    await Promise.all([this.#work.stop(), this.conversations.stop()]);
    await this.#clocks.stop();
  }

  #wake(key: Key, at?: number): void {
    if (this.#isRunning) this.#work.wake(key, at);
  }

  async #processDue(key: Key, announceDeps: AnnounceDeps): Promise<number | undefined> {
    switch (key) {
      case DUE:
        return this.#processDueClocks();
      case SAY:
        return announceWaiting(announceDeps);
      case RECALCULATE:
        return this.#recalculate();
      case CLOCK_SET:
        return this.#lookAtOverdueAgain();
    }
  }

  #extendDeps(): ExtendDeps {
    const { store, moveDeadline, extended, whoExtended, clock } = this.#deps;
    return {
      policies: () => this.#policies,
      moveDeadline: async (found, at, { by, reason }) => {
        if (!moveDeadline) throw new Error(`the deadline cannot be set for a ${found.entity.type}`);
        await moveDeadline(found.entity, at, by, reason);
        await this.#clocks.followWork(found, { clockId: found.id, ms: 0, by: by.name });
      },
      addTime: (found, ms, { by }) => {
        const more = { clockId: found.id, ms, by: by.name };
        return found.entity.type === "conversation"
          ? this.conversations.followAgain(found.entity.id, more)
          : this.#clocks.seeWork(found.entity, more);
      },
      extended: async (...what) => extended?.(...what),
      whoExtended: async (fingerprint) => whoExtended?.(fingerprint),
      get: (id) => store.sla.get(id),
      now: () => clock.now(),
    };
  }

  async #violated({ entityType, entityId, policyId }: SlaNews): Promise<void> {
    const policy = this.#policies.find(({ id }) => id === policyId);
    if (policy?.onViolated === "fail" && entityType === "task") await this.#deps.fail?.(entityId, policyId);
  }

  async #processDueClocks(): Promise<number | undefined> {
    // Messages that platforms deliver from a time when the gateway did not listen may end a clock that looks overdue.
    if (this.#deps.clock.now() < this.#quietUntil) return this.#quietUntil;
    return this.#clocks.processDue((due) => this.#followAgain(due));
  }

  #followAgain(due: SlaClock): Promise<void> {
    return due.entity.type === "conversation"
      ? this.conversations.followAgain(due.entity.id)
      : this.#clocks.followWork(due);
  }

  #clockStepped(stepMs: number): void {
    if (stepMs > 0) return;
    this.#quietUntil = Math.min(this.#quietUntil, this.#deps.clock.now() + this.#config.after_start);
    this.#wake(CLOCK_SET);
  }

  /** The system clock was ahead and is right again: a clock that was announced as overdue at a time to come is not overdue. */
  async #lookAtOverdueAgain(): Promise<undefined> {
    const { store, clock } = this.#deps;
    const early: SlaClock[] = [];
    for (let offset = 0; ; offset += PAGE) {
      const page = await store.sla.list({ state: "overdue", offset, limit: PAGE });
      early.push(...page.filter(({ violatedAt = 0 }) => violatedAt > clock.now()));
      if (page.length < PAGE) break;
    }
    await Promise.all(early.map((one) => this.#followAgain(one)));
    return undefined;
  }

  /**
   * Clocks that were computed with other policies; and conversations that another policy may match now. Rejects when one failed; the others
   * are computed.
   */
  async #recalculate(): Promise<undefined> {
    const { store, openWork, logger } = this.#deps;
    const failures: unknown[] = [];
    const noteFailure = ({ type, id }: Pick<WatchedEntity, "type" | "id">, error: unknown) =>
      logger.error({ entity: `${type} ${id}`, error: errorMessage(error) }, "clocks could not be computed");
    const hashes = this.#policies.map(({ hash }) => hash);
    for (let afterSeq = 0; ; ) {
      const outdated = await store.sla.outdated(hashes, afterSeq, PAGE);
      const follow = ({ type, id, entity }: (typeof outdated)[number]) =>
        type === "conversation" ? this.conversations.followAgain(id) : this.#clocks.seeWork(entity);
      failures.push(...(await failuresOf(outdated, follow, noteFailure)));
      afterSeq = outdated.at(-1)?.seq ?? afterSeq;
      if (outdated.length < PAGE) break;
    }
    const cursors = store.cursors("sla");
    const all = hashes.join(" ");
    this.#isIdle = this.#policies.length === 0;
    if (((await cursors.get(POLICIES)) ?? "") !== all) {
      await this.conversations.followAll();
      const see = (entity: WatchedEntity) => this.#clocks.seeWork(entity);
      if (openWork)
        for await (const entity of openWork()) failures.push(...(await failuresOf([entity], see, noteFailure)));
      if (failures.length === 0) await cursors.set(POLICIES, all);
    }
    if (failures.length > 0) throw failures[0];
    return undefined;
  }
}
