/** `/outbox release ID|all [chat older reason] [confirmed] [yes]`: an operator decides on held deliveries. */
import { isAmbiguous, isLeftToPeople } from "../../src/domain/deliveries/given-up.js";
import type { FormerEnd } from "../../src/domain/deliveries/purges.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { HookgateError } from "../../src/lib/errors.js";
import { answer, badUsage, commandButton } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { changedText, hasChanged, selectionOf } from "../selection.js";
import { code, count } from "../show/text.js";
import { conversationText } from "../who.js";
import { formerEnds, recordActed } from "./acted.js";
import { chosenDeliveries } from "./chosen.js";
import { answeredQuestion, type Chosen, chosenBy, isNarrowed, needNoSelection, riskyButton } from "./filter.js";
import {
  countCancelled,
  doubtText,
  findLetter,
  heldTargetOf,
  isUnreadable,
  leftToPeople,
  manyNotSentText,
  notSentText,
  unreadable,
  unreadableText,
} from "./letter.js";
import { waitText } from "./pauses-of.js";

export async function releaseDelivery(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const asked = typeof context.options.id === "string" ? context.options.id.trim().toLowerCase() : "";
  const chosen = chosenBy(context, deps);
  if (asked === "all" || asked === "held" || (asked === "" && isNarrowed(chosen)))
    return releaseMany(deps, context, chosen);
  const letter = await findLetter(deps, context.options.id);
  if (letter.kind === "inbox") throw badUsage("An inbox message is not held; /outbox retry handles a dead one again.");
  const { delivery } = letter;
  const { id } = delivery;
  needNoSelection(chosen, id);
  if (delivery.status !== "held" && delivery.status !== "dead")
    throw new HookgateError({
      code: "NOT_HELD",
      message: `${id} is ${delivery.status}; there is nothing to release.`,
      hint: "/outbox list held shows what is held.",
    });

  if (delivery.isUnreadable) throw unreadable(id);
  if (isLeftToPeople(delivery.reason)) throw leftToPeople(delivery);
  const target = await heldTargetOf(deps, id);
  if (target !== undefined)
    throw new HookgateError({
      code: "HELD_WITH_TARGET",
      message: `${id} cannot be released alone: it changes ${target}, which is held.`,
      hint: `/outbox release ${target} decides about that message, and ${id} follows.`,
    });
  const { confirmed } = context.options;
  const ambiguous = isAmbiguous(delivery);
  if (confirmed === true && !ambiguous)
    throw badUsage(`${id} was certainly not sent, so it cannot be confirmed.`, `/outbox release ${id} sends it.`);
  // Only a person can see whether it arrived, and only a clear word may risk a second copy.
  if (ambiguous && typeof confirmed !== "boolean")
    return answer({
      text: [
        `${code(id)} **may have arrived**: ${doubtText(delivery)}. Look in ${conversationText(deps, delivery.conversation)}, then choose: \`confirmed=true\` when it is there, \`confirmed=false\` to send it.`,
      ],
      data: { id, ambiguous: true, released: false },
      isQuestion: true,
      buttons: [
        [
          commandButton("It arrived", `/outbox release ${id} confirmed=true`, "success"),
          commandButton("It is not there: send it", `/outbox release ${id} confirmed=false`, "danger"),
        ],
      ],
    });

  if (!(await deps.release(id, confirmed === true)))
    throw new HookgateError({
      code: "NOT_HELD",
      message: `${id} was decided upon meanwhile.`,
      hint: `/outbox show ${id} shows why.`,
    });
  const after = await deps.store.outbox.get(id);
  // Its correction goes with it in a round of its own.
  const isDecidedAnew = !delivery.frozen || (after !== undefined && after.round > delivery.round + 1);
  return answer({
    text: [
      confirmed === true
        ? `${code(id)} counts as sent; what is left of it follows.`
        : after?.status === "cancelled"
          ? notSentText(after)
          : `${code(id)} is on its way.${isDecidedAnew ? ` Hooks decide first, and may hold or cancel it: ${code(`/outbox show ${id}`)} shows that.` : ""}${await waitText(deps, id)}`,
    ],
    data: { id, ambiguous, released: true, confirmed: confirmed === true },
    audited: formerEnds([{ id, status: delivery.status, reason: delivery.reason }]),
  });
}

async function releaseEach(
  deps: CommandDeps,
  context: CommandContext,
  wanted: Awaited<ReturnType<typeof chosenDeliveries>>,
  isConfirmed: boolean,
): Promise<{ ends: FormerEnd[]; damaged: string[] }> {
  const ends: FormerEnd[] = [];
  const damaged: string[] = [];
  for (const { id, isAmbiguous, reason } of wanted) {
    context.signal.throwIfAborted();
    if (await isUnreadable(deps, id)) damaged.push(id);
    // A held change follows the message that it changes.
    else if ((await heldTargetOf(deps, id)) !== undefined) continue;
    else if (await deps.release(id, isAmbiguous && isConfirmed)) ends.push({ id, status: "held", reason });
  }
  return { ends, damaged };
}

/**
 * All held and chosen deliveries, oldest first. Deliveries whose hooks may end the process are left out, unless the reason names the crash
 * and the operator agreed. Deliveries that may have arrived need the operator's decision, one for all of them.
 */
async function releaseMany(deps: CommandDeps, context: CommandContext, chosen: Chosen): Promise<CommandAnswer> {
  const { yes } = context.options;
  const all = await chosenDeliveries(deps, context, ["held"], chosen);
  const question = answeredQuestion(context);
  const mayCrash = all.flatMap((one) => (one.mayCrash ? [one.id] : []));
  const isRiskStale = question === "risk" && hasChanged(context, mayCrash);
  const takesRisky = chosen.namesCrash && yes === true && !isRiskStale;
  const risky = all.filter(({ mayCrash }) => mayCrash && !takesRisky);
  const held = all.filter(({ mayCrash }) => !mayCrash || takesRisky);
  const inDoubt = held.flatMap(({ id, isAmbiguous }) => (isAmbiguous ? [id] : []));
  const unclear = inDoubt.length;
  const isStale = isRiskStale || (question === "doubt" && hasChanged(context, inDoubt));
  const confirmed = isStale ? undefined : context.options.confirmed;
  // The operator confirmed that they arrived, which can be true only of deliveries that may have.
  const wanted = held.filter(({ isAmbiguous, mayCrash }) =>
    isAmbiguous
      ? typeof confirmed === "boolean"
      : confirmed !== true && (question === "risk" ? mayCrash : question === undefined),
  );
  const { ends, damaged } = await releaseEach(deps, context, wanted, confirmed === true);
  const ids = ends.map(({ id }) => id);
  const notSent = confirmed === true ? 0 : await countCancelled(deps, ids);
  const released = ids.length - notSent;
  await recordActed(deps, context, confirmed === true ? "confirm" : "release", "held", ids, ends);
  const isAsking = unclear > 0 && typeof confirmed !== "boolean";
  const done = confirmed === true ? "counted as sent" : "on the way again";
  // Deliveries that may have arrived are decided already.
  const isAskedAgain = wanted.some(({ id, isAmbiguous }) => !isAmbiguous && ids.includes(id));
  return answer({
    text: [
      isStale && changedText("messages"),
      all.length === 0 && `**Nothing is held${chosen.words}.**`,
      released > 0 &&
        `${count(released, "message")} ${done}.${isAskedAgain ? ` Hooks decide first: ${code("/outbox")} shows what they hold again, ${code("/outbox list cancelled")} what they cancel.` : ""}`,
      manyNotSentText(notSent),
      wanted.length === 0 &&
        held.length > 0 &&
        !isAsking &&
        !isStale &&
        "None of them may have arrived, so none can be confirmed.",
      isAsking &&
        `${count(unclear, "message")}${chosen.words} **may have arrived**; ${code("/outbox list held")} shows why. Look in the chats, then decide for all of them: \`confirmed=true\` counts them as sent, \`confirmed=false\` sends them.`,
      risky.length > 0 && riskyText(risky.length, chosen),
      unreadableText(damaged),
    ],
    data: {
      released,
      unclear: isAsking ? unclear : 0,
      confirmed: confirmed === true,
      leftOut: risky.length === 0 ? undefined : risky.map(({ id }) => id),
    },
    isQuestion: ids.length === 0 && (isAsking || (risky.length > 0 && chosen.namesCrash)),
    outcome: ids.length === 0 && risky.length > 0 ? "refused" : "done",
    buttons: [
      isAsking
        ? decisions(
            `/outbox release all${chosen.line}${takesRisky ? " yes=true" : ""} selection=${selectionOf(inDoubt)}`,
          )
        : [],
      risky.length > 0
        ? [
            riskyButton(
              "Release",
              risky.map(({ id }) => id),
              "/outbox release all",
              chosen,
            ),
          ]
        : [],
    ],
  });
}

function riskyText(amount: number, { namesCrash, crashLine }: Chosen): string {
  const these = amount === 1 ? "it" : "them";
  const may = `the hooks that decide about ${these} may crash the gateway`;
  return namesCrash
    ? `Release ${count(amount, "message")}? Repair the hooks first: ${may}. \`yes=true\` releases without asking.`
    : `${count(amount, "message")} left out: ${may}. Repair the hooks, then release ${these} with ${code(`/outbox release all${crashLine}`)}.`;
}

const decisions = (line: string) => [
  commandButton("They arrived", `${line} confirmed=true`, "success"),
  commandButton("They are not there: send them", `${line} confirmed=false`, "danger"),
];
