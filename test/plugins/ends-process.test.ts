/**
 * A plugin that calls `process.exit`: a version that is being loaded is refused, and the gateway and the old version go on; another plugin
 * ends the gateway, and the one that is being loaded is not blamed. In the product's own process.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { invoke } from "../flow/stack.js";
import { gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const SETUP = 'export default { id: "p", setup() {} };';

it.each([
  ["setup", 'export default { id: "p", setup() { process.exit(0); } };', "setup failed", "p.mjs:1:"],
  ["its module", `process.exit(0); ${SETUP}`, "the module was not loaded", "p.mjs:1:"],
  ["a module that it imports", `import "./leave.mjs"; ${SETUP}`, "the module was not loaded", "leave.mjs:1:"],
  [
    "a function that it imported before",
    'import { exit } from "node:process"; export default { id: "p", setup() { exit(0); } };',
    "setup failed",
    "p.mjs:1:",
  ],
])("a version that calls it in %s is not loaded", async (_, source, what, place) => {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-exit-"));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "p.mjs");
  writeFileSync(join(folder, "leave.mjs"), "process.exit(0);");
  writeFileSync(
    file,
    `import { exit } from "node:process"; export default { id: "p", setup({ hooks }) { hooks.registerVoid("message_received", () => {}, { id: "old" }); } };`,
  );
  const gateway = await gatewayProcess({ folder, config: { plugins: ["./p.mjs"] } });
  closers.push(() => gateway.kill());
  await gateway.start();
  await gateway.ready();
  writeFileSync(file, source);
  const status = async () => JSON.stringify((await invoke(gateway.url, "/status")).data);
  const seen = await until(async () => {
    expect(gateway.running()).toBe(true);
    const now = await status();
    return now.includes("process.exit") && now;
  }, "the failed reload");
  expect(seen).toContain("the new version failed, the previous one stays in place");
  expect(seen).toContain(`${what}: it called process.exit(0): a plugin must not end the process (${place}`);
  expect((await invoke(gateway.url, "/hooks show p.old")).text).toContain("message_received");
});

function folderWith(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-exit-"));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, source] of Object.entries(files)) writeFileSync(join(folder, name), source);
  return folder;
}

const OPEN_ROOM = {
  access: { dms: "everyone", chats: ["*"], mention: "always" },
  rooms: [{ id: "general", name: "General" }],
};
const WAITS = "await new Promise((resolve) => setTimeout(resolve, 60_000).unref());";

it.each([
  ["setup", `export default { id: "guard", async setup() { ${WAITS} } };`],
  ["module", `${WAITS} export default { id: "guard", setup() {} };`],
])(
  "a call in a timer that the setup of another plugin left is not blamed on the one whose %s runs",
  async (_, guard) => {
    const folder = folderWith({
      "leaver.mjs": 'export default { id: "leaver", setup() { setTimeout(() => process.exit(9), 50); } };',
      "guard.mjs": guard,
    });
    const plugins = ["./leaver.mjs", { module: "./guard.mjs", critical: true }];
    const gateway = await gatewayProcess({ folder, config: { plugins } });
    closers.push(() => gateway.kill());
    await gateway.start();
    expect(await gateway.ending()).toBe(9);
    expect(gateway.output()).toContain('the plugin \\"leaver\\" ended the gateway with code 9');
    expect(gateway.output()).not.toContain("guard.mjs");
  },
);

it("a call in a handler ends the gateway while another plugin is reloaded, which is not blamed", async () => {
  const guard = (setup: string) => `export default { id: "guard", async setup(api) {
    ${setup}
    api.hooks.registerVoid("message_received", () => {}, { id: "look" });
  } };`;
  const folder = folderWith({
    "bad.mjs": `export default { id: "bad", setup(api) {
      api.hooks.registerClaiming("inbound_claim", ({ message }) => {
        if (message.text === "leave") process.exit(5);
        return { handled: true, reply: "stayed" };
      });
    } };`,
    "guard.mjs": guard(""),
  });
  const gateway = await gatewayProcess({ folder, config: { web: OPEN_ROOM, plugins: ["./bad.mjs", "./guard.mjs"] } });
  closers.push(() => gateway.kill());
  await gateway.start();
  await gateway.ready();
  writeFileSync(join(folder, "guard.mjs"), guard(`console.log("guard waits"); ${WAITS}`));
  await until(() => gateway.output().includes("guard waits"), "the setup of the new version");
  await fetch(`${gateway.url}/api/rooms/general/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ text: "leave", nonce: "a-nonce-of-leave" }),
    // The process may end before it answers.
  }).catch(() => {});
  expect(await gateway.ending()).toBe(5);
  expect(gateway.output()).toContain(
    'the plugin \\"bad\\" ended the gateway with code 5, in its hook bad.inbound_claim',
  );
  expect(gateway.output()).not.toContain("plugin not reloaded");
});

it.each([
  ["it runs", "await pause(1); process.exit(7);"],
  ["a timer that it left runs", "setTimeout(() => process.exit(7), 1);"],
])("a configured hook whose module calls it while %s is named, in the log and after the restart", async (_, body) => {
  const source = `const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export default async () => { ${body} };`;
  const folder = folderWith({ "leaver.mjs": source });
  const hooks = (every: string) => [{ id: "leaver", trigger: { every }, run: { module: { path: "./leaver.mjs" } } }];
  const gateway = await gatewayProcess({ folder, config: { hooks: hooks("1s") } });
  closers.push(() => gateway.kill());
  await gateway.start();
  expect(await gateway.ending()).toBe(7);
  expect(gateway.output()).toContain('the hook \\"leaver\\" ended the gateway with code 7, in its module');
  expect(gateway.output()).toMatch(/"place":"leaver.mjs:2:\d+"/);
  writeFileSync(join(folder, "hookgate.yaml"), JSON.stringify({ hooks: hooks("1h") }));
  await gateway.start();
  await gateway.ready();
  for (const line of ["/status", "/hooks why leaver", "/hooks show leaver"]) {
    const text = (await invoke(gateway.url, line)).text.replaceAll(/[\\*`]/g, "");
    expect(text, line).toContain("ended the process with exit code 7");
    if (!line.includes("show")) expect(text, line).toContain("A hook must not call process.exit");
  }
});

it("a configured hook that ends the process again and again is not run for a while, and the operators are told", async () => {
  const folder = folderWith({ "leaver.mjs": "export default () => process.exit(7);" });
  const hooks = [{ id: "leaver", trigger: { every: "1s" }, run: { module: { path: "./leaver.mjs" } } }];
  const automations = { breaker: { failures: 2 }, alerts: ["web:web:general"] };
  const gateway = await gatewayProcess({ folder, config: { web: OPEN_ROOM, hooks, automations } });
  closers.push(() => gateway.kill());
  for (let ends = 0; ends < 2; ends++) {
    await gateway.start();
    expect(await gateway.ending()).toBe(7);
  }
  await gateway.start();
  await gateway.ready();
  const refused = await until(async () => {
    const { text } = await invoke(gateway.url, "/runs skipped");
    return text.includes("leaver") && text;
  }, "a run that is refused");
  expect(refused).toContain("2 times in a row");
  const notices = async () => {
    const headers = { authorization: `Bearer ${TOKEN}` };
    const room = await fetch(`${gateway.url}/api/rooms/general/messages`, { headers }).then((answer) => answer.text());
    return room.split("is not run for").length - 1 || undefined;
  };
  const before = await until(notices, "the notice of the operators");
  await gateway.stop();
  await gateway.start();
  await gateway.ready();
  await until(async () => (await invoke(gateway.url, "/status")).text.includes("leaver"), "the hook in /status");
  expect(await notices()).toBe(before);
});
