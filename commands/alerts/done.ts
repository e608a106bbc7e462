/** The answer to an action on an alert: one short line. The card of the alert updates by itself. */
import { type Alert, isOpen, stateWord } from "../../src/domain/alerts/alert.js";
import type { CommandAnswer } from "../../src/gateway/commands.js";
import { writeMoment } from "../../src/lib/markdown/tokens.js";
import type { Clock } from "../../src/lib/time/clock.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import type { AlertDesk } from "../deps.js";
import { code, count, plain } from "../show/text.js";
import { alertData } from "./need.js";

export interface Acted {
  alerts: Alert[];
  changed: number;
  /** A further result of the action, for the person who did it. */
  note?: string;
}

/** `event`: its name in the history, to show who was quicker. */
export interface Deed {
  verb: string;
  event: string;
  /** In a sentence about a person who did it before. Default: the verb. */
  past?: string;
  /** Markdown that follows the result of the action: ` until 9:00`. */
  until?: string;
}

export async function done(
  acted: Acted,
  deed: Deed,
  { desk, clock }: { desk: Pick<AlertDesk, "history" | "firedAgain" | "timezone">; clock: Clock },
): Promise<CommandAnswer> {
  const { alerts, changed, note } = acted;
  const [first] = alerts;
  const one = alerts.length === 1 && first !== undefined;
  const again = one ? await desk.firedAgain(first) : undefined;
  const what = one
    ? changed > 0
      ? `✓ ${deed.verb}: ${titleAnd(first)}${deed.until ?? ""}.`
      : again !== undefined
        ? "Nothing was done: this alert has ended."
        : await already(first, deed, desk, clock.now())
    : changed > 0
      ? `✓ ${deed.verb}${deed.until ?? ""}: ${count(changed, "alert")}.`
      : `Nothing to do: none of these alerts is open and not ${deed.verb.toLowerCase()} already.`;
  const text = [what, again && firedAgainText(again, deed), note].filter(Boolean).join(" ");
  return {
    message: { text: one ? `${text} ${code(first.id)}` : text },
    data: { changed, alerts: alerts.map(alertData), note },
    isNote: true,
  };
}

/** `Reply to Bob is acknowledged`; a title that is a sentence ends with its state: `Bob: first response overdue, silenced`. */
function titleAnd({ signal, state }: Alert): string {
  const word = stateWord({ signal, state });
  const title = plain(signal.title, 120);
  if (title.endsWith(word)) return title;
  return title.endsWith("overdue") ? `${title}, ${word}` : `${title} is ${word}`;
}

/** For a person who named an earlier id of it, such as that on an old page. */
function firedAgainText({ id, signal, state }: Alert, { event }: Deed): string {
  const command = { ack: "/ack", snooze: "/snooze", wake: "/alerts show" }[event] ?? `/alerts ${event}`;
  return `${plain(signal.title, 120)} fired again as ${code(id)} and is ${stateWord({ signal, state })}: ${code(`${command} ${id}`)}.`;
}

/** In the time zone of the alerts. */
export const momentText = (atMs: number, desk: Pick<AlertDesk, "timezone">): string =>
  writeMoment({ kind: "moment", atMs, style: "f", timezone: desk.timezone() });

/** The answer to a second press, or when another person was quicker. */
async function already(
  alert: Alert,
  { verb, event, past = verb.toLowerCase() }: Deed,
  desk: Pick<AlertDesk, "history" | "timezone">,
  now: number,
): Promise<string> {
  const { id, signal } = alert;
  const end = alert.state === "acked" ? alert.ack?.until : undefined;
  const state = end === undefined ? stateWord(alert) : `${stateWord(alert)} until ${momentText(end, desk)}`;
  // One that fired again after it was resolved is open.
  const isEnd = (what: string) => what === "resolve" && !isOpen(alert.state);
  const before = (await desk.history(id)).findLast((one) => one.event === event || isEnd(one.event));
  const title = plain(signal.title, 120);
  if (before === undefined) return `Nothing to do: ${title} is ${state}.`;
  const what = before.event === event ? past : "resolved";
  const ago = formatDuration(Math.max(1_000, now - before.at));
  return `Nothing to do: ${title} was ${what} by ${plain(before.actor.name, 60)} ${ago} ago; it is ${state}.`;
}
