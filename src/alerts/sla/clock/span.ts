/** The part of an entity that a clock measures: its start, its end, and whether it waits. */
import type { SlaMeasure } from "../../../domain/alerts/sla.js";
import type { WatchedEntity } from "../../../domain/alerts/watched.js";
import type { Policy } from "../policies/policies.js";

export interface Span {
  measure: SlaMeasure;
  /** Distinguishes several spans of one measure of an entity. */
  cycle: string;
  startedAt: number;
  endedAt?: number;
  /** The span has ended, and there is no target to meet. */
  abandoned?: boolean;
  /** The conversation was closed without the answer that the span measures. */
  isUnanswered?: boolean;
  /** A hook gave the answer. */
  isByHook?: boolean;
  /** A deadline that was set for the entity. */
  deadline?: number;
  /** Why the span ended, for people: `answered`, `cancelled`. */
  how?: string;
  /** The entity's title and quote for this span: the words that the span is about, and not those of a later span. */
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
