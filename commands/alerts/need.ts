/** Shared parts of the alert commands: the desk, who acts, and naming an alert. */

import type { Actor, Alert } from "../../src/domain/alerts/alert.js";
import { formatAddress } from "../../src/domain/chat/address.js";
import type { OptionSpec } from "../../src/domain/chat/command.js";
import { type CommandContext, UnclearOption } from "../../src/gateway/commands.js";
import { HookgateError } from "../../src/lib/errors.js";
import { parseDuration } from "../../src/lib/time/duration.js";
import { badUsage, missing } from "../answer.js";
import type { AlertDesk, CommandDeps } from "../deps.js";
import { clip } from "../show/text.js";

export function needAlerts({ alerts }: CommandDeps): AlertDesk {
  if (alerts) return alerts;
  throw new HookgateError({ code: "NOT_AVAILABLE", message: "There are no alerts in this installation." });
}

/** Which alert a command is about. */
export const ALERT_ID = {
  name: "id",
  summary: "An alert (al_…), a card (ac_…), a message (d_…), or last: posted last here (the gateway's own after)",
  type: "string",
  required: true,
  complete: "alerts",
} as const satisfies OptionSpec;

export function actorOf({ operator, source }: Pick<CommandContext, "operator" | "source">): Actor {
  const { platform, userId, displayName } = operator;
  return { id: `${platform}:${userId}`, name: displayName ?? `${platform}:${userId}`, source };
}

/**
 * An id as cards show it, of an alert, or of a card or message of many; `last`: the open alert that was posted last in this chat. `name`:
 * the words that were looked for among the names of alerts.
 */
export async function idOf(
  alerts: AlertDesk,
  given: unknown,
  { at, from, operator }: Pick<CommandContext, "at" | "from" | "operator">,
  name?: string,
): Promise<string> {
  const id = typeof given === "string" ? given.trim() : "";
  if (id === "")
    throw missing(
      "which alert",
      "/alerts lists them; `last` is the one posted last in this chat, one of the gateway itself only when no other is open.",
      "id",
    );
  if (id !== "last") {
    if (isOfMany(id) || (await alerts.get(id))) return id;
    throw noAlert(id, name);
  }
  const last = await alerts.last(
    at && formatAddress(at),
    from?.isDm ? `${operator.platform}:${operator.userId}` : undefined,
  );
  if (last) return last.id;
  const where = at === undefined ? "" : " that was posted in this chat";
  throw new HookgateError({
    code: "NOT_FOUND",
    message: `No alert${where} is open.`,
    hint: "/alerts lists those that are open.",
  });
}

/** The person can choose one that is open. */
export function noAlert(id: string, name?: string): UnclearOption {
  const facts = {
    code: "NOT_FOUND",
    message: `No alert has the id ${name === undefined ? "" : "or the name "}"${clip(name ?? id, 80)}".`,
    hint: "/alerts lists those that are open; `last` is the one posted last in this chat, one of the gateway itself only when no other is open.",
  };
  return new UnclearOption(facts, "id", id);
}

/** All alerts of one card or message: the open ones are looked up when an action is done. */
const isOfMany = (id: string) => /^(?:ac|d)_/.test(id);

export function lengthOf(given: unknown, what: string): number {
  const ms = typeof given === "string" ? parseDuration(given) : undefined;
  if (ms !== undefined && ms > 0) return ms;
  throw badUsage(`${what} is a length of time such as 15m, 2h or 1d.`);
}

/** One alert as data for programs. */
export function alertData(alert: Alert) {
  const { signal } = alert;
  return {
    id: alert.id,
    fingerprint: alert.fingerprint,
    episode: alert.episode,
    state: alert.state,
    condition: alert.condition,
    severity: alert.severity,
    title: signal.title,
    reason: signal.reason,
    source: signal.source,
    labels: signal.labels,
    raisedAt: alert.raisedAt,
    since: alert.since,
    endedAt: alert.endedAt,
    entity: signal.entity && { type: signal.entity.type, id: signal.entity.id, title: signal.entity.title },
    dueAt: signal.clock?.dueAt,
    ack: alert.ack,
    snooze: alert.snooze,
    assignee: alert.assignee,
    quietBy: alert.quietBy,
    nextAt: alert.nextAt,
    reminders: alert.reminders,
    steps: alert.steps,
  };
}
