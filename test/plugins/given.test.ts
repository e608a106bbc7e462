/** What a plugin gives to its API, its commands and its points at run time: a mistake fails in its own line, and changes nothing. */
import { describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import { inbound, type PluginRig, pluginRig } from "./rig.js";

const AT = `{ platform: "web", botId: "web", chatId: "room" }`;

/** The error of code that runs in a handler. */
async function errorOf(code: string): Promise<string> {
  const rig = await pluginRig({
    "p.mjs": `export default { id: "p", setup(api) {
      api.hooks.registerClaiming("inbound_claim", async () => {
        try { ${code} } catch (error) { return { handled: true, reply: error.message }; }
        return { handled: true, reply: "accepted" };
      });
    } };`,
  });
  await rig.plugins.load();
  const { reply } = await rig.claim("x");
  expect(rig.sent).toEqual([]);
  return String(reply);
}

describe("the API of a plugin refuses", () => {
  it.each([
    [`await api.send(${AT}, "")`, "api.send: the message has no text, card, attachment or button"],
    [
      `await api.send(${AT}, { text: "x", buttons: [[{ label: "a" }]] })`,
      "api.send: message.buttons.0.0: a press of this button does nothing: add a `url` or an `action`",
    ],
    [
      `await api.send(${AT}, { text: "x", buttons: [[{ label: "a", url: "nonsense" }]] })`,
      'api.send: message.buttons.0.0.url: expected an address that starts with https: or http:, got "nonsense"',
    ],
    [
      `await api.send(${AT}, { text: "", card: { title: "a", url: "tg://user?id=1" } })`,
      'api.send: message.card.url: expected an address that starts with https: or http:, got "tg://user?id=1"',
    ],
    [`await api.send(${AT}, "x", { once: "" })`, 'api.send: once: expected a key as text, got ""'],
    [
      `await api.send({ platform: "web", botId: "web", chatId: "room", thread: "5" }, "x")`,
      'api.send: address: unknown field "thread" (did you mean "threadId"?)',
    ],
    [`await api.store.set(7, "seven")`, "api.store.set: expected a key as text, got 7"],
    [`await api.store.get()`, "api.store.get: expected a key as text, got nothing"],
    [`await api.store.list(5)`, "api.store.list: expected a key as text, got 5"],
    [`await api.store.delete({})`, "api.store.delete: expected a key as text, got {}"],
  ])("%s", async (code, error) => {
    expect(await errorOf(code)).toBe(error);
  });
});

describe("the context of a plugin's command", () => {
  const run = async (code: string, context: Record<string, unknown> = {}) => {
    const rig = await pluginRig({
      "p.mjs": `export default { id: "p", setup(api) {
        api.commands.register({ name: "c", summary: "s", role: "viewer", run: (context) => { ${code}; return "let through"; } });
      } };`,
    });
    await rig.plugins.load();
    const [command] = rig.plugins.commands();
    return command?.run({ options: {}, progress() {}, need() {}, ...context } as never);
  };

  it.each([
    [`context.need("admni")`, 'need of /c of plugin "p": expected viewer | operator | admin | owner, got "admni"'],
    [`context.need()`, 'need of /c of plugin "p": expected viewer | operator | admin | owner, got nothing'],
    [`context.progress({ txt: "x" })`, 'progress of /c of plugin "p": message: unknown field "txt"'],
    [`context.progress()`, 'progress of /c of plugin "p": message: it is missing: expected an object'],
    [`return { message: "x", data: 5n }`, 'The answer of /c of plugin "p": data: expected a JSON value, got a BigInt'],
    [`return { message: "x", dta: 5 }`, 'The answer of /c of plugin "p": unknown key "dta" (did you mean "data"?)'],
    [`return ""`, 'The answer of /c of plugin "p": the message has no text, card, attachment or button'],
  ])("refuses %s", async (code, error) => {
    await expect(run(code)).rejects.toThrow(error);
  });

  it("takes a text as progress", async () => {
    const shown: unknown[] = [];
    await run(`context.progress("half")`, { progress: (message: unknown) => shown.push(message) });
    expect(shown).toEqual([{ text: "half" }]);
  });
});

describe("the default route of a plugin names the plugin, and the place where that is known, when", () => {
  it.each([
    [`message.message.text`, /^The default route of plugin "p" failed: .*reading 'text'.* \(.*p\.mjs:2:/],
    [
      `({ repl: "x" })`,
      'The default route of plugin "p" returned what is no result: unknown key "repl" (did you mean "reply"?)',
    ],
    [`"just text"`, 'The default route of plugin "p" returned "just text": return { reply } or nothing'],
    [
      `({ routeTo: { platform: "web", botId: "web", chatId: "room", thread: "5" } })`,
      'what is no result: routeTo: unknown field "thread" (did you mean "threadId"?)',
    ],
    [`({ reply: "" })`, 'The default route of plugin "p": its reply: the message has no text'],
  ])("its handler gives %s", async (result, error) => {
    const rig = await pluginRig({
      "p.mjs": `export default { id: "p", setup(api) {
        api.route((message) => ${result});
      } };`,
    });
    await rig.plugins.load();
    const handled = rig.plugins.routes.get("p")?.(inbound("x"), {
      causeId: "m1",
      cause: { kind: "message", id: "m1", depth: 0 },
      attempt: 1,
      signal: AbortSignal.any([]),
    });
    await expect(handled).rejects.toThrow(error);
  });
});

it("a number or an object that JSON cannot show is named as what it is", async () => {
  const rig = await pluginRig({
    "p.mjs": `export default { id: "p", setup(api) {
      api.hooks.registerClaiming("inbound_claim", () => ({ handled: true, deferMs: NaN, reason: new Date(0) }));
    } };`,
  });
  await rig.plugins.load();
  await rig.claim("x");
  const { message, facts } = await until(() => rig.logged.find(({ level }) => level === "error"), "the error");
  expect(message + JSON.stringify(facts)).toMatch(/deferMs: expected a number, got NaN/);
  expect(message + JSON.stringify(facts)).toMatch(/reason: .*got a Date/);
});

describe("a failure of a handler names the plugin's file and line", () => {
  const logged = async (rig: PluginRig, level: string) => {
    await rig.plugins.load();
    await rig.claim("x");
    return until(() => rig.logged.find((line) => line.level === level), `a line of the level ${level}`);
  };

  it("when its result is wrong", async () => {
    const rig = await pluginRig({
      "p.mjs": `export default { id: "p", setup(api) {
        api.hooks.registerClaiming("inbound_claim", () => ({ handled: true, replay: "x" }));
      } };`,
    });
    expect((await logged(rig, "error")).facts).toMatchObject({
      plugin: "p",
      place: expect.stringMatching(/p\.mjs:2:/),
    });
    expect(rig.registry.get("p.inbound_claim")?.place).toMatch(/p\.mjs:2:/);
  });

  it("when it ends after its deadline", async () => {
    const rig = await pluginRig({
      "p.mjs": `export default { id: "p", setup(api) {
        api.hooks.registerClaiming("inbound_claim", async (_, { signal }) => {
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          throw new Error("too late");
        }, { timeoutMs: 20 });
      } };`,
    });
    const { message, facts } = await logged(rig, "debug");
    expect(message).toBe('Hook "p.inbound_claim" failed after its deadline: too late');
    expect(facts).toMatchObject({ place: expect.stringMatching(/p\.mjs:4:/) });
  });

  it("where the newest version registers it", async () => {
    const source = (before: string) => `${before}export default { id: "p", setup(api) {
      api.hooks.registerClaiming("inbound_claim", () => ({ handled: 1 }));
    } };`;
    const rig = await pluginRig({ "p.mjs": source("") });
    await rig.plugins.load();
    rig.write("p.mjs", source("\n\n\n"));
    await rig.plugins.reload();
    expect(rig.registry.get("p.inbound_claim")?.place).toMatch(/p\.mjs:5:/);
  });
});

describe("a result of message_sending", () => {
  const target = { platform: "web", botId: "web", chatId: "1", deliveryId: "d_1" };
  const payload = { ...target, cause: { kind: "api" as const, id: "t", depth: 0 }, message: { text: "hello" } };

  it.each([
    [`{ message: { card: { titel: "x" } } }`, 'message.card: unknown field "titel" (did you mean "title"?)'],
    [`{ cancel: "" }`, "cancel: it is empty: give the reason, or true"],
  ])("is refused: %s", async (result, error) => {
    const rig = await pluginRig({
      "p.mjs": `export default { id: "p", setup(api) { api.hooks.registerModifying("message_sending", () => (${result})); } };`,
    });
    await rig.plugins.load();
    expect(await rig.registry.fireModifying("message_sending", payload)).toEqual({});
    expect(rig.logged.find(({ level }) => level === "error")?.facts.cause).toContain(error);
  });
});

describe("an unknown field at any depth of a result fails the handler, and nothing of the result counts:", () => {
  const errorOfResult = async (rig: PluginRig) => {
    await rig.plugins.load();
    await rig.claim("x");
    return String(rig.logged.find(({ level }) => level === "error")?.facts.cause);
  };

  it("in the address of a claim", async () => {
    const rig = await pluginRig({
      "p.mjs": `export default { id: "p", setup(api) {
        api.hooks.registerClaiming("inbound_claim", () => ({ handled: true, routeTo: { platform: "web", botId: "web", chatId: "room", thread: "5" } }));
      } };`,
    });
    expect(await errorOfResult(rig)).toContain('routeTo: unknown field "thread" (did you mean "threadId"?)');
  });

  it.each([
    [
      "in an object",
      "{ offer: { price: 5, curency: 'EUR' } }",
      'offer: unknown field "curency" (did you mean "currency"?)',
    ],
    [
      "in an object of a list",
      "{ lines: [{ name: 'tea', cout: 2 }] }",
      'lines.0: unknown field "cout" (did you mean "count"?)',
    ],
    [
      "in an object below what it changes",
      "{ basket: { owner: { nmae: 'Ada' } } }",
      'basket.owner: unknown field "nmae" (did you mean "name"?)',
    ],
    ["but what a schema takes besides its fields is taken", "{ open: { any: 1 } }", "undefined"],
  ])("%s of a plugin's own point", async (_, result, error) => {
    const rig = await pluginRig({
      "p.mjs": `import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
      export default { id: "p", setup(api) {
        const basket = z.object({ owner: z.object({ name: z.string().optional() }).optional(), size: z.number() });
        const own = api.hooks.declare({
          name: "own", model: "modifying", summary: "s", payload: z.object({ basket }), example: { basket: { size: 1 } },
          result: z.object({
            basket: basket.optional(),
            offer: z.object({ price: z.number(), currency: z.string().optional() }).nullable().optional(),
            lines: z.array(z.object({ name: z.string(), count: z.number().optional() })).optional(),
            open: z.looseObject({ n: z.number().optional() }).optional(),
          }),
        });
        api.hooks.registerModifying("plugin:p:own", () => (${result}));
        api.hooks.registerClaiming("inbound_claim", async () => void (await own.fire({ basket: { size: 1 } })));
      } };`,
    });
    expect(await errorOfResult(rig)).toContain(error);
  });
});
