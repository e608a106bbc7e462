/** What a newcomer does on a fresh clone: start with the shipped configuration, log in, say hello, look at the hooks. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runCli } from "../cli/run-cli.js";
import { type GatewayProcess, gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import { invoke } from "./stack.js";

const SHIPPED = resolve(import.meta.dirname, "../../hookgate.yaml");

let folder: string;
let gateway: GatewayProcess;
let token: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "hookgate-first-"));
  gateway = await gatewayProcess({ folder, config: {}, env: { HOOKGATE_CONFIG: SHIPPED, HOOKGATE_TOKEN: "" } });
  await gateway.start();
  await gateway.ready();
  const file = await until(() => /login token +in (\S+)/.exec(gateway.output())?.[1], "where the login token is");
  token = readFileSync(file, "utf8").trim();
});
afterAll(async () => {
  await gateway.kill();
  rmSync(folder, { recursive: true, force: true });
});

async function api(path: string, body?: unknown): Promise<string> {
  const answer = await fetch(`${gateway.url}/api${path}`, {
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    method: body === undefined ? undefined : "POST",
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return answer.text();
}

it("greets the newcomer and answers hello, in the direct conversation and in General when mentioned", async () => {
  await api("/rooms/dm-1/messages", { text: "hello", nonce: "first-hello" });
  await until(async () => (await api("/rooms/dm-1/messages")).includes("A hook answered you"), "the answer");
  await until(async () => (await api("/rooms/dm-1/messages")).includes("Welcome, Owner!"), "the greeting");
  await api("/rooms/general/messages", { text: "@Hookgate hello", nonce: "hello-in-general" });
  await until(
    async () => (await api("/rooms/general/messages")).includes("A hook answered you"),
    "the answer in General",
  );
});

it("shows both hooks as fired, and fires one by hand", async () => {
  const hooks = await api("/command", { line: "/hooks" });
  expect(hooks).toContain("keyword-router.inbound_claim");
  expect(hooks).not.toContain("never fired");
  const fired = await api("/command", { line: "/fire-hook keyword-router.inbound_claim example" });
  expect(JSON.parse(fired)).toMatchObject({ outcome: "done" });
});

it("takes over a configuration and hooks that are written after a start without any", async () => {
  const empty = mkdtempSync(join(tmpdir(), "hookgate-empty-"));
  const started = await gatewayProcess({ folder: empty, config: {} });
  try {
    rmSync(join(empty, "hookgate.yaml"));
    await started.start();
    await started.ready();
    const hooks = async () => JSON.stringify(await invoke(started.url, "/hooks list", TOKEN));
    const hook = (id: string) => `{ id: ${id}, on: inbound_claim, run: { chat: { to: here, text: hello } } }`;
    expect(await hooks()).toContain("No hooks yet");
    mkdirSync(join(empty, "hooks"));
    writeFileSync(join(empty, "hooks/one.yaml"), hook("first-one"));
    await until(async () => (await hooks()).includes("first-one"), "the hook of the folder");
    writeFileSync(join(empty, "hookgate.yaml"), `hooks: [${hook("second-one")}]`);
    await until(async () => (await hooks()).includes("second-one"), "the hook of the configuration");
  } finally {
    await started.kill();
    rmSync(empty, { recursive: true, force: true });
  }
});

it.each(["hookgate.yml", "hookgate.json"])("refuses to start beside a %s, which it would not read", async (name) => {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-misnamed-"));
  writeFileSync(join(folder, name), "{}");
  const { code, err } = await runCli(["check"], { cwd: folder });
  rmSync(folder, { recursive: true, force: true });
  expect(code).toBe(2);
  expect(err).toContain(`${name}: a file of this name is not read: rename it to hookgate.yaml`);
});

it("prints where the token is at the first start only", async () => {
  await gateway.stop();
  const banners = () => gateway.output().split(/^ {2}chat {9}/m).length;
  const before = banners();
  const printed = gateway.output().split("login token").length;
  await gateway.start();
  await until(() => banners() > before, "the next banner");
  expect(gateway.output().split("login token")).toHaveLength(printed);
});
