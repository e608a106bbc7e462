import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { AutomationRun } from "../../src/domain/automation.js";
import { linesOf } from "../support/lines.js";
import { until } from "../support/until.js";
import { type LiveApp, liveApp } from "./support/live-app.js";

const hook = (id: string, more = "") => `{ id: ${id}, on: message_received, ${more} run: { shell: { sh: "exit 0" } } }`;

describe("a changed configuration", () => {
  test("is taken over as it is saved: new files, changed ones, and what is gone", async () => {
    const live = await liveApp({ "hookgate.yaml": `hooks:\n  - ${hook("one")}\n  - ${hook("two")}\n` });
    const ids = () =>
      live.app.automations
        .list()
        .map(({ id }) => id)
        .sort()
        .join();
    expect(ids()).toBe("one,two");
    live.write("hooks/three.yaml", hook("three"));
    await until(() => ids() === "one,three,two", "the new file");
    live.write("hookgate.yaml", `hooks:\n  - ${hook("one", "cooldown: 1h,")}\n`);
    await until(() => ids() === "one,three", "the removed hook");
    expect(live.app.automations.get("one")?.cooldownMs).toBe(3_600_000);
    live.remove("hooks/three.yaml");
    await until(() => ids() === "one", "the removed file");
    await live.say("hello");
    await live.ended("one");
    expect(await live.runs("two")).toEqual([]);
  });

  test("is refused whole when a hook breaks, the set at work stays, and admins are told in chat once", async () => {
    const live = await liveApp({ "hookgate.yaml": `hooks:\n  - ${hook("one")}\n` });
    live.write(
      "hookgate.yaml",
      `hooks:\n  - ${hook("two")}\n  - { id: bad, on: mesage_received, run: { shell: { sh: "exit 0" } } }\n`,
    );
    const told = await until(
      async () => (await live.room("dm-1")).find((text) => text.includes("not taken over")),
      "the alert",
    );
    expect(told).toMatch(/hookgate\.yaml:3.*mesage_received.*did you mean/s);
    expect(live.app.automations.list().map(({ id }) => id)).toEqual(["one"]);
    await live.say("hello");
    await live.ended("one");

    live.write("hookgate.yaml", `hooks: [\n`);
    await until(async () => (await live.room("dm-1")).length === 2, "the second alert");
    expect(live.app.automations.list().map(({ id }) => id)).toEqual(["one"]);

    live.write("hookgate.yaml", `hooks:\n  - ${hook("two")}\n`);
    await until(() => live.app.automations.get("two") !== undefined, "the mended set");
  });

  test("lets what runs end under the definition that it began with", async () => {
    const live = await liveApp({
      "hookgate.yaml": `hooks:\n  - { id: slow, trigger: manual, run: { shell: { sh: "until [ -e go ]; do sleep 0.05; done; echo old" } } }\n`,
    });
    const fired = live.fire("slow");
    await until(async () => (await live.runs("slow"))[0]?.status === "running", "it running");
    live.write("hookgate.yaml", `hooks:\n  - { id: slow, trigger: manual, run: { shell: { sh: "echo new" } } }\n`);
    await until(
      () =>
        live.app.automations.get("slow")?.whenBusy !== undefined &&
        JSON.stringify(
          live.app.automations.get("slow")?.run.rendering.render({ event: {}, steps: [], now: 0 }),
        ).includes("new"),
      "the new definition",
    );
    live.write("go", "");
    expect((await fired).attempts[0]?.output).toMatchObject({ stdout: "old\n" });
    expect((await live.fire("slow")).attempts[0]?.output).toMatchObject({ stdout: "new\n" });
  });

  test("hooks that wait for nothing, or for each other, are broken, and the rest stands", async () => {
    const live = await liveApp(
      {
        "hookgate.yaml": `hooks:\n  - ${hook("lost", "after: [nobody],")}\n  - ${hook("hen", "after: [egg],")}\n  - ${hook("egg", "after: [hen],")}\n  - ${hook("heir", "after: [lost],")}\n  - ${hook("sound", "after: [base],")}\n  - ${hook("base")}\n`,
      },
      { mayBreak: true },
    );
    expect(live.app.automations.list().map(({ id }) => id)).toEqual(["sound", "base"]);
    const why = Object.fromEntries(live.app.automations.broken().map(({ id, problems }) => [id, problems[0]?.message]));
    expect(why.lost).toMatch(/nobody.*not registered/);
    expect(why.hen).toMatch(/wait for each other/);
    expect(why.egg).toMatch(/wait for each other/);
    expect(why.heir).toMatch(/"lost", which is not registered/);
  });

  test("a hook that takes the id of a plugin's is broken, and the plugin's stays", async () => {
    const live = await liveApp(
      {
        "p.js": `export default { id: "p", setup(api) { api.hooks.registerClaiming("inbound_claim", () => ({ handled: true, reply: "the plugin" }), { id: "claims" }); } };`,
        "hookgate.yaml": `plugins: [./p.js]\nhooks:\n  - ${hook("p.claims")}\n  - ${hook("sound")}\n`,
      },
      { mayBreak: true },
    );
    expect(live.app.automations.list().map(({ id }) => id)).toEqual(["sound"]);
    expect(live.app.automations.broken()).toMatchObject([
      {
        id: "p.claims",
        place: { line: 3 },
        problems: [{ message: expect.stringContaining('a hook "p.claims" already') }],
      },
    ]);
    await live.say("hello");
    await until(async () => (await live.room()).includes("the plugin"), "the plugin's answer");
  });

  test("a critical hook that is broken stops the start", async () => {
    const live = await liveApp(
      { "hookgate.yaml": `hooks:\n  - { id: guard, on: nowhere, critical: true, run: { shell: { sh: "exit 0" } } }\n` },
      { start: false },
    );
    await expect(live.start()).rejects.toMatchObject({ code: "HOOK_CRITICAL" });
  });
});

describe("what a reload takes over", () => {
  const manual = (id: string, more = "") =>
    `{ id: ${id}, trigger: manual, ${more} run: { shell: { sh: "sleep 0.2" } } }`;
  const reloaded = (live: LiveApp) => live.app.reload(live.read());

  test("is the operator's word on single hooks: deadlines, policies, switches; a switch of chat stays where nothing is said anew", async () => {
    const live = await liveApp({
      "hookgate.yaml": `hooks: [${manual("one")}, ${manual("two")}]\noverrides: { two: { timeout: 10s } }\n`,
    });
    const timeouts = () => Promise.all(["one", "two"].map(async (id) => (await live.info(id)).timeoutMs));
    expect(await timeouts()).toEqual([300_000, 10_000]);
    await live.post("/api/v1/hooks/two/disable");
    live.write(
      "hookgate.yaml",
      `automations: { watch: false }\nhooks: [${manual("one")}, ${manual("two")}]\noverrides: { one: { timeout: 50ms, enabled: true } }\n`,
    );
    await reloaded(live);
    expect(await timeouts()).toEqual([50, 300_000]);
    expect((await live.info("two")).enabled).toBe(false);
    expect((await live.fire("one")).status).toBe("timed_out");
    live.write(
      "hookgate.yaml",
      `hooks: [${manual("one")}, ${manual("two")}]\noverrides: { one: { enabled: false }, two: { enabled: true } }\n`,
    );
    await reloaded(live);
    expect([(await live.info("one")).enabled, (await live.info("two")).enabled]).toEqual([false, true]);
  });

  test("is models, and the settings of all hooks: how many run, how long history is kept, where admins are told", async () => {
    const agent = `{ id: asks, trigger: manual, run: { agent: { prompt: hello, model: small } } }`;
    const live = await liveApp({
      "hookgate.yaml": `automations: { watch: false, max_running: 1 }\nhooks: [${manual("one")}]\n`,
    });
    live.write(
      "hookgate.yaml",
      `automations: { watch: false, max_running: 2, keep: { runs: 1 } }\nmodels: { available: { small: { provider: anthropic, model: m, key_env: NOT_THERE } } }\nhooks: [${manual("one", "concurrency: 2,")}, ${agent}]\n`,
    );
    await reloaded(live);
    expect((await live.fire("asks")).statusReason).toContain("NOT_THERE");
    const both = await Promise.all([live.fire("one"), live.fire("one")]);
    expect(both.map(({ status }) => status)).toEqual(["succeeded", "succeeded"]);
    const [first, second] = both as [AutomationRun, AutomationRun];
    expect(Math.max(first.startedAt ?? 0, second.startedAt ?? 0)).toBeLessThan(
      Math.min(first.endedAt ?? 0, second.endedAt ?? 0),
    );
    expect(await live.app.automations.sweep(Date.now())).toBe(1);
  });

  test("is plugins, hooks, events and overrides together or not at all", async () => {
    const plugin = (word: string) =>
      `export default { id: "p", points: [], setup(api) { api.hooks.registerClaiming("inbound_claim", () => ({ handled: true, reply: "${word}" }), { id: "claims" }); } };`;
    const config = (word: string, hooks: string, more = "") =>
      `automations: { watch: false }\nplugins: [./${word}.js]\nhooks: [${hooks}]\n${more}`;
    const live = await liveApp(
      { "old.js": plugin("old"), "new.js": plugin("new"), "hookgate.yaml": config("old", manual("one")) },
      { env: { EVENT_SECRET: "a secret that signs events" } },
    );
    const points = async () => JSON.stringify((await live.get("/api/v1/hooks")).hooks);
    const before = await points();
    live.write(
      "hookgate.yaml",
      config(
        "new",
        `${manual("two")}, { id: bad, on: mesage_received, run: { shell: { sh: "exit 0" } } }`,
        "overrides: { one: { timeout: 50ms } }\nevents: { deploy: { secret_env: EVENT_SECRET } }\n",
      ),
    );
    await expect(reloaded(live)).rejects.toMatchObject({ code: "HOOKS_REJECTED" });
    expect(await points()).toBe(before);
    expect((await fetch(`${live.app.url}/ingest/deploy`, { method: "POST", body: "{}" })).status).toBe(404);
    await until(async () => (await live.room("dm-1")).join().includes("not taken over"), "the word to admins");
    await live.say("hello");
    await until(async () => (await live.room()).includes("old"), "the answer of the plugin at work");

    live.write("hookgate.yaml", config("new", manual("two"), "events: { deploy: { secret_env: EVENT_SECRET } }\n"));
    await reloaded(live);
    expect((await fetch(`${live.app.url}/ingest/deploy`, { method: "POST", body: "{}" })).status).toBe(401);
    await live.say("hello again");
    await until(async () => (await live.room()).includes("new"), "the answer of the new plugin");
  });

  test("takes events away that are declared no more, unless a plugin listens to one", async () => {
    const listens = `export default { id: "p", points: [], setup(api) { api.hooks.registerVoid("event:deploy", () => {}, { id: "hears" }); } };`;
    const config = (plugins: string, events: string) =>
      `automations: { watch: false }\nplugins: [${plugins}]\nevents: {${events}}\nhooks: [${manual("one")}]\n`;
    const deploy = "deploy: { secret_env: EVENT_SECRET }";
    const live = await liveApp(
      { "p.js": listens, "hookgate.yaml": config("./p.js", deploy) },
      { env: { EVENT_SECRET: "a secret that signs events" } },
    );
    const fired = async () =>
      ((await live.post("/api/command", { line: "/fire-hook event:deploy dry-run=true" })) as { text: string }).text;
    expect(await fired()).toContain("passed");
    live.write("hookgate.yaml", config("./p.js", ""));
    await expect(reloaded(live)).rejects.toThrow(/p\.hears.*listens to event:deploy/);
    expect(await fired()).toContain("passed");

    live.write("hookgate.yaml", config("", ""));
    await reloaded(live);
    expect(await fired()).toMatch(/no hook.*event:deploy/i);
    live.write("hookgate.yaml", config("", deploy));
    await reloaded(live);
    expect((await fetch(`${live.app.url}/ingest/deploy`, { method: "POST", body: "{}" })).status).toBe(401);
  });

  test("is nothing of a file with a slip in the section of a platform, which a start would go on without", async () => {
    const live = await liveApp({ "hookgate.yaml": `automations: { watch: false }\nhooks: [${manual("one")}]\n` });
    live.write(
      "hookgate.yaml",
      `automations: { watch: false }\ntelegram: { mode: carrier-pigeon }\nhooks: [${manual("two")}]\n`,
    );
    await expect(reloaded(live)).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    expect(live.app.automations.list().map(({ id }) => id)).toEqual(["one"]);
    await until(async () => (await live.room("dm-1")).join().includes("telegram.mode"), "the word to admins");
  });

  test("is said, where only a restart takes it over: in the answer and to admins", async () => {
    const live = await liveApp({ "hookgate.yaml": `automations: { watch: false }\nhooks: [${manual("one")}]\n` });
    live.write(
      "hookgate.yaml",
      `automations: { watch: false }\noperators: { viewer: ["web:7"] }\nhooks: [${manual("one")}]\n`,
    );
    expect((await reloaded(live)).needRestart).toEqual(["operators"]);
    await until(async () => (await live.room("dm-1")).join().includes("only by a restart: operators"), "the word");
  });

  test("is where a definition stands: its line, and the folder at which its paths begin", async () => {
    const pwd = (id: string) => `{ id: ${id}, trigger: manual, run: { shell: { sh: pwd } } }`;
    const live = await liveApp({
      "hookgate.yaml": `automations: { watch: false }\nhooks:\n  - ${pwd("stays")}\n`,
      "hooks/moves.yaml": pwd("moves"),
    });
    const where = async () => (await live.fire("moves")).attempts[0]?.output as { stdout: string };
    expect((await where()).stdout.trim()).toMatch(/hooks$/);
    live.remove("hooks/moves.yaml");
    live.write("hooks/deeper/moves.yaml", pwd("moves"));
    live.write("hookgate.yaml", `automations: { watch: false }\nhooks:\n  - ${pwd("new")}\n  - ${pwd("stays")}\n`);
    expect((await reloaded(live)).hooks).toMatchObject({ added: ["new"], changed: ["moves"], removed: [] });
    expect((await where()).stdout.trim()).toMatch(/hooks\/deeper$/);
    expect(live.app.automations.get("stays")?.place.line).toBe(4);
  });

  test("keeps the file's order among equals, whichever of them changed", async () => {
    const notes = (id: string, word = id) =>
      `{ id: ${id}, on: inbound_claim, run: { shell: { sh: "echo ${word} >> order.log" } } }`;
    const live = await liveApp({
      "hookgate.yaml": `automations: { watch: false }\nhooks: [${notes("a")}, ${notes("b")}, ${notes("c")}]\n`,
    });
    live.write(
      "hookgate.yaml",
      `automations: { watch: false }\nhooks: [${notes("a", "changed")}, ${notes("new")}, ${notes("c")}, ${notes("b")}]\n`,
    );
    await reloaded(live);
    await live.say("hello");
    await live.ended("b");
    expect(linesOf(join(live.folder, "order.log"))).toEqual(["changed", "new", "c", "b"]);
  });

  test("is timers: one that comes fires, one that goes does not, and a schedule that changes is reckoned anew", async () => {
    const ticks = (id: string, every: string) =>
      `{ id: ${id}, trigger: { every: ${every} }, run: { shell: { sh: "exit 0" } } }`;
    const live = await liveApp({
      "hookgate.yaml": `automations: { watch: false }\nhooks: [${ticks("goes", "1s")}, ${ticks("changes", "1h")}]\n`,
    });
    const schedules = () => live.app.automations.next().map(({ hookId, schedule }) => `${hookId} ${schedule}`);
    await live.ended("goes");
    live.write(
      "hookgate.yaml",
      `automations: { watch: false }\nhooks: [${ticks("comes", "1s")}, ${ticks("changes", "2h")}]\n`,
    );
    await reloaded(live);
    expect(schedules()).toEqual(["comes every 1s", "changes every 2h"]);
    const before = (await live.runs("goes")).length;
    await live.ended("comes", 2);
    expect((await live.runs("goes")).length).toBe(before);
    expect(await live.runs("changes")).toEqual([]);
  });
});
