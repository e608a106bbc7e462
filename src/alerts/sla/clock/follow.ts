/**
 * The next state of a clock after a change: its entity changed, its time came, its policy is another. Pure: from the known state, the
 * current facts and the time to the clock and its announcements. The same input twice changes nothing.
 */
import type { NewAnnouncement, SlaClock, SlaCourse } from "../../../domain/alerts/sla.js";
import type { WatchedEntity } from "../../../domain/alerts/watched.js";
import type { Policy } from "../policies/policies.js";
import { startCourse, withPause } from "./course.js";
import { type Frame, frameOf, usedOf } from "./frame.js";
import { announcement, type ClockNews } from "./say.js";
import type { Span } from "./span.js";

export interface Situation {
  known?: SlaClock;
  span: Span;
  policy: Policy;
  entity: WatchedEntity;
  now: number;
  /** The time of the change; pauses start and end then. Default: now. */
  changedAt?: number;
  /** An announcement that is due now is made at this time: a message that would end the clock may be on its way. */
  holdUntil?: number;
  /** Working time that people added; default: the known value. */
  extendedMs?: number;
  /** The person who extended it now. */
  extendedBy?: string;
  /** When the clock of the policy before was violated, which this one continues. */
  breachedAt?: number;
  /** For a clock that is new. */
  newId(): string;
}

export interface Step {
  clock: SlaClock;
  announced: NewAnnouncement[];
}

/** Undefined when there is no clock: its span was over before the first look. */
export function follow(situation: Situation): Step | undefined {
  const { known, span, policy, entity, now } = situation;
  const isOver = span.endedAt !== undefined;
  if (known?.state === "ended" && isOver) return { clock: known, announced: [] };
  // An entity that had ended before we first saw it is ignored.
  if (!known && isOver) return undefined;

  const pausedFor = isOver ? undefined : policy.pausedFor(entity);
  const course = courseOf(situation, pausedFor !== undefined);
  const extendedMs = situation.extendedMs ?? known?.extendedMs ?? 0;
  const frame = frameOf(span, policy, course, extendedMs);
  const clock: SlaClock = {
    ...identity(situation),
    policyHash: policy.hash,
    state: pausedFor === undefined ? "running" : "paused",
    startedAt: span.startedAt,
    course,
    extendedMs,
    targetMs: frame.targetMs,
    dueAt: frame.dueAt,
    pausedFor,
    entity: { ...entity, ...span.quote },
  };
  noteExtension(clock, situation);
  const announced: ClockNews[] = [];
  beginEpisode(clock, known, frame, now, announced);
  if (span.endedAt !== undefined) conclude(clock, frame, span.endedAt, span, announced);
  else {
    announceDue(clock, frame, situation, announced);
    announcePause(clock, known, now, announced);
  }
  const say = { clock, policy, frame, now };
  return { clock, announced: announced.map((news) => announcement(news, say)) };
}

/** The number, the length and the authors of extensions: shown apart from the target of the policy. */
function noteExtension(clock: SlaClock, situation: Situation): void {
  const { known, extendedBy } = situation;
  const isNew = isExtended(situation, clock.extendedMs);
  const extensions = (known?.extensions ?? 0) + (isNew ? 1 : 0);
  if (extensions === 0) return;
  clock.extensions = extensions;
  const wasTargetMs = isNew ? (known?.targetMs ?? clock.targetMs) : clock.targetMs;
  clock.addedMs = Math.max(0, (known?.addedMs ?? 0) + clock.targetMs - wasTargetMs);
  const people = new Set([...(known?.extendedBy ?? []), ...(extendedBy === undefined ? [] : [extendedBy])]);
  if (people.size > 0) clock.extendedBy = [...people];
}

/** More working time, or a later date. */
function isExtended({ known, entity }: Situation, extendedMs: number): boolean {
  if (known === undefined || known.state === "ended") return false;
  const before = known.measure === "deadline" ? (known.entity.deadline ?? 0) : known.extendedMs;
  const now = known.measure === "deadline" ? (entity.deadline ?? 0) : extendedMs;
  return before < now;
}

/** When the clock pauses, or runs again, its alert stops its reminders, or goes on with them. */
function announcePause(clock: SlaClock, known: SlaClock | undefined, now: number, announced: ClockNews[]): void {
  const isSame = known?.state === clock.state || known?.state === "ended" || clock.episode !== known?.episode;
  const isSaid = known?.warned !== undefined || known?.violatedAt !== undefined;
  if (isSame || !isSaid || announced.length > 0) return;
  announced.push({ kind: clock.state === "paused" ? "paused" : "resumed", episode: clock.episode, at: now });
}

/** The clock ends because it no longer applies: another policy matches, the message was deleted, the date was removed. */
export function withdraw(
  clock: SlaClock,
  policy: Policy | undefined,
  { reason, isUnwatched, isContinued }: { reason: string; isUnwatched: boolean; isContinued: boolean },
  now: number,
): Step {
  const { nextAt: _, pausedFor: _p, ...rest } = clock;
  // The quoted message may be deleted.
  const entity = { ...clock.entity, lastWords: undefined };
  const ended: SlaClock = { ...rest, entity, state: "ended", outcome: "withdrawn", endedAt: now };
  ended.usedMs = usedOf(clock, policy, now);
  // Reports count a breach once.
  if (isContinued) {
    delete ended.violatedAt;
    delete ended.breachedAt;
  }
  const isSaid = clock.warned !== undefined || clock.violatedAt !== undefined;
  const cleared: ClockNews[] = isSaid
    ? [{ kind: "cleared", episode: clock.episode, at: now, reason, isUnwatched }]
    : [];
  return { clock: ended, announced: cleared.map((news) => announcement(news, { clock: ended, policy, now })) };
}

/** The fields that never change. */
function identity({ known, span, policy, newId, now, breachedAt: before }: Situation) {
  const { measure, cycle } = span;
  const breaches = [known?.breachedAt, before].flatMap((at) => (at === undefined || at > now ? [] : [at]));
  const breachedAt = breaches.length === 0 ? undefined : Math.min(...breaches);
  if (!known) return { id: newId(), policyId: policy.id, measure, cycle, episode: 1, breachedAt };
  const { id, policyId, episode, warned, violatedAt } = known;
  return { id, policyId, measure, cycle, episode, warned, violatedAt, breachedAt };
}

function courseOf({ known, span, policy, now, changedAt = now }: Situation, isPaused: boolean): SlaCourse {
  let course = known?.course ?? startCourse(span.startedAt);
  if (known && known.startedAt !== span.startedAt) {
    const pauses = course.pauses.filter(([, to]) => to > span.startedAt);
    course = { ...course, since: span.startedAt, usedMs: 0, pauses };
  }
  // Over while it waited: the pause goes on to the end.
  return span.endedAt === undefined ? withPause(course, isPaused, changedAt, policy.calendar) : course;
}

/** The announcements so far hold no more: the clock was moved, or goes on after its end. */
function beginEpisode(
  clock: SlaClock,
  known: SlaClock | undefined,
  frame: Frame,
  now: number,
  announced: ClockNews[],
): void {
  if (!known) return;
  const isReopened = known.state === "ended";
  const wasViolated = known.violatedAt !== undefined;
  const isDue = frame.dueAt !== undefined && frame.dueAt <= now;
  const isWarned = frame.warnings.some(({ at }) => at <= now);
  const isMoved = wasViolated ? !isDue : known.warned !== undefined && !isWarned && !isDue;
  if (!isReopened && !isMoved) return;
  if (!isReopened) announced.push({ kind: "cleared", episode: known.episode, at: now, ...whyMoved(known, frame, now) });
  clock.episode = known.episode + 1;
  delete clock.warned;
  delete clock.violatedAt;
}

function whyMoved({ violatedAt, dueAt: dueBefore }: SlaClock, { dueAt }: Frame, now: number) {
  if (violatedAt !== undefined && violatedAt > now && dueAt === dueBefore)
    return { reason: "the system clock was ahead" };
  if (dueAt === undefined) return { reason: "it waits now" };
  return { reason: `more time: due ${new Date(dueAt).toISOString()}`, isPostponed: true };
}

/**
 * Once: of the limits that were passed during a gap, only the last is announced. For a stopped clock, those that were passed before it
 * stopped.
 */
function announceDue(clock: SlaClock, frame: Frame, { now, holdUntil = now }: Situation, announced: ClockNews[]): void {
  if (clock.violatedAt !== undefined) return;
  const asOf = clock.course.pausedSince ?? now;
  const isDue = frame.dueAt !== undefined && frame.dueAt <= asOf;
  const passed = frame.warnings.filter(({ at, share }) => at <= asOf && share > (clock.warned ?? 0)).at(-1);
  if (holdUntil > now && (isDue || passed)) {
    clock.nextAt = holdUntil;
  } else if (isDue) {
    clock.violatedAt = frame.dueAt as number;
    clock.breachedAt ??= clock.violatedAt;
    announced.push({ kind: "violated", episode: clock.episode, at: clock.violatedAt });
  } else {
    if (passed) {
      clock.warned = passed.share;
      announced.push({ kind: "warning", episode: clock.episode, at: passed.at, label: passed.label });
    }
    const nextAt = clock.state === "paused" ? undefined : nextOf(clock, frame, now);
    if (nextAt !== undefined) clock.nextAt = nextAt;
  }
}

function nextOf({ warned = 0 }: SlaClock, { warnings, dueAt }: Frame, now: number): number | undefined {
  const coming = warnings.find(({ at, share }) => at > now && share > warned);
  return coming === undefined ? dueAt : Math.min(coming.at, dueAt ?? coming.at);
}

function conclude(
  clock: SlaClock,
  frame: Frame,
  endedAt: number,
  { abandoned, isUnanswered, isByHook, how }: Span,
  announced: ClockNews[],
): void {
  const isLate = frame.dueAt !== undefined && endedAt > frame.dueAt;
  // The target was missed during a gap: announced, though the clock has ended.
  if (isLate && clock.violatedAt === undefined) {
    clock.violatedAt = frame.dueAt as number;
    clock.breachedAt ??= clock.violatedAt;
    announced.push({ kind: "violated", episode: clock.episode, at: clock.violatedAt });
  }
  const isSaid = clock.warned !== undefined || clock.violatedAt !== undefined;
  const isMet = !isLate && !abandoned && !isUnanswered && clock.violatedAt === undefined;
  clock.state = "ended";
  clock.endedAt = endedAt;
  clock.usedMs = frame.used(endedAt);
  if (isByHook) clock.isByHook = true;
  const wasBreached = clock.breachedAt !== undefined;
  if (isUnanswered) clock.outcome = "unanswered";
  else if (abandoned) clock.outcome = "withdrawn";
  else if (wasBreached || clock.violatedAt !== undefined) clock.outcome = "late";
  else clock.outcome = isMet ? "met" : "withdrawn";
  if (isMet) announced.push({ kind: "met", episode: clock.episode, at: endedAt });
  else if (isSaid)
    announced.push({ kind: "cleared", episode: clock.episode, at: endedAt, reason: how ?? "it has ended" });
}
