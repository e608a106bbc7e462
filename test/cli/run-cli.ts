/** The compiled command line as a real child process, in a folder and with an environment of its own. */
import { spawn } from "node:child_process";
import { resolve } from "node:path";

const CLI = resolve(import.meta.dirname, "../../dist/src/cli.js");

export interface CliResult {
  code: number | null;
  out: string;
  err: string;
}

export function runCli(
  args: readonly string[],
  options: { cwd: string; env?: Record<string, string>; input?: string },
): Promise<CliResult> {
  const child = spawnCli(args, options);
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk: Buffer) => {
    out += chunk;
  });
  child.stderr.on("data", (chunk: Buffer) => {
    err += chunk;
  });
  child.stdin.end(options.input ?? "");
  return new Promise((done, reject) => {
    child.on("error", reject);
    child.on("close", (code) => done({ code, out, err }));
  });
}

export function spawnCli(args: readonly string[], { cwd, env = {} }: { cwd: string; env?: Record<string, string> }) {
  return spawn(process.execPath, [CLI, ...args], {
    cwd,
    // Nothing of the developer's own environment reaches the child, so that a token set there cannot.
    env: { PATH: process.env.PATH ?? "", HOME: cwd, ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
}
