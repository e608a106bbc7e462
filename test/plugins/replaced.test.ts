/** A handler that is running when its plugin is reloaded finishes its work; what an old version left behind does nothing. */
import { afterEach, expect, it } from "vitest";
import type { PluginApi } from "../../src/plugins/api.js";
import { pluginsConfig } from "../../src/plugins/config.js";
import { inbound, type PluginRig, pluginRig } from "./rig.js";

interface Held {
  /** Called by a handler that has started. */
  started: () => void;
  /** Its handlers go on when it resolves. */
  released: Promise<void>;
  api: Pick<PluginApi, "store"> & { send(at: object, text: string): Promise<string> };
}

const state = globalThis as { held?: Held };
afterEach(() => {
  delete state.held;
});

function hold(): { started: Promise<void>; release: () => void } {
  let started = () => {};
  let release = () => {};
  const isStarted = new Promise<void>((resolve) => {
    started = resolve;
  });
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  state.held = {
    started,
    released,
    api: { send: () => Promise.reject(new Error("no plugin is set up")), store: {} as never },
  };
  return { started: isStarted, release };
}

const ZOD = JSON.stringify(import.meta.resolve("zod"));
const OLD = `import { z } from ${ZOD};
  export default { id: "p", setup(api) {
    globalThis.held.api = api;
    const own = api.hooks.declare({ name: "own", model: "void", payload: z.object({}), summary: "s", example: {} });
    const work = async (message) => {
      globalThis.held.started();
      await globalThis.held.released;
      const id = await api.send(message, "sent late");
      await api.edit(id, "edited late");
      await own.fire({});
      return "done";
    };
    api.hooks.registerClaiming("inbound_claim", async ({ message }) => ({ handled: true, reply: await work(message) }));
    api.route(async (message) => ({ reply: await work(message) }));
    api.commands.register({ name: "work", summary: "Works", role: "viewer", run: ({ at }) => work(at) });
  } };`;
const NEW = `export default { id: "p", setup() {} };`;

const at = { platform: "web", botId: "web", chatId: "room" };

it.each([
  ["hook", (rig: Awaited<ReturnType<typeof pluginRig>>) => rig.claim("x").then(({ reply }) => reply)],
  [
    "default route",
    async (rig: Awaited<ReturnType<typeof pluginRig>>) =>
      (
        await rig.plugins.routes.get("p")?.(inbound("x"), {
          causeId: "m",
          cause: { kind: "message", id: "m", depth: 0 },
          attempt: 1,
          signal: AbortSignal.any([]),
        })
      )?.reply,
  ],
  [
    "command",
    async (rig: Awaited<ReturnType<typeof pluginRig>>) => {
      const [command] = rig.plugins.commands();
      const context = { at, options: {}, signal: new AbortController().signal };
      return (await command?.run(context as never))?.message.text;
    },
  ],
])("a %s that runs during a reload still sends, edits and fires; then the old version is refused", async (_, call) => {
  const { started, release } = hold();
  const rig = await pluginRig({ "p.mjs": OLD });
  await rig.plugins.load();
  const answer = call(rig);
  await started;
  await rig.plugins.reload({ file: rig.write("p.mjs", NEW.replace("setup() {}", OLD_POINT)) });
  release();
  expect(await answer).toBe("done");
  expect(rig.sent.map(({ message }) => message.text)).toEqual(["sent late", "edited late"]);
  await expect(state.held?.api.send(at, "stray")).rejects.toMatchObject({ code: "PLUGIN_REPLACED" });
});

/** The new version declares the point, too; its own handlers are others. */
const OLD_POINT = `async setup(api) {
  const { z } = await import(${ZOD});
  api.hooks.declare({ name: "own", model: "void", payload: z.object({}), summary: "s", example: {} });
}`;

it("a handler that exceeded its time no longer keeps the calls of the old version alive", async () => {
  const { started } = hold();
  const rig = await pluginRig({
    "p.mjs": `export default { id: "p", setup(api) {
      globalThis.held.api = api;
      api.hooks.registerClaiming("inbound_claim", async () => {
        globalThis.held.started();
        await new Promise(() => {});
      }, { timeoutMs: 50 });
    } };`,
  });
  await rig.plugins.load();
  const answer = rig.claim("x");
  await started;
  await rig.plugins.reload({ file: rig.write("p.mjs", NEW) });
  await answer;
  await expect(state.held?.api.send(at, "stray")).rejects.toMatchObject({ code: "PLUGIN_REPLACED" });
});

it("a running handler of an old version registers nothing more", async () => {
  const { started, release } = hold();
  const rig = await pluginRig({
    "p.mjs": `export default { id: "p", setup(api) {
      api.hooks.registerClaiming("inbound_claim", async () => {
        globalThis.held.started();
        await globalThis.held.released;
        try { api.hooks.registerVoid("message_sent", () => {}); } catch (error) { return { handled: true, reply: error.code }; }
      });
    } };`,
  });
  await rig.plugins.load();
  const answer = rig.claim("x");
  await started;
  await rig.plugins.reload({ file: rig.write("p.mjs", NEW) });
  release();
  expect(await answer).toMatchObject({ reply: "PLUGIN_REPLACED" });
  expect(rig.registry.size).toBe(0);
});

const OLD_STORE = `export default { id: "p", setup(api) { globalThis.held.api = api; } };`;

it.each([
  ["replaced", (rig: PluginRig) => rig.plugins.reload({ file: rig.write("p.mjs", NEW) })],
  ["removed from the list", (rig: PluginRig) => rig.plugins.reload({ entries: [] })],
  [
    "switched off",
    (rig: PluginRig) => rig.plugins.reload({ entries: pluginsConfig.parse([{ module: "p.mjs", enabled: false }]) }),
  ],
])(
  "the store of a version that was %s is read and written by the function that ends it, and by nothing after that",
  async (_, change) => {
    hold();
    const rig = await pluginRig({
      "p.mjs": `export default { id: "p", setup(api) {
      globalThis.held.api = api;
      return async () => { await api.store.set("last", await api.store.get("count")); };
    } };`,
    });
    await rig.plugins.load();
    const store = state.held?.api.store;
    if (store === undefined) throw new Error("no plugin is set up");
    await store.set("count", 7);
    await change(rig);
    const calls = [store.get("count"), store.list(), store.set("count", 8), store.delete("count")];
    for (const call of calls) await expect(call).rejects.toMatchObject({ code: "PLUGIN_REPLACED" });
    rig.write("p.mjs", OLD_STORE);
    await rig.plugins.reload({ entries: pluginsConfig.parse(["p.mjs"]) });
    expect(await state.held?.api.store.list()).toEqual([
      { key: "count", value: 7 },
      { key: "last", value: 7 },
    ]);
  },
);
