/** What a plugin may do while it is loaded: take hooks back, declare points and fire them, bring commands. */
import { describe, expect, it } from "vitest";
import { CommandTable } from "../../src/gateway/inbound/parse-command.js";
import { ManualClock } from "../support/manual-clock.js";
import { until } from "../support/until.js";
import { pluginRig } from "./rig.js";

const tick = { pending: 0, running: 0, done: 0, failed: 0 };

describe("a hook that was registered in setup", () => {
  it("is removed when its plugin says so, however long it ran", async () => {
    const rig = await pluginRig({
      "p.mjs": `export default { id: "p", setup(api) {
        const off = api.hooks.registerClaiming("inbound_claim", ({ message }) => {
          if (message.text === "stop") off();
          return { handled: true, reply: "here" };
        });
      } };`,
    });
    await rig.plugins.load();
    expect(await rig.claim("x")).toMatchObject({ handled: true });
    expect(await rig.claim("stop")).toMatchObject({ handled: true });
    expect(await rig.claim("x")).toEqual({ handled: false });
    expect(rig.registry.get("p.inbound_claim")).toBeUndefined();
    expect(rig.plugins.list()[0]?.hooks).toEqual([]);
  });

  it("stays when only an older version takes its own back", async () => {
    const version = (reply: string) => `export default { id: "p", setup(api) {
      globalThis.__offs ??= [];
      globalThis.__offs.push(api.hooks.registerClaiming("inbound_claim", () => ({ handled: true, reply: "${reply}" })));
    } };`;
    const rig = await pluginRig({ "p.mjs": version("one") });
    await rig.plugins.load();
    rig.write("p.mjs", version("two"));
    await rig.plugins.reload();
    const offs: (() => void)[] = Reflect.get(globalThis, "__offs");
    Reflect.deleteProperty(globalThis, "__offs");
    offs[0]?.();
    expect(await rig.claim("x")).toMatchObject({ reply: "two" });
    offs[1]?.();
    expect(await rig.claim("x")).toEqual({ handled: false });
  });
});

it("an async handler at a synchronous point is refused: it would never be started", async () => {
  const rig = await pluginRig({
    "p.mjs": `export default { id: "p", setup(api) {
      api.hooks.register({ hook: "orchestrator:tick", phase: "before", async handler(ctx) { ctx.cancel(); } });
    } };`,
  });
  const [info] = await rig.plugins.load();
  expect(info).toMatchObject({
    state: "broken",
    reason: expect.stringMatching(/orchestrator:tick is synchronous and does not start an async handler.*p\.mjs:2/),
  });
  expect(rig.registry.runBeforeSync("orchestrator:tick", tick).cancelled).toBe(false);
});

it("a reload refuses what a start refuses: the register call is part of a hook", async () => {
  const version = (call: string) =>
    `export default { id: "p", setup(api) { api.hooks.${call}("inbound_claim", () => ({ handled: true, reply: "${call}" })); } };`;
  const rig = await pluginRig({ "p.mjs": version("registerClaiming") });
  await rig.plugins.load();
  rig.write("p.mjs", version("registerVoid"));
  await rig.plugins.reload();
  expect(rig.plugins.list()[0]?.reason).toContain('"inbound_claim" is a claiming point, not a void one');
  expect(await rig.claim("x")).toMatchObject({ reply: "registerClaiming" });
});

it.each(["throw Error('boom')", "return Promise.reject(Error('boom'))"])(
  "an error of its timer is logged with the plugin: %s",
  async (body) => {
    const clock = new ManualClock();
    const source = `export default { id: "p", setup({ clock }) { clock.after(10, () => { ${body}; }); } };`;
    const rig = await pluginRig({ "p.mjs": source }, { clock });
    await rig.plugins.load();
    await clock.advance(10);
    const line = await until(() => rig.logged.find(({ level }) => level === "error"), "the error is logged");
    expect(line).toMatchObject({
      message: 'a timer of plugin "p" failed: boom',
      facts: { plugin: "p", stack: expect.stringContaining("p.mjs") },
    });
  },
);

describe("a point that a plugin declares", () => {
  const shop = `import { z } from "${import.meta.resolve("zod")}";
    export default { id: "shop", setup(api) {
      const placed = api.hooks.declare({
        name: "order-placed", model: "modifying",
        payload: z.object({ total: z.number() }), result: z.object({ total: z.number().optional() }),
        summary: "An order is about to be placed.", example: { total: 5 },
      });
      api.hooks.registerClaiming("inbound_claim", async ({ message }, { cause }) => {
        const { total } = await placed.fire({ total: 10 }, { cause, at: message });
        return { handled: true, reply: String(total ?? 10) };
      });
    } };`;
  const discount = `export default { id: "discount", setup(api) {
    api.hooks.registerModifying("plugin:shop:order-placed", ({ total }) => ({ total: total - 1 }));
  } };`;

  it("is fired by it, heard by other plugins, and gone with it", async () => {
    const rig = await pluginRig({ "shop.mjs": shop, "discount.mjs": discount });
    await rig.plugins.load();
    expect(await rig.claim("x")).toMatchObject({ reply: "9" });
    await rig.plugins.reload({ entries: [] });
    expect(rig.registry.points.some(({ name }) => name.startsWith("plugin:"))).toBe(false);
  });

  it("cannot be fired while setup runs", async () => {
    const rig = await pluginRig({
      "p.mjs": shop
        .replace("api.hooks.registerClaiming", "await placed.fire({ total: 1 }); api.hooks.registerClaiming")
        .replace("setup(api)", "async setup(api)"),
    });
    await rig.plugins.load();
    expect(rig.plugins.list()[0]?.reason).toContain("plugin:shop:order-placed cannot be fired while setup runs");
  });
});

describe("a command of a plugin", () => {
  const weather = (answer: string) => `export default { id: "weather", setup(api) {
    api.commands.register({
      name: "weather", summary: "The weather of a town", role: "viewer",
      options: [{ name: "town", summary: "Which town", type: "string", required: true }],
      run: ({ options }) => "${answer} in " + options.town,
    });
  } };`;

  it("is there while the plugin is, in its newest version", async () => {
    const rig = await pluginRig({ "weather.mjs": weather("sun") });
    const table = new CommandTable([], () => rig.plugins.commands());
    await rig.plugins.load();
    const call = () => table.find("weather")?.run({ options: { town: "Rome" } } as never);
    expect(await call()).toEqual({ message: { text: "sun in Rome" } });
    expect(table.all.map(({ name }) => name)).toEqual(["weather"]);
    rig.write("weather.mjs", weather("rain"));
    await rig.plugins.reload();
    expect(await call()).toEqual({ message: { text: "rain in Rome" } });
    await rig.plugins.reload({ entries: [] });
    expect(table.read("/weather Rome")).toBeUndefined();
  });

  it.each([
    ["another plugin's name", weather("x").replace('id: "weather"', 'id: "other"'), "exists already, of plugin"],
    ["a name that is none", weather("x").replace('name: "weather"', 'name: "Wetter!"'), "name: expected 1 to 32"],
    [
      "no role",
      weather("x").replace('role: "viewer",', ""),
      "role: expected viewer | operator | admin | owner | anyone",
    ],
  ])("is refused with %s", async (_what, source, reason) => {
    const rig = await pluginRig({ "weather.mjs": weather("sun"), "other.mjs": source });
    const [, other] = await rig.plugins.load();
    await until(() => other?.state === "broken", "it is refused");
    expect(other?.reason).toContain(reason);
    const line = rig.logged.find(({ level }) => level === "error");
    expect(line?.message).toMatch(/^plugin broken: setup failed: .*\(other\.mjs:2:18\)/);
  });

  it.each([
    [
      "an answer that is none",
      `return { text: 5 };`,
      /^\/weather: The answer of \/weather .*: message\.text: /,
      "2:18",
    ],
    ["progress that is none", `context.progress({ txt: "x" });`, /^\/weather: progress of \/weather .*: /, "6:29"],
    ["a role that does not exist", `context.need("ownr");`, /^\/weather: need of \/weather .* got "ownr"/, "6:29"],
    [
      "a message that cannot be sent",
      `await api.send({ platform: "web", botId: "web", chatId: "1" }, " ");`,
      /api\.send: the message has no text/,
      "6:31",
    ],
  ])("logs what its author did wrong, with the line: %s", async (_, body, message, at) => {
    const rig = await pluginRig({
      "weather.mjs": weather("x").replace(
        /run: .*,\n/,
        `async run(context) {
                    ${body}
      },\n`,
      ),
    });
    await rig.plugins.load();
    const [command] = rig.plugins.commands();
    await expect(command?.run({ options: {}, progress() {}, need() {} } as never)).rejects.toMatchObject({
      code: expect.stringMatching(/^PLUGIN_/),
    });
    expect(rig.logged.filter(({ level }) => level === "error")).toEqual([
      {
        level: "error",
        message: expect.stringMatching(message),
        facts: { plugin: "weather", command: "weather", place: `weather.mjs:${at}` },
      },
    ]);
  });
});
