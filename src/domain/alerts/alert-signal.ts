/** What raises, changes and ends an alert. SLA clocks are its first source; anything that may break can be another. */
import type { WatchedEntity } from "./watched.js";

export type Severity = "info" | "warning" | "high" | "critical";

export interface AlertSignal {
  /** Alerts are told apart by it: the same fingerprint is the same alert, and a higher `episode` begins it anew. */
  fingerprint: string;
  episode: number;
  /** `warned`: will break soon · `firing`: broken · `resolved`: no longer so (met, ended, moved) with `reason`. */
  state: "warned" | "firing" | "resolved";
  severity: Severity;
  title: string;
  /** What makes it fire, in a sentence: `80 % of 4h passed`. */
  reason: string;
  /** ms since the epoch; when what it says became true. */
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
    /** It ends because more time was given: what the clock waits for has not happened. */
    isPostponed?: true;
    /** It ends because no policy is about it any more: with its policy, the same trouble comes back. */
    isUnwatched?: true;
  };
  /** Names of routes (`alerts.routes`); the default route when absent. */
  routes?: readonly string[];
  runbook?: string;
  labels: Readonly<Record<string, string>>;
}

/** How the clock behind an alert stands now, and what it watches as it was told last. */
export interface ClockStanding {
  entity: WatchedEntity;
  /** Working time; `leftMs` is negative when it is overdue. */
  elapsedMs: number;
  leftMs: number;
  /** With what people added; the signal may be older. */
  targetMs: number;
  percentUsed: number;
  /** What people have given it so far: a date, or time on top. Another one: it was moved. */
  given: number;
  /** Absent while it is paused: the time is not known. */
  dueAt?: number;
  pausedFor?: string;
  /** How much of `targetMs` people added. */
  addedMs?: number | undefined;
  /** Where the message that waits was copied to: a reply there reaches the customer. `link`: where its platform has links. */
  copy?: { place: string; link?: string | undefined } | undefined;
  /** `20 s + 30 s given by Olga`; absent when people added nothing. */
  extension?: string | undefined;
}

/** Resolves when the alert is on disk; the same signal twice changes nothing. */
export type RaiseAlert = (signal: AlertSignal) => Promise<void>;
