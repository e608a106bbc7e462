/** What is shown of a plugin's default route that gives no answer in time. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type GatewayProcess, gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import { invoke } from "./stack.js";

const PLUGIN = `import { existsSync, writeFileSync } from "node:fs";
export default { id: "r", setup({ route }) {
  route((message, { signal }) => {
    signal.addEventListener("abort", () => writeFileSync("aborted", signal.reason.code));
    return existsSync("go") ? { reply: "here" } : new Promise(() => {});
  });
} };`;

const folder = mkdtempSync(join(tmpdir(), "hookgate-slow-route-"));
let gateway: GatewayProcess;

beforeAll(async () => {
  writeFileSync(join(folder, "r.mjs"), PLUGIN);
  gateway = await gatewayProcess({
    folder,
    config: {
      gateway: { default_route: { plugin: "r" }, command_timeout: "4s" },
      operators: { owner: ["web:1"] },
      web: {
        access: { dms: "everyone", chats: ["*"], mention: "always" },
        rooms: [{ id: "general", name: "General" }],
      },
      plugins: ["./r.mjs"],
    },
  });
  await gateway.start();
  await gateway.ready();
});
afterAll(async () => {
  await gateway.kill();
  rmSync(folder, { recursive: true, force: true });
});

const ask = async (line: string) => (await invoke(gateway.url, line)).text.replace(/[\\`*]/g, "");
/** Resolves with the answer when it has the words. */
const shows = (line: string, words: string) => {
  let text = "";
  return until(
    async () => {
      text = await ask(line);
      return text.includes(words) && text;
    },
    () => `"${words}" in: ${text}`,
  );
};

it("the path names the plugin while its route runs, and /status is not well once it did not answer in time", async () => {
  const sent = await fetch(`${gateway.url}/api/rooms/general/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ text: "hello", nonce: "a-nonce-of-hello" }),
  });
  expect(sent.ok).toBe(true);
  await shows(
    "/hooks why last",
    "The message is being handled now: the default route of the plugin r has been running",
  );
  expect(await ask("/status")).toContain("The gateway is well");
  const status = await shows("/status", "the default route of r blocks 1 conversation");
  expect(status).toMatch(/⚠ r: its default route did not answer m1 in General in time, once\. Later messages/);
  expect(readFileSync(join(folder, "aborted"), "utf8")).toBe("TOOK_TOO_LONG");
  expect(await ask("/hooks why last")).toMatch(
    /The default route of plugin "r" took longer than 4 s \(gateway\.command_timeout\)\.$/m,
  );
  writeFileSync(join(folder, "go"), "");
  await shows("/hooks why last", "routed");
  expect(await ask("/status")).toContain("The gateway is well");
});
