/**
 * Notifies people that something was withheld by hooks, or not taken by the platform:
 * - who gave a command or pressed a button and gets no answer: a failing guard locks no operator out, no person repeats what was done, and
 *   no platform shows a pending answer forever;
 * - who has a role, and wrote a message whose reply was withheld;
 * - who wrote to another chat from the operators' side, with or without a role, and whose message or change of it was not passed on;
 * - who asked or noted something of a task, and whose words did not reach the other person.
 *
 * The text is the product's own and shows nothing of the answer. No hook decides about it: the hook that failed would withhold it, too.
 */
import { createHash } from "node:crypto";
import { type Address, formatAddress } from "../../domain/address.js";
import type { InteractionRef } from "../../domain/event.js";
import { heldWith, isAmbiguous, saysInDoubt, WITHDRAWN_BY } from "../../domain/given-up.js";
import { hasRole, type Operator, type Role } from "../../domain/identity.js";
import { queueOf } from "../../domain/outbox-queue.js";
import { partCountText } from "../../domain/part-count.js";
import type { Delivery, NewDelivery } from "../../domain/store.js";
import type { Outbound } from "./sending.js";

export type Withheld = "held" | "suppressed" | "cancelled" | "dead";

/** It brings a person's words from one chat to another. */
export const passesOn = ({ mirrors, answers }: Delivery): boolean =>
  mirrors !== undefined || answers?.askedAt !== undefined;

/** Once per command: its progress and its answer may all be withheld. */
export async function notifyAsker(delivery: Delivery, ending: Withheld, reason: string, out: Outbound): Promise<void> {
  const { cause, answers, mirrors } = delivery;
  const role = answers?.role;
  const visibleTo = askerOf(delivery);
  const now = out.clock.now();
  const isInDoubt = (ending === "held" || reason.startsWith(WITHDRAWN_BY)) && saysInDoubt(reason);
  // There it would take the place of an answer that may be shown.
  const interaction = isInDoubt ? undefined : pendingInteraction(delivery, now);
  if (visibleTo === undefined || (answers === undefined && interaction === undefined)) return;
  const asked = mirrors?.address ?? answers?.askedAt ?? delivery.address;
  const person: Operator = { platform: asked.platform, userId: visibleTo, role };
  const readable = await out.readableReason(person, delivery, { status: ending, reason });
  const end = { ending, reason: readable, isInDoubt };
  const isPassedOn = passesOn(delivery);
  const text = isPassedOn ? notPassedOn(delivery, end, out) : textFor(delivery, end);
  const directly = privately(asked, visibleTo, out);
  const isElsewhere = formatAddress(directly) !== formatAddress(asked);
  const openText = isPassedOn ? openlyNotPassedOn(delivery, role, isInDoubt) : openlyNotShown(ending, isInDoubt);
  const notice: NewDelivery = {
    id: noticeOf(delivery, visibleTo),
    // What is refused there goes on to the person directly.
    address: interaction ? delivery.address : directly,
    operation: "send",
    message: { text },
    cause,
    expiresAt: now + out.config.ttl,
    interaction,
    visibleTo,
    isCourtesy: true,
    skipsHooks: true,
    // A person who cannot be written to directly sees at least where they asked that there is something to look into.
    openly:
      isElsewhere && (role !== undefined || isPassedOn)
        ? {
            address: asked,
            message: { text: openText, replyToId: mirrors?.messageId },
            // A reply without a mark reads as passed on.
            isForEach: mirrors !== undefined,
          }
        : undefined,
  };
  await out.store.outbox.enqueue([notice], now);
  out.wake(queueOf(notice));
}

export const askerOf = ({ answers, visibleTo }: Delivery): string | undefined => answers?.author ?? visibleTo;

/** The notice that something of this cause did not arrive. */
export const noticeOf = ({ id, answers, cause }: Delivery, asker: string): string =>
  noticeId(`${answers?.askedAt ? id : cause.id} ${asker}`);

const OPENLY = "The answer was withheld by a hook. `/outbox` shows why.";

const NOT_SHOWN = "The command ran, but its answer was given up. `/outbox` shows why.";

const openlyNotShown = (ending: Withheld, isInDoubt: boolean): string =>
  isInDoubt
    ? "The command ran. It is not known whether its answer was posted. `/outbox` shows why."
    : ending === "dead"
      ? NOT_SHOWN
      : OPENLY;

/** The line where a command was given, when its person cannot be reached privately. */
export const notShown = (address: Address): NewDelivery["openly"] => ({ address, message: { text: NOT_SHOWN } });

const NOT_PASSED_ON: Record<Delivery["operation"], string> = {
  send: "This message was not passed on.",
  edit: "The correction of this message was not passed on.",
  delete: "The deletion of this message was not passed on: its copy may still be shown.",
};

const IN_DOUBT_HERE = "It is not known whether this was passed on.";

const openlyNotPassedOn = ({ operation }: Delivery, role: Role | undefined, isInDoubt: boolean): string => {
  const what = isInDoubt ? IN_DOUBT_HERE : NOT_PASSED_ON[operation];
  return `${what} ${role === undefined ? OPERATORS_SEE : "`/outbox` shows why."}`;
};

/** What the notices of a message say once an operator deleted it: privately, and where it was written. */
export function purgedTexts(delivery: Delivery, { offers }: Outbound): readonly [string, string] {
  const { operation, address } = delivery;
  const isInDoubt = isAmbiguous(delivery) || saysInDoubt(delivery.reason);
  const place = offers.placeName(address) ?? formatAddress(address);
  const { doubted, failed, unchanged } = CHANGES[operation];
  const what = isInDoubt ? `It is not known whether ${doubted} in ${place}` : `${failed} in ${place}`;
  const next = operation !== "send" || isInDoubt ? "" : "To answer, write another message.";
  const openly = isInDoubt ? IN_DOUBT_HERE : NOT_PASSED_ON[operation];
  return [
    `**${what}: an operator deleted it from the outbox.**\nIt is not tried again. ${unchanged}${next}`.trimEnd(),
    `${openly} An operator deleted it from the outbox.`,
  ];
}

/** The same, of a message of the inbox that was given up. */
export const NEVER_HANDLED: readonly [string, string] = [
  "**Your message was not handled: an operator deleted it from the outbox.**\nIt is not tried again. If you still need an answer, or want it passed on, write another message.",
  "This message was not handled. An operator deleted it from the outbox.",
];

/** For a person without a role, who may give no command and is shown no reason. */
const OPERATORS_SEE = "The operators can see why.";

interface End {
  ending: Withheld;
  /** As its reader may see it. */
  reason: string;
  isInDoubt: boolean;
}

function notPassedOn(delivery: Delivery, { ending, reason, isInDoubt }: End, { offers }: Outbound): string {
  const { id, address, operation, answers, targetId, cause } = delivery;
  const byOperators = hasRole(answers?.role, "operator") ? "" : " (operators)";
  const place = offers.placeName(address) ?? formatAddress(address);
  const { doubted, failed, does, unchanged } = CHANGES[operation];
  const what = isInDoubt
    ? `It is not known whether ${doubted} in ${place}.`
    : `${failed} in ${place}: it was ${ending === "dead" ? "given up" : ending}.`;
  if (answers?.role === undefined)
    return `**${what}**\n${unchanged}${OPERATORS_SEE} Ask one of them before you write again.`;
  const task = cause.kind === "task" ? `It was about a task: \`/task show ${cause.id}\`. ` : "";
  const shown = `**${what}**\n> ${reason.slice(0, 500)}\n\n${unchanged}${task}`;
  const isHeldWith = targetId !== undefined && reason === heldWith(targetId);
  const next = isHeldWith
    ? `\`/outbox release ${targetId}\` decides about that message, and this follows${byOperators}.`
    : isInDoubt && ending === "held"
      ? `\`/outbox release ${id}\` asks what is there, and ${does} it or not${byOperators}.`
      : ending === "held"
        ? `\`/outbox release ${id}\` ${does} it${byOperators}.`
        : ending === "dead"
          ? `\`/outbox retry ${id}\` tries it again${byOperators}.`
          : operation !== "send"
            ? ""
            : isInDoubt
              ? "Look in the chat: if it is not there, write another message."
              : "To answer, write another message.";
  return `${shown}\`/outbox show ${id}\` has the details. ${next}`.trimEnd();
}

/** `unchanged`: what the person at the other end sees meanwhile. */
const CHANGES = {
  send: {
    doubted: "your message was posted",
    failed: "Your message was not posted",
    does: "posts",
    unchanged: "",
  },
  edit: {
    doubted: "the correction of your message is shown",
    failed: "The correction of your message is not shown",
    does: "shows",
    unchanged: "The text before the correction may still be shown there. ",
  },
  delete: {
    doubted: "your message was deleted",
    failed: "Your message was not deleted",
    does: "deletes",
    unchanged: "It may still be shown there. ",
  },
};

/** It names what its reader may do, and who may do the rest. */
function textFor({ id, answers, cause, parts }: Delivery, { ending, reason, isInDoubt }: End): string {
  const role = answers?.role;
  const may = (needed: Role) => hasRole(role, needed);
  const byOperators = may("operator") ? "" : " (operators)";
  if (isInDoubt) {
    const unknown = `It is not known whether ${partCountText(parts) === "" ? "its answer was posted" : "the rest of its answer was posted"}${partCountText(parts)}.`;
    if (role === undefined) return `The command ran. ${unknown} The operators can see why.`;
    const shown = `**The command ran. ${unknown}**\n> ${reason.slice(0, 500)}`;
    return `${shown}\n\n\`/outbox release ${id}\` asks what is there, and posts the rest or not${byOperators}. \`/outbox show ${id}\` has the details.`;
  }
  if (role === undefined) return "The answer cannot be shown here. The operators can see why.";
  const ended = `${ending === "dead" ? "given up" : ending}.**\n> ${reason.slice(0, 500)}`;
  const release = `\`/outbox release ${id}\` sends it${byOperators}.`;
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

/** The platform shows that an answer is to come, and takes one. Beside a message that a press changes in place, nothing is pending. */
function pendingInteraction({ operation, interaction, parts }: Delivery, now: number): InteractionRef | undefined {
  if (operation !== "send" || interaction?.isNotice || interaction?.isFollowUp || parts[0]?.status === "sent")
    return undefined;
  return interaction && interaction.expiresAt > now ? interaction : undefined;
}

export function privately(at: Address, userId: string, { adapters }: Outbound): Address {
  return adapters.get(at.platform)?.traits.privateAddress(at, userId) ?? at;
}

export const noticeId = (what: string) => `d_n${createHash("sha256").update(what).digest("hex").slice(0, 20)}`;
