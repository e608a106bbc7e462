/** What a runner says is for those who may give it work, wherever it stands. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { until } from "../support/until.js";
import { BOB, OWNER, type RunningApp, runApp } from "./running-app.js";

let app: RunningApp;
beforeAll(async () => {
  app = await runApp({
    operators: { admin: ["web:2"] },
    orchestrator: {
      runners: {
        ours: { shell: { sh: "echo the owners only" }, role: "owner" },
        theirs: { shell: { sh: "echo the admins too" }, role: "admin" },
      },
    },
    hooks: [
      { id: "seen", on: "task:complete", phase: "after", run: { chat: { to: "web:web:general", text: "Done" } } },
    ],
  });
});
afterAll(() => app.close());

const say = async (line: string, token: string) =>
  JSON.stringify((await app.call(token, "POST", "/api/command", { line })).body);

it.each([
  ["ours", "the owners only", false],
  ["theirs", "the admins too", true],
] as const)("of %s is revealed in dispatches of its tasks only to those", async (runner, words, mayHear) => {
  await app.call(OWNER, "POST", "/api/rooms/dm-1/messages", {
    text: `/task add ${runner} look`,
    nonce: `task-for-${runner}`,
  });
  const idsIn = async (line: string, pattern: RegExp) =>
    [...(await say(line, OWNER)).matchAll(pattern)].map(([id]) => id);
  const findIn = (list: string, pattern: RegExp, show: (id: string) => string) =>
    until(async () => {
      for (const id of await idsIn(list, pattern)) if ((await say(show(id), OWNER)).includes(words)) return id;
      return undefined;
    }, `${words} in ${list}`);
  const dispatch = await findIn(
    "/runs task:complete limit=20",
    /t_[^:"\\`]+:\d+:task:complete:after/g,
    (id) => `/run ${id} reveal=true`,
  );
  const line = `/run ${dispatch} reveal=true`;
  expect(await say(line, OWNER)).toContain(words);
  const shown = await say(line, BOB);
  expect(shown.includes(words)).toBe(mayHear);
  if (!mayHear) expect(shown).toContain("what the runner of a task said");
});
