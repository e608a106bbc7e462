/** Hooks at a point that a plugin declares, while versions of that plugin come and go: in the whole product. */
import { describe, expect, it } from "vitest";
import { type LiveApp, liveApp } from "../automations/support/live-app.js";
import { until } from "../support/until.js";

const ZOD = JSON.stringify(import.meta.resolve("zod"));
/** `/deal item` answers what the hooks at its point decide. */
const shop = (field = "item", more = "") => `import { z } from ${ZOD};
  export default { id: "shop", setup({ hooks, commands }) {
    const deal = hooks.declare({ name: "deal", model: "lifecycle", payload: z.object({ ${field}: z.string() }), summary: "s", example: { ${field}: "tea" } });
    commands.register({ name: "deal", summary: "d", role: "viewer", options: [{ name: "item", summary: "i", type: "string", required: true }],
      run: async ({ options }) => JSON.stringify(await deal.before({ ${field}: options.item })) }); ${more}
  } };`;
const bombs = (field = "item", more = "") => `hooks:
  - id: bombs
    on: plugin:shop:deal
    phase: before
    match: { when: 'payload.${field} == "bomb"' }
    run: { shell: { sh: "echo no bombs >&2; exit 2" } }
    ${more}
`;

const command = async (live: LiveApp, line: string) =>
  ((await live.post("/api/command", { line })) as { text: string }).text.replaceAll("\\", "");
const isWell = { state: "ready", configuration: { problems: 0 } };
const isVetoed = async (live: LiveApp, item: string) =>
  (await command(live, `/deal ${item}`)).includes('"cancelled":true');

describe("a configured hook at the point of a plugin", () => {
  it("comes into force when the plugin is corrected, without a save of its own file", async () => {
    const live = await liveApp(
      { "hookgate.yaml": `plugins: [./shop.mjs]\n${bombs("item", "on_failure: closed")}`, "shop.mjs": `${shop()} {{` },
      { mayBreak: true },
    );
    expect(await command(live, "/hooks broken")).toContain('there is no hook point "plugin:shop:deal"');
    live.write("shop.mjs", shop());
    await until(() => live.app.automations.get("bombs"), "the hook being in force");
    expect(await isVetoed(live, "bomb")).toBe(true);
    expect(await command(live, "/hooks broken")).toBe("No configured hook is broken.");
    expect(await live.get("/readyz")).toMatchObject(isWell);
  });

  it("comes into force when the plugin starts to declare the point, and is broken with the reason of now until then", async () => {
    const live = await liveApp({
      "hookgate.yaml": "plugins: [./shop.mjs]\n",
      "shop.mjs": 'export default { id: "shop", setup() {} };',
    });
    live.write("hookgate.yaml", `plugins: [./shop.mjs]\n${bombs()}`);
    await until(async () => (await command(live, "/hooks broken")).includes("there is no hook point"), "the problem");
    live.write("shop.mjs", shop("thing"));
    await until(
      async () => (await command(live, "/hooks broken")).includes('payload has no field "item"'),
      "the other reason",
    );
    expect(await command(live, "/hooks broken")).not.toContain("there is no hook point");
    live.write("shop.mjs", shop());
    await until(() => live.app.automations.get("bombs"), "the hook being in force");
    expect(await isVetoed(live, "bomb")).toBe(true);
    expect(await isVetoed(live, "tea")).toBe(false);
  });

  it("comes into force with the rest of a configuration that was rejected because it is critical", async () => {
    const live = await liveApp({
      "hookgate.yaml": "plugins: [./shop.mjs]\n",
      "shop.mjs": 'export default { id: "shop", setup() {} };',
    });
    live.write("hookgate.yaml", `plugins: [./shop.mjs]\n${bombs("item", "critical: true")}`);
    await until(
      async () => (await command(live, "/status")).includes("the latest version was rejected"),
      "the rejection",
    );
    live.write("shop.mjs", shop());
    await until(() => live.app.automations.get("bombs"), "the hook being in force");
    expect(await isVetoed(live, "bomb")).toBe(true);
    await until(async () => (await live.get("/readyz")).state === "ready", "the end of the problem");
  });
});
