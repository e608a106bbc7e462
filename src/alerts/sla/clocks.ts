/**
 * The clocks of watched entities. Every change of one goes through `see`: the stored state of the entity, its state now, and one
 * transaction that moves its clocks and their announcements. The owner of an entity calls it, and it runs when a clock's time comes.
 */
import type { SlaCase, SlaClock, SlaStore } from "../../domain/alerts/sla.js";
import type { WatchedEntity, WatchedType } from "../../domain/alerts/watched.js";
import { failuresOf } from "../../lib/concurrency/failures-of.js";
import { InTurnByKey } from "../../lib/concurrency/in-turn.js";
import { errorMessage, HookgateError } from "../../lib/errors.js";
import { newId } from "../../lib/id.js";
import type { Logger } from "../../lib/logger.js";
import type { Clock } from "../../lib/time/clock.js";
import { LATEST_TIME } from "../../lib/time/instant.js";
import { follow, type Step, withdraw } from "./clock/follow.js";
import { type Span, spanOfWork } from "./clock/span.js";
import { type Policy, policiesFor } from "./policies/policies.js";

/** Due clocks read at once. */
const PAGE = 500;

export interface ClocksDeps {
  store: SlaStore;
  policies(): readonly Policy[];
  /** The current state of work, asked before any announcement about it; undefined when its owner does not know it. */
  current?(type: WatchedType, id: string): Promise<WatchedEntity | undefined>;
  /** Clocks are processed again at this time. */
  wake(at: number): void;
  /** Announcements wait. */
  announce(): void;
  clock: Clock;
  logger: Logger;
}

/** The current facts of an entity. */
export interface Sighting {
  entity: WatchedEntity;
  /** The spans of the entity that a policy's clock measures; none: there is nothing to measure. */
  spansFor(policy: Policy): readonly Span[];
  /** The time of the change. */
  changedAt?: number;
  holdUntil?: number;
  /** Written in the same transaction. */
  case?: SlaCase;
  seen?: readonly string[];
  /** `ms`: none where the date of the work itself is moved. */
  extend?: { clockId: string; ms: number; by: string };
}

export class Clocks {
  readonly #deps: ClocksDeps;
  readonly #queue = new InTurnByKey<string>();

  constructor(deps: ClocksDeps) {
    this.#deps = deps;
  }

  /** Runs one at a time for each entity; `sighting` is called when its turn has come. */
  see(type: WatchedType, id: string, sighting: () => Promise<Sighting | undefined>): Promise<void> {
    return this.#queue.run(`${type}:${id}`, async () => {
      const seen = await sighting();
      if (seen) await this.#move(seen);
    });
  }

  /** A task or a mission, as its owner reports it. */
  seeWork(entity: WatchedEntity, extend?: Sighting["extend"]): Promise<void> {
    return this.see(entity.type, entity.id, async () => sightingOfWork(entity, extend));
  }

  /** Follows the clocks that are due. Returns the time of the next one. Rejects when one failed; the others are followed in time. */
  async processDue(process: (clock: SlaClock) => Promise<void>): Promise<number | undefined> {
    const { store, clock, wake, logger } = this.#deps;
    const now = clock.now();
    const failures: unknown[] = [];
    const noteFailure = ({ id, entity, policyId }: SlaClock, error: unknown) => {
      const facts = { clock: id, entity: `${entity.type} ${entity.id}`, policy: policyId, error: errorMessage(error) };
      logger.error(facts, "a clock that is due could not be followed");
    };
    for (let last: SlaClock | undefined; ; ) {
      const due = await store.due(now, PAGE, last);
      failures.push(...(await failuresOf(oneEach(due), process, noteFailure)));
      if (due.length < PAGE) break;
      if (failures.length === 0) return now;
      // Those that failed are still due and would be read again.
      last = due.at(-1);
    }
    if (failures.length === 0) return store.nextDue();
    const next = await store.nextDue(now);
    if (next !== undefined) wake(next);
    throw failures[0];
  }

  /** Work whose clock is due: the current state from its owner counts, not the last one reported. */
  async followWork(due: SlaClock, extend?: Sighting["extend"]): Promise<void> {
    const { type, id } = due.entity;
    await this.see(type, id, async () =>
      sightingOfWork((await this.#deps.current?.(type, id)) ?? (await this.#asTold(type, id)) ?? due.entity, extend),
    );
  }

  stop(): Promise<void> {
    return this.#queue.idle();
  }

  async #asTold(type: WatchedType, id: string): Promise<WatchedEntity | undefined> {
    return (await this.#deps.store.clocksOf(type, id))[0]?.entity;
  }

  async #move(seen: Sighting): Promise<void> {
    const { store, policies, clock, wake, announce } = this.#deps;
    const now = clock.now();
    const { type, id } = seen.entity;
    const known = await store.clocksOf(type, id);
    const steps = stepsOf(seen, known, policies(), now).filter(({ clock: next, announced }) => {
      const before = known.find((one) => one.id === next.id);
      return announced.length > 0 || (before !== next && JSON.stringify(before) !== JSON.stringify(next));
    });
    const clocks = steps.map((step) => step.clock);
    const announced = steps.flatMap((step) => step.announced);
    if (clocks.length === 0 && !seen.case && !seen.seen?.length) return;
    await store.apply({ clocks, announced, case: seen.case, seen: seen.seen }, now);
    for (const { nextAt } of clocks) if (nextAt !== undefined) wake(nextAt);
    if (announced.length > 0) announce();
  }
}

function stepsOf(seen: Sighting, known: readonly SlaClock[], policies: readonly Policy[], now: number): Step[] {
  const { entity, spansFor, changedAt, holdUntil, extend } = seen;
  const steps: Step[] = [];
  const followed = new Set<string>();
  const continued = new Set<string>();
  for (const policy of policiesFor(entity, policies).values())
    for (const span of spansFor(policy)) {
      const same = known.filter((one) => one.measure === span.measure && one.cycle === span.cycle);
      const own = same.find((one) => one.policyId === policy.id);
      const former = same.find((one) => one.policyId !== policy.id && one.state !== "ended");
      if (own) followed.add(own.id);
      const isExtended = own !== undefined && extend?.clockId === own.id;
      const step = follow({
        known: own,
        span,
        policy,
        entity,
        now,
        changedAt,
        holdUntil,
        extendedMs: isExtended ? own.extendedMs + extend.ms : undefined,
        extendedBy: isExtended ? extend.by : undefined,
        breachedAt: former?.breachedAt,
        newId: () => newId("c", now),
      });
      if (step) steps.push(step);
      if (former && step?.clock.breachedAt !== undefined) continued.add(former.id);
    }
  for (const one of known) {
    if (one.state === "ended" || followed.has(one.id)) continue;
    const policy = policies.find(({ id }) => id === one.policyId);
    steps.push(withdraw(one, policy, { ...whyGone(entity, policy), isContinued: continued.has(one.id) }, now));
  }
  return steps;
}

function whyGone(entity: WatchedEntity, policy: Policy | undefined): { reason: string; isUnwatched: boolean } {
  if (entity.abandoned) return { reason: entity.status, isUnwatched: false };
  if (!policy) return { reason: "its policy is no longer there", isUnwatched: true };
  return policy.for === entity.type && policy.matches(entity)
    ? { reason: "what this clock measured was removed", isUnwatched: false }
    : { reason: "its policy no longer applies", isUnwatched: true };
}

/** Throws SLA_DATE_INVALID: a bad date is an error where it comes in, never an alert. */
function sightingOfWork(entity: WatchedEntity, extend?: Sighting["extend"]): Sighting {
  for (const field of ["createdAt", "startedAt", "deadline", "endedAt"] as const) requireDate(entity, field);
  return {
    entity,
    spansFor: (policy) => {
      const span = spanOfWork(entity, policy);
      return span ? [span] : [];
    },
    extend,
  };
}

/** Seconds that are read as milliseconds are dates of 1970. */
const EARLIEST = Date.UTC(1990, 0, 1);

function requireDate(entity: WatchedEntity, field: "createdAt" | "startedAt" | "deadline" | "endedAt"): void {
  const at = entity[field];
  if (at === undefined || (Number.isFinite(at) && at >= EARLIEST && at <= LATEST_TIME)) return;
  throw new HookgateError({
    code: "SLA_DATE_INVALID",
    message: `${entity.type} ${entity.id}: ${field} is no usable date: ${String(at)}`,
    hint: "Give milliseconds since 1970, between the years 1990 and 2200.",
  });
}

function oneEach(clocks: readonly SlaClock[]): SlaClock[] {
  const byEntity = new Map(clocks.map((one) => [`${one.entity.type}:${one.entity.id}`, one]));
  return [...byEntity.values()];
}
