/**
 * `/outbox purge ID|STATUS|all [chat older reason] [yes]`: deletes messages that will not be sent or handled; asks before it deletes.
 * Waiting deliveries are cancelled, by id also those that are being sent; sent ones are left.
 */
import { heldBehind, heldWith, maySeeIt } from "../../src/domain/deliveries/given-up.js";
import type { FormerEnd } from "../../src/domain/deliveries/purges.js";
import { type Delivery, type DeliveryStatus, isUnderWay } from "../../src/domain/store.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { HookgateError } from "../../src/lib/errors.js";
import { answer, commandButton } from "../answer.js";
import { readableLetter } from "../automations/owner-only.js";
import type { CommandDeps } from "../deps.js";
import { changedText, hasChanged, selectionOf } from "../selection.js";
import { code, count, plain } from "../show/text.js";
import { conversationText } from "../who.js";
import { recordActed } from "./acted.js";
import { chosenDeliveries, chosenInbox, listCounts } from "./chosen.js";
import { type Chosen, chosenBy, isNarrowed, needNoSelection } from "./filter.js";
import { findLetter, type Letter } from "./letter.js";
import { deliveryRow, inboxRow } from "./list.js";
import { withdrawOne, withdrawWaiting } from "./withdraw.js";

export const PURGEABLE = [
  "dead",
  "held",
  "suppressed",
  "cancelled",
  "superseded",
] as const satisfies readonly DeliveryStatus[];

export async function purgeOutbox(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const { id } = context.options;
  const asked = typeof id === "string" ? id.trim() : "";
  const chosen = chosenBy(context, deps);
  if (asked === "" && !isNarrowed(chosen)) return askWhat(deps, context);
  const what = asked === "" ? "all" : asked.toLowerCase();
  if (what === "waiting") return withdrawWaiting(deps, context, chosen);
  const statuses = what === "all" ? PURGEABLE : PURGEABLE.filter((one) => one === what);
  const isInbox = what === "all" || what === "dead" || what === "inbox";
  if (statuses.length === 0 && !isInbox) return purgeOne(deps, context, asked, chosen);
  const [found, rows] = await Promise.all([
    Promise.all(statuses.map(async (one) => ({ one, letters: await chosenDeliveries(deps, context, [one], chosen) }))),
    isInbox ? chosenInbox(deps, context, chosen) : [],
  ]);
  const letters = found.flatMap((one) => one.letters);
  const amount = letters.length + rows.length;
  const kinds = [
    ...found.map(({ one, letters: { length } }) => (length === 0 ? "" : `${length} ${one}`)),
    rows.length === 0 ? "" : `${rows.length} dead in the inbox`,
  ].filter(Boolean);
  const nothing = `${what === "all" ? "There is nothing to delete" : what === "inbox" ? "No inbox message is dead" : `Nothing is ${what}`}${chosen.words}.`;
  const all = [...letters.map(({ id: one }) => one), ...rows.map(({ id: row }) => `m${row}`)];
  const isStale = hasChanged(context, all);
  if (amount > 0 && (isStale || context.options.yes !== true))
    return confirmPurge(what, kinds, chosen, { all, isStale });
  const ids = await deps.discard(all);
  await recordActed(deps, context, "purge", what, ids, [
    ...found.flatMap(({ one, letters }) => letters.map(({ id, reason }) => ({ id, status: one, reason }))),
    ...rows.map(({ id, reason }) => ({ id: `m${id}`, status: "dead" as const, reason })),
  ]);
  return deleted(ids.length, nothing, ids.length === amount ? sharesText(what, kinds) : "");
}

/** `/outbox` alone lists the messages that wait for an operator; this deletes more. */
const sharesText = (what: string, kinds: readonly string[]): string =>
  what === "all" || kinds.length > 1 ? ` (${kinds.join(", ")})` : "";

function deleted(purged: number, nothing: string, shares = ""): CommandAnswer {
  return answer({
    text: [purged === 0 ? nothing : `${count(purged, "message")} deleted${shares}.`],
    data: { purged },
  });
}

function confirmPurge(
  what: string,
  kinds: readonly string[],
  { line, words }: Chosen,
  { all, isStale }: { all: readonly string[]; isStale: boolean },
): CommandAnswer {
  const amount = all.length;
  const are = amount === 1 ? "is" : "are";
  const which = what === "all" ? "" : what === "inbox" ? ` that ${are} dead in the inbox` : ` that ${are} ${what}`;
  const shares = sharesText(what, kinds);
  return answer({
    text: [
      isStale && changedText("messages"),
      `Delete ${count(amount, "message")}${which}${words}${shares}? ${amount === 1 ? "It" : "They"} will be neither sent nor handled, and this cannot be undone. \`yes=true\` deletes without asking.`,
    ],
    data: { purged: 0, wouldPurge: amount, what },
    isQuestion: true,
    buttons: [
      [
        commandButton(
          `Delete ${amount.toLocaleString("en-US")}`,
          `/outbox purge ${what}${line} yes=true selection=${selectionOf(all)}`,
          "danger",
        ),
        commandButton("Show them", `/outbox list${what === "all" ? "" : ` ${what}`}${line}`),
      ],
    ],
  });
}

async function purgeOne(
  deps: CommandDeps,
  context: CommandContext,
  asked: string,
  chosen: Chosen,
): Promise<CommandAnswer> {
  const { options } = context;
  if (asked.toLowerCase() === "sent") throw notPurgeable("Sent messages are not deleted by hand.");
  const letter = await findLetter(deps, asked);
  const id = letter.kind === "delivery" ? letter.delivery.id : asked;
  needNoSelection(chosen, id);
  if (letter.kind === "delivery" && isUnderWay(letter.delivery)) return withdrawOne(deps, context, letter.delivery);
  const { status } = letter.kind === "delivery" ? letter.delivery : letter.row;
  const isPurgeable = letter.kind === "delivery" ? PURGEABLE.some((one) => one === status) : status === "dead";
  if (!isPurgeable) throw notPurgeable(`${id} is ${status} and is not deleted by hand.`);
  if (options.yes !== true) return confirmOne(deps, context, letter, id);
  const ids = await deps.discard([id]);
  const was: Omit<FormerEnd, "id"> =
    letter.kind === "delivery" ? letter.delivery : { status: "dead", reason: letter.row.error };
  const original = letter.kind === "delivery" ? letter.delivery.targetId : undefined;
  const changes = ids.filter((one) => one !== id && one !== original);
  await recordActed(deps, context, "purge", id, ids, [
    { id, status: was.status, reason: was.reason },
    ...changes.map((one) => ({ id: one, status: "held" as const, reason: heldWith(id) })),
  ]);
  const inDoubt =
    letter.kind === "delivery" && maySeeIt(letter.delivery)
      ? `; ${code(id)} **may have arrived**: look in the chat`
      : "";
  return deleted(ids.length, `${code(id)} was deleted meanwhile.`, inDoubt);
}

function notPurgeable(message: string): HookgateError {
  const hint = `Only waiting, sending, ${PURGEABLE.join(", ")} deliveries and dead inbox messages are; the rest goes with the retention.`;
  return new HookgateError({ code: "NOT_PURGEABLE", message, hint });
}

async function confirmOne(
  deps: CommandDeps,
  context: CommandContext,
  letter: Letter,
  id: string,
): Promise<CommandAnswer> {
  const { status, conversation, reason } =
    letter.kind === "delivery"
      ? deliveryRow(await readableLetter(deps, context, letter.delivery))
      : inboxRow(await readableLetter(deps, context, letter.row));
  const [to, undone] = letter.kind === "delivery" ? ["to", "sent"] : ["in", "handled"];
  const changes = letter.kind === "delivery" ? await changesHeldWith(deps, letter.delivery) : 0;
  const withThem =
    changes === 0 ? "" : `, and ${count(changes, "change")} of it that ${changes === 1 ? "is" : "are"} held with it`;
  return answer({
    text: [
      `Delete ${code(id)} ${to} ${conversationText(deps, conversation)}${withThem}? It is **${status}**${reason === undefined ? "" : `: ${plain(reason, 120)}`}. It will not be ${undone}${letter.kind === "delivery" && maySeeIt(letter.delivery) ? " again" : ""}, and this cannot be undone. \`yes=true\` deletes without asking.`,
    ],
    data: { purged: 0, wouldPurge: 1 + changes, what: id },
    isQuestion: true,
    buttons: [
      [
        commandButton("Delete", `/outbox purge ${id} yes=true`, "danger"),
        commandButton("Show it", `/outbox show ${id}`),
      ],
    ],
  });
}

/** The number of held changes that are deleted with the message. */
async function changesHeldWith({ store }: CommandDeps, { id, targetId = id }: Delivery): Promise<number> {
  const held = await store.outbox.list({ status: "held", targetId, limit: MAX_CHANGES });
  return held.filter((change) => heldBehind(change) === id).length;
}

const MAX_CHANGES = 100;

async function askWhat(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const [counts, inbox] = await Promise.all([listCounts(deps, context), deps.store.inbox.counts()]);
  const amounts = { ...counts, dead: counts.dead + inbox.dead };
  const present = [...PURGEABLE, "waiting" as const].filter((status) => amounts[status] > 0);
  return answer({
    text: [
      present.length === 0
        ? "There is nothing to delete."
        : `Delete what? ${present.map((status) => `${amounts[status]} ${status}`).join(", ")}. Write one of these words, \`all\` or an id, such as ${code(`/outbox purge ${present[0]}`)}. This cannot be undone.`,
    ],
    data: { purged: 0, counts, inbox },
    isQuestion: present.length > 0,
    buttons: [
      present.map((status) => commandButton(`${amounts[status]} ${status}`, `/outbox purge ${status}`, "danger")),
    ],
  });
}
