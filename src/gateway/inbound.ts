/**
 * How an event comes in. `accept` (inbound/accept.ts) stores it and queues it in its lane; `workLane` (inbound/work-lane.ts) takes a
 * lane's rows one at a time and settles their outcome. This file has the step in between: the flow of one event.
 */

import { NOT_ADDRESSED } from "../domain/chat/access.js";
import {
  type ActionEvent,
  type CommandEvent,
  conversationOf,
  type InboundEvent,
  type InteractionRef,
} from "../domain/chat/event.js";
import type { InboundMessage } from "../domain/chat/message.js";
import { immutable } from "../fast/isolate.js";
import type { LaneRow } from "./conversation.js";
import { answerCommand, note } from "./inbound/answer-command.js";
import { ask } from "./inbound/ask.js";
import { noteDeletion, noteEdit, noteReaction } from "./inbound/changes.js";
import { defaultRoute } from "./inbound/default-route.js";
import { forward, isOurs, LOST, originOf, withAddressing } from "./inbound/forward.js";
import { type Handling, settled } from "./inbound/handling.js";
import { notePressed, noteReplied } from "./inbound/note-arrival.js";
import { offer } from "./inbound/offer.js";
import { claimTypo, ownerCode } from "./inbound/owner-code.js";
import { checkOptions, parseOptions } from "./inbound/parse-command.js";
import { type ActionPlan, isBrief, planAction } from "./inbound/plan-action.js";
import { afterMove, asWritten, fireOptions, type Inbound, isInThread } from "./inbound/receiving.js";
import { replyToCard } from "./inbound/reply-to-card.js";
import { type Sender, senderOf } from "./inbound/sender.js";
import { takeAnswer } from "./inbound/take-answer.js";
import { emptyAnswer, introduced } from "./inbound/unanswered.js";
import { unknownCommand } from "./inbound/unknown-command.js";
import type { Verdict } from "./people/access.js";

const CHANGES: ReadonlySet<InboundEvent["kind"]> = new Set(["edited", "deleted", "reaction"]);

export async function handle(row: LaneRow, inbound: Inbound): Promise<Handling> {
  // An event that changes a message names it by its id, which counts in the chat where the message was written.
  const isChange = CHANGES.has(row.event.kind);
  const event = isChange ? row.event : afterMove(row.event, inbound);
  if (event !== row.event) row.conversation = conversationOf(event);
  switch (event.kind) {
    case "message":
      // Ours alone from here on: frozen once, it need not be copied for every dispatch.
      return handleMessage(row, immutable(event.message), inbound);
    case "command":
      return handleCommand(row, event, inbound);
    case "action":
      return handleAction(row, event, inbound);
    case "edited":
      return noteEdit(row, event, inbound);
    case "deleted":
      return noteDeletion(row, event, inbound);
    case "reaction":
      return noteReaction(row, event, inbound);
    case "moved":
      return settled("noted"); // it was taken note of when it arrived
  }
}

/**
 * A message: received → command | answer to a question of a button | owner code → access → claim | unknown command | reply to a
 * card | empty answer | bridge back | mistyped owner code | default route (with a notice for a reply to the wrong message).
 * `isPressed`: the text is that of a button. It goes through the hooks, and is no command: its words may be those of a stranger.
 */
async function handleMessage(
  row: LaneRow,
  arrived: InboundMessage,
  inbound: Inbound,
  isPressed = false,
): Promise<Handling> {
  const written = asWritten(row, arrived);
  await noteReplied(written, inbound);
  const mayBeToUs = isInThread(written) || written.replyToId !== undefined;
  const meant = mayBeToUs ? await originOf(written, inbound) : undefined;
  const origin = meant === LOST ? undefined : meant;
  const message = meant ? immutable(withAddressing(arrived, meant)) : arrived;
  const sender = senderOf(message, inbound);
  const { operator, verdict, isBot } = sender;
  const received = fireReceived(row, message, verdict, inbound);
  const call = isBot || isPressed ? undefined : inbound.commands.read(message.text);
  if (call) {
    // An operator does not wait for observers: one that hangs may be the one they want to look into.
    inbound.background.run("message_received", received);
    const parsed = parseOptions(call.command, call.rest);
    return answerCommand(row, { command: call.command, parsed, operator, message }, inbound);
  }
  const answered =
    isBot || isPressed || written.replyToId === undefined ? undefined : await takeAnswer(row, message, inbound);
  if (answered) {
    inbound.background.run("message_received", received);
    return answered;
  }
  const kept = isPressed ? undefined : ownerCode(row, message, sender, inbound);
  if (kept) {
    inbound.background.run("message_received", received);
    return kept;
  }
  await received;
  if (verdict.access === "denied") {
    const typo = isBot || isPressed ? undefined : typoAnswer(row, message, sender, inbound);
    return typo ?? denied(row, message, sender, inbound);
  }

  const answering = origin && (await isOurs(message, operator.role, origin, inbound)) ? origin : undefined;
  const claimed = await offer(row, message, verdict, answering, inbound);
  if (claimed) return claimed;
  const unknown = isPressed ? undefined : unknownCommand(row, message, operator, origin !== undefined, inbound);
  if (unknown) return unknown;
  const noted = await replyToCard(row, message, operator, inbound);
  if (noted) return noted;
  const empty = origin && (await emptyAnswer(row, message, operator, origin, inbound));
  if (empty) return empty;
  const returned = origin && (await forward(row, message, origin.address, inbound, origin));
  if (returned) return settled("returned", [returned]);
  const typo = isPressed ? undefined : claimTypo(row, message, operator, inbound);
  if (typo) return typo;
  return defaultRoute(row, message, operator, inbound);
}

/** A command is answered in any room, so its typo is, too: in a listed room without a mention as well. */
function typoAnswer(row: LaneRow, message: InboundMessage, { operator, verdict }: Sender, inbound: Inbound) {
  const typo = claimTypo(row, message, operator, inbound);
  const isRead = message.isGroupMention || verdict.reason === NOT_ADDRESSED;
  return typo ?? (isRead ? unknownCommand(row, message, operator, false, inbound) : undefined);
}

/** The message is not listened to here. One log line has the reason, and a stranger in a direct message is notified once. */
async function denied(
  row: LaneRow,
  message: InboundMessage,
  { operator, verdict: { reason }, isBot }: Sender,
  inbound: Inbound,
): Promise<Handling> {
  inbound.ignored.note(message, reason ?? "not allowed");
  const isDirect = message.isDm && inbound.access[message.platform]?.dms === "operators";
  const isStranger = !isBot && operator.role === undefined && isDirect;
  const deliveries = isStranger ? await introduced(row, message, inbound) : [];
  const handling: Handling = { kind: "settled", outcome: "denied", deliveries };
  if (reason !== undefined) handling.reason = reason;
  return handling;
}

/** A command in the platform's own form. */
async function handleCommand(row: LaneRow, event: CommandEvent, inbound: Inbound): Promise<Handling> {
  const { message, name, options, interaction } = event;
  const { operator, verdict } = senderOf(message, inbound);
  inbound.background.run("message_received", fireReceived(row, message, verdict, inbound));
  const command = inbound.commands.find(name);
  if (!command)
    return settled("command", [note(row, message, interaction, `There is no command \`/${name}\` any more.`, inbound)]);
  const parsed = checkOptions(command, options);
  return answerCommand(row, { command, parsed, operator, message, interaction }, inbound);
}

/** A press on a button, or a form sent in: done as the person who pressed. */
async function handleAction(row: LaneRow, event: ActionEvent, inbound: Inbound): Promise<Handling> {
  const { message } = event;
  await notePressed(event, inbound);
  const plan = await planAction(event, inbound);
  const interaction = usable(event.interaction, plan);
  switch (plan.kind) {
    case "refuse":
      return settled("denied", [note(row, message, interaction, plan.text, inbound)]);
    case "form":
      return settled("form"); // shown by the acknowledgement; what is filled in arrives as an event of its own
    case "ask":
      return settled("form", [ask(row, message, plan, inbound)]);
    case "say":
      return handleMessage(row, { ...message, text: plan.text, isGroupMention: true }, inbound, true);
    case "run": {
      const { operator } = senderOf(message, inbound);
      const where = plan.inPlaceOf === undefined ? {} : { inPlaceOf: plan.inPlaceOf };
      const call = {
        command: plan.command,
        parsed: plan.parsed,
        operator,
        message,
        isPress: true,
        shownLine: plan.shownLine,
        interaction,
        ...where,
      };
      return answerCommand(row, call, inbound);
    }
  }
}

/**
 * An interaction that can show a short word only is good for that alone. For anything else, it was acknowledged when the event was
 * accepted.
 */
function usable(interaction: InteractionRef | undefined, plan: ActionPlan): InteractionRef | undefined {
  return interaction?.isNotice && !isBrief(plan) ? undefined : interaction;
}

const DONE = Promise.resolve();

/**
 * message_received: every message that an adapter delivered, allowed or not, once. Rejects when a fail-closed hook failed; the message is
 * then tried again, and this is fired again before it goes on.
 */
function fireReceived(row: LaneRow, message: InboundMessage, verdict: Verdict, inbound: Inbound): Promise<void> {
  // A message that is offered again, or tried again in this process, was received before.
  if (row.deferrals > 0 || row.isReceived) return DONE;
  row.isReceived = true;
  const received = inbound.registry.fireVoid(
    "message_received",
    verdict.reason === undefined
      ? { message, access: verdict.access }
      : { message, access: verdict.access, reason: verdict.reason },
    undefined,
    fireOptions(row, "message_received", message.messageId, verdict),
  );
  if (!inbound.registry.isHeard("message_received")) return received;
  return received.catch((error: unknown) => {
    row.isReceived = false;
    throw error;
  });
}
