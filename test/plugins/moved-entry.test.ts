/** A plugin whose entry disappears from `plugins:` while another entry, which may be its new version, cannot be loaded. */
import { expect, it } from "vitest";
import { pluginsConfig } from "../../src/plugins/config.js";
import { type LiveApp, liveApp } from "../automations/support/live-app.js";
import { until } from "../support/until.js";
import { answering, listeningLogger, type PluginRig, pluginRig } from "./rig.js";

const guard = (mask: string, id = "guard", slip = "") => `export default { id: "${id}", setup(api) { ${slip}
  api.hooks.registerModifying("message_sending", ({ message }) =>
    /SECRET/.test(message.text) ? { message: { text: message.text.replaceAll("SECRET", "${mask}") } } : null,
    { id: "g", failurePolicy: "fail-closed", critical: true });
} };`;
const ECHO = `export default { id: "echo", setup(api) {
  api.hooks.registerClaiming("inbound_claim", ({ message }) => ({ handled: true, reply: message.text }));
} };`;
const OFF = "automations: { watch: false, alerts: ['web:web:dm-1'] }\n";
const SLIP = "throw new Error('v2 has a bug');";
const STAYS = "guard stays loaded, because ./v2/guard.mjs cannot be loaded";

const listing = (...modules: string[]) => `${OFF}plugins: [${modules.join(", ")}]\n`;
const reloaded = (live: LiveApp) => live.app.reload(live.read());
const status = async (live: LiveApp) =>
  ((await live.post("/api/command", { line: "/status" })) as { text: string }).text.replaceAll("\\", "");
async function echoed(live: LiveApp, text: string, expected: string) {
  await live.say(`SECRET ${text}`);
  await until(
    async () => (await live.room()).some((one) => one.endsWith(text) && !one.startsWith("SECRET")),
    "a guarded answer",
  );
  expect(await live.room()).toContain(`${expected} ${text}`);
}

it.each([
  ["throws", (live: LiveApp) => live.write("v2/guard.mjs", guard("+++", "guard", SLIP))],
  ["is not there yet", () => {}],
])("a guard stays while the version at its new path cannot be loaded: it %s", async (_what, deploy) => {
  const logged: PluginRig["logged"] = [];
  const live = await liveApp(
    { "hookgate.yaml": listing("./v1/guard.mjs", "./echo.mjs"), "v1/guard.mjs": guard("***"), "echo.mjs": ECHO },
    { logger: listeningLogger(logged) },
  );
  await echoed(live, "one", "***");
  deploy(live);
  live.write("hookgate.yaml", listing("./v2/guard.mjs", "./echo.mjs"));
  const { report } = await reloaded(live);
  expect(report).toContain(`plugins.0: ./v1/guard.mjs: ${STAYS}`);
  expect(report).toContain("plugins.0: ./v2/guard.mjs: ");
  expect(logged.some(({ message }) => message.includes(STAYS))).toBe(true);
  const noticed = async () => (await live.room("dm-1")).join("\n").replaceAll("\\", "").includes(STAYS);
  await until(noticed, "the notice to the admins");
  expect(await status(live)).toContain(STAYS);
  await echoed(live, "two", "***");
  // Another change of the list does not lose it either.
  live.write("hookgate.yaml", `${listing("./v2/guard.mjs", "./echo.mjs")}# saved once more\n`);
  await reloaded(live);
  await echoed(live, "three", "***");
  // The entry is loaded: it replaces the plugin that stayed.
  live.write("v2/guard.mjs", guard("+++"));
  await until(() => live.app.plugins.every(({ reason }) => reason === undefined), "the new version being loaded");
  expect(live.app.plugins.map(({ module, id, state }) => [module, id, state])).toEqual([
    ["./v2/guard.mjs", "guard", "loaded"],
    ["./echo.mjs", "echo", "loaded"],
  ]);
  await echoed(live, "four", "+++");
});

it("a plugin that stayed is removed, with a line in the log, when the broken entry is", async () => {
  const rig = await pluginRig({ "a.mjs": answering("a", "a"), "b.mjs": answering("b", "b") });
  const follow = (...entries: unknown[]) =>
    rig.plugins.reload({ entries: pluginsConfig.parse(entries), onlyChanged: true });
  await rig.plugins.load();
  await follow("c.mjs", "b.mjs");
  expect(await rig.claim("x")).toMatchObject({ reply: "a" });
  // A reload of everything does not touch it.
  await rig.plugins.reload();
  expect(rig.plugins.list().map(({ module, state }) => [module, state])).toEqual([
    ["c.mjs", "broken"],
    ["b.mjs", "loaded"],
    ["a.mjs", "loaded"],
  ]);
  await follow("b.mjs");
  expect(await rig.claim("x")).toMatchObject({ reply: "b" });
  expect(rig.plugins.list().map(({ module }) => module)).toEqual(["b.mjs"]);
  expect(rig.logged.filter(({ message }) => message === "plugin removed").map(({ facts }) => facts)).toEqual([
    { plugin: "a", module: "a.mjs", hooks: ["a.inbound_claim"] },
  ]);
});

it("a plugin that stayed is taken up as its file is now when its entry is back, and goes at once when it is switched off", async () => {
  const rig = await pluginRig({ "a.mjs": answering("a", "old"), "b.mjs": answering("b", "b") });
  const follow = (...entries: unknown[]) =>
    rig.plugins.reload({ entries: pluginsConfig.parse(entries), onlyChanged: true });
  await rig.plugins.load();
  await follow("c.mjs", "b.mjs");
  rig.write("a.mjs", answering("a", "new"));
  await follow("a.mjs", "b.mjs");
  expect(await rig.claim("x")).toMatchObject({ reply: "new" });
  await follow({ module: "a.mjs", enabled: false }, "c.mjs", "b.mjs");
  expect(await rig.claim("x")).toMatchObject({ reply: "b" });
});

it("a plugin with another id and the command of the one that left replaces it, also while another entry is broken", async () => {
  const dice = (id: string, more = "") => `export default { id: "${id}", setup(api) {
    api.commands.register({ name: "roll", summary: "s", role: "viewer", run: () => "${id}" });
    api.hooks.registerClaiming("inbound_claim", () => ({ handled: true, reply: "${id}" }));
    ${more}
  } };`;
  const CIRCLE = ["a", "b"]
    .map(
      (one, index) =>
        `api.hooks.registerVoid("message_sent", () => {}, { id: "${one}", after: ["roll.${"ba"[index]}"] });`,
    )
    .join("\n");
  const rig = await pluginRig({ "dice.mjs": dice("dice") });
  await rig.plugins.load();
  rig.write("roll.mjs", dice("roll", CIRCLE));
  const follow = (...entries: unknown[]) =>
    rig.plugins.reload({ entries: pluginsConfig.parse(entries), onlyChanged: true });
  const [refused] = await follow("roll.mjs", "missing.mjs");
  expect(refused?.reason).toContain("wait for each other");
  expect(await rig.claim("x")).toMatchObject({ reply: "dice" });
  expect(rig.plugins.commands().map(({ name }) => name)).toEqual(["roll"]);
  await rig.plugins.reload({ file: rig.write("roll.mjs", dice("roll")) });
  expect(await rig.claim("x")).toMatchObject({ reply: "roll" });
  expect(rig.plugins.commands().map(({ name }) => name)).toEqual(["roll"]);
  expect(rig.plugins.list().map(({ module, state }) => [module, state])).toEqual([
    ["roll.mjs", "loaded"],
    ["missing.mjs", "broken"],
  ]);
});
