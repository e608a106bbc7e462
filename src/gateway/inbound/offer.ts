/**
 * Offers the message to the hooks at inbound_claim: the first that handles it owns it, and the author of an answer is notified when it
 * goes nowhere else, and its correction neither.
 */
import { type Address, formatAddress } from "../../domain/chat/address.js";
import type { Role } from "../../domain/chat/identity.js";
import type { InboundMessage } from "../../domain/chat/message.js";
import { goneNoteId } from "../../domain/deliveries/given-up.js";
import { queueOf } from "../../domain/deliveries/outbox-queue.js";
import { ANSWER_MARK, answerId } from "../../domain/journal.js";
import type { NewDelivery } from "../../domain/store.js";
import { immutable } from "../../fast/isolate.js";
import type { Catalogue } from "../../hooks/catalogue/index.js";
import type { Claimed, ResultOf } from "../../hooks/signatures.js";
import { formatDuration } from "../../lib/time/duration.js";
import { completeAddress } from "../complete-address.js";
import type { LaneRow } from "../conversation.js";
import type { Verdict } from "../people/access.js";
import { forward, isEcho, type Origin } from "./forward.js";
import { authorNote } from "./given-up.js";
import { type Handling, settled } from "./handling.js";
import { causeId, fireOptions, type Inbound, messageAddress } from "./receiving.js";
import { reply } from "./reply.js";
import { senderOf } from "./sender.js";
import { withReplySight } from "./sights-of.js";

/** Undefined when no hook claimed it, or when it was deferred too often: then it goes on as if none had. */
type Offered = Handling | undefined;
type Claim = Claimed<ResultOf<Catalogue, "inbound_claim">>;

const ECHO = "routeTo: the message came from there, so it would reach no one: answer with reply";

/** `answering`: where the message goes when no hook claims it, as one of us answers a copy. */
export async function offer(
  row: LaneRow,
  message: InboundMessage,
  verdict: Verdict,
  answering: Origin | undefined,
  inbound: Inbound,
): Promise<Offered> {
  const options = fireOptions(row, "inbound_claim", message.messageId, verdict);
  options.refuseClaim = (given) =>
    inbound.refuseClaim?.(given) ??
    (given.routeTo !== undefined && isEcho(message, given.routeTo as Address, inbound) ? ECHO : undefined);
  const payload = { message, isAnswer: answering !== undefined };
  return take(await inbound.registry.claim("inbound_claim", payload, options), row, message, answering, inbound);
}

async function take(
  claim: Claim,
  row: LaneRow,
  message: InboundMessage,
  answering: Origin | undefined,
  inbound: Inbound,
): Promise<Offered> {
  if (!claim.handled) return undefined;
  if (claim.deferMs !== undefined) return deferralOf(claim, row, message, inbound);
  // A copy of the hook's result: it is ours, and hooks of the outbound flow are shown it as it is.
  const answers = claim.reply === undefined ? [] : reply(row, message, immutable(claim.reply), inbound);
  const copy = claim.routeTo && (await forward(row, message, claim.routeTo, inbound));
  const deliveries = copy ? [...answers, copy] : withReplySight(row, answers, inbound);
  const isMissed = answering !== undefined && !message.isBot && !(copy && isMeantFor(copy, answering, inbound));
  const notes = isMissed ? [missedNote(row, message, claim.claimedBy, answering, inbound)] : [];
  return settled("claimed", [...deliveries, ...notes], claim.claimedBy);
}

/** A hook that joins the two rooms posts it where it was to go, or in the room around that thread. */
function isMeantFor(copy: NewDelivery, answering: Origin, inbound: Inbound): boolean {
  const roomOf = ({ platform, botId, chatId }: Address) => {
    const parentChatId = inbound.adapters.get(platform)?.traits.parentOf?.(chatId);
    return formatAddress({ platform, botId, chatId: parentChatId ?? chatId });
  };
  return roomOf(copy.address) === roomOf(completeAddress(answering.address, inbound));
}

/** An answer without a mark reads as passed on. */
function missedNote(
  row: LaneRow,
  message: InboundMessage,
  claimedBy: string | undefined,
  { address }: Origin,
  inbound: Inbound,
): NewDelivery {
  const { role } = senderOf(message, inbound).operator;
  const place = inbound.offers.placeName(address) ?? formatAddress(address);
  const text = `**Your reply was not posted in ${place}: ${claimerText(claimedBy, role)} claimed it.**\n${nextText(row, role)}`;
  return authorNote(row, message, { text, isAnswer: true }, inbound);
}

/** The author corrects the message: no hook is asked about that, and nothing of it is passed on. For the row of the correction. */
export async function missedCorrectionNotes(
  row: LaneRow,
  message: InboundMessage,
  inbound: Inbound,
): Promise<NewDelivery[]> {
  const original = await inbound.store.inbox.find(messageAddress(message), message.messageId);
  if (original?.outcome !== "claimed" || !original.deliveryIds?.includes(answerId(causeId(original), ANSWER_MARK)))
    return [];
  const { role } = senderOf(message, inbound).operator;
  const text = `**The correction of your message was not passed on: ${claimerText(original.claimedBy, role)} claimed the message.**\n${nextText(original, role)}`;
  const notice = authorNote(row, message, { text, isAnswer: true }, inbound);
  return [{ ...notice, id: goneNoteId(row.id, "edited") }];
}

/** A person without a role is not shown which hook it was, and may give no command. */
const claimerText = (claimedBy: string | undefined, role: Role | undefined): string =>
  role === undefined || claimedBy === undefined ? "a hook" : `the hook \`${claimedBy}\``;

const nextText = (original: Pick<LaneRow, "id">, role: Role | undefined): string =>
  role === undefined
    ? "The operators can see why. Ask one of them before you write again."
    : `\`/hooks why ${causeId(original)}\` shows what happened. To answer, write another message in other words.`;

async function deferralOf(claim: Claim, row: LaneRow, message: InboundMessage, inbound: Inbound): Promise<Offered> {
  const { deferMs = 0, reply: word, claimedBy } = claim;
  const { logger, config } = inbound;
  if (row.deferrals >= config.max_deferrals) {
    const facts = { row: row.id, by: claimedBy, deferrals: row.deferrals };
    logger.warn(facts, "put off too often: goes on as if no hook had claimed it");
    const by = claimedBy ?? "a hook";
    const reason = `${by} put it off ${row.deferrals} times, as often as gateway.max_deferrals allows, and would have put it off again, so it went on as if no hook had claimed it, and the hooks after that one were not asked`;
    row.passedOver = { by, reason };
    return undefined;
  }
  // "One moment, please": sent once, though the message is offered again and again.
  if (word !== undefined && row.deferrals === 0)
    for (const delivery of reply(row, message, word, inbound, "p")) await sayNow(delivery, inbound);
  const delayMs = Math.min(deferMs, config.max_deferral);
  const by = claimedBy ?? "a hook";
  if (deferMs >= LONG_DEFERRAL_MS) {
    const cut = deferMs > delayMs ? ` (it asked for ${formatDuration(deferMs)}; gateway.max_deferral cuts that)` : "";
    logger.warn(
      { row: row.id, lane: row.lane, by, deferMs, delayMs },
      `the hook "${by}" put off a message in ${row.conversation} for ${formatDuration(delayMs)}${cut}: later messages of the conversation wait for it. To offer it again now: /pauses lift ${row.lane}`,
    );
  }
  return { kind: "deferred", delayMs, by };
}

/** A wait that people notice, so the log names the hook. */
const LONG_DEFERRAL_MS = 60_000;

/** Outside the settling transaction; its id is the same when it is done again, so it is posted once. */
async function sayNow(delivery: NewDelivery, { store, clock, wakeOutbox }: Inbound): Promise<void> {
  await store.outbox.enqueue([delivery], clock.now());
  wakeOutbox(queueOf(delivery));
}
