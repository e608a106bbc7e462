/** Reloading: the new version whole, or the old one whole; never neither, never a mix. */
import { describe, expect, it } from "vitest";
import { pluginsConfig } from "../../src/plugins/config.js";
import { answering, inbound, pluginRig } from "./rig.js";

describe("reloading a plugin", () => {
  it("refuses another model of its point while hooks of others are there, and blames the version that changes it", async () => {
    const owner = (model: string, more: string) => `import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
      export default { id: "owner", setup(api) {
        api.hooks.declare({ name: "own", model: "${model}", payload: z.object({}), summary: "s", example: {} ${more} });
      } };`;
    const rig = await pluginRig({
      "owner.mjs": owner("void", ""),
      "guest.mjs": `export default { id: "guest", setup(api) { api.hooks.registerVoid("plugin:owner:own", () => {}, { id: "listens" }); } };`,
    });
    await rig.plugins.load();
    const file = rig.write("owner.mjs", owner("modifying", ", result: z.object({ text: z.string() })"));
    const [info] = await rig.plugins.reload({ file });
    expect(info?.reason).toMatch(
      /previous one stays in place: the point plugin:owner:own is now declared as modifying, but "guest\.listens" registered there when it was void/,
    );
    expect(rig.registry.point("plugin:owner:own").model).toBe("void");
  });

  it("takes another model of its point where only its own hooks are", async () => {
    const version = (model: string, call: string, more: string) =>
      `import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
      export default { id: "owner", setup(api) {
        api.hooks.declare({ name: "own", model: "${model}", payload: z.object({}), summary: "s", example: {} ${more} });
        api.hooks.${call}("plugin:owner:own", () => {}, { id: "mine" });
      } };`;
    const rig = await pluginRig({ "owner.mjs": version("void", "registerVoid", "") });
    await rig.plugins.load();
    const more = ", result: z.object({ text: z.string() })";
    const file = rig.write("owner.mjs", version("modifying", "registerModifying", more));
    const [info] = await rig.plugins.reload({ file });
    expect(info?.reason).toBeUndefined();
    expect(rig.registry.get("owner.mine")?.model).toBe("modifying");
  });

  it("takes another schema of its point, also while hooks of others are there", async () => {
    const owner = (type: string) => `import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
      export default { id: "owner", setup(api) {
        const own = api.hooks.declare({ name: "own", model: "modifying", payload: z.object({}),
          result: z.object({ b: z.${type}().optional() }), summary: "s", example: {} });
        api.hooks.registerClaiming("inbound_claim", async (_, { cause }) => ({
          handled: true, reply: JSON.stringify(await own.fire({}, { cause })),
        }));
      } };`;
    const rig = await pluginRig({
      "owner.mjs": owner("number"),
      "guest.mjs": `export default { id: "guest", setup(api) { api.hooks.registerModifying("plugin:owner:own", () => ({ b: "text" })); } };`,
    });
    await rig.plugins.load();
    expect(await rig.claim("x")).toMatchObject({ reply: "{}" });
    await rig.plugins.reload({ file: rig.write("owner.mjs", owner("string")) });
    expect(await rig.claim("x")).toMatchObject({ reply: '{"b":"text"}' });
  });

  it("names the hooks of others whose point is declared no more, until it is again", async () => {
    const owner = (declares: string) => `import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
      export default { id: "owner", setup(api) { ${declares} } };`;
    const declares = `api.hooks.declare({ name: "own", model: "void", payload: z.object({}), summary: "s", example: {} });`;
    const rig = await pluginRig({
      "owner.mjs": owner(declares),
      "guest.mjs": `export default { id: "guest", setup(api) { api.hooks.registerVoid("plugin:owner:own", () => {}, { id: "listens" }); } };`,
    });
    await rig.plugins.load();
    await rig.plugins.reload({ file: rig.write("owner.mjs", owner("")) });
    const [owning, guest] = rig.plugins.list();
    expect(owning?.reason).toBeUndefined();
    expect(guest).toMatchObject({
      state: "loaded",
      reason: expect.stringMatching(
        /^"guest\.listens" is registered at plugin:owner:own, which no plugin declares any more/,
      ),
    });
    expect(rig.logged.filter(({ level }) => level === "warn")).toMatchObject([
      {
        facts: { plugin: "owner", point: "plugin:owner:own", hooks: ["guest.listens"] },
        message:
          'Plugin "owner" no longer declares plugin:owner:own: "guest.listens" there never runs. Declare the point again, or remove the hook.',
      },
    ]);
    await rig.plugins.reload({ file: rig.write("owner.mjs", owner(declares)) });
    expect(rig.plugins.list()[1]?.reason).toBeUndefined();
    await rig.plugins.stop();
    expect(rig.logged.filter(({ level }) => level === "warn")).toHaveLength(1);
  });

  it("swaps the new version in whole", async () => {
    const rig = await pluginRig({ "p.mjs": answering("p", "one") });
    await rig.plugins.load();
    rig.write(
      "p.mjs",
      `export default { id: "p", setup(api) {
      api.hooks.registerClaiming("inbound_claim", () => ({ handled: true, reply: "two" }));
      api.hooks.registerVoid("message_sent", () => {});
    } };`,
    );
    expect(await rig.plugins.reload()).toMatchObject([
      { state: "loaded", hooks: ["p.inbound_claim", "p.message_sent"] },
    ]);
    expect(await rig.claim("x")).toMatchObject({ reply: "two" });
    rig.write("p.mjs", answering("p", "three"));
    await rig.plugins.reload();
    expect(rig.registry.list().map(({ id }) => id)).toEqual(["p.inbound_claim"]);
    expect(await rig.claim("x")).toMatchObject({ reply: "three" });
  });

  it.each([
    ["does not parse", "export default {"],
    ["throws in setup", `export default { id: "p", setup() { throw new Error("no"); } };`],
    ["names an unknown hook", `export default { id: "p", setup(api) { api.hooks.registerVoid("nope", () => {}); } };`],
    ["waits for what waits for it", answering("p", "two", `{ after: ["q.inbound_claim"] }`)],
    ["has a bad option", answering("p", "two", "{ priority: 1.5 }")],
    [
      "fails half way into the registry",
      `export default { id: "p", setup(api) {
      api.hooks.registerClaiming("inbound_claim", () => ({ handled: true, reply: "two" }));
      api.hooks.registerVoid("message_sent", () => {}, { match: { tools: ["("] } });
    } };`,
    ],
  ])("keeps the old version, whole, when the new one %s", async (_, source) => {
    const rig = await pluginRig({
      "p.mjs": answering("p", "one"),
      "q.mjs": answering("q", "q", `{ after: ["p.inbound_claim"] }`),
    });
    await rig.plugins.load();
    rig.write("p.mjs", source);
    const [info] = await rig.plugins.reload();
    expect(info).toMatchObject({ id: "p", state: "loaded", hooks: ["p.inbound_claim"] });
    expect(info?.reason).toContain("the previous one stays in place");
    expect(
      rig.registry
        .list()
        .map(({ id }) => id)
        .sort(),
    ).toEqual(["p.inbound_claim", "q.inbound_claim"]);
    expect(await rig.claim("x")).toMatchObject({ reply: "one" });
    rig.write("p.mjs", answering("p", "mended"));
    expect((await rig.plugins.reload())[0]?.reason).toBeUndefined();
    expect(await rig.claim("x")).toMatchObject({ reply: "mended" });
  });

  it("keeps the place of a hook among its equals, and what an operator switched off", async () => {
    const rig = await pluginRig({ "p.mjs": answering("p", "p1"), "q.mjs": answering("q", "q1") });
    await rig.plugins.load();
    rig.write("p.mjs", answering("p", "p2"));
    await rig.plugins.reload();
    expect(await rig.claim("x")).toMatchObject({ reply: "p2" });
    rig.registry.setEnabled("p.inbound_claim", false);
    rig.write("p.mjs", answering("p", "p3"));
    await rig.plugins.reload();
    expect(await rig.claim("x")).toMatchObject({ reply: "q1" });
    rig.write("p.mjs", answering("p", "p4", "{ priority: 1 }"));
    await rig.plugins.reload();
    expect(rig.registry.get("p.inbound_claim")).toMatchObject({ enabled: false, priority: 1 });
    expect(await rig.claim("x")).toMatchObject({ reply: "q1" });
  });

  it("never leaves a dispatch that is under way without the hook", async () => {
    const guard = (word: string) => `export default { id: "guard", setup(api) {
      api.hooks.registerModifying("message_sending", ({ message }) => ({ message: { ...message, text: message.text + " ${word}" } }),
        { sees: "merged", priority: 900, failurePolicy: "fail-closed" });
    } };`;
    const rig = await pluginRig({ "guard.mjs": guard("guarded by 1") });
    await rig.plugins.load();
    let arrived = () => {};
    const underWay = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    rig.registry.registerModifying("message_sending", async () => {
      arrived();
      await held;
      return null;
    });
    const cause = { kind: "api" as const, id: "1", depth: 0 };
    const sending = rig.registry.fireModifying("message_sending", {
      chatId: "c",
      platform: "web",
      deliveryId: "d",
      cause,
      message: { text: "x" },
    });
    await underWay;
    rig.write("guard.mjs", guard("guarded by 2"));
    await rig.plugins.reload();
    release();
    expect((await sending).message?.text).toBe("x guarded by 2");
  });

  it("ends the old version's work after the swap and refuses its calls", async () => {
    const source = (word: string) => `export default { id: "p", setup(api) {
      globalThis.apis = [...(globalThis.apis ?? []), api];
      return () => { globalThis.ended = [...(globalThis.ended ?? []), "${word}"]; };
    } };`;
    const rig = await pluginRig({ "p.mjs": source("one") });
    await rig.plugins.load();
    rig.write("p.mjs", source("two"));
    await rig.plugins.reload();
    const state = globalThis as {
      apis?: {
        send(at: object, text: string): Promise<string>;
        hooks: { registerVoid(hook: string, handler: () => void): void };
      }[];
      ended?: string[];
    };
    expect(state.ended).toEqual(["one"]);
    await expect(state.apis?.[0]?.send({}, "x")).rejects.toMatchObject({ code: "PLUGIN_REPLACED" });
    expect(() => state.apis?.[0]?.hooks.registerVoid("message_sent", () => {})).toThrow(/no longer loaded/);
    await expect(state.apis?.[1]?.send({ platform: "web", botId: "web", chatId: "1" }, "x")).resolves.toBe("d_1");
  });

  it("leaves the old version at work when the new setup returns what cannot end it", async () => {
    const rig = await pluginRig({ "p.mjs": answering("p", "one") });
    await rig.plugins.load();
    rig.write("p.mjs", `export default { id: "p", setup() { return { stop() {} }; } };`);
    await rig.plugins.reload();
    expect(rig.plugins.list()[0]?.reason).toMatch(/previous one stays.*setup must return a function or nothing/);
    expect(await rig.claim("x")).toMatchObject({ reply: "one" });
  });

  it("replaces its default route, and takes it away with the plugin", async () => {
    const routing = (word: string) =>
      `export default { id: "p", setup(api) { api.route(() => ({ reply: "${word}" })); } };`;
    const rig = await pluginRig({ "p.mjs": routing("one") });
    await rig.plugins.load();
    rig.write("p.mjs", routing("two"));
    await rig.plugins.reload();
    expect(
      await rig.plugins.routes.get("p")?.(inbound("x"), {
        causeId: "m",
        cause: { kind: "message", id: "m", depth: 0 },
        attempt: 1,
        signal: AbortSignal.any([]),
      }),
    ).toEqual({ reply: "two" });
    await rig.plugins.reload({ entries: [] });
    expect(rig.plugins.routes.size).toBe(0);
  });

  it("follows a new list of the configuration: added, removed, switched off, other settings", async () => {
    const rig = await pluginRig({ "a.mjs": answering("a", "a"), "b.mjs": answering("b", "b") }, { entries: ["a.mjs"] });
    await rig.plugins.load();
    await rig.plugins.reload({ entries: pluginsConfig.parse(["b.mjs", "a.mjs"]) });
    expect(rig.plugins.list().map(({ id, state }) => [id, state])).toEqual([
      ["b", "loaded"],
      ["a", "loaded"],
    ]);
    expect(rig.logged.flatMap(({ message, facts }) => (facts.plugin ? [`${facts.plugin}: ${message}`] : []))).toEqual([
      "a: plugin loaded",
      "b: plugin loaded",
      "a: plugin reloaded",
    ]);
    // As a start with this list would have it.
    expect(rig.registry.order("inbound_claim").map(({ id }) => id)).toEqual(["b.inbound_claim", "a.inbound_claim"]);
    expect(await rig.claim("x")).toMatchObject({ reply: "b" });
    await rig.plugins.reload({ entries: pluginsConfig.parse(["b.mjs", { module: "a.mjs", enabled: false }]) });
    expect(rig.registry.list().map(({ id }) => id)).toEqual(["b.inbound_claim"]);
    await rig.plugins.reload({ entries: [] });
    expect(rig.registry.size).toBe(0);
  });

  it("has the order of the file, as after a restart: also with a hook that is new in front, or that was taken out", async () => {
    const hook = (name: string) =>
      `api.hooks.registerClaiming("inbound_claim", ({ message }) => {
        if (message.text === "without ${name}") off.${name}();
        return { handled: message.text === "answer", reply: "${name}" };
      }, { id: "${name}" })`;
    const version = (...names: string[]) => `export default { id: "p", setup(api) { const off = {};
      ${names.map((name) => `off.${name} = ${hook(name)};`).join("\n")} } };`;
    const rig = await pluginRig({
      "first.mjs": answering("first", "x", "{ enabled: false }"),
      "p.mjs": version("last"),
    });
    await rig.plugins.load();
    const order = () => rig.registry.order("inbound_claim").map(({ id }) => id);
    const file = rig.write("p.mjs", version("guard", "last"));
    await rig.plugins.reload({ file });
    expect(order()).toEqual(["first.inbound_claim", "p.guard", "p.last"]);
    expect(await rig.claim("answer")).toMatchObject({ reply: "guard" });
    await rig.claim("without guard");
    expect(order()).toEqual(["first.inbound_claim", "p.last"]);
    await rig.plugins.reload({ file });
    expect(order()).toEqual(["first.inbound_claim", "p.guard", "p.last"]);
    // With other options it is another registration, at the same place.
    rig.write("p.mjs", version("guard", "last").replace('id: "guard"', 'id: "guard", timeoutMs: 900'));
    await rig.plugins.reload({ file });
    expect(order()).toEqual(["first.inbound_claim", "p.guard", "p.last"]);
  });

  const claiming = (id: string, hook: string, options = "") => `export default { id: "${id}", setup(api) {
    api.hooks.registerClaiming("inbound_claim", ({ message }) =>
      message.text === "${id}" ? { handled: true, reply: "${hook}" } : null, { id: "${hook}" ${options} });
  } };`;

  it.each([
    ["the renamed one first", ["one.mjs", "two.mjs"]],
    ["the renamed one last", ["two.mjs", "one.mjs"]],
  ])(
    "follows a hook that is renamed and the plugin that names it in `after`, in whatever order they are saved: %s",
    async (_, order) => {
      const rig = await pluginRig({
        "one.mjs": claiming("one", "old"),
        "two.mjs": claiming("two", "first", ', after: ["one.old"]'),
        "broken.mjs": "throw new Error('on its own')",
      });
      await rig.plugins.load();
      const next: Record<string, string> = {
        "one.mjs": claiming("one", "new"),
        "two.mjs": claiming("two", "second", ', after: ["one.new"]'),
      };
      const [first = "", last = ""] = order;
      await rig.plugins.reload({ file: rig.write(first, next[first] ?? "") });
      expect(rig.registry.validate().map(({ message }) => message)).toEqual([
        expect.stringMatching(
          /^Hook "two\.(first|second)" .* is to run after "one\.(old|new)", which is not registered/,
        ),
      ]);
      const infos = await rig.plugins.reload({ file: rig.write(last, next[last] ?? "") });
      expect(infos.map(({ reason }) => reason)).toEqual([undefined, undefined, expect.stringContaining("on its own")]);
      expect(rig.registry.validate()).toEqual([]);
      expect([await rig.claim("one"), await rig.claim("two")]).toMatchObject([{ reply: "new" }, { reply: "second" }]);
    },
  );

  it("puts in place together what depends on each other, without a version that waits for what waits for it", async () => {
    const rig = await pluginRig({
      "one.mjs": claiming("one", "old"),
      "two.mjs": claiming("two", "first", ', after: ["one.old"]'),
      "three.mjs": claiming("three", "alone"),
    });
    await rig.plugins.load();
    rig.write("one.mjs", claiming("one", "new"));
    rig.write("two.mjs", claiming("two", "second", ', after: ["one.new"]'));
    rig.write("three.mjs", claiming("three", "late", ', after: ["two.second"], before: ["one.new"]'));
    const infos = await rig.plugins.reload();
    expect(infos.map(({ reason }) => reason)).toEqual([undefined, undefined, expect.stringContaining("wait for each")]);
    expect(rig.registry.order("inbound_claim").map(({ id }) => id)).toEqual(["one.new", "two.second", "three.alone"]);
    expect(rig.logged.filter(({ level }) => level === "error")).toHaveLength(1);
  });

  it("puts in place together versions that would each wait for what waits for them in the old version of the other", async () => {
    const pair = (id: string, first: string, second: string) => `export default { id: "${id}", setup(api) {
      api.hooks.registerClaiming("inbound_claim", () => null, { id: "x" ${first} });
      api.hooks.registerClaiming("inbound_claim", () => null, { id: "p" ${second} });
    } };`;
    const rig = await pluginRig({
      "one.mjs": pair("one", "", ', after: ["two.p"]'),
      "two.mjs": pair("two", ', after: ["one.x"]', ""),
    });
    await rig.plugins.load();
    const one = rig.write("one.mjs", pair("one", ', after: ["two.x"]', ""));
    const [refused] = await rig.plugins.reload({ file: one });
    expect(refused?.reason).toContain("wait for each other");
    const two = rig.write("two.mjs", pair("two", "", ', after: ["one.p"]'));
    expect((await rig.plugins.reload({ file: two })).map(({ reason }) => reason)).toEqual([undefined, undefined]);
    expect(rig.registry.order("inbound_claim").map(({ id }) => id)).toEqual(["one.p", "two.x", "one.x", "two.p"]);
  });

  it("tries a version again that was refused for a point or a command of another plugin, when that one has changed", async () => {
    const owner = (name: string, command = "") => `import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
      export default { id: "owner", setup(api) {
        api.hooks.declare({ name: "${name}", model: "void", payload: z.object({}), summary: "s", example: {} });
        ${command}
      } };`;
    const command = `api.commands.register({ name: "x", summary: "x", role: "viewer", run: () => "x" });`;
    const guest = (name: string, more = "") => `export default { id: "guest", setup(api) {
        api.hooks.registerVoid("plugin:owner:${name}", () => {}, { id: "listens" }); ${more} } };`;
    const rig = await pluginRig(
      { "guest.mjs": guest("old"), "owner.mjs": owner("old", command) },
      { entries: ["owner.mjs", "guest.mjs"] },
    );
    await rig.plugins.load();
    for (const [name, more, what] of [
      ["new", "", 'no hook point "plugin:owner:new"'],
      ["new", command, 'Command "x" exists already'],
    ] as const) {
      const [, refused] = await rig.plugins.reload({ file: rig.write("guest.mjs", guest(name, more)) });
      expect(refused?.reason).toContain(what);
      const infos = await rig.plugins.reload({
        file: rig.write("owner.mjs", owner("new", more === "" ? command : "")),
      });
      expect(infos.map(({ reason }) => reason)).toEqual([undefined, undefined]);
      expect(rig.registry.get("guest.listens")?.hook).toBe("plugin:owner:new");
    }
    expect(rig.plugins.commands().map(({ name }) => name)).toEqual(["x"]);
  });

  it("brings a broken plugin to life once it is mended", async () => {
    const rig = await pluginRig({ "p.mjs": "throw new Error('x')" });
    expect(await rig.plugins.load()).toMatchObject([{ state: "broken" }]);
    rig.write("p.mjs", answering("p", "ok"));
    expect(await rig.plugins.reload()).toMatchObject([{ state: "loaded", id: "p" }]);
  });

  it("takes a plugin's new id for what it is", async () => {
    const rig = await pluginRig({ "p.mjs": answering("old", "old") });
    await rig.plugins.load();
    rig.write("p.mjs", answering("new", "new"));
    await rig.plugins.reload();
    expect(rig.registry.list().map(({ id }) => id)).toEqual(["new.inbound_claim"]);
  });
});
