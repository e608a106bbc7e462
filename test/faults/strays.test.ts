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
    api.hooks.registerClaiming("inbound_claim", async ({ message }) => {
      const [, chat] = /^post to (.+)$/.exec(message.text) ?? [];
      if (chat !== undefined) {
        const [platform, botId, chatId] = chat.split(":");
        const said = await api.send({ platform, botId, chatId }, "hi").then(() => "posted", (error) => error.message);
        return { handled: true, reply: { text: "after " + message.text + ": " + said } };
      }
      if (message.text === "timer") setTimeout(() => { throw new Error("from a timer"); }, 1);
      if (message.text === "proxy") setTimeout(() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); throw proxy; }, 1);
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

const HEADERS = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };

async function ask(text: string, answer = `"after ${text}"`): Promise<void> {
  const headers = HEADERS;
  const url = `${gateway.url}/api/rooms/general/messages`;
  await fetch(url, {
    method: "POST",
    headers,
    body: JSON.stringify({ text, nonce: `nonce-${text.replaceAll(/[^a-z]/g, "-")}-1` }),
  });
  await until(async () => (await (await fetch(url, { headers })).text()).includes(answer), `the answer to ${text}`);
}

it.each([
  ["web:web:nowhere", "there is no room"],
  ["discord::1", "discord"],
  ["web:web:general", "posted"],
])("says at once whether a plugin can post at %s", async (chat, answer) => {
  await ask(`post to ${chat}`, `after post to ${chat}: `);
  const messages = await (await fetch(`${gateway.url}/api/rooms/general/messages`, { headers: HEADERS })).text();
  expect(messages).toMatch(new RegExp(`after post to ${chat}: [^}]*${answer}`));
  expect(messages.includes(`after post to ${chat}: posted`)).toBe(answer === "posted");
});

it.each(["timer", "promise"])(
  "goes on, and names the plugin in the log, after an uncaught error from a %s",
  async (source) => {
    await ask(source);
    const line = await until(
      () =>
        gateway
          .output()
          .split("\n")
          .find((one) => one.includes(`from a ${source}`)),
      "the log line",
    );
    expect(JSON.parse(line)).toMatchObject({ plugin: "careless", msg: 'an uncaught error in the plugin "careless"' });
    expect(gateway.running()).toBe(true);
    await ask(`still there, ${source}`.replaceAll(/[^a-z]/g, "-"));
  },
);

it("goes on after an uncaught error that throws when it is looked at", async () => {
  await ask("proxy");
  await until(() => gateway.output().includes("an error that cannot be printed"), "the log line");
  expect(gateway.running()).toBe(true);
  await ask("still there, after a proxy");
});

it("starts although a plugin leaves a timer that throws while the rest of the gateway starts", async () => {
  const own = mkdtempSync(join(tmpdir(), "hookgate-strays-"));
  writeFileSync(
    join(own, "early.mjs"),
    `export default { id: "early", setup() { const timer = setInterval(() => { throw new Error("too early"); }, 2); setTimeout(() => clearInterval(timer), 5000); } };`,
  );
  const starting = await gatewayProcess({ folder: own, config: { plugins: ["./early.mjs"] } });
  try {
    await starting.start();
    await starting.ready();
    expect(starting.output()).toContain("too early");
    expect(await starting.stop()).toBe(0);
  } finally {
    await starting.kill();
    rmSync(own, { recursive: true, force: true });
  }
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

it("names the file that ends the process, also when the plugin imports it and its setup failed", async () => {
  const own = mkdtempSync(join(tmpdir(), "hookgate-strays-"));
  writeFileSync(join(own, "later.mjs"), "export const leave = () => setTimeout(() => process.exit(3), 1500);");
  writeFileSync(
    join(own, "leaver.mjs"),
    `import { leave } from "./later.mjs"; export default { id: "leaver", setup() { leave(); throw new Error("no"); } };`,
  );
  const leaving = await gatewayProcess({ folder: own, config: { plugins: ["./leaver.mjs"] } });
  try {
    await leaving.start();
    expect(await leaving.ending()).toBe(3);
    expect(leaving.output()).toContain('the plugin \\"./leaver.mjs\\" ended the gateway with code 3');
    expect(leaving.output()).toContain("later.mjs:1:53");
  } finally {
    await leaving.kill();
    rmSync(own, { recursive: true, force: true });
  }
});
