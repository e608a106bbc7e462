/**
 * Notifies people that an answer was withheld by hooks, or not taken by the platform:
 * - a person who gave a command or pressed a button and gets no answer, or does not get the question of the button: a failing guard
 *   locks no operator out, no person repeats a command that was done, and no platform shows a pending answer forever;
 * - a person who wrote to the gateway and gets no reply: if hooks withheld it, one with a role (in rooms: an operator); if it was given
 *   up, everybody.
 * A person whose words are passed on to another chat has a notice of their own (`answer-notices.ts`).
 *
 * The text is the product's own and shows nothing of the answer. No hook decides about it: the hook that failed would withhold it, too.
 */
import { type Address, formatAddress } from "../../../domain/chat/address.js";
import type { InteractionRef } from "../../../domain/chat/event.js";
import { hasRole, type Operator, type Role } from "../../../domain/chat/identity.js";
import type { Prompt } from "../../../domain/chat/message.js";
import { noticeId } from "../../../domain/chat/openly.js";
import { saysInDoubt, WITHDRAWN_BY } from "../../../domain/deliveries/given-up.js";
import { queueOf } from "../../../domain/deliveries/outbox-queue.js";
import { partCountText } from "../../../domain/deliveries/part-count.js";
import type { Delivery, NewDelivery } from "../../../domain/store.js";
import type { Outbound } from "../sending.js";

export type Withheld = "held" | "suppressed" | "cancelled" | "dead";

/** True when the delivery brings a person's words from one chat to another. */
export const passesOn = ({ mirrors, answers }: Delivery): boolean =>
  mirrors !== undefined || answers?.askedAt !== undefined;

/** Once per command: its progress and its answer may all be withheld. */
export async function notifyAsker(delivery: Delivery, ending: Withheld, reason: string, out: Outbound): Promise<void> {
  const { cause, answers, address } = delivery;
  const role = answers?.role;
  const visibleTo = askerOf(delivery);
  const now = out.clock.now();
  const isInDoubt = endsInDoubt(ending, reason);
  // There it would take the place of an answer that may be shown.
  const interaction = isInDoubt ? undefined : pendingInteraction(delivery, now);
  if (passesOn(delivery) || visibleTo === undefined || (answers === undefined && interaction === undefined)) return;
  const directly = privately(address, visibleTo, out);
  const isElsewhere = formatAddress(directly) !== formatAddress(address);
  if (answers?.whenGivenUp && ending !== "dead") return;
  const person: Operator = { platform: address.platform, userId: visibleTo, role };
  const readable = await out.readableReason(person, delivery, { status: ending, reason });
  const notice: NewDelivery = {
    id: noticeOf(delivery, visibleTo),
    // A message that the chat refuses is sent to the person directly.
    address: interaction ? address : directly,
    operation: "send",
    message: { text: textFor(delivery, { ending, reason: readable, isInDoubt }) },
    cause,
    expiresAt: now + out.config.ttl,
    interaction,
    visibleTo,
    isCourtesy: true,
    urgency: delivery.urgency,
    skipsHooks: true,
    // A person who cannot be written to directly sees at least where they asked that there is something to look into.
    openly:
      isElsewhere && role !== undefined
        ? { address, message: { text: openlyNotShown(delivery, ending, isInDoubt) } }
        : undefined,
  };
  await out.store.outbox.enqueue([notice], now);
  out.wake(queueOf(notice));
}

export const endsInDoubt = (ending: Withheld, reason: string): boolean =>
  (ending === "held" || reason.startsWith(WITHDRAWN_BY)) && saysInDoubt(reason);

export const askerOf = ({ answers, visibleTo }: Delivery): string | undefined => answers?.author ?? visibleTo;

/** The notice that something of this cause did not arrive. */
export const noticeOf = ({ id, answers, cause }: Delivery, asker: string): string =>
  noticeId(`${answers?.askedAt ? id : cause.id} ${asker}`);

/** `/outbox` alone lists the deliveries that wait for an operator. */
export const seenIn = (ending: Withheld): string =>
  `\`/outbox${ending === "held" || ending === "dead" ? "" : ` list ${ending}`}\` shows why.`;

const NOT_SHOWN = "The command ran, but its answer was given up. `/outbox` shows why.";

const NOT_ASKED =
  "The question of a button could not be posted. Press the button again, or type the command. `/outbox` shows why.";

const MAYBE_ASKED =
  "It is not known whether the question of a button was posted. If it is not here, press the button again. `/outbox` shows why.";

const openlyNotShown = ({ message, cause }: Delivery, ending: Withheld, isInDoubt: boolean): string => {
  if (message?.prompt) return isInDoubt ? MAYBE_ASKED : NOT_ASKED;
  if (cause.kind === "reply" && ending === "dead") return `The answer was given up. ${seenIn(ending)}`;
  return isInDoubt
    ? `The command ran. It is not known whether its answer was posted. ${seenIn(ending)}`
    : ending === "dead"
      ? NOT_SHOWN
      : `The answer was withheld by a hook. ${seenIn(ending)}`;
};

/** The line where a command was given or a button pressed, when its person cannot be reached privately. */
export const notShown = (delivery: Delivery): NewDelivery["openly"] => ({
  address: delivery.address,
  message: { text: openlyNotShown(delivery, "dead", false) },
});

/** How something ended that did not plainly arrive. */
export interface End {
  ending: Withheld;
  /** The reason as the reader of the notice may see it. */
  reason: string;
  isInDoubt: boolean;
}

/** The text names what its reader may do, and who may do the rest. */
function textFor(delivery: Delivery, end: End): string {
  const { id, answers, cause, parts, message } = delivery;
  const { ending, reason, isInDoubt } = end;
  if (message?.prompt) return textForQuestion(delivery, message.prompt, end);
  const role = answers?.role;
  const may = (needed: Role) => hasRole(role, needed);
  const byOperators = may("operator") ? "" : " (operators)";
  if (isInDoubt) {
    const unknown = `It is not known whether ${partCountText(parts) === "" ? "its answer was posted" : "the rest of its answer was posted"}${partCountText(parts)}.`;
    if (role === undefined) return `The command ran. ${unknown} The operators can see why.`;
    const shown = `**The command ran. ${unknown}**\n> ${reason.slice(0, 500)}`;
    return `${shown}\n\n\`/outbox release ${id}\` asks what is there, and posts the rest or not${byOperators}. \`/outbox show ${id}\` has the details.`;
  }
  if (role === undefined)
    return cause.kind === "reply"
      ? "The answer to your message could not be posted. The operators can see why."
      : "The answer cannot be shown here. The operators can see why.";
  const ended = `${ending === "dead" ? "given up" : ending}.**\n> ${reason.slice(0, 500)}`;
  const release = `\`/outbox release ${id}\` sends it${byOperators}${delivery.frozen ? "" : " if the hooks let it pass"}.`;
  if (cause.kind === "reply") {
    const next = ending === "held" ? ` ${release}` : "";
    return `**The answer to your message was ${ended}\n\n\`/hooks why ${cause.id}\` shows what happened.${next}`;
  }
  const shown = `**The command ran, but its answer was ${ended}\n\n`;
  if (ending !== "held") return `${shown}\`/outbox show ${id}\` has the details.`;
  const disable = may("admin")
    ? "Commands still work: `/hooks disable` with the id of the failing hook lets answers through without that guard."
    : "An admin can let answers through without that guard: `/hooks disable` with the id of the failing hook.";
  return `${shown}${disable} When the hook is fixed, ${release}`;
}

/** The command did not run yet. */
function textForQuestion({ id, answers }: Delivery, { line }: Prompt, { ending, reason, isInDoubt }: End): string {
  const ended = ending === "dead" ? "given up" : ending;
  const what = isInDoubt
    ? "It is not known whether the question of the button was posted."
    : `The question of the button was ${ended}.`;
  const next = `${isInDoubt ? "If you do not see it, press" : "Press"} the button again, or type \`${line} …\`.`;
  if (answers?.role === undefined) return `${what} ${next} The operators can see why.`;
  return `**${what}**\n> ${reason.slice(0, 500)}\n\n${next} \`/outbox show ${id}\` has the details.`;
}

/** The platform shows that an answer is to come, and takes one. Beside a message that a press changes in place, nothing is pending. */
function pendingInteraction({ operation, interaction, parts }: Delivery, now: number): InteractionRef | undefined {
  if (operation !== "send" || interaction?.isNotice || interaction?.isFollowUp || parts[0]?.status === "sent")
    return undefined;
  return interaction && interaction.expiresAt > now ? interaction : undefined;
}

export function privately(at: Address, userId: string, { adapters }: Outbound): Address {
  return adapters.get(at.platform)?.traits.privateAddress(at, userId) ?? at;
}
