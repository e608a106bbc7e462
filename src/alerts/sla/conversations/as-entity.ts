/** A case as SLA clocks know it: an entity, and what of it each policy measures. */

import { type Address, formatAddress } from "../../../domain/address.js";
import type { CaseTurn, SlaCase } from "../../../domain/sla.js";
import type { WatchedEntity } from "../../../domain/watched.js";
import { definedOf } from "../../../lib/without-undefined.js";
import type { Span } from "../clock/span.js";
import type { Policy } from "../policies/policies.js";
import { waitingSince } from "./after-sight.js";

/** `endedBy` of a case in which no one wrote any more. */
export const BY_SILENCE = "silence";

/** Where a person can look at a message. */
export type LinkTo = (at: Address, messageId: string, guildId: string | undefined) => string | undefined;

/** Where a person is found. */
export type LinkToPerson = (platform: string, userId: string) => string | undefined;

/** How people call a chat; undefined when it is not known. */
export type PlaceName = (at: Address) => string | undefined;

export interface Links {
  placeName: PlaceName;
  linkTo: LinkTo;
  linkToPerson: LinkToPerson;
}

/** In a DM, which no one else can read, the link leads to the person; without any link, the address shows where it is. */
export function entityOf(one: SlaCase, { linkTo, linkToPerson }: Links): WatchedEntity {
  const { id, address, openedAt, endedAt, abandoned, owner, lastWords, customer } = one;
  const waiting = waitingSince(one);
  const isWaiting = waiting !== undefined;
  const messageId = (waiting ?? one.turns[0])?.messageId;
  const answeredAt = firstAnswer(one);
  // The title stands over the last words, so it names who wrote them.
  const speaker = one.lastWordsBy ?? customer;
  return {
    type: "conversation",
    id,
    title: [speaker.name ?? speaker.userId, placeOf(one), `on ${address.platform}`].filter(Boolean).join(" "),
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
    lastWords,
    facts: {
      platform: address.platform,
      chat: address.chatId,
      ...definedOf({ thread: address.threadId, guild: one.guildId, room: one.room }),
      is_dm: one.isDm,
      customer: customer.userId,
    },
  };
}

/** At most one a measure: the one that is open, or was open last. */
export function spansOf(one: SlaCase, { measure }: Policy): Span[] {
  switch (measure) {
    case "first_response":
      return [{ measure, cycle: "", startedAt: one.openedAt, ...ending(one, firstResponse(one)) }];
    case "next_response":
      return nextResponse(one);
    case "resolution":
      return [{ measure, cycle: "", startedAt: one.openedAt, ...ending(one, undefined) }];
    default:
      return [];
  }
}

function firstAnswer({ firstAnsweredAt, turns }: SlaCase): number | undefined {
  return firstAnsweredAt ?? firstTurn({ turns })?.at;
}

const firstTurn = ({ turns }: Pick<SlaCase, "turns">) => turns.find(({ by }) => by === "us");

/** An answer that is waited for; `at`: absent until it is there. */
interface Answer {
  at?: number | undefined;
  how: string;
  isByHook?: boolean;
}

function firstResponse(one: SlaCase): Answer {
  if (one.firstAnsweredAt === undefined) return answerOf(firstTurn(one));
  const { firstAnsweredAt: at, firstAnsweredByHook: isByHook = false } = one;
  return { at, how: isByHook ? BY_HOOK : "answered", isByHook };
}

function answerOf(turn: CaseTurn | undefined): Answer {
  if (turn === undefined) return { how: "answered" };
  const { at, name } = turn;
  return name === undefined ? { at, how: BY_HOOK, isByHook: true } : { at, how: `answered by ${name}` };
}

const BY_HOOK = "answered by a hook";

/** The last stretch of a customer's messages after an answer, with the answer that ended it. */
function nextResponse(one: SlaCase): Span[] {
  const { turns } = one;
  const lastOfCustomer = turns.findLastIndex(({ by }) => by === "customer");
  const before = turns.slice(0, lastOfCustomer + 1).findLastIndex(({ by }) => by === "us");
  const first = turns[before + 1];
  // Nothing was answered before it: that is the first response's.
  if (first?.by !== "customer" || (before < 0 && one.firstAnsweredAt === undefined)) return [];
  const end = ending(one, answerOf(turns[lastOfCustomer + 1]));
  return [{ measure: "next_response", cycle: first.messageId, startedAt: first.at, ...end }];
}

/** A case that ends ends what was waited for in it. Without an answer it meets no target; a resolution needs one answer at least. */
function ending(one: SlaCase, answer: Answer | undefined): Partial<Span> {
  const { endedAt, endedBy, abandoned } = one;
  if (answer?.at !== undefined) {
    const { at, how, isByHook = false } = answer;
    return { endedAt: at, how, isByHook };
  }
  if (endedAt === undefined) return {};
  if (abandoned) return { endedAt, abandoned, how: endedBy ?? "withdrawn" };
  const isUnanswered = answer !== undefined || firstAnswer(one) === undefined;
  return { endedAt, isUnanswered, how: isUnanswered ? closedUnanswered(endedBy) : howItEnded(endedBy) };
}

/** `in #support`, or `in a direct message`. */
function placeOf({ isDm, room }: SlaCase): string | undefined {
  if (isDm) return "in a direct message";
  return room && `in ${room}`;
}

const closedUnanswered = (endedBy = "an operator") => `closed without an answer by ${endedBy}`;

function howItEnded(endedBy: string | undefined): string {
  return endedBy === undefined || endedBy === BY_SILENCE ? "resolved" : `resolved by ${endedBy}`;
}
