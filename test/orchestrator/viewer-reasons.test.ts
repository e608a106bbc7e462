/** Reasons with which hooks refuse tasks, missions and schedules quote what people wrote: operators read them, viewers do not. */
import { expect, it } from "vitest";
import { until } from "../support/until.js";
import { missionApp } from "./mission-app.js";

const QUOTE = "the cat is grey";
const refuse = (id: string, on: string, when?: string) => ({
  id,
  on,
  phase: "before",
  match: when === undefined ? {} : { when },
  run: { shell: { sh: `echo "it says ${QUOTE}" >&2; exit 2` } },
});

it("a viewer reads that a hook refused, and not why", async () => {
  const app = await missionApp(
    {
      fine: { groups: [{ name: "only", tasks: [{ id: "one", assignTo: "build" }] }] },
      bad: { groups: [{ name: "only", tasks: [{ id: "one", title: "Refused", assignTo: "build" }] }] },
    },
    {
      runners: { build: { shell: { sh: "true" } } },
      config: {
        operators: { viewer: ["web:2"] },
        hooks: [
          refuse("no-mission", "mission:execute", 'payload.mission.planId == "fine"'),
          refuse("no-task", "task:transition", 'payload.task.title == "Refused" && payload.to == "in_progress"'),
          refuse("no-end", "task:complete", 'payload.task.title == "Mine"'),
          refuse("no-time", "schedule:trigger"),
        ],
      },
    },
  );
  const { data: mission } = await app.command("/mission run fine");
  const { data: other } = await app.command("/mission run bad");
  const { data: task } = await app.command("/task add me Mine");
  await app.command(`/task start ${task.id}`);
  await app.command(`/task done ${task.id} well`);
  await app.command('/schedule add fine "0 3 * * *" name=nightly');
  await app.command("/schedule run nightly");
  // The card of a mission is read by everybody in the room.
  await app.say("/mission run fine");
  // The answer to the owner is private.
  const room = async () => JSON.stringify((await app.room()).filter((message) => !("isPrivate" in message)));
  await until(async () => (await room()).includes("mission:execute"), "the card of the refused mission");
  expect(await room()).toContain("shows operators the reason");
  expect(await room()).not.toContain(QUOTE);
  const seen = async (by: "owner" | "bob") => {
    const lines = [
      "/mission list",
      ...[mission?.id, other?.id].flatMap((id) => (id ? [`/mission show ${id}`, `/mission report ${id}`] : [])),
      `/task show ${task.id}`,
      "/task list all",
      "/gate list",
      "/schedule",
      ...["mission:execute", "task:transition", "task:complete", "schedule:trigger"].map((point) => `/runs ${point}`),
    ];
    const said = await Promise.all(lines.map((line) => app.command(line, by)));
    const paths = ["/missions", "/tasks", `/tasks/${task.id}`, "/schedules", "/runs?filter=all&limit=100"];
    const read = await Promise.all(paths.map((path) => app.api("GET", path, undefined, by)));
    return [
      ...said.map((one, index) => [lines[index], JSON.stringify(one)] as const),
      ...read.map(({ body }, index) => [paths[index], JSON.stringify(body)] as const),
    ];
  };
  const leaks = async (by: "owner" | "bob") =>
    (await seen(by)).filter(([, text]) => text.includes(QUOTE)).map(([where]) => where);
  await until(async () => (await leaks("owner")).length >= 8, "the refusals");
  expect(await leaks("owner")).toEqual(expect.arrayContaining([`/task show ${task.id}`, "/schedule"]));
  expect(await leaks("bob")).toEqual([]);
});
