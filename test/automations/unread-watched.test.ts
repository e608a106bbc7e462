/** Hooks that watch folders which cannot be read for a while. */
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCli } from "../cli/run-cli.js";
import { listeningLogger } from "../plugins/rig.js";
import { jsonLines } from "../support/lines.js";
import { asOrdinaryUser } from "../support/ordinary-user.js";
import { until } from "../support/until.js";
import { type LiveApp, liveApp, TOKEN } from "./support/live-app.js";

const hook = (paths: string) => `
id: notes
trigger: { files: { paths: ${JSON.stringify(paths)}, ignore: ["secret/**"], debounce: 50ms } }
run: { shell: { sh: "tr -d '\\n' >> ../seen.log; echo >> ../seen.log" } }
`;
const FILES = { "hookgate.yaml": "", "notes/old.txt": "", "notes/removed.txt": "", "notes/in/old.txt": "" };

const asked = async (live: LiveApp, line: string) => JSON.stringify(await live.post("/api/command", { line }));
const why = (name: string) =>
  new RegExp(
    `is not watched in [^ ]*${name}, which cannot be read: EACCES: permission denied\\. Give the user .* list and enter this folder`,
  );

async function expectShown(live: LiveApp, reason: RegExp) {
  await until(async () => reason.test(await asked(live, "/hooks broken")), `the problem ${reason}`);
  for (const line of ["/status", "/hooks why notes"]) expect(await asked(live, line)).toMatch(reason);
  expect(await asked(live, "/hooks why notes")).toContain("would **not** run");
  expect(await live.get("/readyz")).toMatchObject({ ready: true, state: "degraded", configuration: { problems: 1 } });
  for (const command of ["check", "doctor"]) {
    const { code, out, err } = await runCli([command], { cwd: live.folder, env: { HOOKGATE_TOKEN: TOKEN } });
    expect(out + err).toMatch(reason);
    expect(out + err).toContain("notes.yaml");
    expect(code).toBe(2);
  }
}

const changes = (live: LiveApp) =>
  jsonLines<{ relativePath: string; operation: string }>(join(live.folder, "seen.log"))
    .map(({ relativePath, operation }) => `${relativePath} ${operation}`)
    .sort();

async function expectWatched(live: LiveApp, name: string) {
  await until(async () => (await live.get("/readyz")).state === "ready", "the problem being gone");
  expect(await asked(live, "/hooks why notes")).not.toContain("is not watched");
  live.write(name, "");
  await until(() => changes(live).includes(`../${name} created`), `a run for ${name}`);
}

test.each([
  ["the folder", "../notes/**", "notes"],
  ["a folder in it", "../notes/**", "notes/in"],
  ["the folder above", "../notes/in/**", "notes"],
])(
  "%s becomes unreadable: it is a problem until it is readable, then every change of that time starts the hook",
  async (_what, paths, name) => {
    const logged: Parameters<typeof listeningLogger>[0] = [];
    const live = await liveApp(
      { ...FILES, "notes/in/removed.txt": "", "hooks/notes.yaml": hook(paths) },
      { logger: listeningLogger(logged) },
    );
    asOrdinaryUser(live.folder);
    const folder = join(live.folder, name);
    chmodSync(folder, 0);
    await expectShown(live, why(name));
    expect(logged.filter(({ level, message }) => level === "warn" && why(name).test(message))).toHaveLength(1);

    chmodSync(folder, 0o755);
    live.write("notes/in/meanwhile.txt", "");
    live.remove("notes/in/removed.txt");
    // Its rights are no change of a file.
    chmodSync(join(live.folder, "notes/in/old.txt"), 0o600);
    chmodSync(folder, 0);
    await expectShown(live, why(name));
    chmodSync(folder, 0o755);
    await expectWatched(live, "notes/in/after.txt");
    await until(() => changes(live).length === 3, "three runs");
    expect(changes(live)).toEqual([
      "../notes/in/after.txt created",
      "../notes/in/meanwhile.txt created",
      "../notes/in/removed.txt deleted",
    ]);
    expect(logged.filter(({ level }) => level === "error")).toEqual([]);
  },
);

test.each([
  ["the folder", "../notes/**", "notes"],
  ["a folder in it", "../notes/**", "notes/in"],
  ["the folder above", "../notes/in/**", "notes"],
])(
  "%s is unreadable at a start: it is a problem until it is readable, and what it knew before is no change",
  async (_what, paths, name) => {
    const live = await liveApp({ ...FILES, "hooks/notes.yaml": hook(paths) });
    asOrdinaryUser(live.folder);
    await live.stop();
    chmodSync(join(live.folder, name), 0);
    await live.start();
    await expectShown(live, why(name));
    chmodSync(join(live.folder, name), 0o755);
    await expectWatched(live, "notes/in/after.txt");
    expect(changes(live)).toEqual(["../notes/in/after.txt created"]);
  },
);

test("an unreadable folder that is left out, or too deep for the pattern, is no problem", async () => {
  const live = await liveApp({
    ...FILES,
    "notes/secret/a.txt": "",
    "hooks/notes.yaml": hook("../notes/**"),
    "hooks/flat.yaml": hook("../notes/*.txt").replace("id: notes", "id: flat"),
  });
  asOrdinaryUser(live.folder);
  await live.stop();
  chmodSync(join(live.folder, "notes/secret"), 0);
  await live.start();
  expect(await live.get("/readyz")).toMatchObject({ state: "ready" });
  const { out, code } = await runCli(["check"], { cwd: live.folder, env: { HOOKGATE_TOKEN: TOKEN } });
  expect({ out, code }).toMatchObject({ out: expect.not.stringContaining("is not watched"), code: 0 });
  chmodSync(join(live.folder, "notes/in"), 0);
  await until(async () => why("notes/in").test(await asked(live, "/hooks broken")), "the problem of the other hook");
  expect(await asked(live, "/hooks broken")).not.toContain("flat");
});
