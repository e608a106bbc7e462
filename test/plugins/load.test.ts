/** Loading: what is loaded, what is refused and why, and that one broken plugin is one broken plugin. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { definePlugin } from "../../src/index.js";
import { ManualClock } from "../support/manual-clock.js";
import { until } from "../support/until.js";
import { answering, inbound, pluginRig } from "./rig.js";

const reasonOf = async (source: string, entry: Record<string, unknown> = {}) => {
  const rig = await pluginRig({ "p.mjs": source }, { entries: [{ module: "p.mjs", ...entry }] });
  const [info] = await rig.plugins.load();
  expect(info?.state).toBe("broken");
  expect(info?.reason).toBeDefined();
  expect(rig.registry.size).toBe(0);
  return info?.reason ?? "";
};

describe("loading plugins", () => {
  it("registers a plugin's hooks under its name", async () => {
    const rig = await pluginRig({ "hello.mjs": answering("hello", "hi") });
    expect(await rig.plugins.load()).toMatchObject([
      { module: "hello.mjs", id: "hello", state: "loaded", hooks: ["hello.inbound_claim"] },
    ]);
    expect(rig.registry.get("hello.inbound_claim")).toMatchObject({ pluginId: "hello", enabled: true });
    expect(await rig.claim("x")).toMatchObject({ handled: true, reply: "hi", claimedBy: "hello.inbound_claim" });
  });

  it.each(["greeter", "redact"])("finds the example %s by its name, wherever Hookgate is started", async (name) => {
    const rig = await pluginRig({}, { entries: [{ module: `hookgate/examples/${name}` }] });
    expect(await rig.plugins.load()).toMatchObject([{ id: name, state: "loaded" }]);
  });

  it("says which examples there are when one is named that is not", async () => {
    const rig = await pluginRig({}, { entries: [{ module: "hookgate/examples/nope" }] });
    const [info] = await rig.plugins.load();
    expect(info?.reason).toMatch(/no example hookgate\/examples\/nope.*There are .*hookgate\/examples\/greeter, /s);
  });

  it("loaded twice, has its handlers once", async () => {
    const rig = await pluginRig({ "hello.mjs": answering("hello", "hi") });
    await Promise.all([rig.plugins.load(), rig.plugins.load()]);
    await rig.plugins.load();
    expect(rig.registry.list().map(({ id }) => id)).toEqual(["hello.inbound_claim"]);
  });

  it("refuses a second plugin with the same id and keeps the first", async () => {
    const rig = await pluginRig({ "one.mjs": answering("same", "one"), "two.mjs": answering("same", "two") });
    const [one, two] = await rig.plugins.load();
    expect([one?.state, two?.state]).toEqual(["loaded", "broken"]);
    expect(two?.reason).toContain('the id "same" is taken by one.mjs');
    expect(await rig.claim("x")).toMatchObject({ reply: "one" });
  });

  it("reports a broken plugin with its file and cause, and goes on with the others", async () => {
    const rig = await pluginRig({ "bad.mjs": `throw new Error("boom at load");`, "good.mjs": answering("good", "ok") });
    const infos = await rig.plugins.load();
    expect(infos).toMatchObject([{ state: "broken" }, { state: "loaded" }]);
    expect(infos[0]?.reason).toContain("boom at load");
    const [line] = rig.logged.filter(({ level }) => level === "error");
    expect(line?.message).toContain("boom at load");
    expect(line?.facts).toMatchObject({ module: "bad.mjs", file: join(rig.folder, "bad.mjs") });
    expect(await rig.claim("x")).toMatchObject({ reply: "ok" });
  });

  it("stops start-up for a broken plugin that is critical, naming all of them", async () => {
    const rig = await pluginRig(
      { "bad.mjs": `throw new Error("boom");`, "good.mjs": answering("good", "ok") },
      { entries: [{ module: "bad.mjs", critical: true }, "good.mjs"] },
    );
    await expect(rig.plugins.load()).rejects.toMatchObject({
      code: "PLUGIN_CRITICAL",
      message: expect.stringMatching(/bad\.mjs.*boom/),
    });
  });

  it.each([
    [
      "hooks that wait for each other",
      `{ id: "x", critical: true, after: ["p.y"] }`,
      `api.hooks.registerVoid("message_received", () => {}, { id: "y", after: ["p.x"] });`,
    ],
    ["an error later in its setup", `{ critical: true }`, "throw new Error('boom');"],
    ["an option that is refused", `{ critical: true, failurePolicy: "nonsense" }`, ""],
  ])("rejects when a critical hook of a plugin cannot be registered: %s", async (_, options, more) => {
    const rig = await pluginRig({
      "p.mjs": `export default { id: "p", setup(api) { api.hooks.registerVoid("message_received", () => {}, ${options}); ${more} } };`,
    });
    await expect(rig.plugins.load()).rejects.toMatchObject({ code: "PLUGIN_CRITICAL" });
  });

  it("leaves out what is switched off", async () => {
    const rig = await pluginRig({ "p.mjs": answering("p", "x") }, { entries: [{ module: "p.mjs", enabled: false }] });
    expect(await rig.plugins.load()).toMatchObject([{ state: "off", hooks: [] }]);
    expect(rig.registry.size).toBe(0);
  });

  it("says what is wrong with a module", async () => {
    expect(await reasonOf("export const x = 1;")).toContain("default export");
    expect(await reasonOf("export default { setup() {} };")).toContain("no id");
    expect(await reasonOf(`export default { id: "Bad Id", setup() {} };`)).toContain('"Bad Id"');
    expect(await reasonOf(`export default { id: "hookgate", setup() {} };`)).toContain("reserved for Hookgate itself");
    expect(await reasonOf(`export default { id: "a" };`)).toContain("no setup function");
    expect(await reasonOf(`export default { id: "a", points: [{ name: "mine" }], setup() {} };`)).toContain(
      "plugin:a:<name>",
    );
    expect(await reasonOf(`import "./gone.mjs"; export default {};`)).toContain("gone.mjs");
    expect(await reasonOf(`export default { id: "a", setup() { throw new Error("no disk"); } };`)).toContain("no disk");
    expect(await reasonOf(`export default { id: "a", async setup() { throw "a bare text"; } };`)).toContain(
      "a bare text",
    );
  });

  it.each([
    [
      `api.hooks.registerVoid("message_sent", () => {}, { failurePolcy: "fail-closed" })`,
      /p\.message_sent": unknown option "failurePolcy" \(did you mean "failurePolicy"\?\).*p\.mjs:1/,
    ],
    [
      `api.hooks.registerVoid("message_sent", () => {}, { match: { platform: ["web"] } })`,
      /p\.message_sent": match: unknown field "platform" \(did you mean "platforms"\?\)/,
    ],
    [
      `api.hooks.registerModifying("message_sending", () => null, { sees: "mergd" })`,
      /sees: expected original \| merged, got mergd/,
    ],
    [`api.hooks.registerVoid("message_sent", () => {}, { id: "Bad Id!" })`, /id: expected letters.*got "Bad Id!"/],
    [
      `api.hooks.registerClaiming("inbound_claim", () => null, { fallback: { handled: true } })`,
      /fallback: it counts only with failurePolicy: "fallback"/,
    ],
    [`api.hooks.registerVoid("message_sent", "handler")`, /p\.message_sent": handler: expected a function, got string/],
    [
      `api.hooks.registerVoid("message_sent", () => {}, { match: { tools: ["x"] } })`,
      /match\.tools: the payload of message_sent never has it/,
    ],
    [
      `api.hooks.registerClaiming("inbound_claim", () => null, { execution: "background" })`,
      /execution: nothing waits for a background hook, so it cannot claim at inbound_claim.*p\.mjs:1/,
    ],
    [
      `api.hooks.registerClaiming("inbound_claim", () => null, { execution: "fire_and_record" })`,
      /execution: nothing waits for a fire_and_record hook, so it cannot claim at inbound_claim/,
    ],
    [
      `api.hooks.register({ hook: "message_sending", handler: () => null, execution: "background" })`,
      /execution: nothing waits for a background hook, so it cannot change or cancel anything at message_sending/,
    ],
    [
      `api.hooks.register({ hook: "task:create", phase: "before", execution: "background", handler() {} })`,
      /nothing waits for a background hook, so it cannot change or cancel anything at task:create: .* phase "after"/,
    ],
    [
      `api.hooks.registerVoid("message_sent", () => {}, { execution: "background", failurePolicy: "fail-closed" })`,
      /failurePolicy: nothing waits for a background hook, so it can only be fail-open/,
    ],
    ...["background", "fire_and_record"].flatMap((execution) =>
      ["before", "after"].map((phase): [string, RegExp] => [
        `api.hooks.register({ hook: "orchestrator:shutdown", phase: "${phase}", execution: "${execution}", handler() {} })`,
        new RegExp(
          `execution: the gateway ends after orchestrator:shutdown, so a ${execution} hook would be cut off.*p\\.mjs:1`,
        ),
      ]),
    ),
    [
      `api.hooks.register({ hook: "orchestrator:shutdown", phase: "before", failurePolicy: "fail-closed", handler() {} })`,
      /failurePolicy: a failure at orchestrator:shutdown \(before\) stops nothing, so it can only be fail-open.*p\.mjs:1/,
    ],
    [
      `api.hooks.registerVoid("message_sent", () => {}, { match: { platforms: ["discrod"] } })`,
      /p\.message_sent": match\.platforms: there is no platform "discrod" \(did you mean "discord"\?\).*p\.mjs:1/,
    ],
    [
      `api.hooks.registerVoid("message_sent", () => {}, { match: { chats: ["telgram:1"] } })`,
      /match\.chats: there is no platform "telgram" \(did you mean "telegram"\?\)/,
    ],
    [`api.route(() => {}); api.route(() => {})`, /api\.route: it was called before.*p\.mjs:1/],
    [
      `api.commands.register({ ...c, options: [{ ...o }, { ...o }] })`,
      /Command "roll": options: "sides" is there twice.*p\.mjs:1/,
    ],
    [
      `api.commands.register({ ...c, options: [{ ...o, requird: true }] })`,
      /options: unknown key "requird" \(did you mean "required"\?\)/,
    ],
    [`api.commands.register({ ...c, *run() {} })`, /generator function would never run: remove the \*/],
    [
      `return function* () {}`,
      /function that setup returned to end .*generator function would never run: remove the \*/,
    ],
    [`return class {}`, /function that setup returned to end .*a class cannot be called/],
    [`api.commands.register({ ...c, isSlo: true })`, /unknown key "isSlo" \(did you mean "isSlow"\?\)/],
    [
      `api.hooks.registerVoid("message_sent", () => {}, { match: { when: 5 } })`,
      /p\.message_sent": match\.when: expected a CEL expression as text, got number/,
    ],
    [`api.route("x")`, /api\.route: expected a function, got "x"/],
    [`return { stop() {} }`, /setup must return a function or nothing, got an object/],
    [`return 5`, /setup must return a function or nothing, got 5/],
    [
      `api.clock.after("5s", () => {})`,
      /api\.clock\.after: expected a number of milliseconds first, got "5s".*p\.mjs:1/,
    ],
    [`api.clock.after(NaN, () => {})`, /api\.clock\.after: expected a number of milliseconds first, got NaN/],
    [`api.clock.after(-5, "notfn")`, /api\.clock\.after: expected a function second, got "notfn".*p\.mjs:1/],
  ])("refuses in the plugin's own line what would never work: %s", async (call, reason) => {
    const given = `const o = { name: "sides", summary: "s", type: "integer" };
      const c = { name: "roll", summary: "s", role: "viewer", run: () => "" };`.replaceAll("\n", "");
    expect(await reasonOf(`${given} export default { id: "p", setup(api) { ${call}; } };`)).toMatch(reason);
  });

  it.each([
    [
      `model: "claiming", payload: z.object({}), result: z.object({ ok: z.boolean() }), example: {}`,
      /a claiming point needs the field handled/,
    ],
    [
      `model: "lifecycle", payload: z.object({ price: z.number() }), mutable: ["prise"], example: { price: 1 }`,
      /mutable: the payload has no field "prise" \(did you mean "price"\?\)/,
    ],
    [
      `model: "void", payload: z.object({}), example: {}, sumary: "x"`,
      /unknown key "sumary" \(did you mean "summary"\?\)/,
    ],
    [`model: "void", payload: { a: 1 }, example: {}`, /payload: expected a zod schema/],
  ])("refuses a point declared wrongly: %s", async (spec, reason) => {
    const source = `import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
      export default { id: "p", setup(api) { api.hooks.declare({ name: "own", summary: "s", ${spec} }); } };`;
    expect(await reasonOf(source)).toMatch(reason);
  });

  it("refuses what a plugin sends or fires wrongly, with the field", async () => {
    const rig = await pluginRig({
      "p.mjs": `import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
        export default { id: "p", setup(api) {
          const own = api.hooks.declare({ name: "own", model: "void", payload: z.object({ item: z.string() }), summary: "s", example: { item: "tea" } });
          const at = { platform: "web", botId: "web", chatId: "room" };
          const wrong = {
            text: () => api.send(at, { txt: "x" }),
            tone: () => api.send(at, { text: "x", card: { tone: "red" } }),
            card: () => api.send(at, { text: "x", card: { titel: "x" } }),
            button: () => api.send(at, { text: "x", buttons: [[{ label: "b", action: { kind: "open" } }]] }),
            kind: () => api.send(at, { text: "x", buttons: [[{ label: "b", action: { kind: "comand", line: "/x" } }]] }),
            otherKind: () => api.send(at, { text: "x", buttons: [[{ label: "b", action: { kind: "press" } }]] }),
            number: () => api.send(at, 5),
            address: () => api.send("web:web:room", "x"),
            once: () => api.send(at, "x", { onec: "k" }),
            edit: () => api.edit("d_1", "x", { onec: "k" }),
            textCause: () => api.send(at, "x", { cause: "x" }),
            emptyCause: () => api.send(at, "x", { cause: {} }),
            editCause: () => api.edit("d_1", "x", { cause: "x" }),
            ownCause: () => own.fire({ item: "tea" }, { cause: "x" }),
            ownPlace: () => own.fire({ item: "tea" }, { at: "web:web:room" }),
            cause: () => own.fire({ item: "tea" }, { cuase: 1 }),
            function: () => api.store.set("k", () => {}),
            nan: () => api.store.set("k", { a: [1, NaN] }),
            map: () => api.store.set("k", { c: new Map([[1, 2]]) }),
            bigint: () => api.store.set("k", 1n),
            date: () => api.store.set("k", new Date(0)),
            nothing: () => api.store.set("k", undefined),
            circle: () => { const a = {}; a.b = a; return api.store.set("k", a); },
            kept: async () => {
              await api.store.set("k", { a: undefined, b: [null, 1, "x", { c: true }] });
              throw Error(JSON.stringify(await api.store.get("k")));
            },
            payload: () => own.fire({ item: 5 }),
            big: () => own.fire({ item: 5n }),
            bigPart: () => own.fire({ item: "tea", price: { cents: [1, 5n] } }),
          };
          api.hooks.registerClaiming("inbound_claim", async ({ message }) => {
            const error = await wrong[message.text]().then(() => "nothing", (thrown) => thrown.message);
            return { handled: true, reply: error };
          });
        } };`,
    });
    expect((await rig.plugins.load())[0]?.reason).toBeUndefined();
    const said = async (text: string) => (await rig.claim(text)).reply;
    expect(await said("text")).toMatch(/^api\.send: message: unknown field "txt" \(did you mean "text"\?\)/);
    expect(await said("tone")).toMatch(/^api\.send: message\.card\.tone: expected one of .*, got "red"/);
    expect(await said("card")).toMatch(/^api\.send: message\.card: unknown field "titel" \(did you mean "title"\?\)/);
    expect(await said("button")).toMatch(/^api\.send: message\.buttons\.0\.0\.action/);
    expect(await said("kind")).toMatch(
      /buttons\.0\.0\.action\.kind: "comand" is not known here \(did you mean "command"\?\)/,
    );
    expect(await said("otherKind")).toMatch(/\.action\.kind: expected one of command, say, got "press"/);
    expect(await said("number")).toBe("api.send: message: expected an object, got 5");
    expect(await said("address")).toMatch(/^api\.send: address: expected an object, got "web:web:room"/);
    expect(await said("once")).toBe('api.send: unknown option "onec" (did you mean "once"?)');
    expect(await said("edit")).toBe('api.edit: unknown option "onec" (did you mean "once"?)');
    for (const call of ["textCause", "editCause"])
      expect(await said(call)).toMatch(/^api\.(send|edit): cause: expected an object, got "x"/);
    expect(await said("emptyCause")).toMatch(/^api\.send: cause\.kind: /);
    expect(await said("ownCause")).toMatch(/^plugin:p:own: fire: cause: expected an object, got "x"/);
    expect(await said("ownPlace")).toMatch(/^plugin:p:own: fire: at: expected an object/);
    const stored = 'api.store.set("k"): value';
    expect(await said("function")).toBe(`${stored}: expected a JSON value, got a function`);
    expect(await said("nan")).toBe(`${stored}.a.1: expected a finite number, got NaN`);
    expect(await said("map")).toBe(`${stored}.c: expected a plain object, got a Map`);
    expect(await said("bigint")).toBe(`${stored}: expected a JSON value, got a BigInt`);
    expect(await said("date")).toBe(`${stored}: expected a plain object, got a Date`);
    expect(await said("nothing")).toBe(`${stored}: expected a JSON value, got undefined`);
    expect(await said("circle")).toBe(`${stored}.b: it contains itself`);
    expect(await said("kept")).toBe('{"b":[null,1,"x",{"c":true}]}');
    expect(await said("cause")).toBe('plugin:p:own: fire: unknown option "cuase" (did you mean "cause"?)');
    expect(await said("payload")).toBe("plugin:p:own: fire: payload.item: expected text, got 5");
    expect(await said("big")).toBe("plugin:p:own: fire: payload.item: expected text, got 5n");
    expect(await said("bigPart")).toBe(
      "plugin:p:own: fire: payload.price.cents.1: expected a JSON value, got a BigInt: pass a number or a text",
    );
    expect(rig.sent).toEqual([]);
  });

  it("takes nothing of a plugin whose setup fails half way", async () => {
    expect(
      await reasonOf(`export default { id: "a", setup(api) {
        api.hooks.registerVoid("message_received", () => {});
        api.hooks.registerVoid("mesage_sent", () => {});
      } };`),
    ).toContain('Did you mean "message_sent"?');
    expect(
      await reasonOf(`export default { id: "a", setup(api) {
        api.hooks.registerVoid("message_received", () => {});
        api.hooks.registerVoid("message_received", () => {}, { priority: NaN });
      } };`),
    ).toMatch(/priority/i);
  });

  it("names the line that registers a hook which depends on what is not there, and the hook that was meant", async () => {
    const registers = (id: string, options: string) =>
      `export default { id: "${id}", setup(api) {\n  api.hooks.registerVoid("message_sent", () => {}, ${options});\n} };`;
    const rig = await pluginRig({
      "log.mjs": registers("log", `{ id: "audit" }`),
      "own.mjs": registers("own", `{ id: "count", after: ["aduit"] }`),
      "whole.mjs": registers("whole", `{ id: "count", before: ["log.audti"] }`),
      "elsewhere.mjs": registers("elsewhere", `{ id: "count", before: ["something-else"] }`),
    });
    await rig.plugins.load();
    const [own, whole, elsewhere] = rig.registry.validate().map(({ message }) => message);
    expect(own).toMatch(
      /^Hook "own\.count" \(own\.mjs:2:13\) is to run after "aduit", which is not registered \(did you mean "log\.audit"\?\)/,
    );
    expect(whole).toMatch(
      /^Hook "whole\.count" \(whole\.mjs:2:13\) is to run before "log\.audti", which is not registered \(did you mean "log\.audit"\?\)/,
    );
    expect(elsewhere).toMatch(/is to run before "something-else", which is not registered$/);
  });

  it("refuses hooks that wait for each other, and no other: a name that no hook has takes none out of force", async () => {
    const rig = await pluginRig({
      "a.mjs": answering("a", "a", `{ after: ["b.inbound_claim"] }`),
      "b.mjs": answering("b", "b", `{ after: ["a.inbound_claim"] }`),
      "then.mjs": answering("then", "then", `{ after: ["a.inbound_claim"] }`),
      "c.mjs": answering("c", "c", `{ after: ["d.inbound_claim"] }`),
      "d.mjs": answering("d", "d"),
    });
    const infos = await rig.plugins.load();
    expect(infos.map(({ state }) => state)).toEqual(["broken", "broken", "loaded", "loaded", "loaded"]);
    expect(infos[0]?.reason).toContain("wait for each other");
    expect(rig.registry.order("inbound_claim").map(({ pluginId }) => pluginId)).toEqual(["then", "d", "c"]);
  });

  it("names what to write in place of a folder and of JSON", async () => {
    const entries = ["./one/", "./two.json"].map((module) => ({ module }));
    const rig = await pluginRig({ "two.json": "{}" }, { entries });
    mkdirSync(join(rig.folder, "one"));
    expect((await rig.plugins.load()).map(({ reason }) => reason)).toEqual([
      expect.stringMatching(/one is a folder\. Name the file in it, such as \.\/one\/index\.mjs\./),
      expect.stringMatching(/two\.json is JSON\. Name a file with JavaScript\./),
    ]);
  });

  it("says that TypeScript must be compiled, and what file is missing", async () => {
    const rig = await pluginRig(
      { "p.ts": "export default {};" },
      { entries: ["p.ts", "./none.js", "no-such-package", "lib/none.mjs"] },
    );
    const reasons = (await rig.plugins.load()).map(({ reason }) => reason);
    // Node 22.18 and newer load TypeScript themselves: the file is read, and has no id.
    const loadsTypeScript = "typescript" in process.features && process.features.typescript !== false;
    expect(reasons[0]).toMatch(loadsTypeScript ? /has no id/ : /p\.ts is TypeScript.*Compile it/s);
    expect(reasons[1]).toContain(`there is no file ${join(rig.folder, "none.js")}`);
    expect(reasons[2]).toContain('no package "no-such-package"');
    expect(reasons[3]).toContain(`there is no file ${join(rig.folder, "lib/none.mjs")}`);
  });

  it("loads an installed package, also one that offers only import", async () => {
    const rig = await pluginRig({}, { entries: ["hello-plugin", "@scope/main-plugin"] });
    const install = (name: string, manifest: object, id: string) => {
      const root = join(rig.folder, "node_modules", name);
      mkdirSync(root, { recursive: true });
      writeFileSync(join(root, "package.json"), JSON.stringify({ name, type: "module", ...manifest }));
      writeFileSync(join(root, "entry.js"), answering(id, "hi"));
    };
    install("hello-plugin", { exports: { ".": { types: "./x.d.ts", import: "./entry.js" } } }, "hello");
    install("@scope/main-plugin", { main: "./entry.js" }, "main");
    expect(await rig.plugins.load()).toMatchObject([
      { id: "hello", state: "loaded" },
      { id: "main", state: "loaded" },
    ]);
  });

  it.each([
    ["setup", "export default { id: 'p', setup: () => new Promise(() => {}) };"],
    ["top level", "await new Promise(() => {}); export default { id: 'p', setup() {} };"],
  ])("gives up on a %s that never ends, and goes on with the next plugin", async (_, source) => {
    const clock = new ManualClock();
    const rig = await pluginRig({ "p.mjs": source, "q.mjs": answering("q", "q") }, { clock });
    const loading = rig.plugins.load();
    const moving = until(async () => {
      await clock.advance(1_000);
      return rig.plugins.list()[1]?.state === "loaded";
    });
    expect(await loading).toMatchObject([
      { state: "broken", reason: expect.stringContaining("10000 ms") },
      { state: "loaded" },
    ]);
    await moving;
  });
});

describe("a plugin's settings", () => {
  const source = (body: string) => `
    const config = { safeParse(value) {
      const issues = [];
      if (typeof value.limit !== "number") issues.push({ path: ["limit"], message: "expected number" });
      if (!Array.isArray(value.words)) issues.push({ path: ["words"], message: "expected array" });
      return issues.length ? { success: false, error: { issues } } : { success: true, data: { ...value, parsed: true } };
    } };
    export default { id: "p", config, setup(api) { ${body} } };`;

  it("are parsed by its schema", async () => {
    const rig = await pluginRig(
      {
        "p.mjs": source(
          `api.hooks.registerClaiming("inbound_claim", () => ({ handled: true, reply: JSON.stringify(api.config) }));`,
        ),
      },
      { entries: [{ module: "p.mjs", config: { limit: 3, words: [] } }] },
    );
    await rig.plugins.load();
    expect(await rig.claim("x")).toMatchObject({ reply: '{"limit":3,"words":[],"parsed":true}' });
  });

  it("are refused with every problem at once", async () => {
    expect(await reasonOf(source(""), { config: {} })).toContain(
      "config.limit: expected number; config.words: expected array",
    );
    expect(await reasonOf(`export default { id: "a", setup() {} };`, { config: { x: 1 } })).toContain(
      "takes no config, got x",
    );
  });
});

describe("what a plugin may do", () => {
  it("sends through the gateway, one step deeper than the cause, and once per key", async () => {
    const rig = await pluginRig({
      "p.mjs": `export default { id: "p", setup(api) {
        api.hooks.registerVoid("message_received", async ({ message }) => {
          const at = { platform: message.platform, botId: message.botId, chatId: message.chatId };
          await api.send(at, "plain");
          await api.send(at, { text: "deep" }, { cause: { kind: "reply", id: "m1", depth: 2 }, once: "k" });
          await api.send(at, "again", { once: "k" });
          await api.edit("d_9", "new text");
        });
      } };`,
    });
    await rig.plugins.load();
    await rig.registry.fireVoid("message_received", { message: inbound("x"), access: "allowed" });
    expect(rig.sent.map(({ message, options }) => [message.text, options.cause])).toEqual([
      ["plain", { kind: "hook", id: "plugin:p", depth: 1 }],
      ["deep", { kind: "hook", id: "m1", depth: 3 }],
      ["again", { kind: "hook", id: "plugin:p", depth: 1 }],
      ["new text", { kind: "hook", id: "plugin:p", depth: 1 }],
    ]);
    expect(rig.sent[1]?.options.deliveryId).toBe(rig.sent[2]?.options.deliveryId);
    expect(rig.sent[0]?.options.deliveryId).toBeUndefined();
  });

  it("keeps its own pairs, apart from other plugins'", async () => {
    const keeper = (id: string) => `export default { id: "${id}", setup(api) {
      api.hooks.registerClaiming("inbound_claim", async ({ message }) => {
        await api.store.set(message.text, { by: "${id}" });
        return { handled: "${id}" === "b", reply: JSON.stringify([await api.store.list(), await api.store.get("none")]) };
      });
    } };`;
    const rig = await pluginRig({ "a.mjs": keeper("a"), "b.mjs": keeper("b") });
    await rig.plugins.load();
    expect(await rig.claim("k")).toMatchObject({
      reply: JSON.stringify([[{ key: "k", value: { by: "b" } }], undefined]),
    });
  });

  it("sends and writes nothing in a dry run", async () => {
    const rig = await pluginRig({
      "p.mjs": `export default { id: "p", setup(api) {
        api.hooks.registerClaiming("inbound_claim", async ({ message }) => {
          const before = await api.store.get("seen");
          await api.store.set("seen", true);
          const id = await api.send({ platform: "web", botId: "web", chatId: "room" }, "hi");
          return { handled: true, reply: before + " " + id };
        });
      } };`,
    });
    await rig.plugins.load();
    for (let i = 0; i < 2; i++) {
      const record = await rig.registry.dispatch(
        "inbound_claim",
        { message: inbound("x"), isAnswer: false },
        { dryRun: true },
      );
      expect(record.dryRun).toBe(true);
      expect(JSON.stringify(record)).toContain("undefined dry-run");
    }
    expect(rig.sent).toEqual([]);
    expect(await rig.claim("x")).toMatchObject({ reply: "undefined d_1" });
    expect(rig.sent).toHaveLength(1);
  });

  it("may offer a default route and points of its own", async () => {
    const rig = await pluginRig({
      "p.mjs": `import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
      const point = { name: "plugin:p:done", model: "void", payload: z.object({ n: z.number() }), vetoable: false, phases: [], summary: "s", example: { n: 1 } };
      export default { id: "p", points: [point], setup(api) {
        api.route((message) => ({ reply: "routed " + message.text }));
        api.hooks.registerVoid("plugin:p:done", () => {});
      } };`,
    });
    expect(await rig.plugins.load()).toMatchObject([{ state: "loaded", hooks: ["p.plugin:p:done"] }]);
    expect(
      await rig.plugins.routes.get("p")?.(inbound("x"), {
        causeId: "m1",
        cause: { kind: "message", id: "m1", depth: 0 },
        attempt: 1,
        signal: AbortSignal.any([]),
      }),
    ).toEqual({
      reply: "routed x",
    });
    expect(rig.registry.point("plugin:p:done").summary).toBe("s");
  });

  it("may name its own hooks shortly, and may not use an id twice", async () => {
    const rig = await pluginRig({
      "p.mjs": `export default { id: "p", setup({ hooks }) {
        hooks.registerClaiming("inbound_claim", () => ({ handled: true, reply: "second" }), { id: "second", after: ["first"], priority: 1 });
        hooks.registerClaiming("inbound_claim", () => ({ handled: true, reply: "first" }), { id: "first" });
        hooks.registerVoid("message_sent", () => {});
        hooks.registerVoid("message_sent", () => {});
      } };`,
    });
    expect(await rig.plugins.load()).toMatchObject([
      { hooks: ["p.second", "p.first", "p.message_sent", "p.message_sent-2"] },
    ]);
    expect(await rig.claim("x")).toMatchObject({ reply: "first" });
    expect(
      await reasonOf(`export default { id: "p", setup({ hooks }) {
        hooks.registerVoid("message_sent", () => {}, { id: "x" });
        hooks.registerVoid("message_sent", () => {}, { id: "x" });
      } };`),
    ).toContain("two hooks");
  });

  it("may register and remove hooks later, and end what it started when it goes", async () => {
    const rig = await pluginRig({
      "p.mjs": `export default { id: "p", setup(api) {
        let remove;
        api.hooks.registerClaiming("inbound_claim", ({ message }) => {
          if (message.text === "on") remove = api.hooks.registerVoid("message_sent", () => {}, { id: "late" });
          if (message.text === "off") remove();
          return { handled: true };
        });
        return () => { globalThis.endedOfP = true; };
      } };`,
    });
    await rig.plugins.load();
    await rig.claim("on");
    expect(rig.registry.get("p.late")).toBeDefined();
    await rig.claim("off");
    expect(rig.registry.get("p.late")).toBeUndefined();
    await rig.plugins.stop();
    expect(rig.registry.size).toBe(0);
    expect("endedOfP" in globalThis).toBe(true);
  });

  it("is typed: definePlugin refuses a wrong id at once", () => {
    expect(() => definePlugin({ id: "Nope!", setup() {} })).toThrow(/Nope!/);
  });
});
