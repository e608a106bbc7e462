/** The gateway family: what happens to a message between the platform and its answer. */
import { z } from "zod";
import { address } from "../../domain/chat/address.js";
import { ROLES } from "../../domain/chat/identity.js";
import { type InboundMessage, inboundMessage, outboundMessage } from "../../domain/chat/message.js";
import { messageProblems } from "../../domain/chat/message-problems.js";
import { saysNothing } from "../../domain/chat/says-nothing.js";
import { CAUSE_KINDS } from "../../domain/journal.js";
import { strictly } from "../../lib/validation/strictly.js";
import { ownPoint } from "../point.js";
import { withoutRaw } from "../without-raw.js";

export const access = z.enum(["allowed", "denied"]);

/** The reason of an outbound message, with the id of what caused it. */
export const cause = z.object({
  kind: z.enum(CAUSE_KINDS),
  id: z.string(),
  depth: z.number().int().nonnegative(),
});

const target = {
  chatId: z.string(),
  platform: z.string(),
  threadId: z.string().optional(),
  /** The chat that a thread hangs under, where the thread is a chat of its own and its parent is known. */
  parentChatId: z.string().optional(),
  botId: z.string().optional(),
  deliveryId: z.string(),
  /** For an edit: the delivery whose message it changes. */
  editOf: z.string().optional(),
  cause,
};
const operator = z.object({
  platform: z.string(),
  userId: z.string(),
  displayName: z.string().optional(),
  role: z.enum(ROLES).optional(),
});
const optionValue = z.union([z.string(), z.number(), z.boolean()]);

const NO_WORDS = "it has no text, card, attachment or button: leave out reply, or return { handled: false } to pass";
const NOTHING_LEFT =
  'it has no text, card, attachment or button left: to keep it from being sent, return { cancel: "the reason" }';
const PUT_OFF_AND_FORWARDED =
  "a message that is put off is offered to the hooks again, and is not forwarded: leave out deferMs or routeTo";

const message: InboundMessage = {
  platform: "web",
  botId: "web",
  chatId: "lobby",
  userId: "1",
  displayName: "Ada",
  text: "hello",
  attachments: [],
  isDm: false,
  isGroupMention: true,
  messageId: "42",
  isEdit: false,
  receivedAt: 1_767_225_600_000,
};
const sent = {
  chatId: "lobby",
  platform: "web",
  botId: "web",
  deliveryId: "d_1",
  cause: { kind: "reply" as const, id: "m42", depth: 0 },
};

export const messageReceived = ownPoint({
  name: "message_received",
  model: "void",
  payload: z.object({
    message: inboundMessage,
    sessionId: z.string().optional(),
    access,
    reason: z.string().optional(),
  }),
  summary:
    "Fires once for every message that an adapter delivered, after the message is on disk and before it is routed.",
  example: { message, access: "allowed" },
  journalled: withoutRaw,
});

export const inboundClaim = ownPoint({
  name: "inbound_claim",
  model: "claiming",
  payload: z.object({
    message: inboundMessage,
    /** One of us answers a copy with the message: without a claim, it goes to the person who wrote the original. */
    isAnswer: z.boolean(),
  }),
  result: z
    .object({
      handled: z.boolean(),
      /** Sent through the outbox. */
      reply: strictly(outboundMessage).or(z.string()).optional(),
      /** Forwards the message to this address. */
      routeTo: address.optional(),
      /** Offers it again after this time; bounded. Not together with routeTo. */
      deferMs: z.number().nonnegative().optional(),
      reason: z.string().optional(),
    })
    .superRefine(({ reply, routeTo, deferMs }, { addIssue }) => {
      if (reply !== undefined && saysNothing(reply)) addIssue({ code: "custom", path: ["reply"], message: NO_WORDS });
      for (const { path, message } of typeof reply === "object" ? messageProblems(reply) : [])
        addIssue({ code: "custom", path: ["reply", ...path], message });
      if (deferMs !== undefined && routeTo !== undefined)
        addIssue({ code: "custom", path: ["deferMs"], message: PUT_OFF_AND_FORWARDED });
    }),
  summary:
    "Asks hooks in order whether one of them handles the message: that hook may answer, forward or defer it, or only keep it from others. Commands of Hookgate, such as /help, are answered before. Hooks here are not asked about edits: to guard copies of edited messages, add a hook at `message_sending`. `isAnswer`: a team member answers the copy of a message with it, by a reply or in a thread; it goes to the author of that message unless a hook claims it. Hooks that act on words leave it alone. When a hook claims it and does not route it there, the team member gets a note.",
  example: { message, isAnswer: false },
  journalled: withoutRaw,
});

export const beforeDispatch = ownPoint({
  name: "before_dispatch",
  model: "claiming",
  payload: z.object({ ...target, text: z.string() }),
  result: z.object({ handled: z.boolean(), reason: z.string().optional() }),
  summary:
    "Fires before an outbound message is prepared. A hook that handles the message suppresses it (repeats, quiet hours).",
  example: { ...sent, text: "hello back" },
});

export const messageSending = ownPoint({
  name: "message_sending",
  model: "modifying",
  // A guard must see what is sent.
  sees: "merged",
  payload: z.object({ ...target, message: outboundMessage }),
  result: z.object({
    message: strictly(outboundMessage).optional(),
    cancel: z.boolean().or(z.string().min(1, "it is empty: give the reason, or true")).optional(),
  }),
  resultProblem({ message }, payload) {
    if (message === undefined) return undefined;
    if (saysNothing(message) && !saysNothing(payload.message)) return `message: ${NOTHING_LEFT}`;
    // A problem that the message had before is no fault of the hook.
    const known = new Set(messageProblems(payload.message).map(({ message }) => message));
    const problem = messageProblems(message).find((one) => !known.has(one.message));
    return problem && `${["message", ...problem.path].join(".")}: ${problem.message}`;
  },
  summary:
    "Fires before a message reaches an adapter: sends, edits, streamed finals, interaction replies, alerts, command replies. A hook may rewrite or cancel the message. A card, reminder or escalation of an alert that a hook suppresses or cancels is posted at `alerts.fallback`, and an alert names that; when it is an edit of a card, it opens no alert. `editOf`: the message is an edit of that delivery. Hooks are not asked about notices of the gateway itself: that an answer was withheld, and about hooks to an admin in private.",
  example: { ...sent, message: { text: "hello back" } },
});

export const messageSent = ownPoint({
  name: "message_sent",
  model: "void",
  payload: z.object({ ...target, messageId: z.string(), messageIds: z.array(z.string()), message: outboundMessage }),
  summary: "Fires when the platform confirmed a message, with all ids of that message.",
  example: { ...sent, messageId: "43", messageIds: ["43"], message: { text: "hello back" } },
});

export const deliveryFailed = ownPoint({
  name: "delivery_failed",
  model: "void",
  payload: z.object({
    ...target,
    message: outboundMessage.optional(),
    error: z.string(),
    attempts: z.number().int().nonnegative(),
  }),
  summary: "Fires when a delivery was given up or cancelled.",
  example: { ...sent, message: { text: "hello back" }, error: "the chat does not exist", attempts: 1 },
});

export const messageEdited = ownPoint({
  name: "message_edited",
  model: "void",
  payload: z.object({ message: inboundMessage, access, reason: z.string().optional() }),
  summary: "Fires when a person edited a message, with the new text.",
  example: { message: { ...message, text: "hello all", isEdit: true }, access: "allowed" },
  journalled: withoutRaw,
});

/** `message` is there when the inbox still has it: platforms name a deleted message or a reaction's target by its id only. */
const elsewhere = {
  message: inboundMessage.optional(),
  address,
  messageId: z.string(),
  access,
  reason: z.string().optional(),
  at: z.number(),
};

export const messageDeleted = ownPoint({
  name: "message_deleted",
  model: "void",
  payload: z.object({ ...elsewhere, userId: z.string().optional() }),
  summary: "Fires when a person deleted a message.",
  example: {
    message,
    address: { platform: "web", botId: "web", chatId: "lobby" },
    messageId: "42",
    userId: "1",
    access: "allowed",
    at: message.receivedAt,
  },
  journalled: withoutRaw,
});

export const reactionAdded = ownPoint({
  name: "reaction_added",
  model: "void",
  payload: z.object({ ...elsewhere, userId: z.string(), emoji: z.string(), isDm: z.boolean().optional() }),
  summary: "Fires when a person reacted to a message.",
  example: {
    message,
    address: { platform: "web", botId: "web", chatId: "lobby" },
    messageId: "42",
    userId: "1",
    emoji: "👍",
    access: "allowed",
    at: message.receivedAt,
  },
  journalled: withoutRaw,
});

export const commandInvoked = ownPoint({
  name: "command_invoked",
  model: "void",
  payload: z.object({
    command: z.string(),
    options: z.record(z.string(), optionValue),
    operator,
    outcome: z.enum(["done", "failed", "refused"]),
    at: address.optional(),
  }),
  summary: "Fires after every operator command, allowed or refused.",
  example: {
    command: "hooks",
    options: {},
    operator: { platform: "web", userId: "1", role: "owner" },
    outcome: "done",
  },
});

export const gatewayPoints = [
  messageReceived,
  inboundClaim,
  beforeDispatch,
  messageSending,
  messageSent,
  deliveryFailed,
  messageEdited,
  messageDeleted,
  reactionAdded,
  commandInvoked,
] as const;

export type MessageReceivedPayload = z.output<typeof messageReceived.payload>;
export type InboundClaimPayload = z.output<typeof inboundClaim.payload>;
export type InboundClaimResult = z.output<NonNullable<typeof inboundClaim.result>>;
export type BeforeDispatchPayload = z.output<typeof beforeDispatch.payload>;
export type BeforeDispatchResult = z.output<NonNullable<typeof beforeDispatch.result>>;
export type MessageSendingPayload = z.output<typeof messageSending.payload>;
export type MessageSendingResult = z.output<NonNullable<typeof messageSending.result>>;
export type MessageSentPayload = z.output<typeof messageSent.payload>;
export type DeliveryFailedPayload = z.output<typeof deliveryFailed.payload>;
export type MessageEditedPayload = z.output<typeof messageEdited.payload>;
export type MessageDeletedPayload = z.output<typeof messageDeleted.payload>;
export type ReactionAddedPayload = z.output<typeof reactionAdded.payload>;
export type CommandInvokedPayload = z.output<typeof commandInvoked.payload>;
