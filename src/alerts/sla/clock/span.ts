/** What of an entity a clock measures: from when to when, and whether it waits. */
import type { SlaMeasure } from "../../../domain/alerts/sla.js";
import type { WatchedEntity } from "../../../domain/alerts/watched.js";
import type { Policy } from "../policies/policies.js";

export interface Span {
  measure: SlaMeasure;
  /** Tells apart the several that one measure has in a life. */
  cycle: string;
  startedAt: number;
  endedAt?: number;
  /** Over, without anything to be met. */
  abandoned?: boolean;
  /** Closed without the answer that it measures. */
  isUnanswered?: boolean;
  /** A hook gave the answer. */
  isByHook?: boolean;
  /** A date that was set for it. */
  deadline?: number;
  /** Why it ended, for people: `answered`, `cancelled`. */
  how?: string;
  /** What its entity is called and quotes for it: the words that it is about, and not those of a later span. */
  quote?: Pick<WatchedEntity, "title" | "lastWords">;
}

/** The spans of a task or a mission. */
export function spanOfWork(
  entity: WatchedEntity,
  { measure, from }: Pick<Policy, "measure" | "from">,
): Span | undefined {
  const { createdAt, startedAt, deadline, endedAt, abandoned, status } = entity;
  const ending = {
    endedAt,
    how: endedAt === undefined ? undefined : status,
    abandoned: abandoned || undefined,
  };
  if (measure === "deadline")
    return deadline === undefined ? undefined : { measure, cycle: "", startedAt: createdAt, deadline, ...ending };
  const start = from === "created" ? createdAt : startedAt;
  return start === undefined ? undefined : { measure, cycle: "", startedAt: start, ...ending };
}
