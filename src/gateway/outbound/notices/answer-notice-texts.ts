/**
 * The texts of the notice of an answer, or of a change of an answer, in each state: the private text, and the one where the answer was
 * written.
 */
import { formatAddress } from "../../../domain/chat/address.js";
import { hasRole, type Role } from "../../../domain/chat/identity.js";
import {
  heldBehind,
  isAmbiguous,
  isChatGone,
  isLeftToPeople,
  OLD_PART_LEFT,
  saysInDoubt,
} from "../../../domain/deliveries/given-up.js";
import type { Delivery } from "../../../domain/store.js";
import type { Outbound } from "../sending.js";
import { type End, seenIn } from "./notify-asker.js";

export type NoticeTexts = readonly [privately: string, openly: string];

/** `operation`: the change that the notice is about. */
export function passedOnTexts(
  { address }: Delivery,
  operation: Delivery["operation"],
  { offers }: Outbound,
): NoticeTexts {
  const [privately, openly] = PASSED_ON[operation];
  return [`**${privately} in ${offers.placeName(address) ?? formatAddress(address)}.**`, openly];
}

const PASSED_ON: Record<Delivery["operation"], NoticeTexts> = {
  send: ["Your message was posted", "This message was passed on."],
  edit: ["Your corrected message is shown", "The corrected message was passed on."],
  delete: ["Your deleted message is not shown", "The deletion of this message was passed on."],
};

export function notPassedOnTexts(delivery: Delivery, end: End, out: Outbound): NoticeTexts {
  if (end.reason === OLD_PART_LEFT) return oldPartLeftTexts(delivery, out);
  return [privatelyNotPassedOn(delivery, end, out), openlyNotPassedOn(delivery, delivery.answers?.role, end)];
}

function oldPartLeftTexts({ id, address, answers }: Delivery, { offers }: Outbound): NoticeTexts {
  const place = offers.placeName(address) ?? formatAddress(address);
  const next =
    answers?.role === undefined
      ? "Ask an operator to delete it there by hand."
      : `No answer came when it was posted, so its id is not known: delete it there by hand. \`/outbox show ${id}\` has the details.`;
  return [
    `**Your corrected message is shown in ${place}, but a part of it from before the correction may still be shown, too.**\n${next}`,
    "The correction of this message was passed on, but a part of it from before the correction may still be shown, too. An operator can delete it by hand.",
  ];
}

const NOT_PASSED_ON: Record<Delivery["operation"], string> = {
  send: "This message was not passed on.",
  edit: "The correction of this message was not passed on.",
  delete: "The deletion of this message was not passed on: its copy may still be shown.",
};

const IN_DOUBT_HERE = "It is not known whether this was passed on.";

const openlyNotPassedOn = ({ operation }: Delivery, role: Role | undefined, { ending, isInDoubt }: End): string => {
  const what = isInDoubt ? IN_DOUBT_HERE : NOT_PASSED_ON[operation];
  return `${what} ${role === undefined ? OPERATORS_SEE : seenIn(ending)}`;
};

/** Once an operator deleted it: no command that an earlier notice names sends it any more. */
export function purgedTexts(delivery: Delivery, { offers }: Outbound): NoticeTexts {
  const { operation, address } = delivery;
  const isInDoubt = isAmbiguous(delivery) || saysInDoubt(delivery.reason);
  const place = offers.placeName(address) ?? formatAddress(address);
  const { doubted, failed } = CHANGES[operation];
  const unchanged = unchangedText(operation, delivery.reason);
  const what = isInDoubt ? `It is not known whether ${doubted} in ${place}` : `${failed} in ${place}`;
  const next = operation !== "send" || isInDoubt ? "" : "To answer, write another message.";
  const openly = isInDoubt ? IN_DOUBT_HERE : NOT_PASSED_ON[operation];
  return [
    `**${what}: an operator deleted it from the outbox.**\nIt is not tried again. ${unchanged}${next}`.trimEnd(),
    `${openly} An operator deleted it from the outbox.`,
  ];
}

/** The same, of a message of the inbox that was given up. */
export const NEVER_HANDLED: NoticeTexts = [
  "**Your message was not handled: an operator deleted it from the outbox.**\nIt is not tried again. If you still need an answer, or want it passed on, write another message.",
  "This message was not handled. An operator deleted it from the outbox.",
];

/** For a person without a role, who may give no command and is shown no reason. */
const OPERATORS_SEE = "The operators can see why.";

function privatelyNotPassedOn(delivery: Delivery, { ending, reason, isInDoubt }: End, { offers }: Outbound): string {
  const { id, address, operation, answers, targetId, cause } = delivery;
  const byOperators = hasRole(answers?.role, "operator") ? "" : " (operators)";
  const place = offers.placeName(address) ?? formatAddress(address);
  const { doubted, failed, does } = CHANGES[operation];
  const unchanged = unchangedText(operation, reason);
  const what = isInDoubt
    ? `It is not known whether ${doubted} in ${place}.`
    : `${failed} in ${place}: it was ${ending === "dead" ? "given up" : ending}.`;
  if (answers?.role === undefined)
    return `**${what}**\n${unchanged}${OPERATORS_SEE} Ask one of them before you write again.`;
  const task = cause.kind === "task" ? `It was about a task: \`/task show ${cause.id}\`. ` : "";
  const shown = `**${what}**\n> ${reason.slice(0, 500)}\n\n${unchanged}${task}`;
  const behind = heldBehind({ targetId, reason });
  const next = behind
    ? `\`/outbox release ${behind}\` decides about that message, and this follows${byOperators}.`
    : isInDoubt && ending === "held"
      ? `\`/outbox release ${id}\` asks what is there, and ${does} it or not${byOperators}.`
      : ending === "held"
        ? `\`/outbox release ${id}\` ${does} it${byOperators}.`
        : ending === "dead" && !isLeftToPeople(reason)
          ? `\`/outbox retry ${id}\` tries it again${byOperators}.`
          : operation !== "send"
            ? ""
            : isInDoubt
              ? "Look in the chat: if it is not there, write another message."
              : "To answer, write another message.";
  return `${shown}\`/outbox show ${id}\` has the details. ${next}`.trimEnd();
}

const unchangedText = (operation: Delivery["operation"], reason: string | undefined): string =>
  isChatGone(reason) ? "" : CHANGES[operation].unchanged;

/** `unchanged`: the content that the person at the other end sees meanwhile. */
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
