/** What the README shows works as it stands there. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parse } from "yaml";
import { invoke } from "../flow/stack.js";
import { webPlatform } from "../flow/web-platform.js";
import { type GatewayProcess, gatewayProcess } from "../support/gateway-process.js";
import { until } from "../support/until.js";

const ROOT = resolve(import.meta.dirname, "../..");
const readme = readFileSync(join(ROOT, "README.md"), "utf8");

/** The definitions under "A hook without code". */
function hooksOf(text: string): unknown[] {
  const block = /## A hook without code\s+```yaml\n([\s\S]*?)```/.exec(text)?.[1] ?? "";
  return (parse(block) as { hooks: unknown[] }).hooks;
}

let gateway: GatewayProcess;
let here: string;
let elsewhere: string;
beforeAll(async () => {
  const code = /```js\n(\/\/ plugins\/shout\.mjs[\s\S]*?)```/.exec(readme)?.[1] ?? "";
  expect(code).toContain('import { definePlugin } from "hookgate"');
  // In the repository's folder, where the README says to put it; and in one that knows nothing of hookgate.
  here = mkdtempSync(join(ROOT, "test/docs/.readme-"));
  elsewhere = mkdtempSync(join(tmpdir(), "hookgate-readme-"));
  for (const folder of [here, elsewhere]) writeFileSync(join(folder, "shout.mjs"), code);
  writeFileSync(
    join(elsewhere, "whisper.mjs"),
    code
      .replace(/^import .*$/m, "")
      .replace("definePlugin(", "(")
      .replaceAll("shout", "whisper"),
  );
  const web = webPlatform();
  gateway = await gatewayProcess({
    folder: elsewhere,
    config: {
      web: web.config,
      hooks: hooksOf(readme),
      plugins: [join(here, "shout.mjs"), "./whisper.mjs", "./shout.mjs"],
    },
    env: web.env,
  });
  await gateway.start();
  await gateway.ready();
});
afterAll(async () => {
  await gateway.kill();
  for (const folder of [here, elsewhere]) rmSync(folder, { recursive: true, force: true });
});

it("the hook in ten lines answers, and the commands beside it know it", async () => {
  const web = webPlatform();
  await web.begin(gateway.url);
  await web.say(web.places[0], "owner", "shout hello");
  await until(async () => (await web.seen(web.places[0])).some(({ text }) => text === "HELLO"), "the answer");
  const lines = [...readme.matchAll(/`(\/[a-z-]+ (?:show |why )?shout\.inbound_claim[^`]*)`/g)].map(
    ([, line]) => line as string,
  );
  expect(lines).toHaveLength(3);
  for (const line of lines)
    expect(await invoke(gateway.url, line)).toMatchObject({
      outcome: "done",
      text: expect.stringContaining("shout.inbound_claim"),
    });
});

it("the hooks without code answer, and the commands beside them know them", async () => {
  const web = webPlatform();
  await web.begin(gateway.url);
  await web.say(web.places[0], "owner", "ping");
  await until(async () => (await web.seen(web.places[0])).some(({ text }) => text === "pong"), "the answer");
  expect((await invoke(gateway.url, "/hooks test half-past")).text).toMatch(/Dry run.*half-past[\s\S]*Half past nine/);
  expect((await invoke(gateway.url, "/hooks next")).text).toContain("half-past");
  expect((await invoke(gateway.url, "/hooks broken")).text).not.toMatch(/hooks? not in force/);
});

it("elsewhere the plain object works, and definePlugin says how to get it", async () => {
  const web = webPlatform();
  await web.begin(gateway.url);
  await web.say(web.places[1], "owner", "whisper to all");
  await until(async () => (await web.seen(web.places[1])).some(({ text }) => text.trim() === "R TO ALL"), "the answer");
  expect((await invoke(gateway.url, "/status")).text).toMatch(/Plugins[\s\S]*2 of 3 loaded/);
  expect(gateway.output()).toContain("npm install hookgate");
});
