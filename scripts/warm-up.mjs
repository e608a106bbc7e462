/**
 * Runs the built product, so that what a start compiles can be kept for all later ones: with all platforms, none of which answers, in a
 * folder and on a port of its own. Where it cannot run, starts take longer, and that is all.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const KEEP = new URL("keep-code.mjs", import.meta.url).href;
const LIMIT_MS = 60_000;
/** The discard port of this machine: refused at once, and nothing leaves it. */
const NOBODY = "http://127.0.0.1:9";
const ENV = {
  PATH: process.env.PATH,
  HOOKGATE_PORT: "0",
  HOOKGATE_TOKEN: "for the build's own start",
  LOG_LEVEL: "silent",
  DISCORD_TOKEN: "nobody",
  DISCORD_API_URL: `${NOBODY}/api`,
  TELEGRAM_TOKEN: "1:nobody",
  TELEGRAM_API_URL: NOBODY,
};

/** There when all runs were made of what is in dist. A build may be cut off at any moment, and the next one finds nothing changed. */
const DONE = "dist/.warmed-up";

export function forgetWarmUp() {
  rmSync(DONE, { force: true });
}

/** Nothing to do when nothing changed and the code that is there is of this Node. */
export async function warmUp() {
  const { isKept } = await import(resolve("dist/src/loader.js"));
  if (existsSync(DONE) && isKept("cli-entry.cjs")) return;
  const folder = mkdtempSync(join(tmpdir(), "hookgate-build-"));
  try {
    writeFileSync(join(folder, "hookgate.yaml"), "{}\n");
    // Each run adds to what the one before kept. The start first: without it, nothing is kept.
    await run(["start"], folder);
    for (const command of [["check"], ["points"], ["--help"]]) await run(command, folder);
    writeFileSync(DONE, "");
  } catch (error) {
    console.warn(`No compiled code is kept, so that starts take longer: ${error.message}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(command, cwd) {
  const child = spawn(process.execPath, ["--import", KEEP, resolve("dist/src/cli.js"), ...command], {
    cwd,
    env: ENV,
    stdio: ["ignore", "ignore", "pipe"],
    timeout: LIMIT_MS,
    killSignal: "SIGKILL",
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    const isUp = /^ {2}chat /m;
    // The gateway greets when it is up. A second signal would end it where it stands.
    if (!isUp.test(said) && isUp.test(said + text)) child.kill("SIGTERM");
    said += text;
  });
  return new Promise((done, fail) => {
    child.once("error", fail);
    child.once("close", (code, signal) => {
      if (code === 0) done();
      else fail(new Error(`${command.join(" ")} ended with ${signal ?? code}: ${said.trim()}`));
    });
  });
}
