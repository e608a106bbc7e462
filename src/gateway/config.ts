/** Settings of the gateway and of who may operate it. Access lists per platform are in `domain/chat/access.ts`, because adapters carry them. */
import { z } from "zod";
import { parseAddress } from "../domain/chat/address.js";
import { ROLES } from "../domain/chat/identity.js";
import { OPENLY_ONCE_MS } from "../domain/chat/openly.js";
import { formatDuration } from "../lib/time/duration.js";
import { deadline, duration } from "../lib/validation/config-fields.js";

export type { AccessConfig } from "../domain/chat/access.js";

const count = (fallback: number) => z.int().min(1).default(fallback);

const addressText = z.string().transform((text, context) => {
  const parsed = parseAddress(text);
  if (parsed) return parsed;
  context.addIssue({
    code: "custom",
    message: `expected an address such as web:web:general (platform:bot:chat or platform:bot:chat:thread), got "${text}"`,
  });
  return z.NEVER;
});

export const gatewayConfig = z.strictObject({
  default_route: z
    .union([
      z.literal("none"),
      z.strictObject({
        forward: addressText.describe("Forward to this address: platform:bot:chat or platform:bot:chat:thread."),
      }),
      z.strictObject({ plugin: z.string().min(1).describe("Send the message to the default route of this plugin.") }),
    ])
    .default("none")
    .describe("What to do with a message that no hook claimed: none, forward (to an address) or plugin (by id)."),
  unanswered_note: z
    .boolean()
    .default(true)
    .describe(
      "Answer direct messages that nothing else answers: people with a role are pointed to /hooks why, a person without a role is informed once that this account answers people with a role (where `dms: everyone` lets everyone write: only at Telegram's START, and in other words). In rooms that the gateway listens to, a mention that nothing else answers has the same effect, privately: operators get the note once per hour and room, a person without a role once. Where `default_route` forwards messages to, a mention that replies to no copy gets a note in that channel each time. A person with a role also gets a note when their message becomes a dead letter (in rooms: operators, after a mention).",
    ),
  allowed_plugins: z
    .record(z.string().min(1), z.array(z.string().min(1)))
    .default({})
    .describe(
      "Which plugins' hooks run in which conversations: plugin ids by platform:bot:chat:thread, platform:bot:chat, platform:chat, platform or *; the first of these that is there counts. Where none is, all run, and so they do for what is of no conversation, such as events and commands of the CLI.",
    ),
  commands_per_minute: count(60).describe(
    "Commands and presses of one person in a minute; the first one above is answered, the others are ignored. Owners are not limited.",
  ),
  max_waiting: count(10_000).describe(
    "Unfinished inbound events above which platforms are slowed down; /status and an alert show it. A sender who has a tenth of it waiting (at least 20 messages, at most half of it) is notified, and further messages of that sender are not taken until half of those are handled.",
  ),
  parallel_conversations: count(256).describe("How many conversations are handled at the same time."),
  parallel_sends: count(256).describe("How many conversations are sent to at the same time."),
  inbox_attempts: count(5).describe("How often handling a message is tried before it becomes a dead letter."),
  outbox_attempts: count(8).describe(
    "How often sending is tried before a delivery becomes a dead letter (waits that a platform asked for do not end it, and an edit in doubt is repeated until `ttl`).",
  ),
  retry_first: duration("1s").describe("The pause after the first failure; it doubles with every further one."),
  retry_max: duration("5m").describe("The longest pause between two attempts."),
  max_deferrals: count(10).describe(
    "How often hooks may put one message off (deferMs) before it goes on as if no hook had claimed it.",
  ),
  max_deferral: duration("1h").describe(
    "The longest time that a hook may put a message off at once. Later messages of the conversation wait as long; /pauses lists that and ends it.",
  ),
  ambiguous: z
    .enum(["hold", "resend"])
    .default("hold")
    .describe(
      "What to do when the platform never confirmed a send (Telegram): hold it for an operator, or resend it (it may then appear twice).",
    ),
  ttl: duration("1d").describe("Deliveries that could not be sent for this long become dead letters."),
  refuse_openly: z
    .boolean()
    .default(true)
    .describe(
      `When a command is refused in a group and the sender cannot be reached privately, answer in the group: one short line, at most every ${formatDuration(OPENLY_ONCE_MS)}.`,
    ),
  button_life: duration("7d").describe("How long the buttons of a message work."),
  prompt_life: duration("15m").describe(
    "How long a question that a button asked may be answered, on platforms without forms (Telegram).",
  ),
  command_timeout: deadline("2m").describe(
    "How long an operator command, or one call of a plugin's default route, may run.",
  ),
  send_timeout: deadline("30s").describe("How long one platform request may take before it counts as unanswered."),
  upload_timeout: deadline("3m").describe(
    "How long one request with a file may take before it counts as unanswered. Also the limit of the fetch of its files before that.",
  ),
  // 0 waits for nothing.
  shutdown_timeout: duration("10s").describe(
    "How long a stop waits for what is under way. Messages that a platform has not answered yet are waited for up to `send_timeout`; a second signal ends the process at once.",
  ),
});
/** Read once, at the start. `allowed_plugins` is read for each dispatch. */
export type GatewayConfig = Omit<z.output<typeof gatewayConfig>, "allowed_plugins">;

const operatorRef = z
  .string()
  .regex(
    /^[a-z][a-z0-9_-]*:(role:)?[^:\s]+$/,
    "expected platform:id of a person, or platform:role:id of a platform role; /whoami shows them",
  );
const people = (role: string, may: string) =>
  z
    .array(operatorRef)
    .default([])
    .describe(`People with the role ${role}: ${may} Written platform:id or platform:role:id, as /whoami shows.`);

export const operatorsConfig = z.strictObject({
  owner: people("owner", "everything."),
  admin: people("admin", "change hooks and deliveries, see payloads."),
  operator: people("operator", "fire hooks, retry deliveries."),
  viewer: people("viewer", "look, and fire dry."),
  console: z
    .enum([...ROLES, "none"])
    .default("owner")
    .describe("The role of the person who holds the token of the local web console."),
});
export type OperatorsConfig = z.output<typeof operatorsConfig>;
