/** A new version of a plugin that calls `process.exit` while it is loaded: the gateway and the old version go on. In the product's own process. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { invoke } from "../flow/stack.js";
import { gatewayProcess } from "../support/gateway-process.js";
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
