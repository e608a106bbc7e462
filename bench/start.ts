/**
 * How long a start takes until every platform is online (`/readyz`), what it costs of the processor, and the memory at rest;
 * beside an empty node and the bare bots: `npx tsx bench/start.ts [--rounds N] [--rest SECONDS] [--only LABEL] [--cli FILE]`. Needs a build.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { cpuSeconds, firstAnswer, median, megabytes, type Platform, startPlatform } from "./measure.js";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    rest: { type: "string", default: "5" },
    only: { type: "string" },
    cli: { type: "string", default: "dist/src/cli.js" },
  },
});
const ROOT = resolve(import.meta.dirname, "..");
const CLI = resolve(values.cli);

interface Subject {
  label: string;
  command: string[];
  cwd?: string;
  env: Record<string, string>;
  /** Resolves when it works. */
  ready(child: ChildProcess): Promise<void>;
}

interface Started {
  readyMs: number;
  cpuMs: number;
  restMb: number;
}

async function gateway(label: string, platforms: Platform[]): Promise<Subject> {
  const cwd = mkdtempSync(join(tmpdir(), "hookgate-bench-"));
  folders.push(cwd);
  writeFileSync(join(cwd, "hookgate.yaml"), "{}\n");
  const port = await freePort();
  const env: Record<string, string> = {
    HOOKGATE_PORT: String(port),
    HOOKGATE_TOKEN: "a-token-for-the-benchmark",
    LOG_LEVEL: "error",
  };
  for (const { name, url, facts } of platforms) {
    env[`${name.toUpperCase()}_TOKEN`] = String(facts.token);
    env[`${name.toUpperCase()}_API_URL`] = name === "discord" ? `${url}/api` : url;
  }
  return { label, command: [CLI, "start"], cwd, env, ready: (child) => untilReady(child, port) };
}

const bare = (label: string, file: string, platform: Platform): Subject => ({
  label,
  command: [resolve(ROOT, "bench/bare", file)],
  env: { API_URL: platform.url, TOKEN: String(platform.facts.token) },
  ready: (child) => firstAnswer(platform, child, label),
});

async function measureStart({ command, cwd, env, ready }: Subject): Promise<Started> {
  const begun = performance.now();
  const child = spawn(process.execPath, command, {
    cwd: cwd ?? ROOT,
    env: { PATH: process.env.PATH, ...env },
    stdio: ["ignore", "ignore", "ignore"],
  });
  try {
    await ready(child);
    const readyMs = performance.now() - begun;
    const cpuMs = cpuSeconds(child) * 1000;
    await sleep(Number(values.rest) * 1000);
    return { readyMs, cpuMs, restMb: megabytes(child, "VmRSS") };
  } finally {
    child.kill("SIGKILL");
    await new Promise((done) =>
      child.exitCode !== null || child.signalCode !== null ? done(undefined) : child.once("exit", done),
    );
  }
}

async function untilReady(child: ChildProcess, port: number): Promise<void> {
  const end = performance.now() + 30_000;
  while (!(await isReady(port))) {
    if (child.exitCode !== null) throw new Error(`the gateway ended with ${child.exitCode}`);
    if (performance.now() > end) throw new Error("the gateway was never ready");
    await sleep(5);
  }
}

/** Every platform online, not only the web chat. */
function isReady(port: number): Promise<boolean> {
  return new Promise((done) => {
    const asked = request({ port, path: "/readyz", agent: false }, async (answer) => {
      const { ready, platforms } = JSON.parse((await answer.setEncoding("utf8").toArray()).join("")) as {
        ready: boolean;
        platforms: Record<string, { state: string }>;
      };
      done(ready && Object.values(platforms).every(({ state }) => state === "online"));
    });
    asked.on("error", () => done(false));
    asked.end();
  });
}

function freePort(): Promise<number> {
  return new Promise((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => done(typeof address === "object" && address ? address.port : 0));
    });
  });
}

const folders: string[] = [];
const results = new Map<string, Started[]>();
const discord = await startPlatform("discord");
const telegram = await startPlatform("telegram");
try {
  for (let round = 0; round < Number(values.rounds); round++)
    for (const make of [
      () => ({
        label: "empty node",
        command: ["-e", "setInterval(() => {}, 1e6); require('fs').writeFileSync('/dev/null','')"],
        env: {},
        ready: () => sleep(60),
      }),
      () => gateway("web", []),
      () => gateway("web + Telegram", [telegram]),
      () => gateway("web + Telegram + Discord", [telegram, discord]),
      () => bare("bare grammY", "grammy.mjs", telegram),
      () => bare("bare discord.js", "discord-js.mjs", discord),
    ]) {
      const subject: Subject = await make();
      if (values.only && !subject.label.includes(values.only)) continue;
      results.set(subject.label, [...(results.get(subject.label) ?? []), await measureStart(subject)]);
    }
  console.table(
    Object.fromEntries(
      [...results].map(([label, runs]) => [
        label,
        {
          "ready ms": Math.round(median(runs.map((r) => r.readyMs))),
          "best ms": Math.round(Math.min(...runs.map((r) => r.readyMs))),
          "CPU ms": median(runs.map((r) => r.cpuMs)),
          "at rest MB": Math.round(median(runs.map((r) => r.restMb))),
        },
      ]),
    ),
  );
} finally {
  discord.stop();
  telegram.stop();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}
