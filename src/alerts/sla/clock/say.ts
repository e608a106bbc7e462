/** An announcement, frozen when it is decided: the payload for hooks, and the text of the alert. */
import type { AlertSignal } from "../../../domain/alerts/alert-signal.js";
import { type NewAnnouncement, SLA_MEASURE_NAMES, type SlaClock } from "../../../domain/alerts/sla.js";
import { formatDuration } from "../../../lib/time/duration.js";
import type { Policy } from "../policies/policies.js";
import { type Frame, leftOf } from "./frame.js";

export type ClockNews =
  | { kind: "warning"; episode: number; at: number; label: string }
  | { kind: "violated" | "met"; episode: number; at: number }
  /** No news for hooks: its alert shows that the clock is paused, or runs again. */
  | { kind: "paused" | "resumed"; episode: number; at: number }
  /** No news for hooks: the alert ends. */
  | { kind: "cleared"; episode: number; at: number; reason: string; isPostponed?: boolean; isUnwatched?: boolean };

interface About {
  clock: SlaClock;
  /** Absent when it is no longer configured. */
  policy: Policy | undefined;
  /** Absent when it is withdrawn. */
  frame?: Frame;
  now: number;
}

export function announcement(news: ClockNews, about: About): NewAnnouncement {
  const { clock, policy, frame, now } = about;
  const at = clock.endedAt ?? now;
  const percentUsed = rounded(frame?.percent(at) ?? 0);
  const { entity } = clock;
  const isBroken = clock.violatedAt !== undefined;
  const dueAt = clock.dueAt ?? at;
  const more = news.kind === "warning" ? `:${news.label}` : isChange(news) ? `:${news.at}` : "";
  const id = `${clock.id}:${news.episode}:${news.kind}${more}`;
  const signal: AlertSignal = {
    fingerprint: fingerprintOf(clock),
    episode: news.episode,
    state: isChange(news) ? (isBroken ? "firing" : "warned") : STATES[news.kind],
    severity:
      policy?.severity[news.kind === "warning" || (isChange(news) && !isBroken) ? "warning" : "violated"] ?? "info",
    title: titleOf(news, about),
    reason: reasonOf(news, about),
    at: news.at,
    source: { kind: "sla", id: clock.id, policyId: clock.policyId },
    entity,
    clock: {
      name: SLA_MEASURE_NAMES[clock.measure],
      dueAt,
      targetMs: clock.targetMs,
      elapsedMs: frame?.used(at) ?? 0,
      percentUsed,
      pausedFor: clock.pausedFor,
      isPostponed: news.kind === "cleared" && news.isPostponed ? (true as const) : undefined,
      isUnwatched: news.kind === "cleared" && news.isUnwatched ? (true as const) : undefined,
    },
    routes: policy?.routes,
    runbook: policy?.runbook || undefined,
    labels: labelsOf(clock),
  };
  const base = { id, clockId: clock.id, episode: news.episode, at: news.at, signal };
  if (news.kind === "cleared" || isChange(news)) return base;
  const slaNews = {
    entityId: entity.id,
    entityType: entity.type,
    deadline: new Date(dueAt).toISOString(),
    status: news.kind,
    percentUsed,
    policyId: clock.policyId,
  };
  return { ...base, news: slaNews };
}

const isChange = (news: ClockNews): news is Extract<ClockNews, { kind: "paused" | "resumed" }> =>
  news.kind === "paused" || news.kind === "resumed";

const STATES: Record<Exclude<ClockNews["kind"], "paused" | "resumed">, AlertSignal["state"]> = {
  warning: "warned",
  violated: "firing",
  met: "resolved",
  cleared: "resolved",
};

export function fingerprintOf({ policyId, entity, measure, cycle }: SlaClock): string {
  return ["sla", policyId, entity.type, entity.id, measure, cycle].filter((part) => part !== "").join(":");
}

/** `Grace on telegram: first response overdue`: an escalation shows nothing else. */
function titleOf({ kind }: ClockNews, { clock: { entity, measure, violatedAt } }: About): string {
  const what = measure === "deadline" ? "" : `${SLA_MEASURE_NAMES[measure]} `;
  switch (kind) {
    case "warning":
      return `${entity.title}: ${what}due soon`;
    case "paused":
    case "resumed":
      return `${entity.title}: ${what}${violatedAt === undefined ? "due soon" : "overdue"}`;
    case "violated":
      return `${entity.title}: ${what}overdue`;
    case "met":
    case "cleared":
      return what === "" ? entity.title : `${entity.title}: ${what.trimEnd()}`;
  }
}

function reasonOf(news: ClockNews, { clock, frame, now }: About): string {
  const target = formatDuration(clock.targetMs);
  const what = SLA_MEASURE_NAMES[clock.measure];
  switch (news.kind) {
    case "warning":
      return `${formatDuration(frame?.used(now) ?? 0)} of ${target} for ${what} used (warns at ${news.label})`;
    case "paused":
      return `the clock is paused: ${(clock.pausedFor ?? "").replaceAll("_", " ")}`;
    case "resumed":
      return "the clock runs again";
    case "violated":
      return clock.measure === "deadline" ? "the deadline has passed" : `no ${what} within ${target}`;
    case "met":
      return `${what}${clock.isByHook ? " by a hook" : ""} in ${formatDuration(clock.usedMs ?? 0)} of ${target}${wasLate(clock)}`;
    case "cleared":
      return clock.outcome === "late"
        ? `${news.reason}, ${formatDuration(Math.max(1_000, -leftOf(clock, clock.usedMs ?? 0, clock.endedAt ?? now)))} late`
        : news.reason;
  }
}

/** For a clock that was met only because people gave more time after its target was missed, or the settings have a longer one. */
function wasLate({ outcome, extensions }: SlaClock): string {
  if (outcome !== "late") return "";
  return extensions === undefined ? ", late for its former target" : ", after it was overdue and got more time";
}

function labelsOf({ policyId, measure, entity }: SlaClock): Record<string, string> {
  const facts = Object.entries(entity.facts).map(([name, value]) => [name, String(value)]);
  return { ...Object.fromEntries(facts), policy: policyId, type: entity.type, measure, entity: entity.id };
}

/** Enough for people and comparisons; thirds need not fill a line. */
const rounded = (share: number) => Math.round(share * 10_000) / 10_000;
