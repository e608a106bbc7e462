import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { AutomationRun } from "../../src/domain/automation.js";
import { openSqlite } from "../../src/store/driver.js";
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

  test("with a broken hook is applied without it: the previous version of it stays, and it is listed until it is fixed", async () => {
    const bad = (id: string) => `{ id: ${id}, on: mesage_received, run: { shell: { sh: "exit 0" } } }`;
    const live = await liveApp({
      "hookgate.yaml": `hooks:\n  - ${hook("goes")}\n`,
      "hooks/guard.yaml": hook("guard"),
      "hooks/other.yaml": hook("other"),
    });
    const ids = () =>
      live.app.automations
        .list()
        .map(({ id }) => id)
        .sort();
    live.write("hooks/guard.yaml", bad("guard"));
    const told = await until(
      async () => (await live.room("dm-1")).find((text) => text.includes("were not applied; the rest is in force")),
      "the alert",
    );
    expect(told).toMatch(/guard\.yaml:1.*mesage.*received.*did you mean/s);
    live.write("hooks/other.yaml", "hooks: [\n");
    live.write("hookgate.yaml", `hooks:\n  - ${hook("comes")}\n  - ${bad("new")}\n`);
    await until(
      () => ids().join() === "comes,guard,other",
      () => `the valid hooks in force: ${ids().join()}`,
    );
    await live.say("hello");
    await Promise.all(["comes", "guard", "other"].map((id) => live.ended(id)));
    expect(await live.runs("goes")).toEqual([]);

    const shown = async (line: string) => JSON.stringify(await live.post("/api/command", { line }));
    for (const line of ["/status", "/hooks broken"])
      expect(await shown(line)).toMatch(/guard(?=.*other\.yaml)(?=.*new)/s);
    const ready = async () => (await (await fetch(`${live.app.url}/readyz`)).json()) as Record<string, unknown>;
    expect(await ready()).toMatchObject({ ready: true, state: "degraded" });

    live.write("hookgate.yaml", `hooks:\n  - ${hook("comes")}\n`);
    live.write("hooks/guard.yaml", hook("guard", "cooldown: 1h,"));
    live.remove("hooks/other.yaml");
    await until(async () => (await ready()).state === "ready", "no problem being left");
    expect(ids()).toEqual(["comes", "guard"]);
    expect(live.app.automations.get("guard")?.cooldownMs).toBe(3_600_000);
    expect(await shown("/hooks broken")).toContain("No configured hook is broken.");
  });

  test("lists every broken hook on pages, files that cannot be read first, and what runs in their place", async () => {
    const bad = (id: string) => `{ id: ${id}, on: nowhere, run: { shell: { sh: "exit 0" } } }`;
    const many = Array.from({ length: 24 }, (_, index) => `  - ${bad(`b${index + 1}`)}\n`).join("");
    const live = await liveApp({ "hookgate.yaml": `hooks:\n  - ${hook("guard")}\n` });
    live.write("hooks/z.yaml", "hooks: [\n  ]]\n}\n");
    live.write("hookgate.yaml", `hooks:\n  - ${bad("guard")}\n${many}`);
    await until(() => live.app.automations.broken().length === 26, "all broken");
    const shown = async (line: string) => JSON.stringify(await live.post("/api/command", { line }));
    const pages = [1, 2, 3].map((page) => shown(`/hooks broken page=${page}`));
    const texts = await Promise.all(pages);
    expect(texts[0]).toMatch(/1 file or folder cannot be read.*z\.yaml.*24 hooks not in force.*`b1`/s);
    expect(texts[0]).toContain("page 1 of 3");
    expect(texts[1]).toContain("`b15`");
    expect(texts[1]).not.toContain("`b3` at");
    expect(texts[2]).toMatch(/`guard` at [^`]*: the previous version is in force/);
    expect(await shown("/status")).toContain("z.yaml");
    for (const line of ["/hooks show guard", "/hooks why guard"])
      expect(await shown(line)).toMatch(/latest version.*not in force.*the previous version is in force/s);
    expect(await shown("/hooks why b1")).toContain("Not in force");
  });

  test("with a hook for a room that is missing is reported as applied", async () => {
    const live = await liveApp({ "hookgate.yaml": `hooks:\n  - ${hook("one")}\n` });
    live.write(
      "hookgate.yaml",
      `hooks:\n  - { id: lost, on: message_received, run: { chat: { to: "web:web:nowhere", text: hi } } }\n`,
    );
    const told = await until(
      async () => (await live.room("dm-1")).find((text) => text.includes("nowhere")),
      "the alert",
    );
    expect(told).toContain("were applied and lack something");
    expect(told).not.toContain("not applied");
    expect(live.app.automations.get("lost")).toBeDefined();
  });

  test("whose reload fails after it is in force is reported as in force", async () => {
    const live = await liveApp({ "hookgate.yaml": `automations: { watch: false }\nhooks:\n  - ${hook("one")}\n` });
    const database = openSqlite(join(live.folder, "test.db"));
    database.exec(
      "CREATE TRIGGER no_room BEFORE INSERT ON automation_triggers BEGIN SELECT RAISE(ABORT, 'there is no room'); END",
    );
    database.close();
    const ticks = `{ id: ticks, trigger: { every: 1h }, run: { shell: { sh: "exit 0" } } }`;
    live.write("hookgate.yaml", `automations: { watch: false }\nhooks: [${hook("two")}, ${ticks}]\n`);
    await expect(live.app.reload(live.read())).rejects.toThrow(
      /^The changed configuration is in force, but the reload did not end: .*\n.*there is no room/,
    );
    expect(live.app.automations.get("two")).toBeDefined();
  });

  test("that comes while the gateway stops is not reported as in force", async () => {
    const word = "the end of the teardown";
    let end = () => {};
    let hasBegun = false;
    Object.assign(globalThis, {
      [word]() {
        hasBegun = true;
        return new Promise<void>((resolve) => {
          end = resolve;
        });
      },
    });
    const live = await liveApp({
      "p.js": `export default { id: "p", points: [], setup: () => globalThis["${word}"] };`,
      "hookgate.yaml": `automations: { watch: false }\nplugins: [./p.js]\nhooks:\n  - ${hook("one")}\n`,
    });
    const { app } = live;
    live.write("hookgate.yaml", `automations: { watch: false }\nplugins: [./p.js]\nhooks:\n  - ${hook("two")}\n`);
    const stopped = live.stop();
    await until(() => hasBegun, "the teardown");
    const rejection = expect(app.reload(live.read())).rejects.toThrow(/^The gateway is stopping\.$/);
    end();
    await Promise.all([stopped, rejection]);
    Reflect.deleteProperty(globalThis, word);
    expect(app.automations.get("two")).toBeUndefined();
  });

  test("that a start would refuse changes nothing, and is listed until it is fixed", async () => {
    const live = await liveApp({ "hookgate.yaml": `hooks:\n  - ${hook("one")}\n` });
    live.write("hookgate.yaml", `gateway: { ttl: soon }\nhooks:\n  - ${hook("two")}\n`);
    await until(
      async () => (await live.room("dm-1")).find((text) => text.includes("was not applied; the previous one stays")),
      "the alert",
    );
    expect(live.app.automations.list().map(({ id }) => id)).toEqual(["one"]);
    const status = async () => JSON.stringify(await live.post("/api/command", { line: "/status" }));
    expect(await status()).toMatch(/rejected.*gateway\.ttl: expected a duration/s);
    expect(await (await fetch(`${live.app.url}/readyz`)).json()).toMatchObject({ ready: true, state: "degraded" });
    live.write("hookgate.yaml", `hooks:\n  - ${hook("two")}\n`);
    await until(() => live.app.automations.get("two") !== undefined, "the fixed set");
    expect(await status()).not.toContain("rejected");
  });

  test("with a critical hook or plugin that is broken is refused, as a start refuses it", async () => {
    const live = await liveApp({ "hookgate.yaml": `automations: { watch: false }\nhooks:\n  - ${hook("one")}\n` });
    live.write(
      "hookgate.yaml",
      `automations: { watch: false }\nhooks:\n  - ${hook("two")}\n  - { id: guard, critical: true, on: nowhere, run: { shell: { sh: "exit 0" } } }\n`,
    );
    await expect(live.app.reload(live.read())).rejects.toMatchObject({ code: "HOOK_CRITICAL" });
    live.write(
      "hookgate.yaml",
      `automations: { watch: false }\nplugins: [{ module: ./none.js, critical: true }]\nhooks:\n  - ${hook("two")}\n`,
    );
    await expect(live.app.reload(live.read())).rejects.toMatchObject({ code: "PLUGIN_CRITICAL" });
    expect(live.app.automations.list().map(({ id }) => id)).toEqual(["one"]);
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

  test("hooks that wait for each other are broken, and the rest stands; what waits for nothing does not wait", async () => {
    const live = await liveApp(
      {
        "hookgate.yaml": `hooks:\n  - ${hook("lost", "after: [nobody],")}\n  - ${hook("hen", "after: [egg],")}\n  - ${hook("egg", "after: [hen],")}\n  - ${hook("heir", "after: [lost],")}\n  - ${hook("sound", "after: [base],")}\n  - ${hook("base")}\n`,
      },
      { mayBreak: true },
    );
    expect(live.app.automations.list().map(({ id }) => id)).toEqual(["lost", "heir", "sound", "base"]);
    const why = Object.fromEntries(live.app.automations.broken().map(({ id, problems }) => [id, problems[0]?.message]));
    expect(Object.keys(why)).toEqual(["hen", "egg"]);
    expect(why.hen).toMatch(/wait for each other/);
    expect(why.egg).toMatch(/wait for each other/);
    expect(JSON.stringify(await live.post("/api/command", { line: "/hooks broken" }))).toMatch(
      /hook lost: .*nobody.*not registered/,
    );
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

  test("is the newest word on whether a hook is on: a saved `enabled` ends a switch of chat, also one saved while the gateway was down", async () => {
    const config = (guard: boolean, greet: boolean, more = "") =>
      `automations: { watch: false }\nhooks: [${manual("guard", `enabled: ${guard}, ${more}`)}, ${manual("greet", `enabled: ${greet},`)}]\n`;
    const live = await liveApp({ "hookgate.yaml": config(false, true) });
    const write = async (...how: Parameters<typeof config>) => {
      live.write("hookgate.yaml", config(...how));
      return reloaded(live);
    };
    const states = () => Promise.all(["guard", "greet"].map(async (id) => (await live.info(id)).enabled));
    const command = async (line: string) => JSON.stringify(await live.post("/api/command", { line }));

    // Switches that change nothing are no switches.
    expect(await command("/hooks disable guard")).toContain("was disabled already");
    expect(await command("/hooks enable greet")).toContain("was enabled already");
    await write(true, false);
    expect(await states()).toEqual([true, false]);

    // Switched for an incident and back: the file decides again.
    for (const id of ["guard", "greet"])
      for (const to of ["disable", "enable", "disable"]) await command(`/hooks ${to} ${id}`);
    expect(await states()).toEqual([false, false]);
    const { report } = await write(true, true, "cooldown: 1h,");
    expect(await states()).toEqual([false, true]);
    const outranked = /disabled by Owner .*, and its file has `?enabled: true/;
    expect(report).toMatch(outranked);
    expect(report).not.toContain("greet");
    for (const line of ["/hooks why guard", "/hooks show guard", "/status"])
      expect(await command(line)).toMatch(outranked);
    expect(await command("/status")).not.toContain("`greet` was");
    await live.stop();
    await live.start();
    expect(await states()).toEqual([false, true]);

    // The file's word that changed while the gateway was down.
    await live.stop();
    live.write("hookgate.yaml", config(false, true));
    await live.start();
    await write(true, true);
    expect(await states()).toEqual([true, true]);
    expect(await command("/hooks why guard")).not.toMatch(outranked);
  });

  test("is models, and the settings of all hooks: how many run, how long history is kept, where admins are told", async () => {
    const agent = `{ id: asks, trigger: manual, run: { agent: { prompt: hello, model: small } } }`;
    const live = await liveApp({
      "hookgate.yaml": `automations: { watch: false, max_running: 1 }\nhooks: [${manual("one")}]\n`,
    });
    live.write(
      "hookgate.yaml",
      `automations: { watch: false, max_running: 2, keep: { max_runs: 1 } }\nmodels: { available: { small: { provider: anthropic, model: m, key_env: NOT_THERE } } }\nhooks: [${manual("one", "concurrency: 2,")}, ${agent}]\n`,
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

  test("is plugins, hooks, events and overrides together, or nothing of what a start would refuse", async () => {
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
        `${manual("two")}, { id: bad, critical: true, on: mesage_received, run: { shell: { sh: "exit 0" } } }`,
        "overrides: { two: { timeout: 50ms } }\nevents: { deploy: { secret_env: EVENT_SECRET } }\n",
      ),
    );
    await expect(reloaded(live)).rejects.toMatchObject({ code: "HOOK_CRITICAL" });
    expect(await points()).toBe(before);
    expect((await fetch(`${live.app.url}/ingest/deploy`, { method: "POST", body: "{}" })).status).toBe(404);
    await until(async () => (await live.room("dm-1")).join().includes("was not applied"), "the word to admins");
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
      ((await live.post("/api/command", { line: "/fire-hook event:deploy" })) as { text: string }).text;
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

  test("is everything but the section of a platform with a slip in it, which a start goes on without, too", async () => {
    const live = await liveApp({ "hookgate.yaml": `automations: { watch: false }\nhooks: [${manual("one")}]\n` });
    live.write(
      "hookgate.yaml",
      `automations: { watch: false }\ntelegram: { mode: carrier-pigeon }\nhooks: [${manual("two")}]\n`,
    );
    expect((await reloaded(live)).problems.join()).toMatch(/telegram\.mode: expected one of polling, webhook/);
    expect(live.app.automations.list().map(({ id }) => id)).toEqual(["two"]);
    await until(async () => (await live.room("dm-1")).join().includes("telegram.mode"), "the word to admins");
  });

  test("is said, where only a restart takes it over: in the answer and to admins", async () => {
    const live = await liveApp({ "hookgate.yaml": `automations: { watch: false }\nhooks: [${manual("one")}]\n` });
    live.write(
      "hookgate.yaml",
      `automations: { watch: false }\noperators: { viewer: ["web:1"] }\nhooks: [${manual("one")}]\n`,
    );
    expect((await reloaded(live)).needRestart).toEqual(["operators"]);
    await until(
      async () => (await live.room("dm-1")).join().includes("Restart required to apply: operators"),
      "the word",
    );
  });

  test("is shown by /status until the restart, also after a later change that holds at once", async () => {
    const written = (hook: string, more = "") => `automations: { watch: false }\n${more}hooks: [${manual(hook)}]\n`;
    const live = await liveApp({ "hookgate.yaml": written("one") });
    const status = async () => {
      const { text, data } = (await live.post("/api/command", { line: "/status" })) as {
        text: string;
        data: { needRestart: string[] };
      };
      return { text: text.replace(/[`*]/g, ""), needRestart: data.needRestart };
    };
    expect((await status()).text).not.toContain("restart is");
    for (const hook of ["one", "two"]) {
      live.write("hookgate.yaml", written(hook, 'operators: { viewer: ["web:1"] }\n'));
      await reloaded(live);
      const { text, needRestart } = await status();
      expect(text).toContain("A restart is required to apply changes of: operators");
      expect(text).toContain("but a restart is needed");
      expect(needRestart).toEqual(["operators"]);
    }
    await live.stop();
    await live.start();
    expect(await status()).toMatchObject({ text: expect.not.stringContaining("restart is"), needRestart: [] });
  });

  test("is the list of allowed plugins, which holds at once; another setting of the gateway needs a restart", async () => {
    const gateway = (settings: string) => `automations: { watch: false }\ngateway: { ${settings} }\n`;
    const live = await liveApp({ "hookgate.yaml": gateway("") });
    live.write("hookgate.yaml", gateway('allowed_plugins: { "*": [] }'));
    expect((await reloaded(live)).needRestart).toEqual([]);
    live.write("hookgate.yaml", gateway('allowed_plugins: { "*": [] }, inbox_attempts: 3'));
    expect((await reloaded(live)).needRestart).toEqual(["gateway"]);
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

test("a chat hook to a room that is not there, or to a platform that is off, fails and posts nothing", async () => {
  const says = (id: string, to: string) =>
    `{ id: ${id}, trigger: manual, run: { chat: { to: "${to}", text: hello } } }`;
  const live = await liveApp({
    "hookgate.yaml": `hooks: [${says("lost", "web:web:nowhere")}, ${says("off", "discord:1:2")}, ${says("fine", "web:web:general")}]\n`,
  });
  expect(await live.fire("lost")).toMatchObject({
    status: "failed",
    statusReason: expect.stringContaining('there is no room "nowhere"'),
  });
  expect((await live.fire("off")).statusReason).toContain("discord is off");
  expect((await live.fire("fine")).status).toBe("succeeded");
});
