/** What a press on a button (or a form sent in) comes to. Asked twice: for the acknowledgement, and when it is handled. */
import type { ActionEvent } from "../../domain/event.js";
import type { Modal } from "../../domain/message.js";
import type { Command } from "../commands.js";
import { judge } from "./judge.js";
import { checkOptions, type ParsedOptions, parseOptions } from "./parse-command.js";
import type { Inbound } from "./receiving.js";
import { mayRun } from "./run-command.js";

export type ActionPlan =
  /** Answered privately with this. */
  | { kind: "refuse"; text: string }
  | { kind: "say"; text: string }
  | { kind: "form"; modal: Modal }
  /** `isAllowed: false`: it will be refused, audited, and answered privately. */
  | { kind: "run"; command: Command; parsed: ParsedOptions; isAllowed: boolean; inPlaceOf?: string };

export async function planAction(event: ActionEvent, inbound: Inbound): Promise<ActionPlan> {
  const { message, values } = event;
  const presented = await inbound.tokens.verify(event.token, inbound.clock.now());
  if (presented.kind === "forged") return { kind: "refuse", text: "This button is not known here." };
  if (presented.kind === "expired") return { kind: "refuse", text: "This button has expired. Ask again." };
  const { action, deliveryId } = presented.token;
  const { operator, verdict, isBot } = judge({ ...message, isGroupMention: true }, inbound);
  if (isBot) return { kind: "refuse", text: "Bot accounts cannot press buttons." };
  if (action.kind === "say")
    return verdict.access === "allowed"
      ? { kind: "say", text: action.text }
      : { kind: "refuse", text: "You may not do that here." };

  const call = inbound.commands.read(action.line);
  if (!call) return { kind: "refuse", text: "What this button did is not known any more." };
  const { command } = call;
  const isAllowed = mayRun(command, operator);
  const hasForms = inbound.adapters.get(message.platform)?.traits.forms === true;
  if (isAllowed && action.modal && !values && hasForms) return { kind: "form", modal: action.modal };
  const parsed = withValues(command, parseOptions(command, call.rest), values);
  const inPlaceOf = isAllowed && !values ? await answerOf(deliveryId, inbound) : undefined;
  return { kind: "run", command, parsed, isAllowed, ...(inPlaceOf === undefined ? {} : { inPlaceOf }) };
}

/** Answered with a short private word and nothing else. */
export function isRefusal(plan: ActionPlan): boolean {
  return plan.kind === "refuse" || (plan.kind === "run" && !plan.isAllowed);
}

function withValues(
  command: Command,
  parsed: ParsedOptions,
  values: Record<string, string> | undefined,
): ParsedOptions {
  if (!values) return parsed;
  return checkOptions(command, { ...(parsed.kind === "options" ? parsed.options : {}), ...values });
}

/** The delivery to edit, when the button stood under a command's answer: paging and refreshing happen in place. */
async function answerOf(deliveryId: string, { store }: Inbound): Promise<string | undefined> {
  const delivery = await store.outbox.get(deliveryId);
  if (delivery?.cause.kind !== "command") return undefined;
  // What posted the message, when the button came with an edit of it.
  return delivery.targetId ?? delivery.id;
}
