/** A configured hook whose point is gone, because the plugin that declared it was changed: in the whole product. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { OWNER, runApp } from "../http/running-app.js";
import { until } from "../support/until.js";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const shop = (setup: string) => `import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
  export default { id: "shop", setup(api) { ${setup} } };`;
const DECLARES = `api.hooks.declare({ name: "sold", model: "void", payload: z.object({}), summary: "s", example: {} });`;
const PROBLEM =
  'hook tell: no loaded plugin declares plugin:shop:sold any more, so the hook never runs: declare the point in the plugin "shop" again, or remove the hook';

it("is a problem in /status until the plugin declares the point again", async () => {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-lost-point-"));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "shop.mjs");
  writeFileSync(file, shop(DECLARES));
  const app = await runApp({
    plugins: [file],
    hooks: [{ id: "tell", on: "plugin:shop:sold", run: { shell: { command: ["/bin/true"] } } }],
  });
  closers.push(() => app.close());
  const asked = async (line: string) => {
    const { text, card } = (await app.call(OWNER, "POST", "/api/command", { line })).body;
    return `${text} ${JSON.stringify(card ?? {})}`.replaceAll("\\", "");
  };
  const status = () => asked("/status");
  expect(await status()).not.toContain("hook tell");
  writeFileSync(file, shop(""));
  await until(async () => (await status()).includes(PROBLEM), "the problem in /status");
  const lost = "no loaded plugin declares plugin:shop:sold any more, so the hook never runs";
  expect(await asked("/hooks why tell")).toContain(`✗ point: ${lost}`);
  expect(await asked("/hooks why tell")).not.toContain("would run");
  expect(await asked("/hooks show tell")).toContain(`⚠ ${lost}`);
  writeFileSync(file, shop(DECLARES));
  await until(async () => !(await status()).includes("hook tell"), "the end of the problem");
  expect(await asked("/hooks why tell")).not.toContain("✗ point");
});
