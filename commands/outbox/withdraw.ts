/**
 * `/outbox purge waiting|ID [chat older reason] [yes]`: ends deliveries that wait for their turn, such as a flood, or one message that is
 * partly sent. They stay in the outbox as cancelled.
 */
import { isUnanswered, WITHDRAWN_BY } from "../../src/domain/deliveries/given-up.js";
import type { CancelledRest, Delivery, DeliveryPart } from "../../src/domain/store.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { answer, commandButton } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { changedText, hasChanged, selectionOf } from "../selection.js";
import { code, count } from "../show/text.js";
import { conversationText, operatorName } from "../who.js";
import { openDeliveries } from "./chosen.js";
import type { Chosen } from "./filter.js";

/** How many are cancelled at a time: one commit serves them all, and other work has its turn in between. */
const AT_A_TIME = 100;

export async function withdrawWaiting(
  deps: CommandDeps,
  context: CommandContext,
  chosen: Chosen,
): Promise<CommandAnswer> {
  const { line, words } = chosen;
  const waiting = (await openDeliveries(deps, context, chosen)).waiting.map(({ id }) => id);
  if (waiting.length === 0) {
    const { waiting: incoming } = await deps.store.inbox.counts();
    return answer({
      text: [
        `Nothing is waiting to be sent${words}.${incoming === 0 ? "" : " Messages that wait in the inbox are handled, and are not deleted by hand."}`,
      ],
      data: { withdrawn: 0 },
    });
  }
  const isStale = hasChanged(context, waiting);
  if (isStale || context.options.yes !== true)
    return answer({
      text: [
        isStale && changedText("messages"),
        `Cancel ${count(waiting.length, "message")} that ${waiting.length === 1 ? "waits" : "wait"}${words}? ${waiting.length === 1 ? "It" : "They"} will not be sent. \`yes=true\` cancels without asking.`,
      ],
      data: { withdrawn: 0, wouldWithdraw: waiting.length, what: "waiting" },
      isQuestion: true,
      buttons: [
        [
          commandButton(
            `Cancel ${waiting.length.toLocaleString("en-US")}`,
            `/outbox purge waiting${line} yes=true selection=${selectionOf(waiting)}`,
            "danger",
          ),
          commandButton("Show them", `/outbox list waiting${line}`),
        ],
      ],
    });
  const withdrawn = await withdrawAll(deps, context, waiting);
  return answer({ text: [withdrawnText(withdrawn, waiting.length)], data: { withdrawn } });
}

export async function withdrawOne(
  deps: CommandDeps,
  context: CommandContext,
  { id, conversation, parts }: Delivery,
): Promise<CommandAnswer> {
  if (context.options.yes === true) {
    const rest = await deps.cancelRest(id, `${WITHDRAWN_BY}${operatorName(context.operator)}`);
    return answer({ text: [restText(id, rest)], data: { withdrawn: rest ? 1 : 0, ...rest } });
  }
  return answer({
    text: [
      `Cancel ${code(id)} to ${conversationText(deps, conversation)}? ${stateText(parts)} \`yes=true\` cancels without asking.`,
    ],
    data: { withdrawn: 0, wouldWithdraw: 1, what: id },
    isQuestion: true,
    buttons: [
      [
        commandButton("Cancel it", `/outbox purge ${id} yes=true`, "danger"),
        commandButton("Show it", `/outbox show ${id}`),
      ],
    ],
  });
}

function stateText(parts: Delivery["parts"]): string {
  const sent = parts.filter(({ status }) => status === "sent").length;
  const unanswered = parts.find(isUnanswered);
  const unclear = unanswered && unclearText(unanswered, parts.length);
  if (sent === 0) return unclear ?? "It waits for its turn, and will not be sent.";
  const [is, stays] = sent === 1 ? ["is", "stays"] : ["are", "stay"];
  const state = `${sent} of its ${count(parts.length, "part")} ${is} sent and ${stays}; the rest will not be sent.`;
  return unclear === undefined ? state : `${state} ${unclear}`;
}

/** A request that is repeated got no answer; any other has to come back first. */
function unclearText({ index, mayHaveArrived }: DeliveryPart, parts: number): string {
  const which = parts === 1 ? "It" : `Part ${index + 1}`;
  if (mayHaveArrived !== true) return `${which} is on its way and may still arrive.`;
  return `${which} **may have arrived**: it was sent and no answer came. Look in the chat. It will not be sent again.`;
}

function restText(id: string, rest: CancelledRest | undefined): string {
  if (rest === undefined)
    return `Nothing was cancelled: ${code(id)} had ended meanwhile. \`/outbox show ${id}\` shows how.`;
  const { sent, parts, isUnclear } = rest;
  if (sent === 0 && !isUnclear) return withdrawnText(1, 1);
  const which = parts === 1 ? "It" : `Part ${sent + 1}`;
  const unclear = isUnclear ? ` ${which} **may have arrived**, or may still arrive: look in the chat.` : "";
  const before = sent === 0 ? "" : `: ${sent} of ${count(parts, "part")} ${sent === 1 ? "was" : "were"} sent before`;
  return `${code(id)} is cancelled${before}.${unclear} \`/outbox list cancelled\` shows what is kept of it.`;
}

async function withdrawAll(deps: CommandDeps, { operator, signal }: CommandContext, ids: readonly string[]) {
  const reason = `${WITHDRAWN_BY}${operatorName(operator)}`;
  let withdrawn = 0;
  for (let at = 0; at < ids.length; at += AT_A_TIME) {
    signal.throwIfAborted();
    const some = await Promise.all(ids.slice(at, at + AT_A_TIME).map((id) => deps.withdraw(id, reason)));
    withdrawn += some.filter(Boolean).length;
  }
  return withdrawn;
}

function withdrawnText(withdrawn: number, asked: number): string {
  const late = asked - withdrawn;
  const sent =
    late === 0 ? "" : ` ${count(late, "message")} had been sent, or ${late === 1 ? "was" : "were"} being sent.`;
  return `${count(withdrawn, "message")} cancelled; \`/outbox list cancelled\` shows what is kept of ${withdrawn === 1 ? "it" : "them"}.${sent}`;
}
