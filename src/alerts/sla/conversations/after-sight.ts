/** What a customer's case is after the gateway has seen one more thing. Pure. */
import { formatAddress } from "../../../domain/address.js";
import { hasRole } from "../../../domain/identity.js";
import type { CaseTurn, ConversationSight, SlaCase } from "../../../domain/sla.js";
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
export function waitingSince({ turns }: Pick<SlaCase, "turns">): CaseTurn | undefined {
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
  // Once: a hook may ask for the same message again.
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
  return withTurn(withWords(before, sight), { messageId: sight.messageId, by: "customer", at: sight.at });
}

/** A hook answers the message that it claimed. What else the customer wrote and no hook claimed still waits for people. */
function afterReply(known: SlaCase, sight: ConversationSight, config: ConversationsConfig): SlaCase {
  const isAnswered = ({ messageId }: CaseTurn) => messageId === sight.replyTo;
  const waiting = known.turns.slice(known.turns.findLastIndex(({ by }) => by === "us") + 1);
  if (waiting.every(isAnswered)) return answered(known, sight, config);
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

function answered(known: SlaCase, sight: ConversationSight, config: ConversationsConfig, owner?: string): SlaCase {
  const { messageId, at } = sight;
  const turned = withTurn(known, { messageId, by: "us", at, name: owner });
  return { ...turned, closesAt: at + config.resolved_after, owner: owner ?? turned.owner };
}

function withTurn(known: SlaCase, turn: CaseTurn): SlaCase {
  const all = [...known.turns, turn];
  if (all.length <= MAX_TURNS) return { ...known, turns: all };
  const trimmed: SlaCase = { ...known, turns: all.slice(-MAX_TURNS) };
  const first = all.find(({ by }) => by === "us");
  if (known.firstAnsweredAt !== undefined || first === undefined) return trimmed;
  return { ...trimmed, firstAnsweredAt: first.at, firstAnsweredByHook: first.name === undefined };
}

/** Another text of the same message is no new question. */
function afterEdit(known: SlaCase, sight: ConversationSight): SlaCase {
  const last = known.turns.findLast(({ by }) => by === "customer");
  return last?.messageId === sight.messageId ? withWords(known, sight) : known;
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

function withWords(known: SlaCase, { text, userId = "", name }: ConversationSight): SlaCase {
  if (text === undefined || text === "") return known;
  const lastWordsBy = name === undefined ? { userId } : { userId, name };
  return { ...known, lastWords: text.slice(0, MAX_WORDS), lastWordsBy };
}
