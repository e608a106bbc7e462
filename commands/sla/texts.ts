/** Texts about clocks: what is left, and when it is due, in the zone of its calendar. */
import type { SlaDesk } from "../../src/alerts/sla/desk.js";
import type { ClockView } from "../../src/alerts/sla/desk-views.js";
import { HookgateError } from "../../src/lib/errors.js";
import { writeMoment } from "../../src/lib/markdown/tokens.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import type { CommandDeps } from "../deps.js";

export function deskOf({ sla }: CommandDeps): SlaDesk {
  if (sla) return sla;
  throw new HookgateError({ code: "SLA_OFF", message: "SLA clocks are not available here." });
}

/** By its own id, the id or the name of the work that it watches, or the id of the alert about it. */
export async function clocksNamed(deps: CommandDeps, id: string): Promise<ClockView[]> {
  const alert = id.startsWith("al_") ? await deps.alerts?.get(id) : undefined;
  return deskOf(deps).find(alert?.signal.source.id ?? id);
}

/** `45 min left`, `2 h overdue`, `paused: approval`, `met in 2 h`, `26 min late`; outside working hours it shows until when. */
export function standing({ clock, usedMs, leftMs, resumesAt, timezone }: ClockView, now: number): string {
  if (clock.outcome === "unanswered" || clock.outcome === "withdrawn")
    return `${clock.outcome === "unanswered" ? "closed without an answer" : "withdrawn"}${clock.breachedAt === undefined ? "" : ", target missed"}`;
  const by = clock.isByHook ? ", answered by a hook" : "";
  if (clock.outcome === "late") {
    // In time by now, because people gave more time after the target was missed, or the settings have a longer one.
    const before = clock.extensions === undefined ? "late for its former target" : "late, then extended";
    return `${leftMs < 0 ? `${formatDuration(Math.max(1_000, -leftMs))} late` : before}${by}`;
  }
  if (clock.state === "ended") return `${clock.outcome ?? "ended"} in ${formatDuration(usedMs)}${by}`;
  if (clock.state === "paused") return `paused${clock.pausedFor ? `: ${clock.pausedFor.replaceAll("_", " ")}` : ""}`;
  const left =
    leftMs >= 0 ? `${formatDuration(leftMs)} left` : `${leftMs > -1_000 ? "just" : formatDuration(-leftMs)} overdue`;
  const shown = leftMs >= 0 && clock.breachedAt !== undefined ? `${left}, target missed before` : left;
  if (resumesAt === undefined) return shown;
  const isToday = dateText(resumesAt, timezone) === dateText(now, timezone);
  return `${shown}, outside working hours until ${isToday ? timeOfDay(resumesAt, timezone) : timeText(resumesAt, timezone)}`;
}

export const percent = (share: number) => `${Math.round(share * 100)} %`;

/** `23 Nov 2026, 12:30 CET`, in the zone of the calendar. */
export function dueText({ clock, timezone }: ClockView): string {
  return clock.dueAt === undefined ? "open" : timeText(clock.dueAt, timezone);
}

export function timeText(at: number, timezone = "UTC"): string {
  return writeMoment({ kind: "moment", atMs: at, style: "f", timezone });
}

const dateText = (at: number, timezone = "UTC") => writeMoment({ kind: "moment", atMs: at, style: "d", timezone });
const timeOfDay = (at: number, timezone = "UTC") => writeMoment({ kind: "moment", atMs: at, style: "t", timezone });

/** The data of a clock for `--json` and the API. */
export function clockData({ clock, usedMs, percentUsed, leftMs, resumesAt, timezone }: ClockView) {
  const { entity, course: _, policyHash: _h, ...facts } = clock;
  return {
    ...facts,
    entity: { type: entity.type, id: entity.id, title: entity.title, status: entity.status, link: entity.link },
    usedMs,
    percentUsed,
    leftMs,
    resumesAt,
    timezone,
  };
}
