/**
 * More time for the entity of a clock. A task's or a mission's own deadline is moved by its owner, and the clock is computed from it; an
 * entity without a date of its own (a conversation, a target) gets more working time.
 */
import type { Actor } from "../../domain/alerts/alert.js";
import type { SlaClock } from "../../domain/alerts/sla.js";
import { HookgateError } from "../../lib/errors.js";
import { writeMoment } from "../../lib/markdown/tokens.js";
import { formatDuration } from "../../lib/time/duration.js";
import { ALWAYS } from "./calendars/calendar.js";
import { fingerprintOf } from "./clock/say.js";
import type { Policy } from "./policies/policies.js";

export interface Extension {
  /** Added working time: from the due time, or from now when that has ended. */
  byMs?: number;
  /** The new due time, instead of `byMs`. */
  toAt?: number;
  /** The value of `standOf` when the person decided: when the clock was moved meanwhile, the decision no longer applies. */
  was?: number;
  reason?: string;
  by: Actor;
}

export interface ExtendDeps {
  policies(): readonly Policy[];
  /** The owner of a task or a mission sets its deadline, and the clock is computed again before this resolves. */
  moveDeadline(clock: SlaClock, at: number, extension: Extension): Promise<void>;
  /** The clock of a target gets so much more working time. */
  addTime(clock: SlaClock, ms: number, extension: Extension): Promise<void>;
  /** Adds the extension to the history of the clock's alert. */
  extended(fingerprint: string, by: Actor, reason: string): Promise<void>;
  /** The last person who extended the clock. */
  whoExtended(fingerprint: string): Promise<{ by: string; at: number } | undefined>;
  get(id: string): Promise<SlaClock | undefined>;
  now(): number;
}

/** People's extension of the clock so far: its date, or the working time on top of its target. */
export function standOf({ measure, entity, extendedMs }: SlaClock): number {
  return measure === "deadline" ? (entity.deadline ?? 0) : extendedMs;
}

/** The clock after its extension. Throws SLA_MOVED, SLA_NOT_LATER and the errors of the owner of a deadline. */
export async function extend(clock: SlaClock, extension: Extension, deps: ExtendDeps): Promise<SlaClock> {
  if (extension.was !== undefined && extension.was !== standOf(clock)) throw await moved(clock, deps);
  if (clock.measure === "deadline") await deps.moveDeadline(clock, laterDate(clock, extension, deps), extension);
  else await deps.addTime(clock, moreTime(clock, extension, deps), extension);
  const next = (await deps.get(clock.id)) ?? clock;
  await deps.extended(fingerprintOf(clock), extension.by, wordsFor(clock, next, extension));
  return next;
}

function laterDate(clock: SlaClock, { byMs = 0, toAt }: Extension, { policies, now }: ExtendDeps): number {
  const due = clock.dueAt ?? clock.entity.deadline ?? now();
  const calendar = policies().find(({ id }) => id === clock.policyId)?.calendar ?? ALWAYS;
  const at = toAt ?? calendar.after(Math.max(due, now()), byMs);
  if (at === undefined || at <= due || at <= now()) throw notLater(due);
  return at;
}

function moreTime(clock: SlaClock, { byMs, toAt }: Extension, { policies, now }: ExtendDeps): number {
  const { dueAt } = clock;
  const calendar = policies().find(({ id }) => id === clock.policyId)?.calendar ?? ALWAYS;
  if (byMs !== undefined) return byMs + (dueAt === undefined ? 0 : calendar.between(dueAt, now()));
  if (dueAt === undefined)
    throw new HookgateError({
      code: "SLA_PAUSED",
      message: "It is paused, so it has no due time now.",
      hint: "Give it a length of time, such as 2h.",
    });
  const ms = calendar.between(dueAt, toAt ?? dueAt);
  if (ms <= 0) throw notLater(dueAt, calendar.name);
  return ms;
}

function notLater(due: number, calendar = ALWAYS.name): HookgateError {
  const working = calendar === ALWAYS.name ? "" : ` in the working hours of "${calendar}"`;
  return new HookgateError({
    code: "SLA_NOT_LATER",
    message: `That is no later than it is due now${working}: ${shown(due)}.`,
    hint: "Give a length of time, such as 2h, or a later time. `/task deadline ID WHEN` sets a task's deadline to any.",
  });
}

async function moved(clock: SlaClock, { whoExtended, now }: ExtendDeps): Promise<HookgateError> {
  const last = await whoExtended(fingerprintOf(clock));
  const who = last ? ` by ${last.by} ${formatDuration(Math.max(1_000, now() - last.at))} ago` : "";
  const { dueAt } = clock;
  return new HookgateError({
    code: "SLA_MOVED",
    message: `It was moved already${who}${dueAt === undefined ? "" : `: it is due ${shown(dueAt)}`}.`,
    hint: "Press the button of the card as it is now, or give another length of time.",
  });
}

const shown = (at: number) => writeMoment({ kind: "moment", atMs: at, style: "f", timezone: undefined });

function wordsFor(before: SlaClock, { dueAt, extendedMs }: SlaClock, { reason }: Extension): string {
  const due = dueAt === undefined ? undefined : `due ${new Date(dueAt).toISOString()}`;
  const was = before.dueAt === undefined ? "" : `, was ${new Date(before.dueAt).toISOString()}`;
  const words = due === undefined ? `${formatDuration(extendedMs - before.extendedMs)} more` : `${due}${was}`;
  return reason === undefined ? words : `${words}: ${reason}`;
}
