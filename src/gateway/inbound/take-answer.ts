/**
 * A reply to a question that a button asked: the value of a field, and with the last one the command is run. It is no message for hooks
 * or routes. A question is answered once: the row that takes it away is stored in the transaction that settles the answer.
 */
import type { InboundMessage, Prompt } from "../../domain/chat/message.js";
import type { Delivery, NewDelivery } from "../../domain/store.js";
import type { LaneRow } from "../conversation.js";
import { answerCommand, note } from "./answer-command.js";
import { type Asking, ask, openFields } from "./ask.js";
import { type Handling, settled } from "./handling.js";
import { parseOptions } from "./parse-command.js";
import { asWritten, causeOf, type Inbound, messageAddress, newDelivery } from "./receiving.js";
import { senderOf } from "./sender.js";

const CANCEL = /^\/?cancel(@\w+)?$/i;
/** Nothing, for a field that may be empty. */
const NONE = "-";

/** Undefined when it is a message like any other. */
export async function takeAnswer(
  row: LaneRow,
  message: InboundMessage,
  inbound: Inbound,
): Promise<Handling | undefined> {
  const question = await questionOf(asWritten(row, message), inbound);
  const prompt = question?.message?.prompt;
  if (question === undefined || prompt === undefined) return undefined;
  const say = (text: string, ...more: NewDelivery[]) =>
    settled("command", [note(row, message, undefined, text, inbound), ...more]);
  if (prompt.userId !== message.userId) return say("Another person was asked that.");
  if (await isOver(question, inbound)) return say("That has been answered already; press the button again.");
  if (prompt.until <= inbound.clock.now())
    return say(`That question has expired: press the button again, or type \`${prompt.line} …\`.`);
  const done = takeAway(row, question, inbound);
  const text = message.text.trim();
  if (CANCEL.test(text)) {
    await auditCancel(prompt, message, inbound);
    return say("Cancelled; nothing was done.", done);
  }
  const [field] = openFields(prompt);
  if (field === undefined || text === "") return say("Answer in words: reply to the question again.");
  const values = { ...prompt.values, [field.id]: text === NONE && !field.required ? "" : text };
  const asking = { form: prompt.form, line: prompt.line, values };
  if (openFields(asking).length > 0) return settled("command", [ask(row, message, asking, inbound), done]);
  return run(row, message, asking, done, inbound);
}

async function run(
  row: LaneRow,
  message: InboundMessage,
  { form, line, values }: Asking,
  done: NewDelivery,
  inbound: Inbound,
): Promise<Handling> {
  const call = inbound.commands.read(line);
  if (!call)
    return settled("command", [
      note(row, message, undefined, "What this question did is not known any more.", inbound),
    ]);
  const { command } = call;
  const parsed = parseOptions(command, call.rest, values);
  const { operator } = senderOf(message, inbound);
  const handling = await answerCommand(row, { command, parsed, operator, message, isPress: true }, inbound);
  if (handling.kind !== "settled") return handling;
  // A bad value is asked for again, below the problem. (Of several it is not known which is bad: the button asks for all again.)
  const again = handling.isFailed && form.fields.length === 1;
  const next = again ? [ask(row, message, { form, line, values: {} }, inbound)] : [];
  return { ...handling, deliveries: [...handling.deliveries, ...next, done] };
}

async function questionOf(message: InboundMessage, { store }: Inbound): Promise<Delivery | undefined> {
  const { replyToId, replyToUserId, botId } = message;
  if (replyToId === undefined || (replyToUserId !== undefined && replyToUserId !== botId)) return undefined;
  return store.outbox.findByMessage(messageAddress(message), replyToId);
}

async function isOver({ id }: Delivery, { store }: Inbound): Promise<boolean> {
  return (await store.outbox.list({ targetId: id, limit: 1 })).length > 0;
}

/** Telegram edits no message that asks for a reply: https://core.telegram.org/bots/api#updating-messages */
function takeAway(row: LaneRow, { id, address }: Delivery, inbound: Inbound): NewDelivery {
  const cause = causeOf(row, "command");
  return newDelivery(row, "x", { address, operation: "delete", targetId: id, cause, isCourtesy: true }, inbound);
}

async function auditCancel({ line }: Prompt, message: InboundMessage, inbound: Inbound): Promise<void> {
  const { store, clock } = inbound;
  const { operator } = senderOf(message, inbound);
  const target = inbound.commands.read(line)?.command.name;
  await store.audit.record({
    at: clock.now(),
    operator,
    action: "cancel",
    target,
    details: { line, at: messageAddress(message) },
    outcome: "done",
  });
}
