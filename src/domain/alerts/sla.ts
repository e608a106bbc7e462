/**
 * SLA clocks: how long something may take, how much of that has passed, and which announcements were made. A clock is a row with its next
 * due time. Each of its announcements is a row of its own, so that a crash neither loses an announcement nor repeats one.
 */

import { formatDuration } from "../../lib/time/duration.js";
import type { Address } from "../chat/address.js";
import type { Role } from "../chat/identity.js";
import type { AlertSignal } from "./alert-signal.js";
import type { WatchedEntity, WatchedType } from "./watched.js";

/**
 * `deadline`: the entity's own date · `completion`: within a target from its creation or start · of conversations: people's first
 * answer, each further answer, the end.
 */
export const SLA_MEASURES = ["deadline", "completion", "first_response", "next_response", "resolution"] as const;
export type SlaMeasure = (typeof SLA_MEASURES)[number];

/** For people. */
export const SLA_MEASURE_NAMES: Readonly<Record<SlaMeasure, string>> = {
  deadline: "deadline",
  completion: "completion",
  first_response: "first response",
  next_response: "next response",
  resolution: "resolution",
};

/** The course of a clock. Working time is computed from it again, so another calendar changes the past as well. */
export interface SlaCourse {
  /** The time from which it is computed … */
  since: number;
  /** … with so much used before (0 unless old pauses were put together). */
  usedMs: number;
  /** Stretches that do not count, in order. */
  pauses: (readonly [from: number, to: number])[];
  pausedSince?: number;
}

export interface SlaClock {
  id: string;
  policyId: string;
  /** The hash of the policy and its calendar with which it was computed. */
  policyHash: string;
  measure: SlaMeasure;
  /** `next_response` runs once for each time that a customer waits: the message that started the wait. Empty for others. */
  cycle: string;
  state: "running" | "paused" | "ended";
  /**
   * `late`: answered or done after it was due, or in time only after it got more time · `unanswered`: its conversation was closed without
   * an answer · `withdrawn`: nothing was left to meet (cancelled, failed, deleted, no policy any more). The last two may have missed their
   * target before (`breachedAt`).
   */
  outcome?: "met" | "late" | "unanswered" | "withdrawn";
  startedAt: number;
  endedAt?: number;
  course: SlaCourse;
  /** Working time that it may take. */
  targetMs: number;
  /** Time that people put on top of the target, or of a deadline. */
  extendedMs: number;
  /** Absent while it is paused before its target is reached: the time is not known. */
  dueAt?: number;
  /** When there is something to announce next. */
  nextAt?: number;
  /** Counts from 1; a due time that was moved after it was announced starts another. */
  episode: number;
  /** The highest share of the target that a warning of this episode reported. */
  warned?: number;
  /** When it was violated in this episode; another episode deletes it. */
  violatedAt?: number;
  /** When it was first violated: kept when more time is given, so that reports count the breach. */
  breachedAt?: number;
  /** How often people gave it more time. */
  extensions?: number;
  /** Working time that all extensions added, which is part of its target. */
  addedMs?: number;
  /** Names of the people who gave it, in order, each once. Absent where a deadline was moved in another way. */
  extendedBy?: string[];
  /** Working time used, when it ended. */
  usedMs?: number;
  /** A hook gave the answer that ended it. */
  isByHook?: boolean;
  pausedFor?: string;
  /** The entity as its source last reported it. */
  entity: WatchedEntity;
}

/** The payload of `quality:sla`. */
export interface SlaNews {
  entityId: string;
  entityType: WatchedType;
  /** ISO. */
  deadline: string;
  status: "warning" | "violated" | "met";
  /** 0.8 = 80 % of the working time allowed. */
  percentUsed: number;
  policyId: string;
}

/**
 * pending: hooks were not asked · approved: hooks were asked, the alert has to be raised · raised: hooks have to be notified · told:
 * hooks were notified · vetoed (with `reason` and `by`) · failed: given up.
 */
export type SlaSaidStatus = "pending" | "approved" | "raised" | "told" | "vetoed" | "failed";

export interface SlaAnnouncement {
  /** `<clock>:<episode>:<what>`: each once. */
  id: string;
  clockId: string;
  episode: number;
  at: number;
  status: SlaSaidStatus;
  attempts: number;
  dueAt: number;
  reason?: string;
  /** The hook that vetoed it. */
  by?: string;
  /** Absent when only an alert ends (cancelled, moved, done too late). */
  news?: SlaNews;
  signal: AlertSignal;
}

export type NewAnnouncement = Pick<SlaAnnouncement, "id" | "clockId" | "episode" | "at" | "news" | "signal">;

/* ── conversations ─────────────────────────────────────────────────────────────────────────────────────────────── */

/** An action of a person or a hook that the gateway saw. It is stored in the transaction that settles the event. */
export interface ConversationSight {
  /** Starts with `m<inbox id>`. */
  id: string;
  kind: "said" | "edited" | "deleted" | "reacted" | "moved";
  /** Where; for an answer through a bridge, where the customer is. */
  address: Address;
  /** The platform's id, or that of the delivery that brought it there. */
  messageId: string;
  at: number;
  userId?: string;
  name?: string;
  role?: Role;
  isBot?: boolean;
  isDm?: boolean;
  guildId?: string;
  text?: string;
  emoji?: string;
  /** `said`: the outcome of the message, as in its inbox row. */
  outcome?: string;
  claimedBy?: string;
  /** `said`: a message among us, where no one is a customer. */
  isInternal?: boolean;
  /** `said`: the message is the reply of a claim or of a plugin's route, once it is sent; this is the id of the message that it answers. */
  replyTo?: string;
  /** `said`: the message is a copy, once it is sent; this is the platform on which its author wrote. */
  copiedFrom?: string;
  /** `said`: a hook sent the message on its own, and not as the reply of its claim. */
  byHook?: boolean;
  /**
   * `said`: the row of the inbox that brought the message; for a message that a hook sends on its own, the newest row at that time. An
   * answer answers no later row.
   */
  inboxId?: number;
  /**
   * `edited`: the author changed nothing; hooks held or withheld its copy, or an operator released it, and `text` holds the words that may
   * be quoted now.
   */
  copy?: "held" | "withheld" | "released";
  /** `moved`: where to. */
  toChatId?: string;
}

/** The gateway reports the actions of people and hooks in conversations to it. */
export interface ConversationWatch {
  /** False: there is no SLA for conversations, and sights need not be kept. */
  isWanted(): boolean;
  /** Whether it also needs the messages that hooks send on their own. */
  hearsHooks(): boolean;
  /** A sight is on disk. Must return at once and never throw. */
  seen(sight: ConversationSight): void;
}

/** A message of a case, as far as it matters. */
export interface CaseTurn {
  messageId: string;
  by: "customer" | "us";
  at: number;
  /** The name of its author; absent where a hook answered. */
  name?: string;
  /** For a message of the customer: its author, its words, and the row of the inbox that brought it. */
  userId?: string;
  words?: string;
  inboxId?: number;
  /**
   * Hooks held the copy of the message, so its words are not quoted: they are withheld with all corrections of it, until an operator
   * releases it.
   */
  withheld?: "held" | "withheld";
}

/** A customer's matter in a conversation: from their first message to its end. */
export interface SlaCase {
  /** `<conversation>#<message>`; the id of its entity. */
  id: string;
  conversation: string;
  address: Address;
  isDm: boolean;
  guildId?: string;
  /** How people call the chat, when it was last known. */
  room?: string;
  openedAt: number;
  /** The latest, bounded. */
  turns: CaseTurn[];
  /** Kept when the answer is no longer among the turns. */
  firstAnsweredAt?: number;
  /** Only hooks gave those answers that are no longer among the turns. */
  firstAnsweredByHook?: boolean;
  customer: { userId: string; name?: string };
  /** The member of staff who spoke last. */
  owner?: string;
  endedAt?: number;
  endedBy?: string;
  abandoned?: boolean;
  /** When it ends by itself unless a person writes. */
  closesAt?: number;
}

/* ── what is kept ──────────────────────────────────────────────────────────────────────────────────────────────── */

/** Changes that are written in one transaction. */
export interface SlaChange {
  clocks: readonly SlaClock[];
  announced: readonly NewAnnouncement[];
  /** The case that the clocks belong to, and the sights that changed it: these sights are processed. */
  case?: SlaCase;
  seen?: readonly string[];
}

export interface SlaFilter {
  policyId?: string;
  /** `overdue`: violated and still open · `missed`: open and violated at any time, also when it got more time afterwards. */
  state?: "open" | "running" | "paused" | "overdue" | "missed" | "ended";
  entityId?: string;
  /** Rows to skip. */
  offset?: number;
  limit: number;
}

/** The counts of a policy in a span of days. */
export interface SlaTally {
  policyId: string;
  measure: SlaMeasure;
  /** `met` and `late` count ended clocks. `late`: violated at any time, also when it was extended or met afterwards. */
  met: number;
  /** Not among `met`: a hook answered within the target. */
  metByHook: number;
  /** Among `met`: only because people gave more time. */
  metExtended: number;
  late: number;
  /** Closed without an answer, and never violated. */
  unanswered: number;
  /** Ended without anything to be met, and never violated. */
  withdrawn: number;
  /** Clocks that people gave more time; they are counted among the others as well. */
  extended: number;
}

export interface SlaStore {
  /** Writes clocks, announcements, a case and its sights: all or nothing. An announcement that exists is left alone. */
  apply(change: SlaChange, now: number): Promise<void>;
  get(id: string): Promise<SlaClock | undefined>;
  /** The clocks of an entity, at most 50: the open ones, one for each measure and policy, and the newest ones of a customer's waits. */
  clocksOf(type: WatchedType, id: string): Promise<SlaClock[]>;
  /** Clocks with something to announce, the most urgent first; `after`: those that follow this one in that order. */
  due(now: number, limit: number, after?: SlaClock): Promise<SlaClock[]>;
  /** When the next clock is due, `after` a time if one is given: one read of an index. */
  nextDue(after?: number): Promise<number | undefined>;
  /** Open clocks by their due time, paused ones last; ended ones newest first. */
  list(filter: SlaFilter): Promise<SlaClock[]>;
  count(filter: Pick<SlaFilter, "policyId" | "state">): Promise<number>;
  /** Entities with open clocks that were computed with other policies than these; by `seq` of their clocks. */
  outdated(
    hashes: readonly string[],
    afterSeq: number,
    limit: number,
  ): Promise<{ seq: number; type: WatchedType; id: string; entity: WatchedEntity }[]>;
  tally(fromMs: number, toMs: number): Promise<SlaTally[]>;
  /** Ended clocks for a report: working time used, by policy, oldest first; at most `limit`. */
  ended(
    fromMs: number,
    toMs: number,
    limit: number,
  ): Promise<
    {
      policyId: string;
      measure: SlaMeasure;
      endedAt: number;
      usedMs: number;
      targetMs: number;
      met: boolean;
      /** Met only because people gave more time. */
      isMetExtended: boolean;
      /** False: closed without an answer, or withdrawn, so `usedMs` is no response time. */
      isAnswered: boolean;
      /** A hook gave the answer: `usedMs` is no response time of people. */
      isByHook: boolean;
    }[]
  >;

  /** Announcements that are not finished and whose time has come, in order. */
  toAnnounce(now: number, limit: number): Promise<SlaAnnouncement[]>;
  nextAnnouncement(): Promise<number | undefined>;
  announcements(clockId: string): Promise<SlaAnnouncement[]>;
  /** Counts the attempt of an announcement on disk. */
  beginAnnouncement(id: string): Promise<number>;
  updateAnnouncement(
    id: string,
    change: { status?: SlaSaidStatus; reason?: string; by?: string; news?: SlaNews },
  ): Promise<void>;
  /** This announcement and every later one of the same clock wait until then. */
  postpone(clockId: string, dueAt: number, reason: string): Promise<void>;
  /** Whether an alert of this episode was raised: only then is there an alert to end. */
  wasRaised(clockId: string, episode: number): Promise<boolean>;

  /** Conversations with sights that were not processed. */
  unseen(limit: number): Promise<string[]>;
  sightsOf(conversation: string, limit: number): Promise<ConversationSight[]>;
  /** The open case of a conversation. */
  openCase(conversation: string): Promise<SlaCase | undefined>;
  caseById(id: string): Promise<SlaCase | undefined>;
  openCases(afterId: string, limit: number): Promise<SlaCase[]>;
  /** The first open case that ends by itself, of those behind `after`. */
  nextClosing(after?: ClosingCase): Promise<ClosingCase | undefined>;
  sweep(endedBefore: number): Promise<number>;
}

/** `closesAt`: when it ends by silence (ms since the epoch). */
export interface ClosingCase {
  id: string;
  conversation: string;
  closesAt: number;
}

/** `20 s + 30 s given by Olga`: the time that the policy gives, and the time that people added. Undefined: people added none. */
export function extensionText({ targetMs, addedMs = 0, extendedBy = [] }: SlaClock): string | undefined {
  if (addedMs === 0) return undefined;
  const by = extendedBy.length === 0 ? "" : ` by ${extendedBy.join(", ")}`;
  return `${formatDuration(targetMs - addedMs)} + ${formatDuration(addedMs)} given${by}`;
}
