/** The plugins of docs/plugins.md, each compiled, loaded and used as the page says. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { inbound, type PluginRig, pluginRig } from "../plugins/rig.js";

const page = readFileSync(new URL("../../docs/plugins.md", import.meta.url), "utf8");
const written = [...page.matchAll(/```js\n\/\/ (\S+)\n([\s\S]*?)```/g)].map(([, name = "", source = ""]) => ({
  name,
  source,
}));
const examples = Object.fromEntries(
  written.map(({ name, source }) => [name, source.replaceAll('"zod"', JSON.stringify(import.meta.resolve("zod")))]),
);
const ROOT = resolve(import.meta.dirname, "../..");

const sending = (text: string) => ({
  ...{ platform: "web", botId: "web", chatId: "1", deliveryId: "d_1" },
  cause: { kind: "api" as const, id: "t", depth: 0 },
  message: { text, card: { title: "c" } },
});

const uses: Record<string, (rig: PluginRig) => Promise<void>> = {
  async "hello.mjs"(rig) {
    expect(await rig.claim("hello")).toMatchObject({ reply: expect.stringMatching(/^Hello, /) });
    expect(await rig.claim("x")).toEqual({ handled: false });
  },
  async "guard.mjs"({ registry }) {
    expect(await registry.fireModifying("message_sending", sending("a S3CRET"))).toEqual({
      message: { text: "a ***", card: { title: "c" } },
    });
    expect(await registry.fireModifying("message_sending", sending("confidential"))).toMatchObject({
      cancel: "it is confidential",
    });
    const task = { title: "do it", description: "", assignTo: "me" };
    expect(await registry.runBefore("task:create", task)).toMatchObject({ cancelled: false, data: { priority: 1 } });
    expect(await registry.runBefore("task:create", { ...task, title: "x" })).toMatchObject({ cancelled: true });
  },
  async "welcome.mjs"({ registry, sent }) {
    const payload = { message: inbound("x"), access: "allowed" as const };
    await registry.fireVoid("message_received", payload);
    await registry.fireVoid("message_received", payload);
    expect(sent.map(({ message }) => message.text)).toEqual(["Welcome!", "Welcome!"]);
    expect(new Set(sent.map(({ options }) => options.deliveryId)).size).toBe(1);
  },
  async "deploy-card.mjs"(rig) {
    expect(await rig.claim("deploys")).toMatchObject({ handled: true, reply: { card: { title: "Build 7" } } });
  },
  async "counter.mjs"({ registry, plugins }) {
    await registry.fireVoid("message_received", { message: inbound("more coffee"), access: "allowed" });
    expect(
      await plugins.routes.get("counter")?.(inbound("x"), {
        causeId: "m",
        cause: { kind: "message", id: "m", depth: 0 },
        attempt: 1,
        signal: AbortSignal.any([]),
      }),
    ).toEqual({
      reply: "coffee: 1",
    });
  },
  async "dice.mjs"({ plugins }) {
    const [roll] = plugins.commands();
    const answer = await roll?.run({ options: { sides: 1 } } as never);
    expect(answer).toEqual({ message: { text: "You rolled a 1." }, data: { sides: 1 } });
  },
  async "shop.mjs"(rig) {
    expect(await rig.claim("price of tea")).toMatchObject({ reply: "4 euros" });
  },
};

describe("docs/plugins.md", () => {
  it("has a use here for each of its examples", () => {
    expect(Object.keys(examples)).toEqual(Object.keys(uses));
  });

  it.each(Object.keys(uses))("%s does what the page says", async (name) => {
    const rig = await pluginRig({ [name]: examples[name] ?? "" });
    expect((await rig.plugins.load())[0]).toMatchObject({ state: "loaded" });
    await uses[name]?.(rig);
  });

  it("has an entry with settings, which the plugin's schema gets", async () => {
    const [, source = ""] = /```yaml\n(plugins:[\s\S]*?)```/.exec(page) ?? [];
    const { plugins: entries } = parse(source);
    const counter = { "counter.mjs": examples["counter.mjs"] ?? "" };
    const { registry, plugins } = await pluginRig(counter, { entries });
    expect((await plugins.load())[0]).toMatchObject({ state: "loaded" });
    await registry.fireVoid("message_received", { message: inbound("more tea"), access: "allowed" });
    const answer = plugins.routes.get("counter")?.(inbound("x"), {
      causeId: "m",
      cause: { kind: "message", id: "m", depth: 0 },
      attempt: 1,
      signal: AbortSignal.any([]),
    });
    expect(await answer).toEqual({ reply: "tea: 1" });
    const wrong = await pluginRig(counter, { entries: [{ ...entries[0], config: { word: 5 } }] });
    expect((await wrong.plugins.load())[0]).toMatchObject({
      state: "broken",
      reason: expect.stringContaining("config.word"),
    });
  });

  it("has a test of a plugin that passes", () => {
    const folder = mkdtempSync(join(tmpdir(), "hookgate-plugin-test-"));
    try {
      mkdirSync(join(folder, "node_modules"));
      symlinkSync(ROOT, join(folder, "node_modules/hookgate"));
      const [, source = ""] = /```js\n(import assert[\s\S]*?)```/.exec(page) ?? [];
      writeFileSync(join(folder, "hello.mjs"), examples["hello.mjs"] ?? "");
      writeFileSync(join(folder, "hello.test.mjs"), source);
      const { stdout, status } = spawnSync(process.execPath, ["--test", "hello.test.mjs"], {
        cwd: folder,
        encoding: "utf8",
      });
      expect([status, stdout]).toEqual([0, expect.stringMatching(/pass 1\b/)]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("has examples that compile under tsc --strict, in a project that installed the built package", () => {
    const folder = mkdtempSync(join(tmpdir(), "hookgate-strict-"));
    try {
      mkdirSync(join(folder, "node_modules"));
      symlinkSync(ROOT, join(folder, "node_modules/hookgate"));
      for (const name of ["zod", "@types"])
        symlinkSync(join(ROOT, "node_modules", name), join(folder, "node_modules", name));
      writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
      const files = written.map(({ name, source }) => {
        const file = join(folder, name.replace(".mjs", ".ts"));
        const typed = source.replace("export default {", "export default definePlugin({").replace(/};\n$/, "});\n");
        writeFileSync(file, `import { definePlugin } from "hookgate";\n${typed}`);
        return file;
      });
      const [, example = ""] = /```js\n(import assert[\s\S]*?)```/.exec(page) ?? [];
      const casts = [...page.matchAll(/`([^`\n]+) as never\)?`/g)].map(([, part = ""]) => part);
      expect(casts).toHaveLength(2);
      const typedTest = casts.reduce((source, part) => source.replace(part, `${part} as never`), example);
      files.push(join(folder, "hello.test.ts"));
      writeFileSync(join(folder, "hello.test.ts"), typedTest.replace("./hello.mjs", "./hello.js"));
      const tsc = join(ROOT, "node_modules/.bin/tsc");
      const options = [
        "--strict",
        "--exactOptionalPropertyTypes",
        "--noEmit",
        "--module",
        "nodenext",
        "--target",
        "es2022",
        "--types",
        "node",
      ];
      const { stdout, status } = spawnSync(tsc, [...options, ...files], { cwd: folder, encoding: "utf8" });
      expect(stdout).toBe("");
      expect(status).toBe(0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
