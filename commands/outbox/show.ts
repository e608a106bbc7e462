/** `/outbox show ID`: one delivery or inbox message, with its state and the reason. Its text stays masked unless revealed. */

import { addressOf, type InboundEvent } from "../../src/domain/chat/event.js";
import { hasRole } from "../../src/domain/chat/identity.js";
import { shortenedFrom } from "../../src/domain/chat/long-message.js";
import { isAmbiguous, isLeftToPeople, isUnanswered, maySeeIt } from "../../src/domain/deliveries/given-up.js";
import { type Delivery, type InboxRow, isUnderWay } from "../../src/domain/store.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import { answer, commandButton } from "../answer.js";
import { readableLetter } from "../automations/owner-only.js";
import type { CommandDeps } from "../deps.js";
import { endText } from "../journey/why-not-reached.js";
import { letterNamed } from "../message-named.js";
import { open } from "../runs/show-dispatch.js";
import { needToReveal } from "../show/reveal.js";
import { ago, clockTime, code, count, jsonBlock, plain, table } from "../show/text.js";
import { conversationText, placeText } from "../who.js";
import {
  doubtText,
  findLetter,
  heldTargetOf,
  isDeletedByAuthor,
  nextStepButtons,
  nextStepText,
  tries,
} from "./letter.js";
import { deliveryRow, inboxRow } from "./list.js";
import { pausesOf } from "./pauses-of.js";

const MAX_DISPATCHES = 20;
const MAX_REPLIES = 3;
const MAX_REASON = 160;

export async function showLetter(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const letter = await findLetter(deps, await letterNamed(deps, context.at, context.options.id));
  const isOpen = context.options.reveal === true;
  if (isOpen) {
    const { id, cause } = letter.kind === "delivery" ? letter.delivery : { id: `m${letter.row.id}`, cause: undefined };
    await needToReveal(deps, context, { id, cause });
    // Recorded before anything is shown: a reveal that cannot be recorded does not happen.
    await deps.store.audit.record({
      at: deps.clock.now(),
      operator: context.operator,
      action: "reveal",
      target: id,
      outcome: "done",
    });
  }
  return letter.kind === "delivery"
    ? showDelivery(deps, context, await readableLetter(deps, context, letter.delivery), isOpen, letter.asked)
    : showInbox(deps, context, await readableLetter(deps, context, letter.row), isOpen);
}

async function showDelivery(
  deps: CommandDeps,
  context: CommandContext,
  delivery: Delivery,
  isOpen: boolean,
  asked: string | undefined,
): Promise<CommandAnswer> {
  const { id, status, cause, parts } = delivery;
  const ambiguous = isAmbiguous(delivery);
  const message = delivery.frozen ?? delivery.message;
  const size = message && shortenedFrom(message);
  const decided = (await heldTargetOf(deps, id)) ?? id;
  const mayAct =
    hasRole(context.operator.role, "operator") &&
    !delivery.isUnreadable &&
    (status === "held" || status === "dead") &&
    !isLeftToPeople(delivery.reason);
  return answer({
    text: [
      `${code(id)} · ${endText(delivery, await deps.store.journal.list({ of: id, limit: MAX_DISPATCHES }))}`,
      [
        `${delivery.operation} to ${conversationText(deps, delivery.conversation)}`,
        asked !== undefined && `a newer change of the same message, in place of ${code(asked)}`,
        `because of ${cause.kind} ${code(cause.id)}`,
        `made ${ago(delivery.createdAt, deps.clock.now())}, tried ${count(tries(delivery), "time")}`,
        ...(await pauseLines(deps, delivery)),
      ]
        .filter((line) => line !== false)
        .join("\n"),
      parts.length > 0 &&
        table(
          [
            { title: "part", right: true },
            { title: "status" },
            { title: "tried", right: true },
            { title: "message", maxCharacters: 24 },
          ],
          parts.map((part) => [
            String(part.index + 1),
            // A part that ended with its delivery is not under way.
            isUnanswered(part) && !isUnderWay(delivery)
              ? ambiguous || status === "cancelled"
                ? "not known"
                : "not sent"
              : part.status,
            String(part.attempts),
            part.messageId ?? "",
          ]),
          context,
        ),
      ambiguous &&
        `It **may have arrived**: ${doubtText(delivery)}. Look in the chat. If it is there, release it \`confirmed\`; if not, release it, and it is sent again.`,
      !ambiguous &&
        maySeeIt(delivery) &&
        "It **may have arrived**: it was sent and no answer came. Look in the chat. It is not sent again.",
      size !== undefined && `The message was shortened: it had ${count(size, "character")}.`,
      message && `**Message**${isOpen ? "" : " (texts masked)"}\n${jsonBlock(open(message, isOpen, "us"))}`,
    ],
    data: {
      ...deliveryRow(delivery),
      operation: delivery.operation,
      cause,
      parts: parts.map(({ part: _body, nonce: _nonce, ...facts }) => facts),
      message: open(message, isOpen, "us"),
      redacted: !isOpen,
    },
    buttons: [
      [
        ...(mayAct && ambiguous
          ? [
              commandButton("It arrived", `/outbox release ${id} confirmed=true`, "success"),
              commandButton("Send again", `/outbox release ${id} confirmed=false`, "danger"),
            ]
          : []),
        ...(mayAct && !ambiguous
          ? [commandButton("Send it", `/outbox ${status === "held" ? "release" : "retry"} ${decided}`, "primary")]
          : []),
        ...(hasRole(context.operator.role, "admin") && (status === "held" || status === "dead")
          ? [commandButton("Delete", `/outbox purge ${id}`, "danger")]
          : []),
        ...(hasRole(context.operator.role, "admin") && isUnderWay(delivery)
          ? [commandButton("Cancel", `/outbox purge ${id}`, "danger")]
          : []),
        ...(isOpen || !hasRole(context.operator.role, "admin")
          ? []
          : [commandButton("Reveal", `/outbox show ${id} reveal=true`)]),
      ],
    ],
  });
}

async function pauseLines(deps: CommandDeps, delivery: Delivery): Promise<string[]> {
  const now = deps.clock.now();
  return (await pausesOf(deps, delivery)).map(
    ({ key, until, reason, isOwnLimit }) =>
      `${conversationText(deps, key)} is paused until ${clockTime(until, now)} UTC (${formatDuration(until - now)} more): ${isOwnLimit ? plain(reason) : code("/pauses")}`,
  );
}

async function showInbox(
  deps: CommandDeps,
  context: CommandContext,
  row: InboxRow,
  isOpen: boolean,
): Promise<CommandAnswer> {
  const id = `m${row.id}`;
  const answers = await deps.store.outbox.answersTo(id);
  const replies = await Promise.all(answers.map((one) => readableLetter(deps, context, one)));
  return answer({
    text: [
      isDeletedByAuthor(row)
        ? `${code(id)} · inbox · **deleted by its author**: it is not handled again. It was given up before${row.error ? `: ${plain(row.error)}` : ""}`
        : `${code(id)} · inbox · **${row.status}**${row.error ? `: ${plain(row.error)}` : ""}`,
      [
        `${row.event.kind} in ${placeText(deps, addressOf(row.event))}`,
        `received ${ago(row.receivedAt, deps.clock.now())}, tried ${count(row.attempts, "time")}${row.deferrals > 0 ? `, put off ${count(row.deferrals, "time")}` : ""}`,
        ...(row.outcome && !isDeletedByAuthor(row)
          ? [
              `${row.outcome === "unrouted" ? "no hook claimed it" : row.outcome}${row.claimedBy ? ` by ${code(row.claimedBy)}` : ""}`,
            ]
          : []),
        ...replies.slice(-MAX_REPLIES).map(replyLine),
      ].join("\n"),
      `**Event**${isOpen ? "" : " (texts and names masked)"}\n${jsonBlock(open(shownEvent(row.event), isOpen, "us"))}`,
    ],
    data: {
      ...inboxRow(row),
      outcome: row.outcome,
      claimedBy: row.claimedBy,
      deferrals: row.deferrals,
      deliveries: replies.map(({ id: one, status, reason }) => ({ id: one, status, reason })),
      event: open(shownEvent(row.event), isOpen, "us"),
      redacted: !isOpen,
    },
    buttons: [
      [
        ...(row.status === "dead" && !row.isUnreadable && hasRole(context.operator.role, "operator")
          ? [commandButton("Handle it again", `/outbox retry ${id}`, "primary")]
          : []),
        ...nextStepButtons(replies),
        ...(isOpen || !hasRole(context.operator.role, "admin")
          ? []
          : [commandButton("Reveal", `/outbox show ${id} reveal=true`)]),
      ],
    ],
  });
}

/** `answered with d_m1r, which is held: Hook "guard" failed; /outbox release d_m1r sends it`. */
function replyLine(delivery: Delivery): string {
  const { id, status, reason } = delivery;
  const step = nextStepText(delivery);
  return `answered with ${code(id)}, which is **${status}**${reason === undefined ? "" : `: ${plain(reason, MAX_REASON)}`}${step === undefined ? "" : `; ${step}`}`;
}

/** Without the fields that allow an answer in a person's name. */
function shownEvent(event: InboundEvent): unknown {
  const { interaction: _interaction, token: _token, ...shown } = { interaction: undefined, token: undefined, ...event };
  return shown;
}
