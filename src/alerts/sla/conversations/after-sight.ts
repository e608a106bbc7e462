/** The state of a customer's case after the gateway has seen one more event. Pure. */

import type { CaseTurn, ConversationSight, SlaCase } from "../../../domain/alerts/sla.js";
import { formatAddress } from "../../../domain/chat/address.js";
import { hasRole } from "../../../domain/chat/identity.js";
import { withoutUndefined } from "../../../lib/without-undefined.js";
import type { ConversationsConfig } from "../config.js";

/** The latest turns; older ones cannot be undone any more. */
const MAX_TURNS = 100;
const MAX_WORDS = 500;

/** The case as it was when nothing changed; undefined when there is none. */
export function afterSight(
  known: SlaCase | undefined,
  sight: ConversationSight,
  config: ConversationsConfig,
): SlaCase | undefined {
  switch (sight.kind) {
    case "said":
      return afterWords(known, sight, config);
    case "edited":
      return known && afterEdit(known, sight);
    case "deleted":
      return known && afterDeletion(known, sight, config);
    case "reacted":
      return known && isOurs(sight, config) && config.resolved_by.includes(sight.emoji ?? "")
        ? ended(known, sight.at, sight.name ?? sight.userId ?? "one of us")
        : known;
    case "moved":
      return known;
  }
}

export function ended(known: SlaCase, at: number, by: string, isAbandoned = false): SlaCase {
  const { closesAt: _, ...rest } = known;
  return { ...rest, endedAt: at, endedBy: by, abandoned: isAbandoned ? true : rest.abandoned };
}

/** Since which message the customer waits for us; undefined when we spoke last. */
export function waitingSince({ turns }: { turns: readonly CaseTurn[] }): CaseTurn | undefined {
  return turns[turns.findLastIndex(({ by }) => by === "us") + 1];
}

function isOurs(sight: ConversationSight, { staff }: ConversationsConfig): boolean {
  const { role, address, userId, copiedFrom } = sight;
  if (staff.people.includes(`${copiedFrom ?? address.platform}:${userId}`)) return true;
  return staff.role !== "none" && hasRole(role, staff.role);
}

function afterWords(
  known: SlaCase | undefined,
  sight: ConversationSight,
  config: ConversationsConfig,
): SlaCase | undefined {
  // A message counts once, also when a hook asks again for the same one.
  if (sight.byHook || sight.replyTo !== undefined) {
    const isNew = known?.turns.some(({ messageId }) => messageId === sight.messageId) === false;
    if (!isNew || (sight.byHook !== true && config.claims !== "answered")) return known;
    return sight.byHook ? answered(known, sight, config) : afterReply(known, sight, config);
  }
  // A message to the gateway itself is not part of the conversation.
  if (sight.isBot || sight.outcome === "command") return known;
  // Also where the gateway only listens when it is mentioned: the answer is for the customer.
  if (isOurs(sight, config)) return known && answered(known, sight, config, sight.name ?? sight.userId);
  // A customer's words, copied to where others read them, are no question there.
  if (sight.outcome === "denied" || sight.isInternal || sight.copiedFrom !== undefined) return known;
  if (config.claims === "answered" && sight.claimedBy !== undefined) return known;
  const { closesAt: _, ...before } = known ?? opened(sight);
  return withTurns(before, [...before.turns, turnOf(sight)]);
}

function turnOf({ messageId, at, userId, name, text, inboxId }: ConversationSight): CaseTurn {
  return { messageId, by: "customer", at, userId, name, words: text?.slice(0, MAX_WORDS), inboxId };
}

/** A hook answers the message that it claimed. Messages before or after it that no hook claimed still wait for people. */
function afterReply(known: SlaCase, sight: ConversationSight, config: ConversationsConfig): SlaCase {
  const isAnswered = ({ messageId }: CaseTurn) => messageId === sight.replyTo;
  const since = waitingSince(known);
  if (since === undefined || isAnswered(since)) return answered(known, sight, config);
  const turns = known.turns.filter((turn) => !isAnswered(turn));
  return turns.length === known.turns.length ? known : { ...known, turns, openedAt: openedBy(known, turns) };
}

function opened(sight: ConversationSight): SlaCase {
  const { address, messageId, at, isDm, guildId, userId = "", name } = sight;
  const conversation = formatAddress(address);
  return {
    id: `${conversation}#${messageId}`,
    conversation,
    address,
    isDm: isDm ?? false,
    guildId,
    openedAt: at,
    turns: [],
    customer: { userId, name },
  };
}

/** The answer takes its place before messages that the customer wrote after it, while it was on its way. */
function answered(known: SlaCase, sight: ConversationSight, config: ConversationsConfig, owner?: string): SlaCase {
  const { messageId, at, inboxId = Number.POSITIVE_INFINITY } = sight;
  const { turns } = known;
  // A correction has the id of the message that it corrects, which was counted before.
  if (turns.some((turn) => turn.messageId === messageId)) return known;
  const waiting = turns.findLastIndex(({ by }) => by === "us") + 1;
  const later = turns.findIndex((turn, i) => i >= waiting && (turn.inboxId ?? 0) > inboxId);
  // No waiting message is older than the answer.
  if (later === waiting) return known;
  const place = later < 0 ? turns.length : later;
  const turned = withTurns(known, turns.toSpliced(place, 0, { messageId, by: "us", at, name: owner }));
  const closesAt = later < 0 ? at + config.resolved_after : undefined;
  return { ...turned, closesAt, owner: owner ?? turned.owner };
}

function withTurns(known: SlaCase, all: readonly CaseTurn[]): SlaCase {
  const turns = all.slice(-MAX_TURNS);
  // Clocks start with the first waiting message, however much the customer wrote since.
  const since = waitingSince({ turns: all });
  if (since && !turns.includes(since)) turns[0] = since;
  const lost = all.slice(0, -MAX_TURNS).filter(({ by }) => by === "us");
  const { firstAnsweredAt = lost[0]?.at, firstAnsweredByHook = true } = known;
  if (firstAnsweredAt === undefined) return { ...known, turns };
  const isByHook = firstAnsweredByHook && lost.every(({ name }) => name === undefined);
  return { ...known, turns, firstAnsweredAt, firstAnsweredByHook: isByHook };
}

/** Another text of the same message is no new question. */
function afterEdit(known: SlaCase, sight: ConversationSight): SlaCase {
  const isEdited = ({ by, messageId }: CaseTurn) => by === "customer" && messageId === sight.messageId;
  return { ...known, turns: known.turns.map((turn) => (isEdited(turn) ? withWords(turn, sight) : turn)) };
}

/** Words that hooks withheld from the readers of the copy are not quoted to these readers. */
function withWords({ withheld, ...turn }: CaseTurn, sight: ConversationSight): CaseTurn {
  const { copy } = sight;
  const isAsItWas = copy === undefined ? withheld === "held" : copy === "released" && withheld === undefined;
  if (isAsItWas) return withoutUndefined({ ...turn, withheld });
  return withoutUndefined({ ...turn, words: turnOf(sight).words, withheld: copy === "released" ? undefined : copy });
}

/** When the case was opened, without the turns that are missing: the first one counts, unless earlier turns were not kept. */
function openedBy(known: SlaCase, [first]: readonly CaseTurn[]): number {
  const wasWhole = known.turns[0]?.at === known.openedAt;
  return wasWhole && first?.by === "customer" ? first.at : known.openedAt;
}

/** A question that was taken back needs no answer; an answer that was taken back is none. */
function afterDeletion(known: SlaCase, { messageId, at }: ConversationSight, config: ConversationsConfig): SlaCase {
  const turns = known.turns.filter((turn) => turn.messageId !== messageId);
  if (turns.length === known.turns.length) return known;
  const [first] = turns;
  if (!first) return ended({ ...known, turns }, at, "the message was deleted", true);
  const { closesAt: _, ...rest } = known;
  const last = turns.at(-1);
  return {
    ...rest,
    turns,
    openedAt: openedBy(known, turns),
    closesAt: last?.by === "us" ? last.at + config.resolved_after : undefined,
  };
}
