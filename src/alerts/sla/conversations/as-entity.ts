/** A case as SLA clocks know it: an entity, and the part of it that each policy measures. */

import type { CaseTurn, SlaCase } from "../../../domain/alerts/sla.js";
import type { FactsOf, Watched } from "../../../domain/alerts/watched.js";
import { type Address, formatAddress } from "../../../domain/chat/address.js";
import { withoutUndefined } from "../../../lib/without-undefined.js";
import type { Span } from "../clock/span.js";
import type { Policy } from "../policies/policies.js";
import { waitingSince } from "./after-sight.js";

/** `endedBy` of a case in which no one wrote any more. */
export const BY_SILENCE = "silence";

/** A link to a message. */
export type LinkTo = (at: Address, messageId: string, guildId: string | undefined) => string | undefined;

/** A link to a person. */
export type LinkToPerson = (platform: string, userId: string) => string | undefined;

/** How people call a chat; undefined when it is not known. */
export type PlaceName = (at: Address) => string | undefined;

export interface Links {
  placeName: PlaceName;
  linkTo: LinkTo;
  linkToPerson: LinkToPerson;
}

/** In a DM, which no one else can read, the link leads to the person; without any link, the address shows where it is. */
export function entityOf(one: SlaCase, { linkTo, linkToPerson }: Links): Watched<"conversation"> {
  const { id, address, openedAt, endedAt, abandoned, owner, customer } = one;
  const waiting = waitingSince(one);
  const isWaiting = waiting !== undefined;
  const messageId = (waiting ?? one.turns[0])?.messageId;
  const answeredAt = firstAnswer(one);
  return {
    type: "conversation",
    id,
    ...quoteOf(one, one.turns),
    status: abandoned ? "withdrawn" : endedAt !== undefined ? "resolved" : isWaiting ? "waiting" : "answered",
    createdAt: openedAt,
    startedAt: answeredAt,
    endedAt,
    abandoned: abandoned || undefined,
    pausedFor: isWaiting || endedAt !== undefined ? undefined : "pending_customer",
    owner,
    link:
      (messageId !== undefined && linkTo(address, messageId, one.guildId)) ||
      (one.isDm && linkToPerson(address.platform, customer.userId)) ||
      formatAddress(address),
    facts: withoutUndefined<FactsOf<"conversation">>({
      platform: address.platform,
      chat: address.chatId,
      thread: address.threadId,
      guild: one.guildId,
      room: one.room,
      is_dm: one.isDm,
      customer: customer.userId,
    }),
  };
}

/**
 * The customer's newest words among these. Messages that a hook answered while others wait are no turns, and so are not quoted. The title
 * is above the quote, so it names the author.
 */
function quoteOf(one: SlaCase, turns: readonly CaseTurn[]): NonNullable<Span["quote"]> {
  const said = turns.findLast(({ by, words }) => by === "customer" && words);
  const author = said?.name ?? said?.userId ?? one.customer.name ?? one.customer.userId;
  const title = [author, placeOf(one), `on ${one.address.platform}`].filter(Boolean).join(" ");
  return { title, lastWords: said?.words };
}

export function spansOf(one: SlaCase, { measure }: Policy): Span[] {
  switch (measure) {
    case "first_response":
    case "next_response":
      return responses(one, measure);
    case "resolution":
      return [{ measure, cycle: "", startedAt: one.openedAt, ...ending(one, undefined) }];
    default:
      return [];
  }
}

function firstAnswer({ firstAnsweredAt, turns }: SlaCase): number | undefined {
  return firstAnsweredAt ?? turns.find(({ by }) => by === "us")?.at;
}

/** An answer that is waited for; `at`: absent until it is there. */
interface Answer {
  at?: number | undefined;
  how: string;
  isByHook?: boolean;
}

function answerOf(turn: CaseTurn | undefined): Answer {
  if (turn === undefined) return { how: "answered" };
  const { at, name } = turn;
  return name === undefined ? { at, how: "answered by a hook", isByHook: true } : { at, how: `answered by ${name}` };
}

/**
 * Stretches of a customer's messages, each with the answer that ended it. Up to people's first answer it is the first response that is
 * waited for, also after answers of hooks: that is one clock, which goes on from the first message that waits, so that it counts once.
 * Each later stretch has a clock of its own: one answer may end a stretch and leave another, which the customer wrote meanwhile.
 */
function responses(one: SlaCase, measure: "first_response" | "next_response"): Span[] {
  const isLost = one.firstAnsweredAt !== undefined && one.firstAnsweredByHook !== true;
  const firstOfPeople = isLost ? -1 : one.turns.findIndex(({ by, name }) => by === "us" && name !== undefined);
  const split = isLost ? 0 : firstOfPeople < 0 ? one.turns.length : firstOfPeople + 1;
  const turns = measure === "first_response" ? one.turns.slice(0, split) : one.turns.slice(split);
  const ends = turns.flatMap(({ by }, i) => (by === "customer" && turns[i + 1]?.by !== "customer" ? [i + 1] : []));
  // The question of a first response may be deleted.
  const lastEnd = isLost ? [] : [ends.at(-1) ?? 0];
  return (measure === "first_response" ? lastEnd : ends).map((end) => {
    const asked = turns.slice(0, end);
    const { messageId = "", at: startedAt = one.openedAt } = waitingSince({ turns: asked }) ?? {};
    const cycle = measure === "first_response" ? "" : messageId;
    return { measure, cycle, startedAt, quote: quoteOf(one, asked), ...ending(one, answerOf(turns[end])) };
  });
}

/** A case that ends ends the waits in it. Without an answer it meets no target; a resolution needs one answer at least. */
function ending(one: SlaCase, answer: Answer | undefined): Partial<Span> {
  const { endedAt, endedBy, abandoned } = one;
  if (answer?.at !== undefined) {
    const { at, how, isByHook = false } = answer;
    return { endedAt: at, how, isByHook };
  }
  if (endedAt === undefined) return {};
  if (abandoned) return { endedAt, abandoned, how: endedBy ?? "withdrawn" };
  const isUnanswered = answer !== undefined || firstAnswer(one) === undefined;
  if (isUnanswered) return { endedAt, isUnanswered, how: closedUnanswered(endedBy) };
  return { endedAt, isUnanswered, isByHook: isResolvedByHook(one), how: howItEnded(endedBy) };
}

/** Only hooks answered, and no person ended the case: the silence after their answers did. */
function isResolvedByHook({ endedBy, firstAnsweredAt, firstAnsweredByHook, turns }: SlaCase): boolean {
  const hasPeoplesAnswer =
    (firstAnsweredAt !== undefined && firstAnsweredByHook !== true) ||
    turns.some(({ by, name }) => by === "us" && name !== undefined);
  return !hasPeoplesAnswer && !isEndedByPerson(endedBy);
}

const isEndedByPerson = (endedBy: string | undefined) => endedBy !== undefined && endedBy !== BY_SILENCE;

/** `in #support`, or `in a direct message`. */
function placeOf({ isDm, room }: SlaCase): string | undefined {
  if (isDm) return "in a direct message";
  return room && `in ${room}`;
}

const closedUnanswered = (endedBy = "an operator") => `closed without an answer by ${endedBy}`;

function howItEnded(endedBy: string | undefined): string {
  return isEndedByPerson(endedBy) ? `resolved by ${endedBy}` : "resolved";
}
