/**
 * Conversations as SLA clocks see them. The gateway stores its sights in the transaction that settles an event; here they are taken from
 * there, one at a time for each conversation, and are done when the case and its clocks have moved: a crash repeats or loses nothing.
 */

import type { ClosingCase, ConversationSight, SlaCase, SlaStore } from "../../../domain/alerts/sla.js";
import type { WatchedEntity } from "../../../domain/alerts/watched.js";
import { formatAddress } from "../../../domain/chat/address.js";
import type { Work } from "../../../domain/work.js";
import { failuresOf } from "../../../lib/concurrency/failures-of.js";
import { createWork } from "../../../lib/concurrency/work.js";
import { errorMessage } from "../../../lib/errors.js";
import type { Logger } from "../../../lib/logger.js";
import type { Clock } from "../../../lib/time/clock.js";
import type { Clocks, Sighting } from "../clocks.js";
import type { ConversationsConfig } from "../config.js";
import { afterSight, ended } from "./after-sight.js";
import { BY_SILENCE, entityOf, type Links, spansOf } from "./as-entity.js";

export interface ConversationsDeps {
  store: SlaStore;
  clocks: Clocks;
  config(): ConversationsConfig;
  hasPolicies(): boolean;
  /** How long overdue announcements are held back after messages that arrived late: the answer may be next. */
  holdMs(): number;
  /** Whether a policy is about the entity. */
  isWatched(entity: WatchedEntity): boolean;
  links: Links;
  clock: Clock;
  logger: Logger;
}

/** The key of cases that end by silence; no address looks like it. */
const CLOSING = "closing";
/** The key of cases that no policy is about any more. */
const FORGETTING = "forgetting";
const KEPT_MS = 3_600_000;
const SIGHTS_IN_A_ROW = 50;
const CASES_IN_A_PAGE = 200;
const MAX_PARALLEL = 8;
/** A message older than this was delivered after a time in which the gateway did not listen. */
const LATE_MS = 10_000;

export class Conversations {
  readonly #deps: ConversationsDeps;
  readonly #work: Work;
  #isRunning = false;
  /** No policy is about conversations: open ones are kept until then, so that a bad save forgets no customer who waits. */
  #keptUntil: number | undefined;

  constructor(deps: ConversationsDeps) {
    this.#deps = deps;
    this.#work = createWork({
      processDue: (key) =>
        key === CLOSING ? this.#closeSilent() : key === FORGETTING ? this.#giveUp() : this.#take(key),
      maxParallel: MAX_PARALLEL,
      clock: deps.clock,
      logger: deps.logger.child({ part: "sla", of: "conversations" }),
    });
  }

  isWanted(): boolean {
    return this.#deps.hasPolicies() || this.#keptUntil !== undefined;
  }

  hearsHooks(): boolean {
    return this.isWanted() && this.#deps.config().hooks === "answered";
  }

  seen(sight: ConversationSight): void {
    if (this.#isRunning) this.#work.wake(formatAddress(sight.address));
  }

  /** Resumes sights that were stored and not processed; nothing ends by silence before `quietUntil`. */
  async start(quietUntil: number): Promise<void> {
    this.#isRunning = true;
    for (const conversation of await this.#deps.store.unseen(Number.MAX_SAFE_INTEGER)) this.#work.wake(conversation);
    this.#work.wake(CLOSING, quietUntil);
    this.policiesChanged();
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    await this.#work.stop();
  }

  /** The time of the case's clock came, or policies changed. */
  async followAgain(caseId: string, extend?: Sighting["extend"]): Promise<void> {
    await this.#see(caseId, (known) => known && { case: known, isAsItWas: true, extend });
  }

  async followAll(): Promise<void> {
    await this.#eachOpen((known) => ({ case: known, isAsItWas: true }));
  }

  /**
   * Called in the same step that applies other policies, so that no message falls between. Without any policy about conversations
   * the open ones are kept for a while, and heard.
   */
  policiesChanged(): void {
    const { clock, hasPolicies } = this.#deps;
    if (hasPolicies()) {
      this.#keptUntil = undefined;
      return;
    }
    this.#keptUntil ??= clock.now() + KEPT_MS;
    if (this.#isRunning) this.#work.wake(FORGETTING, this.#keptUntil);
  }

  /** The policies did not come back: open cases are given up, and the log shows how many. */
  async #giveUp(): Promise<number | undefined> {
    const { clock, logger, hasPolicies } = this.#deps;
    if (hasPolicies() || this.#keptUntil === undefined) return undefined;
    if (clock.now() < this.#keptUntil) return this.#keptUntil;
    let count = 0;
    await this.#eachOpen((known) => {
      count++;
      return { case: ended(known, clock.now(), "no policy watches conversations", true) };
    });
    this.#keptUntil = undefined;
    if (count > 0) logger.warn({ conversations: count }, "open conversations were given up: no policy watches them");
    return undefined;
  }

  async #eachOpen(change: (known: SlaCase) => CaseChange): Promise<void> {
    const { store } = this.#deps;
    for (let afterId = ""; ; ) {
      const page = await store.openCases(afterId, CASES_IN_A_PAGE);
      for (const { id } of page)
        await this.#see(id, (known) => (known?.endedAt === undefined && known ? change(known) : undefined));
      afterId = page.at(-1)?.id ?? afterId;
      if (page.length < CASES_IN_A_PAGE) return;
    }
  }

  async close(caseId: string, by: string): Promise<boolean> {
    const now = this.#deps.clock.now();
    let isClosed = false;
    await this.#see(caseId, (known) => {
      if (!known || known.endedAt !== undefined) return undefined;
      isClosed = true;
      return { case: ended(known, now, by), changedAt: now };
    });
    return isClosed;
  }

  /** An operator takes the case. The next person who answers is its owner again. */
  async claim(caseId: string, by: string): Promise<boolean> {
    let isClaimed = false;
    await this.#see(caseId, (known) => {
      if (!known || known.endedAt !== undefined) return undefined;
      isClaimed = true;
      return known.owner === by ? undefined : { case: { ...known, owner: by } };
    });
    return isClaimed;
  }

  /** Takes the sights of a conversation, in order. */
  async #take(conversation: string): Promise<number | undefined> {
    const { store, clock } = this.#deps;
    const sights = await store.sightsOf(conversation, SIGHTS_IN_A_ROW);
    for (const sight of sights) {
      if (!this.#isRunning) return undefined;
      // Twice when the case was closed in that moment: the message opens another case.
      if (!(await this.#takeOne(conversation, sight))) await this.#takeOne(conversation, sight);
    }
    await this.#lookAtClosing();
    return sights.length === SIGHTS_IN_A_ROW ? clock.now() : undefined;
  }

  async #takeOne(conversation: string, sight: ConversationSight): Promise<boolean> {
    const { store, config, isWatched } = this.#deps;
    const open = await store.openCase(conversation);
    if (sight.kind === "moved") return open ? this.#move(open, sight) : this.#forget(sight);
    const begun = open ?? afterSight(undefined, sight, config());
    const first = begun && named(begun, this.#deps.links);
    // Most chats of a busy gateway may have no customers.
    if (!first || (!open && !isWatched(entityOf(first, this.#deps.links)))) return this.#forget(sight);
    let isTaken = false;
    await this.#see(first.id, (known) => {
      if (known?.endedAt !== undefined) return undefined;
      const next = afterSight(known, sight, config());
      isTaken = next !== undefined;
      return next && { case: next, changedAt: sight.at, seen: [sight.id], ...this.#hold(sight) };
    });
    return isTaken;
  }

  /** The chat has another id, and its open case goes with it, unless there is one already. */
  async #move(open: SlaCase, sight: ConversationSight): Promise<boolean> {
    const { store } = this.#deps;
    const address = { ...sight.address, chatId: sight.toChatId ?? sight.address.chatId };
    const conversation = formatAddress(address);
    if (await store.openCase(conversation)) return this.#forget(sight);
    let isTaken = false;
    await this.#see(open.id, (known) => {
      if (!known || known.endedAt !== undefined) return undefined;
      isTaken = true;
      return { case: { ...known, conversation, address }, seen: [sight.id] };
    });
    return isTaken;
  }

  #hold({ at }: ConversationSight): { holdUntil?: number } {
    const { clock, holdMs } = this.#deps;
    return clock.now() - at > LATE_MS ? { holdUntil: clock.now() + holdMs() } : {};
  }

  async #forget({ id }: ConversationSight): Promise<true> {
    const { store, clock } = this.#deps;
    await store.apply({ clocks: [], announced: [], seen: [id] }, clock.now());
    return true;
  }

  async #see(caseId: string, change: (known: SlaCase | undefined) => CaseChange | undefined): Promise<void> {
    const { store, clocks } = this.#deps;
    await clocks.see("conversation", caseId, async () => {
      const changed = change(await store.caseById(caseId));
      if (!changed) return undefined;
      const { case: seen, isAsItWas, ...how } = changed;
      const one = named(seen, this.#deps.links);
      return {
        ...how,
        case: isAsItWas ? undefined : one,
        entity: entityOf(one, this.#deps.links),
        spansFor: (policy) => spansOf(one, policy),
      };
    });
  }

  /** Ends the conversations that have been silent long enough. Returns the time of the next. Rejects when one failed; the others end. */
  async #closeSilent(): Promise<number | undefined> {
    const { store, clock, logger } = this.#deps;
    const failures: unknown[] = [];
    const noteFailure = ({ id, conversation }: ClosingCase, error: unknown) =>
      logger.error({ case: id, conversation, error: errorMessage(error) }, "a silent conversation could not be ended");
    for (let last: ClosingCase | undefined; ; ) {
      const next = await store.nextClosing(last);
      if (!next || next.closesAt > clock.now()) {
        if (failures.length > 0) throw failures[0];
        return next?.closesAt;
      }
      failures.push(...(await failuresOf([next], (one) => this.#endIfSilent(one), noteFailure)));
      last = next;
    }
  }

  async #endIfSilent({ id, conversation }: ClosingCase): Promise<void> {
    // A new message may have come.
    await this.#take(conversation);
    await this.#see(id, (known) => {
      if (known?.closesAt === undefined || known.endedAt !== undefined || known.closesAt > this.#deps.clock.now())
        return undefined;
      return { case: ended(known, known.closesAt, BY_SILENCE), changedAt: known.closesAt };
    });
  }

  async #lookAtClosing(): Promise<void> {
    const next = await this.#deps.store.nextClosing();
    if (next && this.#isRunning) this.#work.wake(CLOSING, next.closesAt);
  }
}

interface CaseChange {
  case: SlaCase;
  /** Nothing of the case needs to be written. */
  isAsItWas?: boolean;
  changedAt?: number;
  holdUntil?: number;
  seen?: readonly string[];
  extend?: NonNullable<Sighting["extend"]>;
}

/** With the present name of its chat, which a restart may have forgotten. */
function named(one: SlaCase, { placeName }: Pick<Links, "placeName">): SlaCase {
  const room = one.isDm ? undefined : placeName(one.address);
  return room === undefined || room === one.room ? one : { ...one, room };
}
