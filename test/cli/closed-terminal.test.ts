/** The gateway in a terminal (`script` of util-linux makes one) that is closed under it. */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { freePort } from "../support/gateway-process.js";
import { until } from "../support/until.js";

const CLI = resolve(import.meta.dirname, "../../dist/src/cli.js");

let folder: string;
let gateway = 0;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "hookgate-terminal-"));
});
afterEach(() => {
  if (isAlive(gateway)) process.kill(gateway, "SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

async function inTerminal(command: string) {
  const port = await freePort();
  const env = { PATH: process.env.PATH ?? "", HOME: folder, HOOKGATE_PORT: String(port) };
  const terminal = spawn("script", ["-qfc", command, join(folder, "typescript")], { cwd: folder, env, stdio: "pipe" });
  const url = `http://127.0.0.1:${port}`;
  const isUp = () =>
    fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
  await until(() => isUp(), "the gateway");
  gateway = Number(readFileSync(join(folder, "pid"), "utf8"));
  await until(() => readFileSync(join(folder, "typescript"), "utf8").includes("Ctrl-C"), "the greeting");
  return { isUp, pid: gateway, close: () => terminal.kill("SIGKILL") };
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

it("stops well when its terminal is closed", async () => {
  const { pid, close } = await inTerminal(`echo $$ > pid; exec ${process.execPath} ${CLI} start`);
  close();
  await until(() => !isAlive(pid), "the end");
  // A process that is killed leaves its log of writes.
  expect(existsSync(join(folder, "data/hookgate.db-wal"))).toBe(false);
});

it("goes on without its terminal in the background, and stops at SIGTERM", async () => {
  const { pid, close, isUp } = await inTerminal(`set -m; ${process.execPath} ${CLI} start & echo $! > pid; wait`);
  close();
  for (let n = 0; n < 20; n++) expect(await isUp()).toBe(true);
  process.kill(pid, "SIGTERM");
  await until(() => !isAlive(pid), "the end");
  expect(existsSync(join(folder, "data/hookgate.db"))).toBe(true);
});
