/**
 * A process that stood still (SIGSTOP, a frozen container) for longer than the timeout of hooks that wait for a server: their results, which
 * arrived meanwhile, count, and no breaker switches them off.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { invoke, type Stack, startStack } from "../flow/stack.js";
import { until } from "../support/until.js";

const PEOPLE = 6;
/** Long enough for the others to begin to wait on a busy machine. */
const TIMEOUT_MS = 4_000;
const STANDSTILL_MS = TIMEOUT_MS + 1_000;

const waiting: ServerResponse[] = [];
const server = createServer((_request, response) => void waiting.push(response));
const folder = mkdtempSync(join(tmpdir(), "hookgate-suspended-"));
let stack: Stack;
beforeAll(async () => {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const module = join(folder, "asks.mjs");
  writeFileSync(
    module,
    `export default { id: "asks", setup({ hooks }) {
      hooks.registerClaiming("inbound_claim", async ({ message }) => {
        const answer = await fetch(${JSON.stringify(url)});
        return { handled: true, reply: (await answer.text()) + message.text };
      }, { id: "claims", timeoutMs: ${TIMEOUT_MS} });
    } };`,
  );
  stack = await startStack({ withFlow: false, plugins: [{ module }] });
});
afterAll(async () => {
  await stack.stop();
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

it("answers everybody when it goes on", async () => {
  const { discord, gateway } = stack;
  const people = Array.from({ length: PEOPLE }, (_, n) => discord.world.addUser({ username: `person${n}` }).id);
  for (const userId of people) discord.people.says("hello", { userId, dm: true });
  await until(() => waiting.length >= PEOPLE, "every hook waiting for the server");
  gateway.standStill();
  const since = performance.now();
  for (const response of waiting.splice(0)) response.end("answer to ");
  await until(() => performance.now() - since > STANDSTILL_MS, "the timeouts being past");
  gateway.goOn();
  const answered = (userId: string) =>
    [...discord.world.dmWith(userId).messages.values()].some(({ content }) => content === "answer to hello");
  await until(() => people.every(answered), "everybody being answered");
  expect((await invoke(gateway.url, "/runs asks.claims")).text).not.toContain("blocked the process");
});
