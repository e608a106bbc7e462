/** What a plugin throws where nobody can catch it does not take the gateway down. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type GatewayProcess, gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";

const PLUGIN = `export default {
  id: "careless",
  setup(api) {
    api.hooks.registerClaiming("inbound_claim", ({ message }) => {
      if (message.text === "timer") setTimeout(() => { throw new Error("from a timer"); }, 1);
      if (message.text === "promise") void Promise.reject(new Error("from a promise"));
      return { handled: true, reply: { text: "after " + message.text } };
    });
  },
};`;

let folder: string;
let gateway: GatewayProcess;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "hookgate-strays-"));
  writeFileSync(join(folder, "careless.mjs"), PLUGIN);
  gateway = await gatewayProcess({
    folder,
    config: { plugins: ["./careless.mjs"], web: { access: { mention: "always" } } },
  });
  await gateway.start();
  await gateway.ready();
});
afterAll(async () => {
  await gateway.kill();
  rmSync(folder, { recursive: true, force: true });
});

async function ask(text: string): Promise<void> {
  const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
  const url = `${gateway.url}/api/rooms/general/messages`;
  await fetch(url, { method: "POST", headers, body: JSON.stringify({ text, nonce: `nonce-${text}-1` }) });
  await until(
    async () => (await (await fetch(url, { headers })).text()).includes(`"after ${text}"`),
    `the answer to ${text}`,
  );
}

it.each(["timer", "promise"])("goes on, and says so in the log, after an uncaught error from a %s", async (source) => {
  await ask(source);
  await until(() => gateway.output().includes(`from a ${source}`), "the log line");
  expect(gateway.running()).toBe(true);
  await ask(`still there, ${source}`.replaceAll(/[^a-z]/g, "-"));
});

it("stops, and names the plugin, although a plugin leaks a timer and its teardown never ends", async () => {
  const own = mkdtempSync(join(tmpdir(), "hookgate-strays-"));
  writeFileSync(
    join(own, "endless.mjs"),
    `export default { id: "endless", setup() { setInterval(() => {}, 1000); return () => new Promise(() => {}); } };`,
  );
  const leaking = await gatewayProcess({
    folder: own,
    config: { gateway: { shutdown_timeout: "300ms" }, plugins: ["./endless.mjs"] },
  });
  try {
    await leaking.start();
    await leaking.ready();
    expect(await leaking.stop()).toBe(0);
    expect(leaking.output()).toContain('The teardown of plugin \\"endless\\"');
  } finally {
    await leaking.kill();
    rmSync(own, { recursive: true, force: true });
  }
});
