/** Points of plugins that the next start would miss: for a critical hook a saved plugin is refused, for others that is reported. In the whole product. */
import { expect, it } from "vitest";
import { type LiveApp, liveApp } from "../automations/support/live-app.js";
import { until } from "../support/until.js";

const ZOD = JSON.stringify(import.meta.resolve("zod"));
const declare = (name: string) =>
  `const own = hooks.declare({ name: "${name}", model: "lifecycle", payload: z.object({ item: z.string() }), summary: "s", example: { item: "tea" } });`;
const register = (point: string, more = "") =>
  `hooks.register({ hook: "${point}", phase: "before", id: "at-${point.replaceAll(":", "-")}", failurePolicy: "fail-closed", ${more} handler({ data, cancel }) { if (data.item === "bomb") cancel("no bombs"); } });`;
const plugin = (id: string, ...setup: string[]) => `import { z } from ${ZOD};
  export default { id: "${id}", setup({ hooks, commands }) { ${setup.join("\n")}
    ${setup.some((line) => line.startsWith("const own")) ? `commands.register({ name: "${id}", summary: "d", role: "viewer", options: [{ name: "item", summary: "i", type: "string", required: true }], run: async ({ options }) => JSON.stringify(await own.before({ item: options.item })) });` : ""} } };`;

const command = async (live: LiveApp, line: string) =>
  ((await live.post("/api/command", { line })) as { text: string }).text.replaceAll("\\", "");
const isVetoed = async (live: LiveApp, id: string) => (await command(live, `/${id} bomb`)).includes('"cancelled":true');
const isWell = { state: "ready", configuration: { problems: 0 } };

const YAML_GUARD = `hooks:
  - { id: g, on: "plugin:shop:ship", phase: before, critical: true, on_failure: closed, run: { shell: { sh: "exit 2" } } }
`;
const GUARDS: Record<string, { config: string; guard?: (point: string) => string; moved?: string }> = {
  "a hook of a plugin": {
    config: "plugins: [./guard.mjs, ./shop.mjs]\n",
    guard: (point) => plugin("guard", register(point, "critical: true,")),
  },
  "a hook of a critical entry": {
    config: "plugins: [{ module: ./guard.mjs, critical: true }, ./shop.mjs]\n",
    guard: (point) => plugin("guard", register(point)),
  },
  "a configured hook": {
    config: `plugins: [./shop.mjs]\n${YAML_GUARD}`,
    moved: `plugins: [./shop.mjs]\n${YAML_GUARD.replace("shop:ship", "shop:dispatch")}`,
  },
};

for (const [name, { config, guard, moved }] of Object.entries(GUARDS))
  it(`a saved plugin that takes the point of a critical guard away is refused until the guard moves, too: ${name}`, async () => {
    const shop = (point: string) => plugin("shop", declare(point));
    const files = { "hookgate.yaml": config, "shop.mjs": shop("ship") };
    const live = await liveApp(guard ? { ...files, "guard.mjs": guard("plugin:shop:ship") } : files);
    expect(await isVetoed(live, "shop")).toBe(true);
    live.write("shop.mjs", shop("dispatch"));
    await until(
      async () =>
        /the new version failed.*(guard\.mjs would be lost|no plugin declares plugin:shop:ship)/.test(
          await command(live, "/status"),
        ),
      "the refusal in /status",
    );
    expect((await live.get("/readyz")).state).toBe("degraded");
    expect(await isVetoed(live, "shop")).toBe(true);
    if (guard) live.write("guard.mjs", guard("plugin:shop:dispatch"));
    else live.write("hookgate.yaml", moved ?? "");
    await until(async () => (await live.get("/readyz")).state === "ready", "the end of the problem");
    expect(await isVetoed(live, "shop")).toBe(true);
    expect(await live.get("/readyz")).toMatchObject(isWell);
  });

it("a configuration without the plugin whose point a critical configured hook needs is rejected", async () => {
  const live = await liveApp({
    "hookgate.yaml": `plugins: [./shop.mjs]\n${YAML_GUARD}`,
    "shop.mjs": plugin("shop", declare("ship")),
  });
  live.write("hookgate.yaml", `plugins: [{ module: ./shop.mjs, enabled: false }]\n${YAML_GUARD}`);
  await until(
    async () => (await command(live, "/status")).includes("the latest version was rejected"),
    "the rejection",
  );
  expect(await isVetoed(live, "shop")).toBe(true);
});

it("plugins that register at each other's points load at a start in any order, as a reload accepts them", async () => {
  const circle = (ids: readonly string[]) =>
    Object.fromEntries(
      ids.map((id, index) => [
        `${id}.mjs`,
        plugin(id, declare("p"), register(`plugin:${ids[(index + 1) % ids.length]}:p`)),
      ]),
    );
  for (const ids of [
    ["xx", "yy"],
    ["aa", "bb", "cc"],
    ["cc", "bb", "aa"],
  ]) {
    const files = circle(ids);
    const live = await liveApp({
      "hookgate.yaml": `plugins: [${Object.keys(files).map((file) => `./${file}`)}]\n`,
      ...files,
    });
    for (const id of ids) expect(await isVetoed(live, id)).toBe(true);
    expect(await live.get("/readyz")).toMatchObject(isWell);
  }
});

it("plugins of a circle load although one of them lacks another point, which stays out with its reason", async () => {
  const live = await liveApp(
    {
      "hookgate.yaml": "plugins: [./xx.mjs, ./yy.mjs, ./zz.mjs]\n",
      "xx.mjs": plugin("xx", declare("p"), register("plugin:yy:p")),
      "yy.mjs": plugin("yy", declare("p"), register("plugin:xx:p")),
      "zz.mjs": plugin("zz", declare("p"), register("plugin:xx:q")),
    },
    { mayBreak: true },
  );
  expect(await isVetoed(live, "xx")).toBe(true);
  expect(await isVetoed(live, "yy")).toBe(true);
  expect(await command(live, "/status")).toMatch(/zz\.mjs.*There is no hook point "plugin:xx:q"/);
});

it("both plugins of a pair may come in one reload", async () => {
  const live = await liveApp({
    "hookgate.yaml": "plugins: []\n",
    "xx.mjs": plugin("xx", declare("p"), register("plugin:yy:p")),
    "yy.mjs": plugin("yy", declare("p"), register("plugin:xx:p")),
  });
  live.write("hookgate.yaml", "plugins: [./xx.mjs, ./yy.mjs]\n");
  await until(async () => (await command(live, "/status")).includes("2 of 2 loaded"), "both plugins");
  expect(await isVetoed(live, "xx")).toBe(true);
  expect(await live.get("/readyz")).toMatchObject(isWell);
});

it("a registration before the declaration is reported: the next start cannot load the plugin, nor the one that needs it", async () => {
  const live = await liveApp({
    "hookgate.yaml": "plugins: [./aa.mjs, ./bb.mjs]\n",
    "aa.mjs": plugin("aa", declare("p"), register("plugin:aa:p")),
    "bb.mjs": plugin("bb", register("plugin:aa:p")),
  });
  expect(await live.get("/readyz")).toMatchObject(isWell);
  live.write("aa.mjs", plugin("aa", register("plugin:aa:p"), declare("p")));
  await until(async () => {
    const status = await command(live, "/status");
    return ["aa", "bb"].every((id) =>
      status.includes(`"${id}.at-plugin-aa-p" is registered at plugin:aa:p, which a start declares too late`),
    );
  }, "both plugins in /status");
  live.write("aa.mjs", plugin("aa", declare("p"), register("plugin:aa:p")));
  await until(async () => (await live.get("/readyz")).state === "ready", "the end of the problem");
});

it("a registration before the declaration is refused where a critical hook would be lost", async () => {
  const guarding = register("plugin:aa:p", "critical: true,");
  const live = await liveApp({
    "hookgate.yaml": "plugins: [./aa.mjs]\n",
    "aa.mjs": plugin("aa", declare("p"), guarding),
  });
  live.write("aa.mjs", plugin("aa", guarding, declare("p")));
  await until(async () => (await command(live, "/status")).includes("the new version failed"), "the refusal");
  expect(await isVetoed(live, "aa")).toBe(true);
});
