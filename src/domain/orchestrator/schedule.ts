/** When missions run by themselves. A row holds the next time; it moves together with the mission that it starts, or not at all. */
import type { Address } from "../chat/address.js";
import type { NewPending } from "../pending.js";
import type { Mission } from "./mission.js";

export interface Schedule {
  id: string;
  planId: string;
  /** Cron: five fields, six with seconds first, or `@daily` and the like. */
  expression: string;
  timezone: string;
  /** Times that were missed while the gateway was down are made up for once. */
  catchUp: boolean;
  /** `plan`: the schedule is in the plan's file, and is removed with it. */
  source: "plan" | "chat";
  createdBy: string;
  createdAt: number;
  /** The command that added the schedule, so that a command that is handled again adds no second one. */
  once?: string;
  /** Where its missions are shown. */
  address?: Address;
  paused?: { by: string; at: number };
  /** ms since the epoch; absent when paused, or when it never comes again. */
  nextAt?: number;
  last?: ScheduleOutcome;
}

/** The outcome of a time that came. */
export interface ScheduleOutcome {
  dueAt: number;
  at: number;
  /** passed_by: the time was missed, and the schedule does not make up for missed times · failed: its plan cannot be carried out. */
  kind: "started" | "vetoed" | "passed_by" | "failed";
  missionId?: string;
  by?: string;
  reason?: string;
}

/** A mission that is written with its schedule, and the work that follows its start. */
export interface StartedMission {
  mission: Mission;
  pending: readonly NewPending[];
}

export interface ScheduleStore {
  list(): Promise<Schedule[]>;
  get(id: string): Promise<Schedule | undefined>;
  /** Inserts or replaces. */
  set(schedule: Schedule): Promise<void>;
  /**
   * One transaction: the schedule as given, and the mission that it starts, if any. Undefined when its stored next time is not
   * `expected`: nothing is written. True when the mission was written; one whose id is there is not written again.
   */
  fire(schedule: Schedule, expected: number, started: StartedMission | undefined): Promise<boolean | undefined>;
  /** One transaction: the outcome of a start by hand, and the mission, if any. The next time stays as it is stored. True as for `fire`. */
  note(id: string, last: ScheduleOutcome, started: StartedMission | undefined): Promise<boolean>;
  forget(id: string): Promise<void>;
}
