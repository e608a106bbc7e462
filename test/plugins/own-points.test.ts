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

const PLUGINS = "plugins: [./shop.mjs, ./guard.mjs]\n";
const guard = (field = "item") => `export default { id: "guard", setup({ hooks }) {
  hooks.register({ hook: "plugin:shop:deal", phase: "before", id: "guns", match: { when: 'payload.${field} == "gun"' }, handler({ cancel }) { cancel("no guns"); } });
} };`;

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

describe("a plugin that is listed before the one whose point it uses", () => {
  it("is loaded at a start as after a reload, also when it is critical, and its hooks run in the order of the list", async () => {
    const second = guard().replace('"guard"', '"late"').replace('"guns"', '"guns2"').replace("no guns", "late guns");
    const live = await liveApp({
      "shop.mjs": shop(),
      "guard.mjs": guard(),
      "late.mjs": second,
      "hookgate.yaml": "plugins: [{ module: ./guard.mjs, critical: true }, ./shop.mjs, ./late.mjs]\n",
    });
    expect(live.app.plugins.map(({ state, reason }) => [state, reason])).toEqual(Array(3).fill(["loaded", undefined]));
    expect(await command(live, "/deal gun")).toContain('"cancelReason":"no guns"');
    expect(await live.get("/readyz")).toMatchObject(isWell);
  });
});

describe("a plugin that changes the payload of its point", () => {
  const both = (field?: string) => ({
    "shop.mjs": shop(field),
    "guard.mjs": guard(field),
    "hookgate.yaml": `${PLUGINS}${bombs(field)}`,
  });
  const isRefused = (live: LiveApp) => until(() => live.app.plugins[0]?.reason, "the refusal");
  const vetoes = async (live: LiveApp) => [
    await isVetoed(live, "gun"),
    await isVetoed(live, "bomb"),
    await isVetoed(live, "tea"),
  ];

  it("stays as it was while a hook of a plugin or of a file does not fit, which is reported", async () => {
    const live = await liveApp(both());
    expect(await vetoes(live)).toEqual([true, true, false]);
    live.write("shop.mjs", shop("thing"));
    const reason = await isRefused(live);
    expect(reason).toMatch(
      /the previous one stays in place: the hook "guard\.guns" does not fit plugin:shop:deal as it is declared now: match\.when: payload has no field "item" \(there is thing\) \(.*guard\.mjs:2:\d+\)/,
    );
    expect(reason).toContain(
      'the hook "bombs" does not fit plugin:shop:deal as it is declared now: payload has no field "item"',
    );
    expect(await vetoes(live)).toEqual([true, true, false]);
    for (const line of ["/status", "/hooks broken"])
      expect(await command(live, line)).toContain('the hook "guard.guns" does not fit');
    expect(await command(live, "/hooks broken")).not.toContain("No configured hook is broken.");
    expect(await live.get("/readyz")).toMatchObject({ state: "degraded", configuration: { problems: 1 } });
    live.write("shop.mjs", shop());
    await until(() => live.app.plugins[0]?.reason === undefined, "the end of the problem");
    expect(await live.get("/readyz")).toMatchObject(isWell);
  });

  it.each([
    [["shop.mjs", "guard.mjs", "hookgate.yaml"]],
    [["hookgate.yaml", "guard.mjs", "shop.mjs"]],
    [["guard.mjs", "shop.mjs", "hookgate.yaml"]],
    [["hookgate.yaml", "shop.mjs", "guard.mjs"]],
  ] as const)("is put in place together with those hooks, saved in the order %j", async (order) => {
    const live = await liveApp(both());
    const next = both("thing");
    const [first, second, last] = order;
    const problems = async () => (await live.get("/readyz")).configuration as { problems: number };
    live.write(first, next[first]);
    await until(async () => (await problems()).problems > 0, "the first being refused");
    const before = JSON.stringify(await live.post("/api/command", { line: "/hooks broken" }));
    live.write(second, next[second]);
    await until(
      async () => JSON.stringify(await live.post("/api/command", { line: "/hooks broken" })) !== before,
      "the second being refused",
    );
    expect(await vetoes(live)).toEqual([true, true, false]);
    live.write(last, next[last]);
    await until(async () => (await live.get("/readyz")).state === "ready", "all being in place");
    expect(await command(live, "/deal tea")).toContain("thing");
    expect(await vetoes(live)).toEqual([true, true, false]);
  });

  it("is put in place when no hook asks for what changes, and lists what a hook then asks for in vain", async () => {
    const kinds = (...names: string[]) => `import { z } from ${ZOD};
      export default { id: "shop", setup({ hooks }) {
        hooks.declare({ name: "deal", model: "lifecycle", payload: z.object({ item: z.enum(${JSON.stringify(names)}) }), summary: "s", example: { item: "tea" } });
      } };`;
    const live = await liveApp({
      "hookgate.yaml": PLUGINS,
      "shop.mjs": kinds("gun", "tea", "cup"),
      "guard.mjs": guard(),
    });
    live.write("shop.mjs", kinds("gun", "tea"));
    const loadedAt = live.app.plugins[0]?.loadedAt;
    await until(() => live.app.plugins[0]?.loadedAt !== loadedAt, "the new version");
    expect(await live.get("/readyz")).toMatchObject(isWell);
    live.write("shop.mjs", kinds("tea"));
    await until(async () => (await live.get("/readyz")).state === "degraded", "the problem");
    expect(await command(live, "/status")).toContain('the hook "guard.guns"');
  });
});
