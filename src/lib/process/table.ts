/**
 * The system's table of processes, on Linux: the processes with our mark in their environment, and their descendants. Elsewhere it is not
 * readable and every search here finds none.
 */
import { readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";

/** The variable by which our programs and all that they start are known: owner, the gateway's process id, its start, a number. */
export const CHILD_MARK = "HOOKGATE_CHILD_OF";

export interface Mark {
  owner: string;
  gatewayPid: number;
  gatewayStart: string;
}

export function parseMark(mark: string): Mark | undefined {
  const [, owner, pid, start] = /^([^:]+):(\d+):([^:]+):\d+$/.exec(mark) ?? [];
  return owner === undefined || start === undefined
    ? undefined
    : { owner, gatewayPid: Number(pid), gatewayStart: start };
}

/** Process ids whose mark is accepted. */
export async function findMarked(accept: (mark: string) => boolean): Promise<number[]> {
  const found: number[] = [];
  await eachProcess(async (pid) => {
    const mark = await markOf(pid);
    if (mark !== undefined && pid !== process.pid && accept(mark)) found.push(pid);
  });
  return found;
}

/** All that carry the mark, or descend from the leader (while it lives) or from those: process ids, each with its start. */
export async function findFamily(leader: number | undefined, mark: string): Promise<Map<number, string>> {
  const parents = new Map<number, number>();
  const starts = new Map<number, string>();
  const family = new Set(leader === undefined ? [] : [leader]);
  await eachProcess(async (pid) => {
    const [text, itsMark] = await Promise.all([textOf(`/proc/${pid}/stat`), markOf(pid)]);
    const stat = parseStat(text);
    if (stat === undefined) return;
    parents.set(pid, stat.parent);
    starts.set(pid, stat.start);
    if (itsMark === mark || (leader !== undefined && stat.session === leader)) family.add(pid);
  });
  const belongs = (pid: number | undefined, steps = 0): boolean =>
    pid !== undefined && steps < MAX_GENERATIONS && (family.has(pid) || belongs(parents.get(pid), steps + 1));
  return new Map([...starts].filter(([pid]) => pid !== process.pid && pid !== 1 && belongs(pid)));
}

const MAX_GENERATIONS = 100;

/** The names of those that run in the group or carry the mark. One that has ended, and that no parent has read, does not run. */
export async function namesOf(group: number, mark: string): Promise<string[]> {
  const names: string[] = [];
  await eachProcess(async (pid) => {
    const text = await textOf(`/proc/${pid}/stat`);
    const stat = parseStat(text);
    if (stat === undefined || "ZX".includes(stat.state)) return;
    if (stat.group !== group && (await markOf(pid)) !== mark) return;
    names.push(text?.slice(text.indexOf("(") + 1, text.lastIndexOf(")")) ?? "");
  });
  return names;
}

/** With the process id it names one process for good: ids are used again, starts are not. */
export function processStart(pid: number): string | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, "utf8"))?.start;
  } catch {
    return undefined; // Not there, or not Linux.
  }
}

interface Stat {
  state: string;
  parent: number;
  group: number;
  session: number;
  start: string;
}

/** https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html; the name, in brackets, may hold anything. */
function parseStat(stat: string | undefined): Stat | undefined {
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state = "", parent, group, session] = fields ?? [];
  const start = fields?.[19];
  if (start === undefined) return undefined;
  return { state, parent: Number(parent), group: Number(group), session: Number(session), start };
}

const AT_ONCE = 64;

async function eachProcess(visit: (pid: number) => Promise<void>): Promise<void> {
  const pids = await processIds();
  for (let at = 0; at < pids.length; at += AT_ONCE) await Promise.all(pids.slice(at, at + AT_ONCE).map(visit));
}

async function processIds(): Promise<number[]> {
  try {
    return (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  } catch {
    return [];
  }
}

async function markOf(pid: number): Promise<string | undefined> {
  const variables = await textOf(`/proc/${pid}/environ`);
  if (variables === undefined || !variables.includes(CHILD_MARK)) return undefined;
  return variables
    .split("\0")
    .find((one) => one.startsWith(`${CHILD_MARK}=`))
    ?.slice(CHILD_MARK.length + 1);
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch {
    return undefined; // The process ended, or belongs to another user.
  }
}
