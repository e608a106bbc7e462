/** Ending a process group whole. A negative process id addresses the group; its number stays taken while anybody is in it. */
import type { Clock } from "../time/clock.js";
import { findFamily, processStart } from "./table.js";

/** The group of a program that we started. */
export interface Group {
  readonly pid: number;
  /** Whether the program that leads it has ended, so that its number may be given to another. */
  leaderEnded(): boolean;
}

/** Whether anybody is left in the group. */
export function groupAlive(group: Group): boolean {
  return signalGroup(group, 0);
}

/** SIGTERM, then SIGKILL after the grace, to the group and to those who left it. Resolves soon after the grace at the latest. */
export async function endGroup(
  clock: Clock,
  group: Group,
  mark: string,
  graceMs: number,
  closed: Promise<true>,
): Promise<void> {
  // A process that started a session of its own is not in the group: it is known by its mark, or by its parents, as long as they live.
  const family = await findFamily(group.leaderEnded() ? undefined : group.pid, mark);
  signalGroup(group, "SIGTERM");
  const isGone = await goneWithin(clock, group, graceMs, closed);
  if (!isGone) signalGroup(group, "SIGKILL");
  for (const [pid, start] of [...family, ...(await findFamily(undefined, mark))])
    if (processStart(pid) === start) signalOne(pid);
}

/** The leader has ended and left others behind. */
export async function endLeftovers(clock: Clock, group: Group, graceMs: number): Promise<void> {
  signalGroup(group, "SIGTERM");
  if (!(await goneWithin(clock, group, graceMs))) signalGroup(group, "SIGKILL");
}

const CHECK_EVERY_MS = 10;

/** Whether all have gone (and, when given, the pipes are closed) within the grace. */
export async function goneWithin(
  clock: Clock,
  group: Group,
  graceMs: number,
  closed?: Promise<true>,
): Promise<boolean> {
  let isClosed = closed === undefined;
  void closed?.then(() => {
    isClosed = true;
  });
  const end = clock.monotonic() + graceMs;
  while (clock.monotonic() < end) {
    if (isClosed && !groupAlive(group)) return true;
    await new Promise<void>((done) => void clock.after(CHECK_EVERY_MS, done));
  }
  return false;
}

function signalGroup(group: Group, signal: NodeJS.Signals | 0): boolean {
  // No process but its leader has the number of a group while the group has members: another process with that number means that the group
  // ended and the number was reused.
  if (group.leaderEnded() && exists(group.pid)) return false;
  return send(-group.pid, signal);
}

const exists = (pid: number) => send(pid, 0);

/** Whether there is a process to receive it. */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    // EPERM: there is one, and it belongs to another user (a setuid program).
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** Ends one process, at once. */
export function signalOne(pid: number): void {
  send(pid, "SIGKILL");
}
