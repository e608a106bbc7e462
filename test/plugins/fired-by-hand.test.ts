/** `/fire-hook` calls a plugin's hook, and judges its result as the gateway would for a real message. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { invoke } from "../flow/stack.js";
import { gatewayProcess } from "../support/gateway-process.js";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

it("a hook that forwards to where nothing is has failed, as with a real message", async () => {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-by-hand-"));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const module = join(folder, "desk.mjs");
  const handler = `() => ({ handled: true, routeTo: { platform: "slack", botId: "", chatId: "desk" } })`;
  const register = `hooks.registerClaiming("inbound_claim", ${handler}, { id: "forwards" })`;
  writeFileSync(module, `export default { id: "desk", setup({ hooks }) { ${register}; } };\n`);
  const gateway = await gatewayProcess({ folder, config: { plugins: [module] } });
  closers.push(() => gateway.kill());
  await gateway.start();
  await gateway.ready();
  const live = await invoke(gateway.url, "/fire-hook desk.forwards example live=true");
  const dry = await invoke(gateway.url, "/fire-hook desk.forwards example");
  const { id } = dry.data as { id: string };
  const again = await invoke(gateway.url, `/replay ${id}`);
  for (const { text } of [live, dry, again]) {
    expect(text).toMatch(/failed/);
    expect(text).toContain('routeTo: the platform "slack" is not switched on');
  }
  expect([dry.text, again.text]).toEqual([
    expect.stringMatching(/^\*\*Dry run/),
    expect.stringMatching(/^\*\*Dry run/),
  ]);
});

it("a dry run with the example goes on after api.send, and shows a wrong result that comes later", async () => {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-by-hand-"));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const module = join(folder, "welcome.mjs");
  const hook = (id: string, result: string) =>
    `api.hooks.registerClaiming("inbound_claim", async ({ message }) => { await api.send(message, "Welcome!"); return ${result}; }, { id: "${id}" });`;
  const setup = `${hook("good", '{ handled: true, reply: "done" }')} ${hook("bad", "{ handled: 1 }")}`;
  writeFileSync(module, `export default { id: "welcome", setup(api) { ${setup} } };\n`);
  const gateway = await gatewayProcess({ folder, config: { plugins: [module] } });
  closers.push(() => gateway.kill());
  await gateway.start();
  await gateway.ready();
  const dry = async (id: string) => (await invoke(gateway.url, `/fire-hook welcome.${id} example`)).text;
  expect(await dry("good")).not.toMatch(/failed|there is no room/);
  expect(await dry("bad")).toMatch(/failed.*handled/s);
  const live = await invoke(gateway.url, "/fire-hook welcome.good example live=true");
  expect(live.text).toContain("api.send: there is no room");
});
