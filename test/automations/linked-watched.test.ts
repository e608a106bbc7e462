/** Hooks that watch a path over a symbolic link, which is switched. */
import { mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { jsonLines } from "../support/lines.js";
import { until } from "../support/until.js";
import { type LiveApp, liveApp } from "./support/live-app.js";

const hook = (id: string, paths: string) => `
id: ${id}
trigger: { files: { paths: ${JSON.stringify(paths)}, debounce: 50ms } }
run: { shell: { sh: "tr -d '\\n' >> ../${id}.log; echo >> ../${id}.log" } }
`;

const changes = (live: LiveApp, id: string) =>
  jsonLines<{ relativePath: string; operation: string; sizeBytes: number }>(join(live.folder, `${id}.log`)).map(
    ({ relativePath, operation, sizeBytes }) => `${relativePath.slice(3)} ${operation} ${sizeBytes}`,
  );

/** At once, as `ln -sfn` does. */
function link(live: LiveApp, name: string, target: string): void {
  const made = join(live.folder, `${name}.next`);
  symlinkSync(target, made);
  renameSync(made, join(live.folder, name));
}

/** Waits until as many runs were started by this hook, and compares what started them. */
async function expectRuns(live: LiveApp, id: string, expected: string[]): Promise<void> {
  await until(() => changes(live, id).length >= expected.length, `${expected.length} runs of ${id}`);
  expect(changes(live, id).sort()).toEqual([...expected].sort());
}

test.each([
  ["the folder", "../current/**", "current", ""],
  ["a folder above", "../current/in/**", "current", "in/"],
])("%s is a link: each switch starts the hook for what differs, and only its target is watched", async (...given) => {
  const [, paths, root, below] = given;
  const live = await liveApp({ "hookgate.yaml": "", "hooks/release.yaml": hook("release", paths) }, { start: false });
  const shown = (change: string) => `${root}/${below}${change}`;
  for (const [name, text] of [
    ["r1/app", "1"],
    ["r1/old", "1"],
    ["r2/app", "22"],
    ["r2/new", "22"],
    ["r3/app", "333"],
    ["r3/new", "333"],
  ] as const)
    live.write(name.replace("/", `/${below}`), text);
  link(live, "current", "r1");
  await live.start();

  link(live, "current", "r2");
  const runs = [shown("app modified 2"), shown("old deleted 0"), shown("new created 2")];
  await expectRuns(live, "release", runs);
  live.write(`r1/${below}app`, "old target");
  live.write(`r1/${below}other`, "old target");
  live.write(`r2/${below}app`, "written");
  runs.push(shown("app modified 7"));
  await expectRuns(live, "release", runs);

  link(live, "current", "r3");
  runs.push(shown("app modified 3"), shown("new modified 3"));
  await expectRuns(live, "release", runs);
  live.write(`r2/${below}app`, "old target");
  live.write(`r3/${below}later`, "later");
  runs.push(shown("later created 5"));
  await expectRuns(live, "release", runs);

  link(live, "current", "r1");
  runs.push(shown("app modified 10"), shown("other created 10"), shown("old created 1"));
  runs.push(shown("new deleted 0"), shown("later deleted 0"));
  await expectRuns(live, "release", runs);
});

test("a file behind a link, and a file that is one, are followed when the link is switched", async () => {
  const live = await liveApp(
    {
      "hookgate.yaml": "",
      "hooks/behind.yaml": hook("behind", "../current/app"),
      "hooks/is.yaml": hook("is", "../conf/app"),
      "r1/app": "1",
      "r2/app": "22",
      "r3/other": "",
    },
    { start: false },
  );
  link(live, "current", "r1");
  link(live, "data", "r1");
  mkdirSync(join(live.folder, "conf"));
  link(live, "conf/app", "../data/app");
  await live.start();
  const both = async (runs: string[]) => {
    await expectRuns(
      live,
      "behind",
      runs.map((one) => `current/${one}`),
    );
    await expectRuns(
      live,
      "is",
      runs.map((one) => `conf/${one}`),
    );
  };
  const runs = ["app modified 2"];
  for (const name of ["current", "data"]) link(live, name, "r2");
  await both(runs);
  live.write("r1/app", "old target");
  live.write("r2/app", "written");
  runs.push("app modified 7");
  await both(runs);
  for (const name of ["current", "data"]) link(live, name, "r3");
  runs.push("app deleted 0");
  await both(runs);
  live.write("r3/app", "333");
  runs.push("app created 3");
  await both(runs);
  live.write("r3/app", "4444");
  runs.push("app modified 4");
  await both(runs);
});

test("a link that leads nowhere is followed as soon as it leads to a folder, and one takes a folder's place", async () => {
  const live = await liveApp(
    {
      "hookgate.yaml": "",
      "hooks/release.yaml": hook("release", "../current/**"),
      "hooks/was.yaml": hook("was", "../folder/**"),
      "r1/app": "1",
      "folder/app": "folder",
    },
    { start: false },
  );
  link(live, "current", "r2");
  await live.start();
  live.write("r2/app", "22");
  const runs = ["current/app created 2"];
  await expectRuns(live, "release", runs);
  rmSync(join(live.folder, "current"));
  runs.push("current/app deleted 0");
  await expectRuns(live, "release", runs);
  link(live, "current", "r1");
  runs.push("current/app created 1");
  await expectRuns(live, "release", runs);

  renameSync(join(live.folder, "folder"), join(live.folder, "moved"));
  link(live, "folder", "r1");
  await expectRuns(live, "was", ["folder/app modified 1"]);
  live.write("r1/app", "written");
  await expectRuns(live, "was", ["folder/app modified 1", "folder/app modified 7"]);
});

test("a folder that is moved in, out and in again starts the hook each time", async () => {
  const live = await liveApp({
    "hookgate.yaml": "",
    "hooks/jobs.yaml": hook("jobs", "../inbox/**"),
    "inbox/kept": "",
    "job/order": "1",
  });
  const move = (from: string, to: string) => renameSync(join(live.folder, from), join(live.folder, to));
  const runs: string[] = [];
  for (let round = 1; round <= 3; round++) {
    move("job", "inbox/job");
    runs.push("inbox/job/order created 1");
    await expectRuns(live, "jobs", runs);
    move("inbox/job", "job");
    runs.push("inbox/job/order deleted 0");
    await expectRuns(live, "jobs", runs);
  }
});
