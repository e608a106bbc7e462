/** `/outbox retry ID|dead|inbox|all [chat older reason] [yes]`: a dead delivery is sent again, a dead inbox message is handled again. */
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { HookgateError } from "../../src/lib/errors.js";
import { answer } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { code, count } from "../text.js";
import { type FormerEnd, formerEnds, recordActed } from "./acted.js";
import { type Chosen, chosenBy, riskyButton } from "./filter.js";
import { findLetter, isUnreadable, unreadable, unreadableText } from "./letter.js";

export async function retryLetter(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  context.need("operator");
  const { id } = context.options;
  const asked = typeof id === "string" ? id.trim().toLowerCase() : "";
  if (asked === "all" || asked === "dead" || asked === "inbox") return retryAll(deps, context, asked);
  if (asked === "held")
    throw new HookgateError({
      code: "HELD",
      message: "Held messages are not tried again in one go: they may have arrived, or a hook holds them back.",
      hint: "/outbox list held shows them; /outbox release held decides on all of them.",
    });
  const letter = await findLetter(deps, id);
  if (letter.kind === "inbox") {
    if (letter.row.isUnreadable) throw unreadable(`m${letter.row.id}`);
    if (await deps.revive(letter.row.id))
      return answer({
        text: [`${code(`m${letter.row.id}`)} is handled again.`],
        data: { retried: [`m${letter.row.id}`] },
        audited: formerEnds([{ id: `m${letter.row.id}`, status: "dead", reason: letter.row.error }]),
      });
    throw notDead(`m${letter.row.id}`, letter.row.status);
  }
  const { delivery } = letter;
  if (delivery.status === "held")
    throw new HookgateError({
      code: "HELD",
      message: `${delivery.id} is held, not dead${delivery.reason ? `: ${delivery.reason}` : ""}.`,
      hint: `Look at it with /outbox show ${delivery.id}, then decide with /outbox release.`,
    });
  if (delivery.isUnreadable) throw unreadable(delivery.id);
  if (delivery.status === "dead" && (await deps.release(delivery.id, false)))
    return answer({
      text: [`${code(delivery.id)} is sent again.`],
      data: { retried: [delivery.id] },
      audited: formerEnds([{ id: delivery.id, status: "dead", reason: delivery.reason }]),
    });
  throw notDead(delivery.id, delivery.status);
}

async function retryAll(deps: CommandDeps, context: CommandContext, asked: string): Promise<CommandAnswer> {
  const chosen = chosenBy(context, deps);
  const [deliveries, rows] = await Promise.all([
    asked === "inbox" ? [] : deps.store.outbox.letters(["dead"], chosen),
    deps.store.inbox.letters(chosen),
  ]);
  const ends: FormerEnd[] = [];
  const damaged: string[] = [];
  // Oldest first: what was said first goes out first.
  for (const { id, reason } of deliveries) {
    context.signal.throwIfAborted();
    if (await isUnreadable(deps, id)) damaged.push(id);
    else if (await deps.release(id, false)) ends.push({ id, status: "dead", reason });
  }
  // What may end the process is left out, unless the reason names the crash and the operator said yes.
  const takesRisky = chosen.namesCrash && context.options.yes === true;
  const risky = rows.filter(({ mayCrash }) => mayCrash && !takesRisky);
  for (const { id, reason } of rows.filter(({ mayCrash }) => !mayCrash || takesRisky)) {
    context.signal.throwIfAborted();
    if (await isUnreadable(deps, id)) damaged.push(`m${id}`);
    else if (await deps.revive(id)) ends.push({ id: `m${id}`, status: "dead", reason });
  }
  const retried = ends.map(({ id }) => id);
  await recordActed(deps, context, "retry", asked, retried, ends);
  return answer({
    text: [
      retried.length > 0
        ? `${count(retried.length, "message")} on the way again.`
        : risky.length + damaged.length === 0 && `There is nothing dead to try again${chosen.words}.`,
      risky.length > 0 && riskyText(risky.length, asked, chosen),
      unreadableText(damaged),
    ],
    data: { retried, leftOut: risky.length === 0 ? undefined : risky.map(({ id }) => `m${id}`) },
    isQuestion: retried.length === 0 && risky.length > 0 && chosen.namesCrash,
    buttons: risky.length === 0 ? [] : [[riskyButton("Try", risky.length, `/outbox retry ${asked}`, chosen)]],
  });
}

function riskyText(amount: number, asked: string, { namesCrash, crashLine }: Chosen): string {
  const these = amount === 1 ? "it" : "them";
  const may = `handling ${these} may crash the gateway`;
  return namesCrash
    ? `Handle ${count(amount, "message")} again? Fix the cause first: ${may}. \`yes=true\` does it without asking.`
    : `${count(amount, "message")} left out: ${may}. Fix the cause, then handle ${these} again with ${code(`/outbox retry ${asked}${crashLine}`)}; ${code("/outbox purge inbox")} deletes dead inbox messages.`;
}

function notDead(id: string, status: string): HookgateError {
  return new HookgateError({
    code: "NOT_DEAD",
    message: `${id} is ${status}; only a dead letter can be tried again.`,
    hint: "/outbox list shows what waits for an operator.",
  });
}
