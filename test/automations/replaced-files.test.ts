/** Files and folders of the configuration that are emptied, removed, or replaced whole while the gateway runs. */
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { runCli } from "../cli/run-cli.js";
import { listeningLogger } from "../plugins/rig.js";
import { asOrdinaryUser } from "../support/ordinary-user.js";
import { until } from "../support/until.js";
import { type LiveApp, liveApp, TOKEN } from "./support/live-app.js";

const hook = (id: string, more = "") => `{ id: ${id}, on: message_received, ${more} run: { shell: { sh: "exit 0" } } }`;
const ids = (live: LiveApp) =>
  live.app.automations
    .list()
    .map(({ id }) => id)
    .sort()
    .join();
const asked = async (live: LiveApp, line: string) => JSON.stringify(await live.post("/api/command", { line }));
const status = (live: LiveApp) => asked(live, "/status");
/** Everywhere where problems of the configuration are shown. */
async function expectShown(live: LiveApp, why: RegExp) {
  for (const line of ["/status", "/hooks broken"]) expect(await asked(live, line)).toMatch(why);
  expect(await live.get("/readyz")).toMatchObject({ ready: true, state: "degraded", configuration: { problems: 1 } });
  for (const command of ["check", "doctor"]) {
    const { code, out, err } = await runCli([command], { cwd: live.folder, env: { HOOKGATE_TOKEN: TOKEN } });
    expect(out + err).toMatch(why);
    expect(code).toBe(2);
  }
}

describe.each([
  ["hookgate.yaml", (id: string) => `hooks:\n  - ${hook(id)}\n`],
  ["hooks/one.yaml", hook],
  ["hooks/within/one.yaml", hook],
])("%s", (file, text) => {
  test.each<[string, (live: LiveApp, id: string) => unknown]>([
    [
      "removed and written again, so that the disk may give it the same number",
      (live, id) => {
        live.remove(file);
        live.write(file, text(id));
      },
    ],
    [
      "written in place, and replaced a moment later",
      async (live, id) => {
        live.write("next", text(id));
        live.write(file, text("short"));
        await setTimeout(1);
        renameSync(join(live.folder, "next"), join(live.folder, file));
      },
    ],
  ])("that is %s is applied, and so are later saves in place", async (_how, replace) => {
    const live = await liveApp({ "hookgate.yaml": "", [file]: text("first") });
    for (const round of [1, 2]) {
      await replace(live, `replaced${round}`);
      await until(() => ids(live) === `replaced${round}`, `the file of round ${round}`);
      live.write(file, text(`saved${round}`));
      await until(() => ids(live) === `saved${round}`, `the save of round ${round}`);
    }
  });
});

describe("hookgate.yaml", () => {
  test("that is emptied, removed or a link to nothing is refused with a sentence, and the settings stay", async () => {
    const live = await liveApp({ "hookgate.yaml": `hooks:\n  - ${hook("one")}\n` });
    const file = join(live.folder, "hookgate.yaml");
    const refused = (why: RegExp) => until(async () => why.test(await status(live)), `the refusal ${why}`);

    writeFileSync(file, "");
    await refused(/hookgate\.yaml: the file is empty: write the settings again/);
    unlinkSync(file);
    await refused(/hookgate\.yaml was removed/);
    const { file: _file, problems: _problems, ...rest } = live.read();
    // As a gateway without --config reads it: no problem, only defaults.
    for (const read of [live.read(), { ...rest, problems: [] }])
      await expect(live.app.reload(read)).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    symlinkSync(join(live.folder, "nowhere.yaml"), file);
    await refused(/hookgate\.yaml: is a link to [^ ]*nowhere\.yaml, which does not exist/);
    expect(ids(live)).toBe("one");

    unlinkSync(file);
    live.write("hookgate.yaml", `hooks:\n  - ${hook("two")}\n`);
    await until(() => ids(live) === "two", "the file being applied when it is back");
    expect(await status(live)).not.toContain("rejected");
  });

  test("that is a link is applied when another file comes into its place, as Kubernetes swaps the folder of a ConfigMap", async () => {
    const live = await liveApp({ "hookgate.yaml": `hooks:\n  - ${hook("old")}\n` }, { start: false });
    const folder = (name: string) => join(live.folder, name);
    mkdirSync(folder("..v1"));
    renameSync(folder("hookgate.yaml"), folder("..v1/hookgate.yaml"));
    symlinkSync("..v1", folder("..data"));
    symlinkSync("..data/hookgate.yaml", folder("hookgate.yaml"));
    await live.start();
    live.write("..v2/hookgate.yaml", `hooks:\n  - ${hook("new")}\n`);
    symlinkSync("..v2", folder("..next"));
    renameSync(folder("..next"), folder("..data"));
    await until(() => ids(live) === "new", "the new version");
  });

  test("that is saved while the gateway starts is applied when it has started", async () => {
    const settings = (id: string) => `plugins: [./saves.mjs]\nhooks:\n  - ${hook(id)}\n`;
    const live = await liveApp({
      "hookgate.yaml": settings("old"),
      // Set up when the configuration has been read, and nothing watches it yet.
      "saves.mjs": `import { existsSync, writeFileSync } from "node:fs";
        const beside = (name) => new URL(name, import.meta.url);
        export default { id: "saves", setup() {
          if (existsSync(beside("saved"))) return;
          writeFileSync(beside("saved"), "");
          writeFileSync(beside("hookgate.yaml"), ${JSON.stringify(settings("new"))});
        } };`,
    });
    await until(() => ids(live) === "new", "the file that was saved");
  });
});

describe("the folder hooks", () => {
  test("that is replaced is watched again: its hooks are loaded, and so are later changes", async () => {
    const live = await liveApp({ "hookgate.yaml": "", "hooks/one.yaml": hook("one") });
    rmSync(join(live.folder, "hooks"), { recursive: true });
    await until(
      async () => /hooks was removed, and its hooks stay in force: one/.test(await status(live)),
      "the notice",
    );
    expect(ids(live)).toBe("one");
    live.write("hooks/two.yaml", hook("two"));
    await until(() => ids(live) === "two", "the new folder");
    live.write("hooks/two.yaml", hook("three"));
    await until(() => ids(live) === "three", "a change in the new folder");

    mkdirSync(join(live.folder, "next"));
    writeFileSync(join(live.folder, "next/four.yaml"), hook("four"));
    rmSync(join(live.folder, "hooks"), { recursive: true });
    renameSync(join(live.folder, "next"), join(live.folder, "hooks"));
    await until(() => ids(live) === "four", "the folder that was moved into its place");
    live.write("hooks/five.yaml", hook("five"));
    await until(() => ids(live) === "five,four", "a new file in it");
  });

  test("that is a link is loaded when the link goes elsewhere, and the new place is watched", async () => {
    const live = await liveApp({ "hookgate.yaml": "", "v1/one.yaml": hook("one") }, { start: false });
    live.write("v2/two.yaml", hook("two"));
    symlinkSync("v1", join(live.folder, "hooks"));
    await live.start();
    expect(ids(live)).toBe("one");
    symlinkSync("v2", join(live.folder, "next"));
    renameSync(join(live.folder, "next"), join(live.folder, "hooks"));
    await until(() => ids(live) === "two", "the new place");
    live.write("v2/two.yaml", hook("three"));
    await until(() => ids(live) === "three", "a change in the new place");
  });

  test.each<[string, RegExp, (at: (name: string) => string) => void]>([
    [
      "a link to nothing",
      /hooks: is a link to [^ ]*volume, which does not exist/,
      (at) => renameSync(at("volume"), at("away")),
    ],
    [
      "a link to itself",
      /hooks: is a link to [^ ]*hooks, which leads in a circle back to the link/,
      (at) => {
        unlinkSync(at("hooks"));
        symlinkSync("hooks", at("hooks"));
      },
    ],
    [
      "a file",
      /hooks: is a file/,
      (at) => {
        writeFileSync(at("file"), "");
        renameSync(at("file"), at("hooks"));
      },
    ],
  ])(
    "that becomes %s is refused with a sentence, and its hooks stay; a start is refused, too",
    async (_what, why, put) => {
      const live = await liveApp({ "hookgate.yaml": "", "volume/one.yaml": hook("one") }, { start: false });
      const at = (name: string) => join(live.folder, name);
      symlinkSync("volume", at("hooks"));
      await live.start();
      put(at);
      await until(async () => why.test(await status(live)), `the refusal ${why}`);
      expect(ids(live)).toBe("one");
      expect(await (await fetch(`${live.app.url}/readyz`)).json()).toMatchObject({ ready: true, state: "degraded" });
      expect(JSON.stringify(await live.post("/api/command", { line: "/hooks broken" }))).toMatch(why);

      await live.stop();
      await expect(live.start()).rejects.toMatchObject({
        code: "CONFIG_INVALID",
        message: expect.stringMatching(why),
      });
    },
  );

  test("keeps the hooks of a file that is emptied and says so; a file with only comments has no hooks", async () => {
    const live = await liveApp({ "hookgate.yaml": "", "hooks/one.yaml": hook("one"), "hooks/two.yaml": hook("two") });
    live.write("hooks/one.yaml", "");
    await until(async () => /one\.yaml: the file is empty/.test(await status(live)), "the problem");
    expect(ids(live)).toBe("one,two");
    live.write("hooks/two.yaml", "# nothing for now\n");
    await until(() => ids(live) === "one", "the hook of the other file being removed");
    live.write("hooks/one.yaml", hook("one", "cooldown: 1h,"));
    await until(() => live.app.automations.get("one")?.cooldownMs === 3_600_000, "the new version");
    expect(await status(live)).not.toContain("the file is empty");
  });

  test("may have a link that leads in a circle: it is reported, the other hooks run, and a stop ends", async () => {
    const live = await liveApp({ "hookgate.yaml": "" }, { mayBreak: true });
    // The folder comes while the gateway runs, so it is watched anew.
    mkdirSync(join(live.folder, "next"));
    symlinkSync("self.yaml", join(live.folder, "next/self.yaml"));
    live.write("next/one.yaml", hook("one"));
    renameSync(join(live.folder, "next"), join(live.folder, "hooks"));
    await until(() => ids(live) === "one", "the other hook");
    const why = /self\.yaml: is a link to [^ ]*self\.yaml, which leads in a circle back to the link\. Delete the link/;
    expect(await status(live)).toMatch(why);
    await live.stop();
    await live.start();
    expect(await status(live)).toMatch(why);
    live.write("hooks/two.yaml", hook("two"));
    await until(() => ids(live) === "one,two", "a new file beside it");
  });
});

describe("folders that may not be listed", () => {
  test("the hooks in force stay, the rest of a change is applied, and it is shown until the folder is readable", async () => {
    const live = await liveApp(
      {
        "hookgate.yaml": "",
        "hooks/a.yaml": hook("a"),
        "hooks/m/within.yaml": hook("within").replace("sh:", "cwd: /, sh:"),
        "hooks/z.yaml": hook("z"),
      },
      { mayBreak: true },
    );
    asOrdinaryUser(live.folder);
    const why = (name: string) =>
      new RegExp(`${name}/.*cannot be read: EACCES: permission denied\\. Give the user .* list and enter this folder`);
    const folder = join(live.folder, "hooks");
    chmodSync(folder, 0);
    live.write("hookgate.yaml", `hooks:\n  - ${hook("new")}\n`);
    await until(() => ids(live) === "a,new,within,z", "the change of hookgate.yaml");
    await expectShown(live, why("hooks"));
    // As SIGHUP does.
    await live.app.reload(live.read());
    expect(ids(live)).toBe("a,new,within,z");
    expect(await asked(live, "/hooks broken")).toContain(
      "the previous version of 3 hooks in it is in force, but no program can start in a folder that may not be entered",
    );
    chmodSync(folder, 0o755);
    await until(() => live.app.automations.broken().length === 0, "the folder being read again");

    const inOrder = () => live.app.automations.list().map(({ id }) => id);
    chmodSync(join(folder, "m"), 0);
    live.remove("hooks/z.yaml");
    await until(() => ids(live) === "a,new,within", "the removal of the other file");
    live.write("hooks/z.yaml", hook("z"));
    await until(() => ids(live) === "a,new,within,z", "the other file");
    expect(inOrder()).toEqual(["new", "a", "within", "z"]);
    await expectShown(live, why("m"));

    await live.stop();
    await live.start();
    expect(ids(live)).toBe("a,new,z");
    await expectShown(live, why("m"));
    chmodSync(join(folder, "m"), 0o755);
    await until(() => ids(live) === "a,new,within,z", "the folder within");
    expect(await live.get("/readyz")).toMatchObject({ state: "ready" });
  });
});

describe("the folder of uploads", () => {
  test("that may not be read or written is a problem, and answers say that the operator has to act", async () => {
    const logged: string[] = [];
    const logger = listeningLogger([]);
    logger.error = (facts: object) => void logged.push(JSON.stringify(facts));
    const live = await liveApp({ "hookgate.yaml": "" }, { logger });
    const headers = { authorization: `Bearer ${TOKEN}` };
    const upload = () =>
      fetch(`${live.app.url}/api/uploads?filename=a.txt`, { method: "POST", headers, body: "the bytes" });
    const { id } = ((await (await upload()).json()) as { upload: { id: string } }).upload;
    const posted = { text: "a file", nonce: "nonce-of-a-file", uploads: [id] };
    const { message } = (await live.post("/api/rooms/general/messages", posted)) as { message: { id: number } };
    const download = () => fetch(`${live.app.url}/api/messages/${message.id}/attachments/0`, { headers });
    expect(await (await download()).text()).toBe("the bytes");
    asOrdinaryUser(live.folder);
    const folder = join(live.folder, "uploads");
    chmodSync(folder, 0);
    for (const ask of [upload, download]) {
      const answer = await ask();
      expect(answer.status).toBe(503);
      expect(await answer.json()).toMatchObject({
        error: { code: "UPLOADS_UNAVAILABLE", hint: expect.stringMatching(/operator.*try again later/) },
      });
      expect(logged.at(-1)).toMatch(/EACCES: permission denied, [a-z]+ '[^']*uploads/);
    }
    const why = /uploads: cannot be read: EACCES: permission denied\. Give the user/;
    expect(await status(live)).toMatch(why);
    expect(await live.get("/readyz")).toMatchObject({ state: "degraded", configuration: { problems: 1 } });
    const env = { HOOKGATE_TOKEN: TOKEN, DATABASE_URL: "file:test.db" };
    for (const command of ["check", "doctor"]) {
      const { code, out, err } = await runCli([command], { cwd: live.folder, env });
      expect(out + err).toMatch(why);
      expect(code).toBe(2);
    }
    chmodSync(folder, 0o700);
    expect(await (await download()).text()).toBe("the bytes");
    expect((await upload()).status).toBe(201);
    expect(await live.get("/readyz")).toMatchObject({ state: "ready" });
    rmSync(folder, { recursive: true });
    const answer = await download();
    expect([answer.status, await answer.json()]).toMatchObject([
      503,
      { error: { hint: expect.stringMatching(/^The folder was deleted, or its disk is not mounted: the operator/) } },
    ]);
    expect((await upload()).status).toBe(201);
    expect((await download()).status).toBe(404);
  });
});

describe("the folder missions", () => {
  const PLAN = `schedule: { cron: "0 3 * * *" }\ngroups: [{ name: a, tasks: [{ id: t, assignTo: "person:web:1" }] }]`;

  test.each<[string, RegExp, (path: string) => void]>([
    [
      "a link to nothing",
      /missions: is a link to [^ ]*nowhere, which does not exist/,
      (at) => symlinkSync("nowhere", at),
    ],
    [
      "a link to itself",
      /missions: is a link to [^ ]*missions, which leads in a circle/,
      (at) => symlinkSync("missions", at),
    ],
    ["a file", /missions: is a file, but plans are read from a folder/, (at) => writeFileSync(at, "")],
    [
      "one that may not be listed",
      /missions: cannot be read: EACCES: permission denied\. Give/,
      (at) => mkdirSync(at, 0),
    ],
  ])("that becomes %s is a problem that takes nothing else down, and keeps its schedules", async (_what, why, put) => {
    const run = `- { id: starts, trigger: manual, run: { mission: { plan: nightly } } }`;
    const live = await liveApp({ "hookgate.yaml": `hooks:\n  ${run}\n`, "missions/nightly.yaml": PLAN });
    expect(await asked(live, "/schedule list")).toContain("plan `nightly` at");
    asOrdinaryUser(live.folder);
    const folder = join(live.folder, "missions");
    renameSync(folder, join(live.folder, "away"));
    put(folder);
    await expectShown(live, why);
    live.write("hookgate.yaml", `hooks:\n  ${run}\n  - ${hook("new")}\n`);
    await until(() => ids(live) === "new,starts", "the change of hookgate.yaml");
    await live.stop();
    await live.start();
    await expectShown(live, why);
    expect(await asked(live, "/schedule list")).toMatch(/plan `nightly` at .*its plan is broken/);
    expect(await asked(live, "/mission run nightly")).toMatch(new RegExp(why.source.replace("missions:", "missions")));
    rmSync(folder, { recursive: true });
    renameSync(join(live.folder, "away"), folder);
    expect(await live.get("/readyz")).toMatchObject({ state: "ready" });
  });
});
