/** Files of plugins that are saved, lost and replaced while the gateway runs. */
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, it } from "vitest";
import { liveApp } from "../automations/support/live-app.js";
import { asOrdinaryUser } from "../support/ordinary-user.js";
import { until } from "../support/until.js";
import { answering, type PluginRig, pluginRig } from "./rig.js";

it("reloads a plugin when its file changes, and only that one", async () => {
  const counting = (id: string, word: string) => `export default { id: "${id}", setup(api) {
    globalThis.setups = [...(globalThis.setups ?? []), "${id} ${word}"];
    api.hooks.registerClaiming("inbound_claim", () => ({ handled: true, reply: "${word}" }));
  } };`;
  const rig = await pluginRig({ "a.mjs": counting("a", "one"), "b.mjs": counting("b", "one") }, { watch: true });
  await rig.plugins.load();
  rig.write("a.mjs", counting("a", "two"));
  await until(async () => (await rig.claim("x")).reply === "two", "the new version is at work");
  rig.write("a.mjs", "export default {");
  await until(() => rig.plugins.list()[0]?.reason, "the broken version is reported");
  expect(await rig.claim("x")).toMatchObject({ reply: "two" });
  rig.write("a.mjs", counting("a", "three"));
  await until(async () => (await rig.claim("x")).reply === "three", "the mended version is at work");
  expect((globalThis as { setups?: string[] }).setups).toEqual(["a one", "b one", "a two", "a three"]);
});

it("notifies admins once of a saved version that fails to load, and of the next one that does", async () => {
  const live = await liveApp({ "hookgate.yaml": "plugins: [./p.mjs]\n", "p.mjs": answering("p", "one") });
  const notices = async () => (await live.room("dm-1")).filter((text) => text.includes("A saved plugin has a problem"));
  live.write("p.mjs", "export default {");
  await until(async () => (await notices()).length > 0, "the notice");
  live.write("p.mjs", "export default { ");
  live.write("p.mjs", 'import "nothing-of-this-name";');
  await until(async () => (await notices()).length > 1, "the second notice");
  expect(await notices()).toEqual([
    expect.stringMatching(/plugin \.\/p\.mjs: .*the previous one stays in place/),
    expect.stringContaining("nothing-of-this-name"),
  ]);
  live.write("p.mjs", answering("p", "two"));
  await until(() => live.app.plugins[0]?.reason === undefined, "the good version");
  expect(await notices()).toHaveLength(2);
});

it("reports a file that disappears, keeps the version at work, and takes the file when it comes back", async () => {
  const rig = await pluginRig({ "p.mjs": answering("p", "one") }, { watch: true });
  await rig.plugins.load();
  rmSync(join(rig.folder, "p.mjs"));
  await until(() => rig.plugins.list()[0]?.reason !== undefined, "the loss being reported");
  expect(rig.plugins.list()[0]).toMatchObject({
    state: "loaded",
    reason: expect.stringMatching(/the previous one stays in place: .*p\.mjs/),
  });
  expect(rig.logged.find(({ level }) => level === "error")?.message).toContain("plugin not reloaded");
  expect(await rig.claim("x")).toMatchObject({ reply: "one" });
  rig.write("p.mjs", answering("p", "two"));
  await until(() => rig.plugins.list()[0]?.reason === undefined, "the file being taken");
  expect(await rig.claim("x")).toMatchObject({ reply: "two" });
});

it.each<[string, (rig: PluginRig, word: string) => unknown]>([
  [
    "removed and written again, so that the disk may give it the same number",
    (rig, word) => {
      rmSync(join(rig.folder, "p.mjs"));
      rig.write("p.mjs", answering("p", word));
    },
  ],
  [
    "written in place, and replaced a moment later",
    async (rig, word) => {
      const next = rig.write("next", answering("p", word));
      const file = rig.write("p.mjs", answering("p", "short"));
      await setTimeout(1);
      renameSync(next, file);
    },
  ],
])("reloads a plugin whose file is %s, and after later saves in place", async (_how, replace) => {
  const rig = await pluginRig({ "p.mjs": answering("p", "first") }, { watch: true });
  await rig.plugins.load();
  const answers = (word: string) => until(async () => (await rig.claim("x")).reply === word, `the answer ${word}`);
  for (const round of [1, 2]) {
    await replace(rig, `replaced${round}`);
    await answers(`replaced${round}`);
    rig.write("p.mjs", answering("p", `saved${round}`));
    await answers(`saved${round}`);
  }
});

const NAMED = "plugins: [./plugins/p.mjs]\n";
const isWell = { state: "ready", configuration: { problems: 0 } };

it.each<[string, (folder: string) => unknown, (folder: string) => unknown]>([
  ["is not there", () => {}, () => {}],
  [
    "is in a folder that may not be entered",
    (folder) => {
      mkdirSync(join(folder, "plugins"));
      asOrdinaryUser(folder);
      chmodSync(join(folder, "plugins"), 0);
    },
    (folder) => chmodSync(join(folder, "plugins"), 0o755),
  ],
  [
    "is a link to nothing",
    (folder) => {
      mkdirSync(join(folder, "plugins"));
      symlinkSync("released.mjs", join(folder, "plugins/p.mjs"));
    },
    () => {},
  ],
])("loads a plugin that %s at the start, when its file comes", async (_what, before, after) => {
  const live = await liveApp({ "hookgate.yaml": NAMED }, { start: false });
  before(live.folder);
  await live.start();
  expect(await live.get("/readyz")).toMatchObject({ state: "degraded", configuration: { problems: 1 } });
  after(live.folder);
  live.write("plugins/p.mjs", answering("p", "late"));
  await until(() => live.app.plugins[0]?.state === "loaded", "the plugin being loaded");
  expect(await live.get("/readyz")).toMatchObject(isWell);
});

it.each([
  ["its own file", "p.mjs", "p.mjs"],
  ["a file that it imports", "lib/words.mjs", "lib/words.mjs"],
  ["the folder of a file that it imports", "lib", "lib/words.mjs"],
])(
  "keeps a plugin while %s may not be read, says what to do, and loads what is new then",
  async (_what, name, shown) => {
    const words = (word: string) => `export const words = "${word}";`;
    const live = await liveApp({
      "hookgate.yaml": "plugins: [./p.mjs]\n",
      "p.mjs": `import { words } from "./lib/words.mjs"; ${answering("p", "x").replace('"x"', "words")}`,
      "lib/words.mjs": words("one"),
    });
    asOrdinaryUser(live.folder);
    live.write("lib/words.mjs", words("two"));
    chmodSync(join(live.folder, name), 0);
    await until(() => live.app.plugins[0]?.reason?.includes("EACCES"), "the report");
    expect(live.app.plugins[0]?.state).toBe("loaded");
    expect(JSON.stringify(await live.post("/api/command", { line: "/status" }))).toMatch(
      new RegExp(
        `${shown} cannot be read: EACCES: permission denied\\. Give the user with the id \\d+ the right to read it and enter its folder`,
      ),
    );
    chmodSync(join(live.folder, name), 0o755);
    await until(() => live.app.plugins[0]?.reason === undefined, "the new version");
    expect(await live.get("/readyz")).toMatchObject(isWell);
  },
);

it("loads a plugin that is named in a running gateway before its file is written", async () => {
  const live = await liveApp({ "hookgate.yaml": "" });
  live.write("hookgate.yaml", NAMED);
  await until(() => live.app.plugins[0]?.reason?.includes("there is no file"), "the problem");
  live.write("plugins/p.mjs", answering("p", "late"));
  await until(() => live.app.plugins[0]?.state === "loaded", "the plugin being loaded");
  expect(await live.get("/readyz")).toMatchObject(isWell);
  expect(JSON.stringify(await live.post("/api/command", { line: "/status" }))).not.toContain("there is no file");
});

it.each([
  ["its own file", "guard.mjs", `${answering("guard", "guarded")} {{`, answering("guard", "guarded")],
  [
    "a file that it imports",
    "words.mjs",
    "export const words = {{",
    'export const words = "guarded";',
    answering("guard", "guarded")
      .replace("export", 'import { words } from "./words.mjs"; export')
      .replace('"guarded"', "words"),
  ],
])(
  "applies a rejected configuration when its critical plugin is corrected in %s",
  async (_what, file, broken, good, main = broken) => {
    const live = await liveApp({ "hookgate.yaml": "" });
    live.write("guard.mjs", main);
    live.write(file, broken);
    live.write("hookgate.yaml", "plugins: [{ module: ./guard.mjs, critical: true }, ./other.mjs]\n");
    live.write("other.mjs", answering("other", "x"));
    const status = async () => JSON.stringify(await live.post("/api/command", { line: "/status" }));
    await until(
      async () => (await status()).includes("The critical plugin ./guard.mjs cannot be loaded"),
      "the rejection",
    );
    expect(live.app.plugins).toEqual([]);
    live.write(file, good);
    await until(() => live.app.plugins.length === 2, "the configuration being applied");
    expect(live.app.plugins.map(({ id }) => id)).toEqual(["guard", "other"]);
    await until(async () => !(await status()).includes("cannot be loaded"), "the end of the problem");
    expect(await live.get("/readyz")).toMatchObject(isWell);
  },
);

it("loads a plugin whose file comes while another plugin is set up", async () => {
  const writing = `import { writeFileSync } from "node:fs";
  export default { id: "slow", setup() {
    writeFileSync(new URL("late.mjs", import.meta.url), ${JSON.stringify(answering("late", "x"))});
  } };`;
  const rig = await pluginRig({ "slow.mjs": writing }, { entries: ["./late.mjs", "./slow.mjs"], watch: true });
  await rig.plugins.load();
  await until(() => rig.plugins.list()[0]?.state === "loaded", "the plugin being loaded");
});
