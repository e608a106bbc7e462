/** Plans what a press on a button (or a form sent in) does. Asked twice: for the acknowledgement, and when it is handled. */
import { mayUse } from "../../domain/chat/command.js";
import type { ActionEvent } from "../../domain/chat/event.js";
import type { Operator } from "../../domain/chat/identity.js";
import type { Form } from "../../domain/chat/message.js";
import type { ActionToken } from "../../domain/store.js";
import type { Command } from "../commands.js";
import { type ParsedOptions, parseOptions } from "./parse-command.js";
import type { Inbound } from "./receiving.js";
import { senderOf } from "./sender.js";

export type ActionPlan =
  /** Answered privately with this. */
  | { kind: "refuse"; text: string }
  | { kind: "say"; text: string }
  /** Asked in the platform's own form, or by questions. */
  | { kind: "form"; form: Form }
  | { kind: "ask"; form: Form; line: string; values: Record<string, string> }
  /** `isAllowed: false`: it will be refused, audited, and answered privately. */
  | {
      kind: "run";
      command: Command;
      parsed: ParsedOptions;
      isAllowed: boolean;
      inPlaceOf?: string;
      shownLine?: string;
    };

/** An edit of a message replaces its buttons. */
const UNKNOWN_BUTTON =
  "Nothing was done: this button is not known; its message may have changed since. Press a button that the message shows now, or type the command.";

export async function planAction(event: ActionEvent, inbound: Inbound): Promise<ActionPlan> {
  const { message, values } = event;
  const presented = await inbound.tokens.verify(event.token, inbound.clock.now());
  if (presented.kind === "forged") return { kind: "refuse", text: UNKNOWN_BUTTON };
  if (presented.kind === "expired") return { kind: "refuse", text: expired(presented.token, event, inbound) };
  const { action, deliveryId } = presented.token;
  const { operator, verdict, isBot } = senderOf({ ...message, isGroupMention: true }, inbound);
  if (isBot) return { kind: "refuse", text: "Bot accounts cannot press buttons." };
  if (action.kind === "say")
    return verdict.access === "allowed"
      ? { kind: "say", text: action.text }
      : { kind: "refuse", text: "You may not do that here." };

  const fields = new Set(action.form?.fields.map(({ id }) => id));
  const other = Object.keys(values ?? {}).find((id) => !fields.has(id));
  if (other !== undefined) return { kind: "refuse", text: `Nothing was done: this button has no field "${other}".` };
  const call = inbound.commands.read(action.line);
  if (!call) return { kind: "refuse", text: "What this button did is not known any more." };
  const { command } = call;
  const parsed = parseOptions(command, call.rest, values);
  const isAllowed = mayUse(operator.role, command) && (await allows(command, operator, parsed));
  const hasForms = inbound.adapters.get(message.platform)?.traits.forms === true;
  if (isAllowed && action.form && !values)
    return hasForms
      ? { kind: "form", form: action.form }
      : { kind: "ask", form: action.form, line: action.line, values: {} };
  const inPlaceOf = isAllowed && !values ? await answerOf(deliveryId, inbound) : undefined;
  return {
    kind: "run",
    command,
    parsed,
    isAllowed,
    inPlaceOf,
    shownLine: action.isFilledIn ? action.line : undefined,
  };
}

/** Options that a form is still to ask for may be missing: that is no reason against the command. */
async function allows(command: Command, operator: Operator, parsed: ParsedOptions): Promise<boolean> {
  const { options } = parsed;
  return options === undefined || command.allows === undefined || command.allows(operator, options);
}

/** The text for an expired button. A person who may run the command sees it, as long as it is known what the button did. */
function expired(token: ActionToken | undefined, { message }: ActionEvent, inbound: Inbound): string {
  const expired = "This button has expired.";
  if (token?.action.kind !== "command") return `${expired} Ask again.`;
  const { line, form } = token.action;
  const command = inbound.commands.read(line)?.command;
  const { operator } = senderOf(message, inbound);
  if (!command || !mayUse(operator.role, command)) return expired;
  return `${expired} Type \`${typed(line)}${form ? " …" : ""}\` instead.`;
}

/** An answer to a question that was about the messages or tasks of that time: the question is to be asked again. */
function typed(line: string): string {
  return / selection=/.test(line) ? line.replace(/ (?:yes|confirmed|selection)=\w+/g, "") : line;
}

/** Answered with a short private word and nothing else: a refusal, or a note that does not replace an earlier answer. */
export function isBrief(plan: ActionPlan): boolean {
  if (plan.kind !== "run") return plan.kind === "refuse";
  const { command, parsed, isAllowed, inPlaceOf } = plan;
  return !isAllowed || (inPlaceOf === undefined && command.answersWithNote?.(parsed.options ?? {}) === true);
}

/** The delivery to edit, when the button stood under a command's answer: paging and refreshing happen in place. */
async function answerOf(deliveryId: string, { store }: Inbound): Promise<string | undefined> {
  const delivery = await store.outbox.get(deliveryId);
  if (delivery?.cause.kind !== "command") return undefined;
  // The delivery that posted the message, when the button came with an edit of it.
  return delivery.targetId ?? delivery.id;
}
