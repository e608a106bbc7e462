/**
 * Runs programs: each in a process group of its own, ended whole at its deadline or when its signal aborts, its output capped.
 *
 * `child_process` and not execa: execa ends the program that it started and then waits for the pipes, which a grandchild may hold
 * open for as long as it likes. Here the group is ended, and nothing is waited for beyond a short grace.
 *
 * Three things see to it that no child outlives its gateway: `stop`, a watchdog that ends the groups when the gateway is
 * killed, and `sweep`, which at the next start ends the programs that both missed (Linux).
 */

import { type ChildProcess, spawn } from "node:child_process";
import { setMaxListeners } from "node:events";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import { StringDecoder } from "node:string_decoder";
import { joined } from "../concurrency/joined.js";
import { errorMessage, HookgateError } from "../errors.js";
import type { Clock } from "../time/clock.js";
import { type LocalConnection, variableOfCaller } from "./caller.js";
import { captureOutput } from "./capture.js";
import { endGroup, endLeftovers, type Group, goneWithin, groupAlive, signalOne } from "./group.js";
import { CHILD_MARK, findMarked, namesOf, parseMark, processStart } from "./table.js";
import { startWatchdog, type Watchdog } from "./watchdog.js";

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** Over the variables that every program gets. */
  readonly env?: Readonly<Record<string, string>>;
  /** Written whole, at any size; a program that does not read it does not fail for that. */
  readonly stdin?: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** The bytes that are kept of standard output, and of standard error. */
  readonly maxBytes: number;
  /** Gets the program's output as it comes, in whole characters. Must not throw. */
  readonly onOutput?: (text: string, from: "stdout" | "stderr") => void;
}

export interface ProgramEnd {
  /** flooded: it printed without end and was stopped. aborted: its caller or the end of the gateway cut it off, and it has no result. */
  readonly how: "exited" | "timed_out" | "aborted" | "flooded";
  /** Null when a signal ended it. */
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The start and the end, with a note of the part that was cut between them. */
  readonly stdout: string;
  readonly stderr: string;
  /** Whether something was cut. */
  readonly stdoutCut: boolean;
  readonly stderrCut: boolean;
  /** Programs that it left running when it ended by itself, ended then: their names where the system lists them (Linux), else "program". */
  readonly leftRunning: readonly string[];
  readonly latencyMs: number;
}

export interface Processes {
  /** The variables that every program gets. */
  readonly env: Readonly<Record<string, string>>;
  /** Resolves however it ends, at the latest a second after its deadline. Rejects with PROCESS_NOT_STARTED when it cannot be started. */
  run(program: Program): Promise<ProgramEnd>;
  /** A variable in the environment of our program that holds the other end of a connection (Linux). */
  variableOfCaller(connection: LocalConnection, variable: string): Promise<string | undefined>;
  /** The gateway is stopping, and its supervisor may signal its programs, too: a program that a signal ends is aborted from now on. */
  stopping(): void;
  /** Ends programs that a gateway of this installation, now gone, left behind. Resolves with how many. */
  sweep(): Promise<number>;
  /** Ends all that run; nothing can be started after it. */
  stop(): Promise<void>;
}

export interface ProcessesDeps {
  clock: Clock;
  /** The variables that every program gets: PATH, HOME, LANG and the like, never the gateway's own. */
  env: Readonly<Record<string, string>>;
  /** Tells this installation's programs from another's on the same machine: letters and digits. */
  owner: string;
  /** SIGTERM first; SIGKILL this long after. 500 by default. */
  graceMs?: number;
}

/** After SIGKILL the pipes close at once, unless a process that left the group holds them. */
const LAST_WAIT_MS = 250;
/** The program has ended, but programs that it started hold its output open. The output is read for this long, then they are ended. */
const HELD_OPEN_MS = 1_000;
/** The programs of a pipeline do not end in one moment. */
const ENDS_TOGETHER_MS = 50;
/** systemd signals all processes of a unit, one after the other: a program may end this long before the gateway hears that it is to stop. */
const HEARS_STOP_MS = 100;
/** The signals that stop a service. */
const STOP_SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"] as const;
/** A program that left its group may go on for longer than its run. */
const LEFT_OVER_MS = 600_000;
/** A program that prints more is stopped: reading it would take the time of everybody else. */
export const FLOOD_BYTES = 64 * 1024 * 1024;

export function createProcesses(deps: ProcessesDeps): Processes {
  return new ChildProcesses(deps);
}

class ChildProcesses implements Processes {
  readonly env: Readonly<Record<string, string>>;
  readonly #clock: Clock;
  readonly #owner: string;
  readonly #graceMs: number;
  /** The start of the marks of all programs of this gateway. */
  readonly #marks: string;
  /** The running programs, each with the controller that ends it at a stop. */
  readonly #running = new Map<ChildProcess, AbortController>();
  /** Runs that have not ended. */
  readonly #ends = new Set<Promise<unknown>>();
  /** The table of processes is long: many who call at once wait for one read of it. */
  readonly #findOurs = joined(() => findMarked((mark) => mark.startsWith(this.#marks)));
  #watchdog: Watchdog | undefined;
  /** How many programs. */
  #started = 0;
  #lastEndedAt = Number.NEGATIVE_INFINITY;
  readonly #stopping = new AbortController();
  #isStopped = false;

  constructor({ clock, env, owner, graceMs = 500 }: ProcessesDeps) {
    this.env = env;
    // Each program that a signal ended listens for a moment.
    setMaxListeners(0, this.#stopping.signal);
    this.#clock = clock;
    this.#owner = owner;
    this.#graceMs = graceMs;
    this.#marks = `${owner}:${process.pid}:${processStart(process.pid) ?? 0}:`;
  }

  run(program: Program): Promise<ProgramEnd> {
    const end = this.#run(program);
    const settled = end.then(
      () => {},
      () => {},
    );
    this.#ends.add(settled);
    void settled.then(() => this.#ends.delete(settled));
    return end;
  }

  async variableOfCaller(connection: LocalConnection, variable: string): Promise<string | undefined> {
    // The table of processes is not read for people, as long as nothing of ours may be running.
    const mayRun = this.#running.size > 0 || this.#clock.monotonic() - this.#lastEndedAt < LEFT_OVER_MS;
    return mayRun ? variableOfCaller(connection, this.#findOurs, variable) : undefined;
  }

  async sweep(): Promise<number> {
    const orphans = await findMarked((mark) => {
      const parsed = parseMark(mark);
      return parsed?.owner === this.#owner && processStart(parsed.gatewayPid) !== parsed.gatewayStart;
    });
    for (const pid of orphans) signalOne(pid);
    return orphans.length;
  }

  stopping(): void {
    this.#stopping.abort();
  }

  async stop(): Promise<void> {
    this.stopping();
    this.#isStopped = true;
    for (const stopping of this.#running.values()) stopping.abort();
    await Promise.all(this.#ends);
    if (this.#started > 0) for (const pid of await findMarked((mark) => mark.startsWith(this.#marks))) signalOne(pid);
    this.#watchdog?.stop();
  }

  async #run(program: Program): Promise<ProgramEnd> {
    const startedAt = this.#clock.monotonic();
    if (this.#isStopped || program.signal?.aborted) return this.#notRun(startedAt);
    const mark = `${this.#marks}${++this.#started}`;
    const watching = this.#watch();
    const child = start(program, { ...this.env, ...program.env, [CHILD_MARK]: mark });
    if (child.pid !== undefined) watching.add(child.pid);
    const stopping = new AbortController();
    this.#running.set(child, stopping);
    try {
      await spawned(child, program);
      return await this.#attend(child, program, stopping.signal, mark, startedAt);
    } finally {
      this.#running.delete(child);
      this.#lastEndedAt = this.#clock.monotonic();
      if (child.pid !== undefined) this.#watchdog?.remove(child.pid);
    }
  }

  #watch(): Watchdog {
    if (this.#watchdog?.isWatching() !== true) {
      this.#watchdog = startWatchdog(this.env, `${CHILD_MARK}=${this.#marks}`);
      for (const { pid } of this.#running.keys()) if (pid !== undefined) this.#watchdog.add(pid);
    }
    return this.#watchdog;
  }

  async #attend(
    child: ChildProcess,
    program: Program,
    stopping: AbortSignal,
    mark: string,
    startedAt: number,
  ): Promise<ProgramEnd> {
    const clock = this.#clock;
    const graceMs = this.#graceMs;
    const group: Group = {
      pid: child.pid as number,
      leaderEnded: () => child.exitCode !== null || child.signalCode !== null,
    };
    const flood = new AbortController();
    const stdout = captureOutput(child.stdout, program.maxBytes, FLOOD_BYTES, () => flood.abort());
    const stderr = captureOutput(child.stderr, program.maxBytes, FLOOD_BYTES, () => flood.abort());
    if (program.onOutput) passOn(child, program.onOutput);
    const closed = new Promise<true>((done) => child.once("close", () => done(true)));
    // The reader may be gone before it has read anything: its exit status shows the meaning of that.
    child.stdin?.on("error", () => {});
    child.stdin?.end(program.stdin ?? "");

    const how = await Promise.race([
      closed.then(() => "exited" as const),
      heldOpen(clock, child, closed),
      expiry(clock, program.timeoutMs, closed),
      aborted([program.signal, stopping], closed),
      once(flood.signal, closed).then(() => "flooded" as const),
    ]);
    let leftRunning: readonly string[] = [];
    if (how === "exited") {
      // A program that ends together with its parent is gone in a moment.
      if (groupAlive(group) && !(await goneWithin(clock, group, ENDS_TOGETHER_MS))) {
        leftRunning = await leftBy(group, mark);
        await endLeftovers(clock, group, graceMs);
      }
    } else {
      if (how === "held open") leftRunning = await leftBy(group, mark);
      await endGroup(clock, group, mark, graceMs, closed);
      await Promise.race([closed, pause(clock, LAST_WAIT_MS)]);
      child.stdout?.destroy();
      child.stderr?.destroy();
      child.unref();
    }
    const isByItself = how === "exited" || how === "held open";
    return {
      how: !isByItself ? how : (await this.#wasCutOff(child)) ? "aborted" : "exited",
      exitCode: child.exitCode,
      signal: child.signalCode,
      stdout: stdout.text(),
      stderr: stderr.text(),
      stdoutCut: stdout.isCut(),
      stderrCut: stderr.isCut(),
      leftRunning,
      latencyMs: clock.monotonic() - startedAt,
    };
  }

  /** Whether the stop of the gateway ended it: a program that ends by itself then has done its work. */
  async #wasCutOff({ exitCode, signalCode }: ChildProcess): Promise<boolean> {
    // A shell counts a program that a signal ended as 128 + the signal's number, and so do programs that clean up before they end.
    const isStopSignal = STOP_SIGNALS.some((one) => signalCode === one || exitCode === 128 + constants.signals[one]);
    const { signal } = this.#stopping;
    if (isStopSignal) {
      const late = pause(this.#clock, HEARS_STOP_MS);
      await Promise.race([late, once(signal, late)]);
    }
    return signal.aborted && (isStopSignal || signalCode !== null);
  }

  #notRun(startedAt: number): ProgramEnd {
    return {
      how: "aborted",
      exitCode: null,
      signal: null,
      stdout: "",
      stderr: "",
      stdoutCut: false,
      stderrCut: false,
      leftRunning: [],
      latencyMs: this.#clock.monotonic() - startedAt,
    };
  }
}

async function leftBy({ pid }: Group, mark: string): Promise<readonly string[]> {
  return process.platform === "linux" ? namesOf(pid, mark) : ["program"];
}

function passOn(child: ChildProcess, onOutput: NonNullable<Program["onOutput"]>): void {
  for (const from of ["stdout", "stderr"] as const) {
    const decoder = new StringDecoder("utf8");
    child[from]?.on("data", (chunk: Buffer) => onOutput(decoder.write(chunk), from));
  }
}

function start(program: Program, env: Record<string, string>): ChildProcess {
  try {
    return spawn(program.command, program.args, {
      cwd: program.cwd,
      env,
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
    });
  } catch (error) {
    throw notStarted(program, error);
  }
}

function spawned(child: ChildProcess, program: Program): Promise<void> {
  return new Promise((done, fail) => {
    child.once("spawn", done);
    // Later errors (a signal that could not be sent) change nothing: how it ended is known by its close.
    child.on("error", (error) => fail(notStarted(program, error)));
  });
}

function notStarted(program: Program, error: unknown): HookgateError {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const why =
    code === "ENOENT" && !existsSync(program.cwd)
      ? `the working directory ${program.cwd} is not there`
      : code === "ENOENT"
        ? "there is no such program"
        : code === "EACCES"
          ? "it may not be executed"
          : code === "E2BIG"
            ? "its arguments and environment are too large"
            : errorMessage(error);
  return new HookgateError({
    code: "PROCESS_NOT_STARTED",
    message: `${program.command} could not be started: ${why}`,
    retryable: code === "EAGAIN" || code === "EMFILE" || code === "ENOMEM",
    cause: error,
  });
}

function expiry(clock: Clock, timeoutMs: number, closed: Promise<true>): Promise<"timed_out"> {
  return new Promise((done) => {
    const timer = clock.after(timeoutMs, () => done("timed_out"));
    void closed.then(() => timer.cancel());
  });
}

/** The program has ended and its output has not: a child of it holds the pipe. */
function heldOpen(clock: Clock, child: ChildProcess, closed: Promise<true>): Promise<"held open"> {
  return new Promise((done) => {
    child.once("exit", () => {
      const timer = clock.after(HELD_OPEN_MS, () => done("held open"));
      void closed.then(() => timer.cancel());
    });
  });
}

/** A signal that reports that the time is up (as `AbortSignal.timeout` does) is a deadline like our own. */
function aborted(
  signals: readonly (AbortSignal | undefined)[],
  closed: Promise<true>,
): Promise<"aborted" | "timed_out"> {
  const given = signals.filter((signal) => signal !== undefined);
  return Promise.race(
    given.map((signal) => once(signal, closed).then(() => (isTimeout(signal.reason) ? "timed_out" : "aborted"))),
  );
}

const isTimeout = (reason: unknown) => reason instanceof Error && reason.name === "TimeoutError";

function once(signal: AbortSignal, closed: Promise<unknown>): Promise<void> {
  return new Promise((done) => {
    const onAbort = () => done();
    if (signal.aborted) done();
    signal.addEventListener("abort", onAbort, { once: true });
    void closed.then(() => signal.removeEventListener("abort", onAbort));
  });
}

function pause(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((done) => void clock.after(delayMs, done));
}
