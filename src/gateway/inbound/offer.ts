/** Offers the message to the hooks at inbound_claim: the first that handles it owns it. */
import type { Address } from "../../domain/address.js";
import type { InboundMessage } from "../../domain/message.js";
import { queueOf } from "../../domain/outbox-queue.js";
import type { NewDelivery } from "../../domain/store.js";
import { immutable } from "../../fast/isolate.js";
import type { Catalogue } from "../../hooks/catalogue/index.js";
import type { Claimed, ResultOf } from "../../hooks/signatures.js";
import { formatDuration } from "../../lib/duration.js";
import type { Verdict } from "../access.js";
import type { LaneRow } from "../conversation.js";
import { forward, isEcho } from "./forward.js";
import { type Handling, settled } from "./handling.js";
import { fireOptions, type Inbound } from "./receiving.js";
import { reply } from "./reply.js";
import { withReplySight } from "./sights-of.js";

/** Undefined when no hook claimed it, or when it was deferred too often: then it goes to the default route. */
type Offered = Handling | undefined;
type Claim = Claimed<ResultOf<Catalogue, "inbound_claim">>;

const ECHO = "routeTo: the message came from there, so it would reach no one: answer with reply";

export async function offer(
  row: LaneRow,
  message: InboundMessage,
  verdict: Verdict,
  inbound: Inbound,
): Promise<Offered> {
  const options = fireOptions(row, "inbound_claim", message.messageId, verdict);
  options.refuseClaim = (given) =>
    inbound.refuseClaim?.(given) ??
    (given.routeTo !== undefined && isEcho(message, given.routeTo as Address, inbound) ? ECHO : undefined);
  return take(await inbound.registry.claim("inbound_claim", { message }, options), row, message, inbound);
}

async function take(claim: Claim, row: LaneRow, message: InboundMessage, inbound: Inbound): Promise<Offered> {
  if (!claim.handled) return undefined;
  if (claim.deferMs !== undefined) return putOff(claim, row, message, inbound);
  // A copy of what the hook returned: ours, and what hooks of the outbound flow are shown as it is.
  const answers = claim.reply === undefined ? [] : reply(row, message, immutable(claim.reply), inbound);
  if (!claim.routeTo) return settled("claimed", withReplySight(row, answers, inbound), claim.claimedBy);
  const copy = await forward(row, message, claim.routeTo, inbound);
  return settled("claimed", copy ? [...answers, copy] : answers, claim.claimedBy);
}

async function putOff(claim: Claim, row: LaneRow, message: InboundMessage, inbound: Inbound): Promise<Offered> {
  const { deferMs = 0, reply: word, claimedBy } = claim;
  const { logger, config } = inbound;
  if (row.deferrals >= config.max_deferrals) {
    const facts = { row: row.id, by: claimedBy, deferrals: row.deferrals };
    logger.warn(facts, "put off too often: goes on to the default route");
    const by = claimedBy ?? "a hook";
    const reason = `${by} put it off ${row.deferrals} times, as often as gateway.max_deferrals allows, and would have put it off again, so it went on to the default route, and the hooks after that one were not asked`;
    row.passedOver = { by, reason };
    return undefined;
  }
  // "One moment, please": said once, though the message is offered again and again.
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
