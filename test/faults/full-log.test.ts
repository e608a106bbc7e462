/** A log that cannot be written costs its lines, and nothing else. */
import { execFileSync } from "node:child_process";
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type GatewayProcess, gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";

/** Each message is an error in the log, of about 400 kB. */
const LOUD = `export default {
  id: "loud",
  setup(api) {
    api.hooks.registerClaiming("inbound_claim", ({ message }) => {
      api.logger.error({ filler: "x".repeat(400_000) }, "said " + message.text);
      return { handled: true, reply: { text: "after " + message.text } };
    });
  },
};`;

let folder: string;
let gateway: GatewayProcess | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "hookgate-full-log-"));
  writeFileSync(join(folder, "loud.mjs"), LOUD);
});
afterEach(async () => {
  await gateway?.kill();
  rmSync(folder, { recursive: true, force: true });
});

async function startWith(log: string): Promise<GatewayProcess> {
  const config = { plugins: ["./loud.mjs"], web: { access: { mention: "always" } } };
  gateway = await gatewayProcess({ folder, config, log });
  await gateway.start();
  await gateway.ready();
  return gateway;
}

function namedPipe(): string {
  const pipe = join(folder, "pipe");
  execFileSync("/bin/sh", ["-c", 'mkfifo "$0"', pipe]);
  return pipe;
}

const openReader = (pipe: string) => openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);

/** What comes out of the pipe up to a text. */
async function readUntil(reader: number, text: string): Promise<string> {
  const chunk = Buffer.alloc(65_536);
  let read = "";
  await until(() => {
    try {
      read += chunk.toString("utf8", 0, readSync(reader, chunk));
    } catch {
      // Nothing waits in it now.
    }
    return read.includes(text);
  }, text);
  return read;
}

const HEADERS = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };

async function ask({ url }: GatewayProcess, text: string): Promise<void> {
  const room = `${url}/api/rooms/general/messages`;
  await fetch(room, { method: "POST", headers: HEADERS, body: JSON.stringify({ text, nonce: `nonce-of-${text}` }) });
  await until(async () => (await (await fetch(room, { headers: HEADERS })).text()).includes(`"after ${text}"`), text);
}

async function status({ url }: GatewayProcess): Promise<string> {
  const body = JSON.stringify({ line: "/status" });
  return (await fetch(`${url}/api/command`, { method: "POST", headers: HEADERS, body })).text();
}

const readyz = ({ url }: GatewayProcess) => fetch(`${url}/readyz`).then((answer) => answer.text());

it("does not keep SIGTERM waiting", async () => {
  const running = await startWith("/dev/full");
  await ask(running, "one");
  expect(await running.stop()).toBe(0);
});

it("does not keep SIGTERM waiting for a reader that stalls", async () => {
  const pipe = namedPipe();
  const reader = openReader(pipe);
  const running = await startWith(pipe);
  for (const text of ["one", "two", "three"]) await ask(running, text);
  expect(await running.stop()).toBe(0);
  closeSync(reader);
});

it("is a problem in /status and /readyz, and keeps no message waiting", async () => {
  const running = await startWith("/dev/full");
  for (const text of ["one", "two", "three", "four"]) await ask(running, text);
  expect(await status(running)).toContain("log: it cannot be written (ENOSPC");
  expect(JSON.parse(await readyz(running))).toMatchObject({
    state: "degraded",
    configuration: { problems: 0 },
    log: { state: "failed" },
  });
});

it("counts what was lost, in one line when there is room again", async () => {
  const log = join(folder, "gateway.log");
  const size = 50_000_000;
  writeFileSync(log, "");
  truncateSync(log, size);
  const running = await startWith(log);
  const limitFiles = (bytes: string) => execFileSync("prlimit", ["--pid", `${running.pid()}`, `--fsize=${bytes}:`]);
  const lines = () => readFileSync(log, "utf8").slice(size).split("\n");
  await ask(running, "before");
  limitFiles(`${size + 500_000}`);
  for (const text of ["half", "kept", "gone", "away"]) await ask(running, text);
  expect(await status(running)).toContain("log: it cannot be written (EFBIG");
  limitFiles("unlimited");
  expect(await status(running)).not.toContain("cannot be written");
  await until(() => lines().some((line) => line.includes("could not be written")), "the count");
  await ask(running, "after");
  const parsed = lines().flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
  expect(parsed.flatMap(({ msg }) => /^said (\w+)/.exec(msg)?.[1] ?? [])).toEqual(["before", "half", "kept", "after"]);
  expect(parsed.filter(({ lines }) => lines === 2)).toHaveLength(1);
  expect(await readyz(running)).toContain('"state":"ready"');
  expect(await running.stop()).toBe(0);
});

it("is a problem while the reader of a pipe stalls, and the count of the lost lines comes when it reads again", async () => {
  const pipe = namedPipe();
  const reader = openReader(pipe);
  const running = await startWith(pipe);
  for (const text of ["one", "two", "gone", "away"]) await ask(running, text);
  expect(await status(running)).toContain("log: the program that reads it has stopped reading or is too slow");
  expect(await readyz(running)).toContain('"state":"degraded"');
  const read = await readUntil(reader, "could not be written");
  expect(read).toContain('"lines":2');
  expect(read.match(/said \w+/g)).toEqual(["said one", "said two"]);
  expect(await readyz(running)).toContain('"state":"ready"');
  expect(await running.stop()).toBe(0);
  closeSync(reader);
});

it("is a problem when the reader of a pipe ended, until it has another one", async () => {
  const pipe = namedPipe();
  const first = openReader(pipe);
  const running = await startWith(pipe);
  closeSync(first);
  for (const text of ["one", "two", "gone"]) await ask(running, text);
  expect(await status(running)).toContain("log: the program that read it has ended (EPIPE");
  expect(await readyz(running)).toContain('"state":"degraded"');
  const reader = openReader(pipe);
  await ask(running, "again");
  const read = await readUntil(reader, "could not be written");
  expect(read.match(/said \w+/g)).toEqual(["said one", "said two"]);
  expect(await readyz(running)).toContain('"state":"ready"');
  closeSync(reader);
  await ask(running, "after");
  expect(await running.stop()).toBe(0);
});
