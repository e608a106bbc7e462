/** Policies at work: compiled, with their calendars, and a fingerprint that changes with their content. */
import { createHash } from "node:crypto";
import type { Severity } from "../../../domain/alerts/alert-signal.js";
import type { SlaMeasure } from "../../../domain/alerts/sla.js";
import type { WatchedEntity, WatchedType } from "../../../domain/alerts/watched.js";
import { HookgateError } from "../../../lib/errors.js";
import type { Logger } from "../../../lib/logger.js";
import { ALWAYS, type WorkCalendar } from "../calendars/calendar.js";
import type { Calendars } from "../calendars/load.js";
import type { PolicyConfig, SlaConfig } from "../config.js";
import { compileMatch, type MatchAround } from "./match.js";
import type { Threshold } from "./threshold.js";

export interface Policy {
  id: string;
  for: WatchedType;
  measure: SlaMeasure;
  from: "created" | "started";
  matches(entity: WatchedEntity): boolean;
  /** The match expression as it is written, for people. */
  match?: string;
  /** The first entity for which its match had no answer, and why. */
  unanswered?: string | undefined;
  targetMs?: number;
  calendar: WorkCalendar;
  warnAt: readonly Threshold[];
  /** The reason why a clock of the policy is paused; undefined when it is not. */
  pausedFor(entity: Pick<WatchedEntity, "status" | "pausedFor">): string | undefined;
  pauseWhen?: readonly string[];
  severity: { warning: Severity; violated: Severity };
  /** Ends late tasks. */
  onViolated?: "fail";
  routes?: readonly string[];
  runbook?: string;
  hash: string;
}

export interface PoliciesAround extends Pick<MatchAround, "formerChats"> {
  logger: Logger;
  /** The policies in force so far: problems of unchanged ones are not reported again. */
  former?: readonly Policy[];
}

export function createPolicies(config: SlaConfig, calendars: Calendars, around: PoliciesAround): Policy[] {
  return config.policies.map((policy) => compile(policy, config, calendars, around));
}

/** For each measure the first policy that matches. */
export function policiesFor(entity: WatchedEntity, policies: readonly Policy[]): Map<SlaMeasure, Policy> {
  const chosen = new Map<SlaMeasure, Policy>();
  for (const policy of policies)
    if (policy.for === entity.type && !chosen.has(policy.measure) && policy.matches(entity))
      chosen.set(policy.measure, policy);
  return chosen;
}

function compile(config: PolicyConfig, all: SlaConfig, calendars: Calendars, around: PoliciesAround): Policy {
  const calendar = calendars.get(config.calendar);
  if (!calendar) throw noCalendar(config);
  const { id, match, target, pause_when: pauseWhen, on_violated: onViolated, routes, runbook } = config;
  const hash = hashOf([config, calendar === ALWAYS ? "always" : all.calendars[config.calendar]]);
  const policy: Policy = {
    id,
    for: config.for,
    measure: config.measure ?? (target === undefined ? "deadline" : "completion"),
    from: config.from,
    matches:
      match === undefined
        ? () => true
        : compileMatch(match, config.for, { formerChats: around.formerChats, unanswered }),
    match,
    unanswered: around.former?.find((one) => one.hash === hash)?.unanswered,
    targetMs: target,
    calendar,
    warnAt: config.warn_at,
    pausedFor: pauseRule(pauseWhen),
    pauseWhen,
    severity: severitiesOf(config),
    onViolated,
    routes,
    runbook,
    hash,
  };
  return policy;

  function unanswered({ type, id: entity, title }: WatchedEntity, error: string): void {
    if (policy.unanswered !== undefined) return;
    policy.unanswered = `${type} "${title}": ${error}`;
    around.logger.warn(
      { policy: id, match, entity },
      `match of the SLA policy ${id} had no answer for a ${type}, so the policy does not watch it: ${error}. \`/sla policies\` shows it.`,
    );
  }
}

/** A warning is never more severe than the breach that it warns of. */
export function severitiesOf({ severity }: Pick<PolicyConfig, "severity">): Policy["severity"] {
  if (typeof severity === "object") return severity;
  return { warning: severity === "info" ? "info" : "warning", violated: severity };
}

/** Without a list: in every state in which the entity waits for another person. */
function pauseRule(words: readonly string[] | undefined): Policy["pausedFor"] {
  if (words === undefined) return ({ pausedFor }) => pausedFor;
  const listed = new Set(words.map(asWord));
  return ({ status, pausedFor }) => [pausedFor, status].find((word) => word !== undefined && listed.has(asWord(word)));
}

/** `Awaiting approval`, `awaiting-approval` and `awaiting_approval` are one. */
const asWord = (text: string) =>
  text
    .trim()
    .toLowerCase()
    .replace(/[\s_-]+/g, "_");

function hashOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("base64url").slice(0, 16);
}

function noCalendar({ id, calendar }: PolicyConfig): HookgateError {
  return new HookgateError({
    code: "SLA_CALENDAR_INVALID",
    message: `the policy ${id} names a calendar "${calendar}" that there is not`,
  });
}
