/** Measures a process as its platform and its kernel see it: messages per second, CPU, memory, time until it answers. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const ROOT = resolve(import.meta.dirname, "..");
/** The unit of /proc/<pid>/stat; 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

export interface Platform {
  name: "telegram" | "discord";
  url: string;
  facts: Record<string, string | number>;
  /** Many messages at once, over so many conversations. */
  flood(messages: number, chats: number): Promise<void>;
  sends(): Promise<number>;
  stop(): void;
}

/** The fake platform as a process of its own, so that its work is not counted. */
export async function startPlatform(name: Platform["name"]): Promise<Platform> {
  const child = spawn(process.execPath, ["--import", "tsx", `test/fakes/${name}/main.ts`, "--no-record"], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const facts = await new Promise<Record<string, string | number>>((done) => {
    createInterface({ input: child.stdout }).once("line", (line) =>
      done(JSON.parse(line) as Record<string, string | number>),
    );
  });
  const url = `http://127.0.0.1:${facts.port}`;
  const control = async (operation: string, args: unknown[] = []): Promise<unknown> =>
    (
      await fetch(`${url}/__control/${operation}`, {
        method: "POST",
        body: JSON.stringify(args),
        headers: { "content-type": "application/json" },
      })
    ).json();
  return {
    name,
    url,
    facts,
    flood: async (messages, chats) => void (await control("floods", [messages, chats])),
    async sends() {
      if (name === "discord") return Number(await control("sends"));
      return Number(((await control("counts")) as { sends: number }).sends);
    },
    stop: () => void child.kill("SIGKILL"),
  };
}

export interface Subject {
  label: string;
  command: string[];
  env: Record<string, string>;
  cwd?: string;
}

export interface Measured {
  readyMs: number;
  idleMb: number;
  loadedMb: number;
  messagesPerSecond: number;
  cpuMicrosPerMessage: number;
}

export interface Load {
  messages: number;
  chats: number;
}

/**
 * Starts it, waits for its first answer, then floods it twice with as many messages, and measures the second flood. In the
 * first one every conversation becomes known, and the engine compiles what runs often: after ten thousand messages it was still
 * at it, so that what followed depended on the length of the flood (ours grew from 6,000 messages a second to 8,700, bare grammY's
 * from 9,200 to 11,500), and a bot of a few lines is done with it sooner.
 */
export async function measure(platform: Platform, subject: Subject, { messages, chats }: Load): Promise<Measured> {
  const begun = performance.now();
  const child = spawn(process.execPath, subject.command, {
    cwd: subject.cwd ?? ROOT,
    env: { PATH: process.env.PATH, ...subject.env },
    stdio: ["ignore", "ignore", "inherit"],
  });
  try {
    await firstAnswer(platform, child, subject.label);
    const readyMs = performance.now() - begun;
    await sleep(500);
    let expected = (await platform.sends()) + messages;
    await platform.flood(messages, chats);
    await answered(platform, child, expected, subject.label);
    await sleep(1000);
    const idleMb = megabytes(child, "VmRSS");
    const cpu = cpuSeconds(child);
    const from = performance.now();
    await platform.flood(messages, chats);
    expected += messages;
    await answered(platform, child, expected, subject.label);
    const seconds = (performance.now() - from) / 1000;
    return {
      readyMs,
      idleMb,
      loadedMb: megabytes(child, "VmHWM"),
      messagesPerSecond: messages / seconds,
      cpuMicrosPerMessage: ((cpuSeconds(child) - cpu) * 1e6) / messages,
    };
  } finally {
    child.kill("SIGKILL");
    await new Promise((done) =>
      child.exitCode !== null || child.signalCode !== null ? done(undefined) : child.once("exit", done),
    );
  }
}

/** Asks again and again: what comes before a bot is connected may be lost on it. */
export async function firstAnswer(platform: Platform, child: ChildProcess, label: string): Promise<void> {
  const start = await platform.sends();
  const end = performance.now() + 60_000;
  while ((await platform.sends()) === start) {
    if (child.exitCode !== null) throw new Error(`${label} ended with ${child.exitCode}`);
    if (performance.now() > end) throw new Error(`${label} never answered`);
    await platform.flood(1, 1);
    await sleep(20);
  }
}

async function answered(platform: Platform, child: ChildProcess, sends: number, label: string): Promise<void> {
  const end = performance.now() + 120_000;
  for (let now = await platform.sends(); now < sends; now = await platform.sends()) {
    if (child.exitCode !== null) throw new Error(`${label} ended with ${child.exitCode}`);
    if (performance.now() > end) throw new Error(`${label} answered ${now} of ${sends} messages`);
    await sleep(10);
  }
}

export function megabytes(child: ChildProcess, field: "VmRSS" | "VmHWM"): number {
  const line = new RegExp(`${field}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${child.pid}/status`, "utf8"));
  return Number(line?.[1] ?? 0) / 1024;
}

export function cpuSeconds(child: ChildProcess): number {
  const stat = readFileSync(`/proc/${child.pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

export function median(numbers: number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}
