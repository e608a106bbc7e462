/** The product as its users run it: a child process of the compiled CLI, on a folder of its own, that can be killed at any moment. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { until } from "./until.js";

const CLI = resolve(import.meta.dirname, "../../dist/src/cli.js");
export const TOKEN = "a-token-for-the-tests-only";

export interface GatewayProcess {
  readonly url: string;
  readonly folder: string;
  /** Everything it printed since the first start. */
  readonly output: () => string;
  /** With further arguments of `hookgate start`. */
  start(...args: string[]): Promise<void>;
  /** Resolves when /readyz says so. */
  ready(withinMs?: number): Promise<void>;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
  /** SIGSTOP: it stands still until `goOn`. */
  standStill(): void;
  goOn(): void;
  /** SIGHUP: it reads its configuration again. */
  hangUp(): void;
  pid(): number;
  running(): boolean;
  /** Resolves with the exit code, or the signal that ended it. */
  ending(): Promise<number | NodeJS.Signals | null>;
}

export interface GatewayProcessOptions {
  folder: string;
  /** hookgate.yaml, as JSON (which is YAML). */
  config: unknown;
  env?: Record<string, string>;
  /** A free one unless said. */
  port?: number;
  /** Another built product than this tree's own. */
  cli?: string;
  /** A file that its log goes to, in place of `output`. */
  log?: string;
  /** Of node. */
  flags?: readonly string[];
}

export async function gatewayProcess({
  folder,
  config,
  env = {},
  port = 0,
  cli = CLI,
  log,
  flags = [],
}: GatewayProcessOptions): Promise<GatewayProcess> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "hookgate.yaml"), JSON.stringify(config, null, 2));
  port ||= await freePort();
  const url = `http://127.0.0.1:${port}`;
  let child: ChildProcess | undefined;
  let output = "";
  const gone = (one: ChildProcess) =>
    new Promise<number | null>((done) =>
      one.exitCode !== null || one.signalCode !== null ? done(one.exitCode) : one.once("exit", (code) => done(code)),
    );

  return {
    url,
    folder,
    output: () => output,
    pid: () => child?.pid ?? 0,
    running: () => child !== undefined && child.exitCode === null && child.signalCode === null,
    hangUp: () => void child?.kill("SIGHUP"),
    standStill: () => void child?.kill("SIGSTOP"),
    goOn: () => void child?.kill("SIGCONT"),
    async start(...args) {
      const stdout = log === undefined ? "pipe" : openSync(log, "a");
      child = spawn(process.execPath, [...flags, cli, "start", ...args], {
        cwd: folder,
        env: { PATH: process.env.PATH, HOOKGATE_PORT: String(port), HOOKGATE_TOKEN: TOKEN, LOG_LEVEL: "warn", ...env },
        stdio: ["ignore", stdout, "pipe"],
      });
      if (stdout !== "pipe") closeSync(stdout);
      const note = (chunk: Buffer) => {
        output = (output + chunk.toString()).slice(-400_000);
      };
      child.stdout?.on("data", note);
      child.stderr?.on("data", note);
    },
    async ready(withinMs = 30_000) {
      await until(
        () => {
          const end = child?.exitCode ?? child?.signalCode;
          if (typeof end === "number" || typeof end === "string")
            throw new Error(`the gateway ended with ${end}:\n${output.slice(-4000)}`);
          return fetch(`${url}/readyz`).then(
            (answer) => answer.ok,
            () => false,
          );
        },
        "the gateway being ready",
        withinMs,
      );
    },
    async kill() {
      if (!child) return;
      child.kill("SIGKILL");
      await gone(child);
    },
    async stop() {
      if (!child) return null;
      child.kill("SIGTERM");
      return gone(child);
    },
    async ending() {
      if (!child) return null;
      return (await gone(child)) ?? child.signalCode;
    },
  };
}

/** One that nobody is given who asks for any: those come from above 32,768, and may be taken again before the gateway listens. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 22_000);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((done) => {
    const server = createServer();
    server.once("error", () => done(false));
    server.listen(port, "127.0.0.1", () => server.close(() => done(true)));
  });
}
