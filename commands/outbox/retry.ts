/**
 * `/outbox retry ID|dead|inbox|all [chat older reason] [confirmed] [yes]`: sends a dead delivery again, handles a dead inbox message again.
 */
import { addressOf } from "../../src/domain/chat/event.js";
import { hasRole } from "../../src/domain/chat/identity.js";
import { isLeftToPeople } from "../../src/domain/deliveries/given-up.js";
import type { FormerEnd } from "../../src/domain/deliveries/purges.js";
import type { InboxRow } from "../../src/domain/store.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { HookgateError } from "../../src/lib/errors.js";
import { answer, badUsage, commandButton } from "../answer.js";
import { readableLetter } from "../automations/owner-only.js";
import type { CommandDeps } from "../deps.js";
import { changedText, hasChanged, selectionOf } from "../selection.js";
import { code, count, plain } from "../show/text.js";
import { placeText } from "../who.js";
import { formerEnds, recordActed } from "./acted.js";
import { chosenDeliveries, chosenInbox } from "./chosen.js";
import { answeredQuestion, type Chosen, chosenBy, isNarrowed, needNoSelection, riskyButton } from "./filter.js";
import {
  countCancelled,
  findLetter,
  isDeletedByAuthor,
  isMaybeHandled,
  isUnreadable,
  leftToPeople,
  leftToPeopleText,
  manyNotSentText,
  notSentText,
  unreadable,
  unreadableText,
} from "./letter.js";
import { waitText } from "./pauses-of.js";

export async function retryLetter(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const { id } = context.options;
  const asked = typeof id === "string" ? id.trim().toLowerCase() : "";
  const chosen = chosenBy(context, deps);
  if (asked === "all" || asked === "dead" || asked === "inbox") return retryAll(deps, context, asked, chosen);
  if (asked === "" && isNarrowed(chosen)) return retryAll(deps, context, "all", chosen);
  if (asked === "held")
    throw new HookgateError({
      code: "HELD",
      message: "Held messages are not tried again in one go: they may have arrived, or a hook holds them back.",
      hint: "/outbox list held shows them; /outbox release held decides on all of them.",
    });
  const letter = await findLetter(deps, id);
  needNoSelection(chosen, letter.kind === "inbox" ? `m${letter.row.id}` : letter.delivery.id);
  if (letter.kind === "inbox") {
    if (letter.row.isUnreadable) throw unreadable(`m${letter.row.id}`);
    if (isMaybeHandled(letter.row) && context.options.confirmed !== false)
      return askWhetherHandled(deps, context, letter.row);
    if (await deps.revive(letter.row.id))
      return answer({
        text: [`${code(`m${letter.row.id}`)} is handled again.`],
        data: { retried: [`m${letter.row.id}`] },
        audited: formerEnds([{ id: `m${letter.row.id}`, status: "dead", reason: letter.row.error }]),
      });
    const row = (await deps.store.inbox.get(letter.row.id)) ?? letter.row;
    throw isDeletedByAuthor(row) ? deletedByAuthor(`m${row.id}`) : notDead(`m${row.id}`, row.status);
  }
  const { delivery } = letter;
  if (delivery.status === "held") {
    const { reason } = await readableLetter(deps, context, delivery);
    throw new HookgateError({
      code: "HELD",
      message: `${delivery.id} is held, not dead${reason ? `: ${reason}` : ""}.`,
      hint: `Look at it with /outbox show ${delivery.id}, then decide with /outbox release.`,
    });
  }
  if (delivery.isUnreadable) throw unreadable(delivery.id);
  if (delivery.status === "dead" && isLeftToPeople(delivery.reason)) throw leftToPeople(delivery);
  if (delivery.status === "dead" && (await deps.release(delivery.id, false))) {
    const after = await deps.store.outbox.get(delivery.id);
    return answer({
      text: [
        after?.status === "cancelled"
          ? notSentText(after)
          : `${code(delivery.id)} is on its way again.${await waitText(deps, delivery.id)}`,
      ],
      data: { retried: [delivery.id] },
      audited: formerEnds([{ id: delivery.id, status: "dead", reason: delivery.reason }]),
    });
  }
  throw notDead(delivery.id, delivery.status);
}

async function retryAll(
  deps: CommandDeps,
  context: CommandContext,
  asked: string,
  chosen: Chosen,
): Promise<CommandAnswer> {
  const [deliveries, rows] = await Promise.all([
    asked === "inbox" ? [] : chosenDeliveries(deps, context, ["dead"], chosen),
    chosenInbox(deps, context, chosen),
  ]);
  const ends: FormerEnd[] = [];
  const damaged: string[] = [];
  const question = answeredQuestion(context);
  // Oldest first: the oldest message goes out first. The questions are about messages of the inbox.
  const byHand = deliveries.filter(({ reason }) => isLeftToPeople(reason)).map(({ id }) => id);
  for (const { id, reason } of question === undefined ? deliveries : []) {
    context.signal.throwIfAborted();
    if (isLeftToPeople(reason)) continue;
    if (await isUnreadable(deps, id)) damaged.push(id);
    else if (await deps.release(id, false)) ends.push({ id, status: "dead", reason });
  }
  // Messages that may end the process are left out, unless the reason names the crash and the operator agreed.
  const isRiskStale =
    question === "risk" &&
    hasChanged(
      context,
      rows.flatMap(({ id, mayCrash }) => (mayCrash ? [`m${id}`] : [])),
    );
  const takesRisky = chosen.namesCrash && context.options.yes === true && !isRiskStale;
  const risky = rows.filter(({ mayCrash }) => mayCrash && !takesRisky);
  const safe = rows.filter(({ mayCrash }) => !mayCrash || takesRisky);
  // Only a person can see whether they were handled since the backup.
  const inDoubt = safe.flatMap(({ id, isAmbiguous }) => (isAmbiguous ? [`m${id}`] : []));
  const isStale = isRiskStale || (question === "doubt" && hasChanged(context, inDoubt));
  const isDecided = context.options.confirmed === false && !isStale;
  const unclear = isDecided ? [] : inDoubt;
  const wanted = safe.filter(({ isAmbiguous, mayCrash }) =>
    isAmbiguous ? isDecided : question === "risk" ? mayCrash : question === undefined,
  );
  for (const { id, reason } of wanted) {
    context.signal.throwIfAborted();
    if (await isUnreadable(deps, id)) damaged.push(`m${id}`);
    else if (await deps.revive(id)) ends.push({ id: `m${id}`, status: "dead", reason });
  }
  const retried = ends.map(({ id }) => id);
  const notSent = await countCancelled(deps, retried);
  await recordActed(deps, context, "retry", asked, retried, ends);
  const line = `/outbox retry ${asked}${chosen.line}${takesRisky ? " yes=true" : ""} confirmed=false`;
  return answer({
    text: [
      isStale && changedText("messages"),
      manyNotSentText(notSent),
      retried.length > 0
        ? retried.length > notSent && `${count(retried.length - notSent, "message")} on the way again.`
        : risky.length + unclear.length + damaged.length + byHand.length === 0 &&
          `There is nothing dead to try again${chosen.words}.`,
      unclear.length > 0 &&
        `${count(unclear.length, "message")}${chosen.words} **may have been handled** since the backup that was restored; ${code("/outbox list dead")} shows which. Look in the chats. ${code(line)} handles all of them again; ${code("/outbox purge inbox")} deletes dead inbox messages.`,
      risky.length > 0 && riskyText(risky.length, asked, chosen),
      unreadableText(damaged),
      leftToPeopleText(byHand),
    ],
    data: {
      retried,
      unclear: unclear.length === 0 ? undefined : unclear.length,
      leftOut: risky.length === 0 ? undefined : risky.map(({ id }) => `m${id}`),
    },
    isQuestion: retried.length === 0 && (unclear.length > 0 || (risky.length > 0 && chosen.namesCrash)),
    buttons: [
      unclear.length > 0
        ? [commandButton("They were not handled: handle them", `${line} selection=${selectionOf(inDoubt)}`, "danger")]
        : [],
      risky.length > 0
        ? [
            riskyButton(
              "Try",
              risky.map(({ id }) => `m${id}`),
              `/outbox retry ${asked}`,
              chosen,
            ),
          ]
        : [],
    ],
  });
}

function askWhetherHandled(deps: CommandDeps, { options, operator }: CommandContext, row: InboxRow): CommandAnswer {
  const id = `m${row.id}`;
  if (options.confirmed === true)
    throw badUsage(`${id} is not handled again when it was handled.`, `/outbox purge ${id} deletes it.`);
  return answer({
    text: [
      `${code(id)} **may have been handled**: ${plain(row.error ?? "")}. Look in ${placeText(deps, addressOf(row.event))}: \`confirmed=false\` handles it again, ${code(`/outbox purge ${id}`)} deletes it.`,
    ],
    data: { id, ambiguous: true, retried: [] },
    isQuestion: true,
    buttons: [
      [
        commandButton("It was not handled: handle it", `/outbox retry ${id} confirmed=false`, "danger"),
        ...(hasRole(operator.role, "admin") ? [commandButton("Delete it", `/outbox purge ${id}`)] : []),
      ],
    ],
  });
}

function riskyText(amount: number, asked: string, { namesCrash, crashLine }: Chosen): string {
  const these = amount === 1 ? "it" : "them";
  const may = `handling ${these} may crash the gateway`;
  return namesCrash
    ? `Handle ${count(amount, "message")} again? Fix the cause first: ${may}. \`yes=true\` does it without asking.`
    : `${count(amount, "message")} left out: ${may}. Fix the cause, then handle ${these} again with ${code(`/outbox retry ${asked}${crashLine}`)}; ${code("/outbox purge inbox")} deletes dead inbox messages.`;
}

function deletedByAuthor(id: string): HookgateError {
  return new HookgateError({
    code: "DELETED",
    message: `${id} is not handled again: its author deleted the message.`,
    hint: `/hooks why ${id} shows what is on record about it.`,
  });
}

function notDead(id: string, status: string): HookgateError {
  return new HookgateError({
    code: "NOT_DEAD",
    message: `${id} is ${status}; only a dead letter can be tried again.`,
    hint: "/outbox list shows what waits for an operator.",
  });
}
