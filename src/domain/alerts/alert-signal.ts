/** The signals that raise, change and end an alert. SLA clocks are its first source; anything that may break can be another. */
import type { WatchedEntity } from "./watched.js";

export type Severity = "info" | "warning" | "high" | "critical";

export interface AlertSignal {
  /** It distinguishes alerts: the same fingerprint is the same alert, and a higher `episode` starts it again. */
  fingerprint: string;
  episode: number;
  /** `warned`: will break soon · `firing`: broken · `resolved`: no longer so (met, ended, moved) with `reason`. */
  state: "warned" | "firing" | "resolved";
  severity: Severity;
  title: string;
  /** The reason why it fires, in a sentence: `80 % of 4h passed`. */
  reason: string;
  /** ms since the epoch; the time when the reason became true. */
  at: number;
  source: {
    /** `sla`, `gateway`, `hook`, … */
    kind: string;
    /** The clock, platform or hook behind it. */
    id: string;
    /** The policy that made it an alert, when there is one. */
    policyId?: string;
  };
  entity?: WatchedEntity;
  /** For clocks. */
  clock?: {
    name: string;
    dueAt: number;
    targetMs: number;
    elapsedMs: number;
    percentUsed: number;
    pausedFor?: string;
    /** The alert ends because people gave more time: the clock still waits for the same thing. */
    isPostponed?: true;
    /** The alert ends because no policy covers it any more: with its policy, the same trouble comes back. */
    isUnwatched?: true;
  };
  /** Its problem is a further one: it is posted anew, however soon it comes back. */
  isMore?: true | undefined;
  /** Names of routes (`alerts.routes`); the default route when absent. */
  routes?: readonly string[];
  runbook?: string;
  labels: Readonly<Record<string, string>>;
}

/** The present state of the clock behind an alert, and the last known state of the entity that it watches. */
export interface ClockStanding {
  entity: WatchedEntity;
  /** Working time; `leftMs` is negative when it is overdue. */
  elapsedMs: number;
  leftMs: number;
  /** The target with the time that people added; the signal may be older. */
  targetMs: number;
  percentUsed: number;
  /** The time that people have given so far: a date, or time on top. A changed value means that the deadline was moved. */
  given: number;
  /** Absent while it is paused: the time is not known. */
  dueAt?: number;
  pausedFor?: string;
  /** How much of `targetMs` people added. */
  addedMs?: number | undefined;
  /** The chat to which the waiting message was copied: a reply there reaches the customer. `link`: where its platform has links. */
  copy?: { place: string; link?: string | undefined } | undefined;
  /** The newest answer to the customer, if it was written and did not arrive for certain. */
  answer?: UnsureAnswer | undefined;
  /** `20 s + 30 s given by Olga`; absent when people added nothing. */
  extension?: string | undefined;
}

/** `in_doubt`: the customer may have read it. `held`: a hook keeps it. `given_up`: it is a dead letter. `waiting`: it is still being sent. */
export interface UnsureAnswer {
  deliveryId: string;
  state: "in_doubt" | "held" | "given_up" | "waiting";
  /** ms since the epoch, when it was written. */
  at: number;
  /** The name of its author; absent where a hook answered. */
  by?: string | undefined;
}

/** Resolves when the alert is on disk; the same signal twice changes nothing. */
export type RaiseAlert = (signal: AlertSignal) => Promise<void>;
