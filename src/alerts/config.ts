/** Settings of alerts: `alerts:` in hookgate.yaml. Without it the admins get every alert. */
import { z } from "zod";
import { SEVERITIES } from "../domain/alerts/alert.js";
import { addressField } from "../domain/chat/address.js";
import { cronProblem } from "../lib/time/cron.js";
import { parseDuration } from "../lib/time/duration.js";
import { parseInstant } from "../lib/time/instant.js";
import { localTimezone, timezone } from "../lib/time/timezone.js";
import { duration, someDuration } from "../lib/validation/config-fields.js";
import { matcherProblem } from "./matchers.js";

const matcher = z.string().superRefine((text, context) => {
  const problem = matcherProblem(text);
  if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
});
const severity = z.enum(SEVERITIES);
/** A day ends when the next one starts, so 24:00 is kept as 00:00. */
const endOfDay = z
  .string()
  .regex(/^(([01]\d|2[0-3]):[0-5]\d|24:00)$/, "expected a time of day such as 06:00, or 24:00 for the end of the day")
  .transform((time) => (time === "24:00" ? "00:00" : time));
const timeOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, "expected a time of day such as 22:00");
/** A turn of no length has no person. */
const SHORTEST_TURN_MS = 60_000;
const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;
const zone = (what: string) => timezone.optional().describe(`The time zone of ${what}. Default: the machine's.`);
const web = z.string().refine((text) => /^https?:\/\/\S+$/.test(text), "expected an address that starts with https://");
const PEOPLE = "expected platform:id, platform:role:id, oncall:rota, the name of a person, or everyone";
const account = z.string().regex(/^\S+$/, PEOPLE);
/** Names of people and of rotas may have spaces, ids have none. */
const mention = z.string().regex(/^(\S+|(oncall:)?[^\s:]([^:]*[^\s:])?)$/, PEOPLE);

export const BUTTONS = ["ack", "assign", "snooze", "escalate", "resolve", "extend", "note", "mute"] as const;

/** The number of lengths is limited to a row of buttons, beside the button that asks for another length. */
const lengths = (usual: string[]) =>
  z
    .array(
      z
        .string()
        .refine(
          (text) => text === "business" || (parseDuration(text) ?? 0) > 0,
          "expected a length of time such as 15m, 2h or 1d, or business",
        ),
    )
    .max(4)
    .default(usual);

const step = z.strictObject({
  after: someDuration().optional().describe("How long after the alert started firing, if it is not acknowledged."),
  reminders: z
    .int()
    .min(1)
    .optional()
    .describe(
      "The step follows after so many reminders, instead of a time. It does not come for an alert below `remind.at_least`, which has no reminders; later steps with a time come all the same.",
    ),
  to: z
    .array(addressField)
    .default([])
    .describe("Chats that get the alert from this step on. Default: the chats that have it already."),
  mention: z
    .array(mention)
    .default([])
    .describe(
      "The people whom the step mentions: platform:id, platform:role:id, oncall:ROTA, a name of `people`, or everyone (in chats of Telegram, which has no such mention, that notifies no one).",
    ),
  webhook: web
    .optional()
    .describe(
      "URL that the alert is sent to by POST, as JSON. While it is not taken, it is sent again every 30 seconds for an hour. The alert goes to the fallback as well: at once after an answer of 3xx or 4xx (not 408, 425 or 429) or when the address may not be called, otherwise after `fallback_after`. After a change of this address, what waits goes to the new one, and nothing to the old one; after its removal, the alert records that it did not arrive.",
    ),
});

const route = z.strictObject({
  match: z
    .array(matcher)
    .optional()
    .describe(
      "Alerts that take this route when their source named none, such as severity=critical or policy=~first.*.",
    ),
  to: z.array(addressField).default([]).describe("Where alerts of this route go. Default: direct messages to admins."),
  group_by: z
    .array(z.string())
    .default(["source", "policy"])
    .describe("Labels by which alerts that come in numbers share one card."),
  alone: z
    .int()
    .min(0)
    .default(3)
    .describe(
      "How many alerts of a group have a card of their own before the others share one. An alert of severity high or critical that fires and joins the shared card is a new message as well; those that come together are one message.",
    ),
  hold: duration("0s").describe("How long a problem must last before it is reported (against flapping)."),
  reopen_within: duration("10m").describe(
    "A problem that comes back within this time changes its old card instead of posting a new one. That notifies no one, except when a target is missed again with severity high or critical: then a new message follows.",
  ),
  ack_for: duration("8h").describe(
    "How long an acknowledgement holds. After it, reminders of an alert that still fires start again; they also do when an acknowledged warning becomes overdue. 0s: it holds without end.",
  ),
  remind: z
    .strictObject({
      every: duration("1h").describe(
        "The time between two reminders. Alerts that share a card are reminded of together: the first reminder of each comes up to 10 minutes later, or up to half of this time if that is less.",
      ),
      times: z.int().min(0).max(100).default(3).describe("How many reminders are sent at most; 0 for none."),
      at_least: severity.default("high").describe("The lowest severity for which reminders are sent."),
    })
    .prefault({})
    .describe("Reminders until the alert is acknowledged."),
  escalate: z
    .array(step)
    .default([])
    .describe(
      "Steps, in order, until the alert is acknowledged. Each is a new message. After a change of the steps, an open alert takes those that it has not taken yet, at once when their time has passed. A step is known by its time and by the people, chats and webhook that it notifies, not by its number: one with other people or a later time is a new step. One that only calls fewer people or is due earlier, or whose webhook has another address, is not taken again.",
    ),
  buttons: z
    .array(z.enum(BUTTONS))
    .default([...BUTTONS])
    .describe("Which buttons a card has. Each is a command, with the roles of that command."),
  snooze: lengths(["15m", "1h", "4h", "business"]).describe(
    "Lengths of the snooze buttons; business: until the next business hour. One more button asks for any other length.",
  ),
  extend: lengths(["1h", "1d"]).describe("Lengths by which the buttons that extend a deadline move it."),
  mute: lengths(["8h"]).describe("Lengths of the buttons that mute a policy."),
});
export type RouteConfig = z.output<typeof route>;

const quiet = z.strictObject({
  from: timeOfDay.describe("When the quiet hours start."),
  to: endOfDay.describe("When the quiet hours end; 24:00 is the end of the day."),
  days: z.array(z.enum(DAYS)).optional().describe("Days on which the quiet hours start. Default: all."),
  timezone: zone("these times"),
  bypass: severity
    .default("critical")
    .describe(
      "Alerts of this severity or higher are sent during quiet hours too, and so is a page that a person asks for (Escalate).",
    ),
});
export type QuietConfig = z.output<typeof quiet>;

const destination = z.strictObject({
  quiet: quiet
    .optional()
    .describe(
      "Quiet hours: alerts that arrive then are sent in one message when they end. Escalations wait as well, and the card elsewhere shows it. When an alert that has a card becomes overdue in the quiet hours, or its snooze ends then, a message follows when they end.",
    ),
  timezone: zone("times written out, where the platform cannot show the reader's"),
  per_minute: z.int().min(1).default(10).describe("New messages about alerts at most; what is more shares one card."),
});
export type DestinationConfig = z.output<typeof destination>;

const window = z
  .strictObject({
    match: z.array(matcher).min(1).describe("Matchers of the alerts that are not sent during the window."),
    from: z.string().optional().describe("Start of a single window, such as 2026-12-24T18:00."),
    until: z.string().optional().describe("The end of a single window."),
    cron: z.string().optional().describe("Start of a recurring window, as a cron expression."),
    for: someDuration().optional().describe("The length of a recurring window."),
    timezone: zone("these times"),
    comment: z.string().default("maintenance").describe("The reason for the window, as cards show it."),
  })
  .superRefine(({ from, until, cron, for: lasting, timezone: name = localTimezone() }, context) => {
    const say = (path: string, message: string) => context.addIssue({ code: "custom", path: [path], message });
    if (cron !== undefined) {
      const problem = cronProblem({ cron, timezone: name });
      if (problem !== undefined) say("cron", problem);
      if (lasting === undefined) say("for", "a window that comes again and again needs its length");
    } else
      for (const [key, text] of [
        ["from", from],
        ["until", until],
      ] as const)
        if (text === undefined || parseInstant(text, name) === undefined)
          say(key, `expected a date and time such as 2026-12-24T18:00, got "${text ?? ""}"`);
    const [begins, ends] = [from, until].map((text) => (text === undefined ? undefined : parseInstant(text, name)));
    if (begins !== undefined && ends !== undefined && ends <= begins)
      say("until", `it is not after the start (${from}), so the window would never apply`);
  });
export type WindowConfig = z.output<typeof window>;

const rota = z
  .strictObject({
    timezone: zone("the rota"),
    rotate: z
      .strictObject({
        people: z
          .array(z.string())
          .min(1)
          .describe("The people in the order of their turns; names of `people` or platform:id."),
        from: z.string().describe("The time when the first turn started, such as 2026-01-05T09:00."),
        every: someDuration().describe(
          "How long a turn is, such as 7d. Turns of whole days start at the same time of day, in summer and in winter.",
        ),
      })
      .optional()
      .describe("People who are on call in turn."),
    shifts: z
      .array(
        z.strictObject({
          days: z
            .array(z.enum(DAYS))
            .default([...DAYS])
            .describe("Days on which the shift starts."),
          from: timeOfDay.describe("When the shift starts."),
          to: endOfDay.describe("When the shift ends; 24:00 is the end of the day."),
          person: z.string().describe("The person on call; a name of `people`, or platform:id."),
        }),
      )
      .default([])
      .describe("Shifts at fixed hours of the week; they go before turns."),
  })
  .superRefine(({ rotate, timezone: name = localTimezone() }, context) => {
    const refuse = (key: string, message: string) =>
      context.addIssue({ code: "custom", path: ["rotate", key], message });
    if (rotate === undefined) return;
    if (parseInstant(rotate.from, name) === undefined)
      refuse("from", `expected a date and time that exist, such as 2026-01-05T09:00, got "${rotate.from}"`);
    if (rotate.every < SHORTEST_TURN_MS) refuse("every", "expected a turn of at least 1m, such as 7d");
  });
export type RotaConfig = z.output<typeof rota>;

const digest = z
  .strictObject({
    cron: z.string().optional().describe("When the digest is sent, as a cron expression such as 0 9 * * MON-FRI."),
    rota: z
      .string()
      .optional()
      .describe(
        "The digest is sent at the start of every shift and turn of this rota, instead of at a time; it notifies the person coming on call, if need be in a private chat; a refusal of that chat is shown in the digest.",
      ),
    timezone: zone("it"),
    to: z
      .array(addressField)
      .default([])
      .describe("The chats that get the digest. Default: direct messages to admins."),
    title: z.string().default("Alerts").describe("The title of the digest."),
  })
  .superRefine(({ cron, rota, timezone: name = localTimezone() }, context) => {
    if ((cron === undefined) === (rota === undefined))
      context.addIssue({ code: "custom", path: ["cron"], message: "a digest comes by `cron` or by `rota`: give one" });
    const problem = cron === undefined ? undefined : cronProblem({ cron, timezone: name });
    if (problem !== undefined) context.addIssue({ code: "custom", path: ["cron"], message: problem });
  });
export type DigestConfig = z.output<typeof digest>;

export const alertsConfig = z.strictObject({
  routes: z
    .record(z.string(), route)
    .default({})
    .describe("Where alerts are sent and how, by name; `default` is for alerts that match no other route."),
  destinations: z.record(addressField, destination).default({}).describe("Settings of single chats, by address."),
  fallback: z
    .array(addressField)
    .default([])
    .describe("Where an alert is sent when its own destination cannot be reached. Default: direct messages to admins."),
  fallback_after: duration("5m").describe(
    "How long to wait for the primary platform before the fallback is used as well. A change of a card that waits for the limit of its chat does not count while the chat takes new messages. A page that is due in a chat that is paused for longer goes to the fallback within 15 seconds.",
  ),
  inhibit: z
    .array(
      z.strictObject({
        by: z
          .array(matcher)
          .min(1)
          .describe("Matchers of the outage: while an alert with these labels is open, others are muted."),
        mutes: z.array(matcher).min(1).describe("Matchers of the alerts that the outage mutes."),
        equal: z
          .array(z.string())
          .default([])
          .describe("Labels that must be the same in the outage and in the muted alert."),
      }),
    )
    .default([])
    .describe("Outages that mute the alerts which follow from them."),
  maintenance: z.array(window).default([]).describe("Windows in which alerts are not sent; resolutions are."),
  digests: z
    .array(digest)
    .default([])
    .describe("Regular messages with what is open and what happened: daily, at the start of a shift."),
  people: z
    .record(z.string(), z.array(account))
    .default({})
    .describe("Accounts of people, by name: [discord:123, telegram:456]."),
  rotas: z
    .record(z.string(), rota)
    .default({})
    .describe("Who is on call, by name: `/oncall who`, and oncall:NAME in mentions."),
  business_hours: z
    .strictObject({
      days: z
        .array(z.enum(DAYS))
        .default(["mon", "tue", "wed", "thu", "fri"])
        .describe("Days that have business hours."),
      from: timeOfDay.default("09:00").describe("When the business hours start."),
      timezone: zone("it"),
    })
    .prefault({})
    .describe("Business hours: `/snooze ID business` lasts until the next one."),
  heartbeat: z
    .strictObject({
      every: duration("5m").describe("How often the heartbeat is sent."),
      to: z
        .union([web, addressField])
        .optional()
        .describe("An address that is called by POST, or a chat with one message that is kept up to date."),
    })
    .prefault({})
    .describe(
      "A regular request that shows that alerting works; a monitor of yours reports when it stops. Off without `to`.",
    ),
  watch_gateway: z
    .strictObject({
      offline_after: duration("2m").describe("A platform that is away for so long is an alert."),
      undelivered_after: duration("1m").describe(
        "Messages that could not be delivered and wait for an operator for so long are an alert; so are new messages that are held back for so long (`gateway.max_waiting`). Messages that are lost while that alert is open page people again once `reopen_within` has passed since the last time and its steps are done, also when it is acknowledged.",
      ),
    })
    .prefault({})
    .describe("Alerts about the gateway itself."),
  expire_after: duration("30d").describe("An open alert expires when its source does not report it for so long."),
  keep: duration("90d").describe("How long ended alerts are kept."),
});
export type AlertsConfig = z.output<typeof alertsConfig>;

/** The same settings, with one spelling for each chat. */
export function spellChats(config: AlertsConfig, spell: (chat: string) => string): AlertsConfig {
  const all = (chats: readonly string[]) => [...new Set(chats.map(spell))];
  const routes = Object.entries(config.routes).map(([name, { to, escalate, ...settings }]) => [
    name,
    { ...settings, to: all(to), escalate: escalate.map((one) => ({ ...one, to: all(one.to) })) },
  ]);
  return {
    ...config,
    routes: Object.fromEntries(routes),
    fallback: all(config.fallback),
    digests: config.digests.map((one) => ({ ...one, to: all(one.to) })),
    destinations: Object.fromEntries(Object.entries(config.destinations).map(([chat, one]) => [spell(chat), one])),
  };
}

/** The settings of a chat or a route that is not configured. */
export const defaultRoute: RouteConfig = route.parse({});
export const defaultDestination: DestinationConfig = destination.parse({});
