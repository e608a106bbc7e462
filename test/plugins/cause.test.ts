/** What a plugin's handler sets off is caused by what led to the handler, whether its author passes the cause on or not. */
import { AsyncResource } from "node:async_hooks";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { Cause } from "../../src/domain/journal.js";
import { causedBy, inDryRun, runDry } from "../../src/hooks/dry-run.js";
import { silentLogger } from "../../src/lib/logger.js";
import { pluginsConfig } from "../../src/plugins/config.js";
import { createPlugins } from "../../src/plugins/plugins.js";
import { type Rig, startRig } from "../gateway/rig.js";
import { ManualClock } from "../support/manual-clock.js";
import { until } from "../support/until.js";
import { inbound, pluginRig } from "./rig.js";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const ROOM = { platform: "loop", botId: "bot", chatId: "room" };
const alert = (id: string): { cause: Cause } => ({ cause: { kind: "alert", id, depth: 0 } });

/** A real gateway with one plugin; `setup` is the body of its setup. */
async function withPlugin(setup: string): Promise<Rig & { warnings: string[] }> {
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (_facts: object, message?: string) => void warnings.push(message ?? "") };
  const rig = await startRig({ logger });
  const folder = mkdtempSync(join(tmpdir(), "hookgate-cause-"));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "p.mjs"), `export default { id: "p", async setup(api) { ${setup} } };`);
  const plugins = createPlugins({
    entries: pluginsConfig.parse(["./p.mjs"]),
    baseDir: folder,
    registry: rig.registry,
    gateway: rig.gateway,
    keyValue: rig.store.keyValue,
    clock: rig.clock,
    logger,
    watch: false,
  });
  closers.push(() => plugins.stop());
  expect(await plugins.load()).toMatchObject([{ state: "loaded" }]);
  return Object.assign(rig, { warnings });
}

/** What is fired when a message was sent, without an end of its own but for one far beyond what is allowed. */
const again = (call: string) => `
  let count = 0;
  api.hooks.registerVoid("message_sent", async (target, { cause }) => {
    if (++count < 30) ${call};
  });`;
/** The first message, and one for each depth from 1 to 9: at depth 9 nobody is told that it was sent. */
const CUT = 10;

describe("a hook that its own message starts is cut", () => {
  it.each([
    ["when it passes the cause on", again(`await api.send(target, "again", { cause })`)],
    ["when it does not", again(`await api.send(target, "again")`)],
    [
      "when it passes the same shallow one each time",
      again(`await api.send(target, "again", ${JSON.stringify(alert("a"))})`),
    ],
    ["when it sends after it ended", again(`setTimeout(() => api.send(target, "again"), 0)`)],
    [
      "when it sends through a point of its own",
      `const model = "void", summary = "It was sent.", example = { chatId: "room" };
       const { z } = await import("${import.meta.resolve("zod")}");
       const mine = api.hooks.declare({ name: "mine", model, payload: z.any(), summary, example });
       api.hooks.registerVoid("plugin:p:mine", (target) => void api.send(target, "again"));
       ${again("await mine.fire({ ...target })")}`,
      // Each message takes two steps, and the point is not fired at depth 9.
      5,
    ],
  ])("%s", async (_when, setup, count = CUT) => {
    const rig = await withPlugin(setup);
    await rig.gateway.send(ROOM, { text: "first" }, alert("a"));
    const line = await until(() => rig.warnings.find((text) => text.includes("they fire each other")), "the cut");
    expect(line).toMatch(/a chain of more than 8 hooks \(hook a\): they fire each other\. Not called: p\./);
    await rig.idle();
    expect(rig.platform.texts()).toHaveLength(count);
  });
});

it("two messages that are under way together each have their own cause", async () => {
  const rig = await withPlugin(`
    api.hooks.registerVoid("message_sent", async (target) => {
      await api.store.get("x");
      if (target.message.text.startsWith("first")) await api.send(target, "again");
    });`);
  await Promise.all(["a", "b"].map((id) => rig.gateway.send(ROOM, { text: `first ${id}` }, alert(id))));
  await until(() => rig.platform.texts().length === 4, "two messages and what follows on each");
  await rig.idle();
  const causes = rig.dispatches.filter(({ point }) => point === "message_sent").map(({ cause }) => cause);
  expect(causes.map((cause) => `${cause?.id} ${cause?.depth}`).sort()).toEqual(["a 0", "a 1", "b 0", "b 1"]);
});

it("what a dry run left behind is not dry for ever when causes are known, too", async () => {
  const clock = new ManualClock();
  let later = () => false;
  await runDry(clock, async () => {
    later = causedBy(alert("a").cause, () => AsyncResource.bind(() => inDryRun()));
  });
  expect(later()).toBe(true);
  await clock.advance(60_000);
  expect(later()).toBe(false);
});

describe("of a plugin", () => {
  const sentBy = async (setup: string) => {
    const rig = await pluginRig({ "p.mjs": `export default { id: "p", setup(api) { ${setup} } };` });
    await rig.plugins.load();
    return rig;
  };
  const at = JSON.stringify(ROOM);
  const causes = (rig: { sent: { options: { cause: { id: string; depth: number } } }[] }) =>
    rig.sent.map(({ options }) => `${options.cause.id} ${options.cause.depth}`);
  const deep = { kind: "hook", id: "d", depth: 4 } satisfies Cause;

  it("an edit counts as deep as a message, and a cause that is deeper than the surrounding one counts", async () => {
    const rig = await sentBy(`
      api.hooks.registerVoid("message_received", async () => {
        await api.edit("d_1", "new");
        await api.send(${at}, "kept", { cause: { kind: "message", id: "kept", depth: 6 } });
      });`);
    await rig.registry.fireVoid("message_received", { message: inbound("x"), access: "allowed" }, undefined, {
      cause: deep,
    });
    expect(causes(rig)).toEqual(["d 5", "kept 7"]);
  });

  it("the default route is caused by its message", async () => {
    const rig = await sentBy(`api.route(async () => { await api.send(${at}, "x"); });`);
    await rig.plugins.routes.get("p")?.(inbound("x"), {
      causeId: "m1",
      cause: deep,
      attempt: 1,
      signal: AbortSignal.any([]),
    });
    expect(causes(rig)).toEqual(["d 5"]);
  });

  it("a command is caused by the program that gave it, also when a handler woke what runs it", async () => {
    const rig = await sentBy(`
      api.commands.register({ name: "say", summary: "Say it", role: "viewer", async run() {
        await api.send(${at}, "x");
        return "said";
      } });
      api.hooks.registerVoid("message_received", () => globalThis.__woken());`);
    const [command] = rig.plugins.commands();
    const context = {
      operator: { platform: "api", userId: "1", role: "owner" as const },
      source: "api",
      options: {},
      progress: () => {},
      need: () => {},
      logger: silentLogger,
      signal: new AbortController().signal,
    };
    await command?.run({ ...context, givenBy: deep });
    closers.push(() => Reflect.deleteProperty(globalThis, "__woken"));
    Reflect.set(globalThis, "__woken", () => command?.run(context));
    await rig.registry.fireVoid("message_received", { message: inbound("x"), access: "allowed" }, undefined, {
      cause: deep,
    });
    expect(causes(rig)).toEqual(["d 5", "plugin:p 1"]);
  });

  it("a timer of setup has no cause but the plugin, also when a handler led to the reload", async () => {
    const rig = await sentBy(`
      setTimeout(() => api.send(${at}, "x"), 0);
      api.hooks.registerVoid("message_received", () => globalThis.__reload());`);
    await until(() => rig.sent.length === 1, "the timer of the start");
    closers.push(() => Reflect.deleteProperty(globalThis, "__reload"));
    Reflect.set(globalThis, "__reload", () => rig.plugins.reload());
    await rig.registry.fireVoid("message_received", { message: inbound("x"), access: "allowed" }, undefined, {
      cause: deep,
    });
    await until(() => rig.sent.length === 2, "the timer of the reload");
    expect(causes(rig)).toEqual(["plugin:p 1", "plugin:p 1"]);
  });
});
