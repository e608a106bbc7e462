/**
 * Keeps a message that crashes the process apart from the others. A row that was under way when an earlier process ended is a suspect:
 * suspects are handled one at a time, so that the next crash counts an attempt for one of them only. A suspect that was cut off twice, or
 * that makes its last attempt, is handled alone: nothing else is under way then, except commands, so that operators are never locked out.
 * A delivery that an earlier process did not get through its hooks is decided while no row is under way, so that its crash counts for no
 * message. Hooks about other work (tasks, missions, schedules, SLA clocks, pending work) follow the same rules (`inTurn`). So do stored
 * runs in the background (`runInTurn`), which may take hours: those that were cut off come after the rows, and others wait for a run
 * for a while only. A suspect of any kind starts when no request is under way that its crash would leave in doubt (`send-gate.ts`).
 */

import { isCommandLane } from "../../domain/chat/command-lane.js";
import { within } from "../../lib/concurrency/within.js";
import type { Clock } from "../../lib/time/clock.js";
import { type Lane, type LaneRow, startOf, triesCounted } from "../conversation.js";
import type { SendGate } from "../send-gate.js";
import type { Turns } from "../status.js";

/** Work that was cut off this often is handled alone. */
const ALONE_AFTER = 2;
/** All other work waits this long for a run in the background. */
const RUN_HOLDS_MS = 10_000;

/** How it is handled. `shared`: it is no suspect. */
export type Rule = "shared" | "one-at-a-time" | "alone";

interface Waiting {
  /** `m5` of a message, `d_m5r` of a delivery. */
  id?: string | undefined;
  begin: () => void;
}

/** The rule for work that the end of a process cut off. `made`: how often it was tried, of `max`. */
export const ruleOfSuspect = (made: number, max: number): Rule =>
  made >= ALONE_AFTER || made + 1 >= max ? "alone" : "one-at-a-time";

/** When runs in the background may start. */
export interface RunTurns {
  /**
   * Takes a place for a run that is no suspect; the returned function is to be called when the run has ended. Undefined: it may not
   * start now, and `again` is called when it may.
   */
  enterRun(again: () => void): (() => void) | undefined;
  /** Calls `run`, which never rejects, when it may start. */
  runInTurn(rule: Rule, run: () => Promise<void>): Promise<void>;
}

export class Suspects implements RunTurns {
  readonly #maxAttempts: number;
  /** Handles the next row of a lane that had to wait. */
  readonly #wakeLane: (lane: Lane) => void;
  readonly #gate: SendGate;
  /** Resolves when all that was written so far is on disk. */
  readonly #written: () => Promise<void>;
  readonly #clock: Clock;
  /** Rows that an earlier process was at, and that were not handled since, by id. */
  readonly #expected = new Map<number, Rule>();
  /** Suspect runs under way, those included for which no other work waits any more. */
  #runs = 0;
  /** One of the runs is to run without other such runs. */
  #isRunAlone = false;
  /** Rows and other work under way that a suspect handled alone waits for. */
  #shared = 0;
  /** The suspect under way: a row, or other work. */
  #current: object | undefined;
  #isAlone = false;
  /** Id of the suspect that waits to be handled alone; no other row starts before it. */
  #next: number | undefined;
  /** Each asks again whether it may start. */
  readonly #waiting = new Map<() => void, Waiting["id"]>();
  /** Decisions that wait until no row is under way. */
  readonly #decisions: Waiting[] = [];
  #deciding: Waiting | undefined;

  constructor(
    { maxAttempts, clock }: { maxAttempts: number; clock: Clock },
    wakeLane: (lane: Lane) => void,
    gate: SendGate,
    written: () => Promise<void>,
  ) {
    this.#maxAttempts = maxAttempts;
    this.#clock = clock;
    this.#wakeLane = wakeLane;
    this.#gate = gate;
    this.#written = written;
    gate.onQuiet = () => {
      this.#beginDecision();
      this.#wake();
    };
  }

  /** Rows may be counted as started before their turn. */
  get isIdle(): boolean {
    return this.#isFree && this.#waiting.size === 0;
  }

  /** Undefined when nothing waits. */
  get turns(): Turns | undefined {
    const waiting = [
      ...new Set([...this.#waiting.values(), ...this.#decisions.map(({ id }) => id)].flatMap((id) => id ?? [])),
    ];
    if (waiting.length === 0) return undefined;
    return { waiting, current: this.#deciding?.id ?? (this.#current && idOf(this.#current)) };
  }

  /** Runs the decision about a suspect delivery when no row is under way; rows that come meanwhile wait. One at a time. */
  async decide<T>(decision: () => Promise<T>, id?: string): Promise<T> {
    await new Promise<void>((begin) => {
      this.#decisions.push({ id, begin });
      this.#beginDecision();
    });
    try {
      return await decision();
    } finally {
      void this.#whenWritten(() => {
        this.#deciding = undefined;
        this.#gate.open();
        this.#beginDecision();
        this.#wake();
      });
    }
  }

  /** The caller writes the result next: until that is on disk, a crash of another suspect would count for this one. */
  async #whenWritten(release: () => void): Promise<void> {
    await new Promise((done) => setImmediate(done));
    await this.#written().catch(() => {}); // a store that takes nothing holds up no turn
    release();
  }

  /** Calls hooks about other work than messages in its turn. `cutOffs`: how often the process ended while they ran. */
  async inTurn<T>(cutOffs: number, work: () => Promise<T>): Promise<T> {
    if (cutOffs >= ALONE_AFTER) return this.decide(work);
    const turn = {};
    while (!this.#mayShare(cutOffs > 0)) await this.#woken();
    if (cutOffs > 0) this.#current = turn;
    this.#shared++;
    const leave = () => {
      this.#shared--;
      this.#left(turn);
    };
    try {
      return await work();
    } finally {
      if (cutOffs > 0) void this.#whenWritten(leave);
      else leave();
    }
  }

  /** An earlier process left this row open. Called for each before anything starts. */
  expect(row: LaneRow): void {
    const rule = this.#ruleOf(row);
    if (rule !== "shared") this.#expected.set(row.id, rule);
  }

  enterRun(again: () => void): (() => void) | undefined {
    const isAloneExpected = [...this.#expected.values()].includes("alone");
    if (isAloneExpected || !this.#mayShare(false)) {
      this.#waiting.set(again, undefined);
      return undefined;
    }
    let isHeld = true;
    const leave = () => {
      if (!isHeld) return;
      isHeld = false;
      timer.cancel();
      this.#shared--;
      this.#beginDecision();
      this.#wake();
    };
    this.#shared++;
    const timer = this.#clock.after(RUN_HOLDS_MS, leave);
    return leave;
  }

  async runInTurn(rule: Rule, run: () => Promise<void>): Promise<void> {
    if (rule === "shared") {
      const place = await new Promise<() => void>((entered) => {
        const ask = () => {
          const leave = this.enterRun(ask);
          if (leave !== undefined) entered(leave);
        };
        ask();
      });
      return run().finally(place);
    }
    const isAlone = rule === "alone";
    while (this.#expected.size > 0 || this.#isRunAlone || (isAlone && this.#runs > 0)) await this.#woken();
    this.#runs++;
    this.#isRunAlone = isAlone;
    let ended: Promise<void> | undefined;
    await this.inTurn(isAlone ? ALONE_AFTER : 1, () => {
      ended = run();
      return within(this.#clock, RUN_HOLDS_MS, ended);
    });
    await ended;
    this.#runs--;
    this.#isRunAlone = false;
    this.#wake();
  }

  #woken(): Promise<void> {
    return new Promise((begin) => this.#waiting.set(begin, undefined));
  }

  #mayShare(isSuspect: boolean): boolean {
    if (isSuspect) return this.#isFree && this.#gate.close();
    return !this.#isAlone && this.#next === undefined && !this.#hasDecision;
  }

  /** True when the row may be handled now, until `leave`. Else its lane is woken when it may. */
  enter(row: LaneRow, lane: Lane): boolean {
    const wait = () => void this.#waiting.set(() => this.#wakeLane(lane), startOf(row));
    if (this.#hasDecision && !isCommandLane(lane.key)) {
      wait();
      return false;
    }
    const rule = this.#ruleOf(row);
    if (this.#next === row.id) this.#next = undefined;
    if (rule === "alone" && this.#isFree && this.#shared > 0) this.#next = row.id;
    if (!this.#isOpenFor(row, rule)) {
      wait();
      return false;
    }
    if (rule !== "shared" && !this.#gate.close()) {
      if (rule === "alone") this.#next = row.id;
      wait();
      return false;
    }
    if (rule !== "shared") this.#current = row;
    this.#isAlone ||= rule === "alone";
    if (rule !== "alone" && !isCommandLane(lane.key)) this.#shared++;
    return true;
  }

  leave(row: LaneRow): void {
    this.#expected.delete(row.id);
    if (this.#current === row && this.#isAlone) this.#isAlone = false;
    else if (!isCommandLane(row.lane)) this.#shared--;
    this.#left(row);
  }

  #left(suspect: object): void {
    if (this.#current === suspect) {
      this.#current = undefined;
      this.#gate.open();
    }
    this.#beginDecision();
    this.#wake();
  }

  #wake(): void {
    if (this.#waiting.size === 0 || this.#isAlone || this.#hasDecision) return;
    if (this.#current !== undefined || (this.#next !== undefined && this.#shared > 0)) return;
    const all = [...this.#waiting.keys()];
    this.#waiting.clear();
    for (const begin of all) begin();
  }

  #beginDecision(): void {
    if (this.#deciding !== undefined || this.#current !== undefined || this.#shared > 0) return;
    if (this.#decisions.length === 0 || !this.#gate.close()) return;
    this.#deciding = this.#decisions.shift();
    this.#deciding?.begin();
  }

  get #hasDecision(): boolean {
    return this.#deciding !== undefined || this.#decisions.length > 0;
  }

  get #isFree(): boolean {
    return this.#current === undefined && this.#next === undefined && !this.#hasDecision;
  }

  #isOpenFor({ lane }: LaneRow, rule: Rule): boolean {
    switch (rule) {
      case "shared":
        return isCommandLane(lane) || (!this.#isAlone && this.#next === undefined);
      case "one-at-a-time":
        return this.#isFree;
      case "alone":
        return this.#isFree && this.#shared === 0;
    }
  }

  #ruleOf(row: LaneRow): Rule {
    if (!row.isCutOff) return "shared";
    return ruleOfSuspect(triesCounted(row), this.#maxAttempts);
  }
}

/** Undefined of other work than messages. */
const idOf = (suspect: object): string | undefined => ("lane" in suspect ? startOf(suspect as LaneRow) : undefined);
