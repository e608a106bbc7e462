/** Missions whose work is done by people: handed out, judged, handed out again with what is lacking, given up, taken back. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Task } from "../../../src/domain/orchestrator/task.js";
import type { TaskEvent } from "../../../src/domain/orchestrator/task-store.js";
import { until } from "../../support/until.js";
import { type MissionApp, missionApp } from "../mission-app.js";

const BOB = "person:web:2";
const PLANS = {
  reviewed: {
    groups: [
      {
        name: "write",
        tasks: [
          {
            id: "text",
            title: "Write it",
            assignTo: BOB,
            expectations: [{ when: "result.output.size() > 10", name: "long enough" }],
            retryPolicy: { maxRetries: 1 },
          },
        ],
        gate: { name: "quality", minScore: 0.9 },
      },
      { name: "publish", tasks: [{ id: "out", title: "Publish it", assignTo: "press", dependsOn: ["text"] }] },
    ],
  },
  checked: {
    groups: [
      {
        name: "one",
        tasks: [
          {
            id: "notes",
            title: "Write notes",
            assignTo: BOB,
            expectations: [{ sh: "until [ -e checked ]; do sleep 0.02; done; exit 1", name: "there" }],
          },
        ],
      },
    ],
  },
  shared: {
    groups: [
      {
        name: "both",
        tasks: [
          { id: "one", title: "Sign it", assignTo: BOB },
          { id: "two", title: "Stamp it", assignTo: BOB, maxDuration: "30m" },
          { id: "three", title: "File it", assignTo: "press", dependsOn: ["one"] },
        ],
      },
    ],
  },
};

type Shown = Task & { history: TaskEvent[] };
const show = async (app: MissionApp, id: string) => (await app.command(`/task show ${id}`)).data as Shown;
const becomes = (app: MissionApp, id: string, status: string, attempt?: number) =>
  until(async () => {
    const task = await show(app, id);
    return task.status === status && (attempt === undefined || task.attempt === attempt) && task;
  }, `${id} being ${status}`);
const tasksOf = (app: MissionApp, mission: string) =>
  until(async () => {
    const { taskIds } = (await app.command(`/mission show ${mission}`)).data as { taskIds: Record<string, string> };
    const shown = await Promise.all(Object.values(taskIds).map((id) => show(app, id)));
    return shown.every((task) => task?.status !== undefined) && taskIds;
  }, "its tasks");
/** What stands in Bob's own conversation. */
const cards = async (app: MissionApp) => {
  const answer = await fetch(`${app.app.url}/api/rooms/dm-2/messages`, {
    headers: { authorization: "Bearer the-token-of-bob-00000000001" },
  });
  return ((await answer.json()) as { messages: { text: string; buttons?: { label: string }[][] }[] }).messages;
};

it("a person's work in a mission is judged, handed out again with what is lacking, and opens the gate", async () => {
  const app = await missionApp(PLANS, { runners: { press: { shell: { sh: "echo out" } } } });
  const mission = await app.run("reviewed");
  const { text = "", out = "" } = await tasksOf(app, mission);
  await becomes(app, text, "assigned");
  expect((await show(app, out)).status).toBe("draft");

  // Handed in without having been begun: a try like any other, and too short.
  await app.command(`/task done ${text} short`, "bob");
  await until(async () => (await show(app, text)).history.some(({ to }) => to === "review"), "it being judged");
  const again = await becomes(app, text, "assigned");
  expect(again).toMatchObject({ attempt: 1, retries: 1, assessment: { passed: false, globalScore: 0 } });
  await until(
    async () => (await cards(app)).filter((card) => card.text.includes("Write it")).length === 2,
    "a new card",
  );
  expect((await cards(app)).at(-1)?.text).toContain("To fix: long enough");

  await app.command(`/task start ${text}`, "bob");
  await app.command(`/task done ${text} a text that is long enough`, "bob");
  await app.reaches(mission, "done");
  const { data: report } = await app.command(`/mission report ${mission}`);
  expect(report).toMatchObject({
    allPassed: true,
    avgScore: 1,
    retries: 1,
    gates: [{ verdict: "passed", changes: 1 }],
  });
  expect(report.tasks[0]).toMatchObject({ attempts: 2, retries: 1, score: 1, outcome: "a text that is long enough" });
  expect(report.tasks[1]).toMatchObject({ status: "done", outcome: "out" });
}, 120_000);

it("a person who cannot, and one whose time is over, end the mission; what waited for them never begins", async () => {
  const app = await missionApp(PLANS, {
    runners: { press: { shell: { sh: "echo out" } } },
    orchestrator: { tick: "200ms" },
  });
  const mission = await app.run("shared");
  const { one = "", two = "", three = "" } = await tasksOf(app, mission);
  await becomes(app, one, "assigned");
  await becomes(app, two, "assigned");
  await app.command(`/task start ${two}`, "bob");
  await becomes(app, two, "in_progress");
  // Over a restart, too, and not before its time.
  await app.stop();
  await app.start();
  expect((await show(app, two)).status).toBe("in_progress");
  app.clock.leap(31 * 60_000);
  expect((await becomes(app, two, "failed")).reason).toMatch(/^timeout/);
  await app.command(`/task decline ${one} my pen is empty`, "bob");
  await app.reaches(mission, "failed");
  expect(await show(app, three)).toMatchObject({ attempt: 0, status: "cancelled" });
  const { data: report } = await app.command(`/mission report ${mission}`);
  expect(report.tasks.map(({ outcome }: { outcome: string }) => outcome)).toEqual([
    "my pen is empty",
    expect.stringMatching(/^timeout/),
    expect.anything(),
  ]);
}, 120_000);

it("a second Done of an operator leaves the check as it is; Accept takes its place, and the report says so", async () => {
  const app = await missionApp(PLANS, { runners: { press: { shell: { sh: "echo out" } } } });
  const bobs = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${app.app.url}/api${path}`, {
      method,
      headers: { authorization: "Bearer the-token-of-bob-00000000001", "content-type": "application/json" },
      body: body && JSON.stringify(body),
    });
    // biome-ignore lint/suspicious/noExplicitAny: a room and its messages, read field by field
    return (await answer.json()) as any;
  };
  const cardOf = (id: string, label: string) =>
    until(async () => {
      const { messages } = await bobs("GET", "/rooms/dm-2/messages");
      const card = messages.findLast(
        (one: { card?: { footer?: string } }) => one.card && JSON.stringify(one.card).includes(id),
      );
      const button = card?.buttons?.flat().find((one: { label: string }) => one.label === label);
      return button && { card: card.id as string, token: button.token as string };
    }, `a card with ${label}`);
  let presses = 0;
  const press = ({ card, token }: { card: string; token: string }) =>
    bobs("POST", `/messages/${card}/press`, { token, nonce: `nonce-${process.pid}-${++presses}` });
  const reported = async () => {
    const mission = await app.run("checked");
    const { notes = "" } = await tasksOf(app, mission);
    await becomes(app, notes, "assigned");
    const done = await cardOf(notes, "Done");
    await press(done);
    await becomes(app, notes, "review");
    return { mission, notes, done };
  };

  const first = await reported();
  await press(first.done);
  await until(
    async () =>
      (await cards(app)).some(({ text }) => text.startsWith("Nothing to do: Write notes was reported as done")),
    "the answer",
  );
  expect((await app.command(`/task done ${first.notes}`, "bob")).text).toContain("/task accept");
  expect((await show(app, first.notes)).status).toBe("review");
  app.write("checked", "");
  await app.reaches(first.mission, "failed");

  rmSync(join(app.folder, "checked"));
  const second = await reported();
  await press(await cardOf(second.notes, "Accept"));
  await app.reaches(second.mission, "done");
  const { data, text } = await app.command(`/mission report ${second.mission}`);
  expect(data.tasks).toMatchObject([{ status: "done", isUnchecked: true }]);
  expect(text).toContain("Accepted without a check: Write notes");
}, 120_000);

it("a mission that is cancelled takes the work back from people: their cards say so, and have no buttons any more", async () => {
  const app = await missionApp(PLANS, { runners: { press: { shell: { sh: "echo out" } } } });
  const mission = await app.run("shared");
  const { one = "" } = await tasksOf(app, mission);
  await becomes(app, one, "assigned");
  await until(async () => (await cards(app)).some((card) => card.text.includes("Sign it")), "the card");
  await app.command(`/mission cancel ${mission} nobody wants it`);
  await app.reaches(mission, "cancelled");
  await until(async () => {
    const card = (await cards(app)).find(({ text }) => text.includes("Sign it"));
    return card?.text.includes("cancelled") && (card.buttons ?? []).flat().length === 0;
  }, "the card saying so");
  expect((await app.command(`/task done ${one} too late`, "bob")).outcome).toBe("failed");
}, 120_000);
