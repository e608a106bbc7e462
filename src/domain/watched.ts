/**
 * What a deadline can be set on: tasks and missions (the orchestrator tells) and conversations (the gateway sees them). SLA clocks
 * know entities in this form only.
 */
export type WatchedType = "task" | "mission" | "conversation";

export interface WatchedEntity {
  type: WatchedType;
  id: string;
  title: string;
  /** The entity's own word for its state: `in_progress`, `awaiting_approval`, … */
  status: string;
  /** ms since the epoch, all of them. */
  createdAt: number;
  startedAt?: number;
  /** Its own deadline; a policy may set a target instead. */
  deadline?: number;
  /** Set when it is over; `met` unless that was too late. */
  endedAt?: number;
  /** Over without having been done (failed, cancelled): clocks end, nothing was met. */
  abandoned?: boolean;
  /** Does not run against its clock now (paused, awaiting approval, pending on the customer); says why. */
  pausedFor?: string;
  /** The person who works on it, as text for the card. */
  owner?: string;
  /** A chat address (`platform:bot:chat[:thread]`) or an URL where it can be looked at. */
  link?: string;
  /** The last words of a customer, unchanged; the caller that shows them redacts them. */
  lastWords?: string;
  /** What policies match on besides the above: group, priority, assignee, platform, tags. */
  facts: Readonly<Record<string, string | number | boolean>>;
}

/**
 * Called for every change of an entity, after its commit, and of every open one at start: the same state twice changes nothing, so the
 * next start repairs a crash between the commit and the call.
 */
export type EntityChanged = (entity: WatchedEntity) => Promise<void>;
