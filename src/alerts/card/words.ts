/** Pieces of Markdown for cards and messages about alerts. Words of unknown origin are escaped. */
import { type Alert, type AlertState, isPostponed, stateWord } from "../../domain/alerts/alert.js";
import type { Severity } from "../../domain/alerts/alert-signal.js";
import { withoutTurns } from "../../lib/text/control-characters.js";
import { isWorse } from "../own-alerts.js";

const MARKS: Record<Severity, string> = { info: "ℹ️", warning: "⚠️", high: "🔶", critical: "🔴" };
const OVER: Partial<Record<AlertState, string>> = {
  resolved: "✅",
  expired: "⌛",
  acked: "👀",
  snoozed: "💤",
  silenced: "🔇",
  inhibited: "🔇",
};

export const TITLE_MAX = 200;
/** A message about more alerts than this names this many, and the number of the others. */
export const NAMED = 5;

/** On one line, with nothing in it that Markdown or a chat would act on. */
export function inline(text: string, maxCharacters = 500): string {
  const characters = [...withoutTurns(text.replace(/\s+/g, " ")).trim()];
  const clipped =
    characters.length <= maxCharacters ? characters.join("") : `${characters.slice(0, maxCharacters - 1).join("")}…`;
  return clipped.replace(/[\\`*_~[\]<>|#]/g, "\\$&").replace(/@(?=everyone|here)/g, "@\u200B");
}

export function markOf(alert: Pick<Alert, "state" | "severity" | "signal">): string {
  if (isWorse(alert)) return "🔶";
  return isPostponed(alert) ? "⏳" : (OVER[alert.state] ?? MARKS[alert.severity]);
}

/** `🔴 **Grace in general (web): first response overdue**`, with its state where the title does not have it. */
export function titleOf(alert: Alert): string {
  const word = stateWord(alert);
  const state = alert.signal.title.endsWith(word) ? "" : ` ${word}`;
  return `${markOf(alert)} **${inline(alert.signal.title, TITLE_MAX)}**${state}`;
}

/** Date and time, time, time with seconds, date. */
export type MomentStyle = "f" | "t" | "T" | "d";

/** A moment, which every platform shows as its readers know it; `timezone` is for those that cannot know theirs. */
export function moment(atMs: number, timezone: string | undefined, style: MomentStyle = "f"): string {
  return `<t:${Math.floor(atMs / 1000)}:${style}${timezone === undefined ? "" : `:${timezone}`}>`;
}

/** Histories keep moments as ISO dates; people read them as every other moment. */
export function withMoments(text: string, at: (ms: number) => string): string {
  return text.replace(/\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z/g, (iso) => at(Date.parse(iso)));
}

/** A customer's words without private data: addresses, long numbers. */
export function withoutPersonal(text: string): string {
  return text.replace(/[\w.+-]+@[\w-]+(\.[\w-]+)+/g, "[address]").replace(/\+?\d(?:[ .\-/()]?\d){5,}/g, "[number]");
}
