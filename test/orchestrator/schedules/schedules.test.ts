/** Schedules through the started app, on a clock that can leap: what stands in plans and what people add, vetoes, pauses, time that was missed. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Schedule } from "../../../src/domain/orchestrator/schedule.js";
import { until } from "../../support/until.js";
import { type MissionApp, missionApp } from "../mission-app.js";

const RUNNERS = { note: { shell: { sh: "echo done >> done" } } };
const groups = [{ name: "only", tasks: [{ id: "one", assignTo: "note" }] }];
/** Seconds before three in the morning in Berlin, the day before the clock goes forward there. */
const BEFORE_THREE = Date.UTC(2026, 2, 28, 1, 59, 0);
const DAY = 86_400_000;
const at = (iso: string) => Date.parse(iso);

async function schedule(app: MissionApp, id: string): Promise<Schedule> {
  const { data } = await app.command("/schedule list");
  const found = (data.schedules as Schedule[]).find((one) => one.id === id);
  if (!found) throw new Error(`there is no schedule ${id}`);
  return found;
}
const missions = async (app: MissionApp) =>
  (await app.command("/mission list")).data.missions as { id: string; status: string; scheduleId?: string }[];
const last = (app: MissionApp, id: string, dueAt: number) =>
  until(
    async () => {
      const found = await schedule(app, id);
      return found.last?.dueAt === dueAt && found;
    },
    `the time ${new Date(dueAt).toISOString()} of ${id}`,
  );

it("a plan's schedule begins a mission at its time, in its zone, over a change of the clock; the hook hears of it once", async () => {
  const app = await missionApp(
    { nightly: { schedule: { cron: "0 3 * * *", timezone: "Europe/Berlin" }, groups } },
    {
      runners: RUNNERS,
      startMs: BEFORE_THREE,
      plugin: `
        const { appendFileSync } = process.getBuiltinModule("node:fs");
        for (const phase of ["before", "after"]) api.hooks.register({ hook: "schedule:trigger", phase, id: "sees-" + phase, handler: (ctx) =>
          appendFileSync(new URL("./heard", import.meta.url), [phase, ctx.data.scheduleId, ctx.data.expression, new Date(ctx.data.dueAt).toISOString()].join(" ") + "\\n") });`,
    },
  );
  const first = at("2026-03-28T02:00:00Z");
  expect(await schedule(app, "nightly")).toMatchObject({ source: "plan", nextAt: first, timezone: "Europe/Berlin" });
  expect((await app.command("/schedule list")).text).toContain("next 28 Mar 2026, 03:00 CET");
  app.clock.leapTo(first);
  // The next three o'clock is an hour earlier by the sun.
  const second = at("2026-03-29T01:00:00Z");
  expect(await last(app, "nightly", first)).toMatchObject({ nextAt: second, last: { kind: "started" } });
  app.clock.leapTo(second);
  await last(app, "nightly", second);
  await until(
    async () => (await missions(app)).filter(({ status }) => status === "done").length === 2,
    "both missions being done",
  );
  expect(app.lines("done")).toHaveLength(2);
  await until(() => app.lines("heard").length === 4, "all being told");
  expect(app.lines("heard").sort()).toEqual([
    "after nightly 0 3 * * * 2026-03-28T02:00:00.000Z",
    "after nightly 0 3 * * * 2026-03-29T01:00:00.000Z",
    "before nightly 0 3 * * * 2026-03-28T02:00:00.000Z",
    "before nightly 0 3 * * * 2026-03-29T01:00:00.000Z",
  ]);
});

it("a veto lets a time pass, is asked once and shown, and the next time comes all the same", async () => {
  const app = await missionApp(
    { nightly: { schedule: "0 3 * * *", groups } },
    {
      runners: RUNNERS,
      startMs: BEFORE_THREE,
      plugin: `
        const { appendFileSync, existsSync } = process.getBuiltinModule("node:fs");
        const here = (name) => new URL("./" + name, import.meta.url);
        api.hooks.register({ hook: "schedule:trigger", phase: "before", id: "freeze", handler(ctx) {
          appendFileSync(here("asked"), "asked\\n");
          if (!existsSync(here("may"))) ctx.cancel("a release is under way");
        } });`,
    },
  );
  const first = (await schedule(app, "nightly")).nextAt as number;
  app.clock.leapTo(first);
  const vetoed = await last(app, "nightly", first);
  expect(vetoed.last).toMatchObject({ kind: "vetoed", by: "of-the-test.freeze", reason: "a release is under way" });
  expect(vetoed.nextAt).toBeGreaterThan(first);
  expect((await app.command("/schedule list")).text).toContain("a release is under way");
  app.clock.leap(3_600_000);
  expect(await missions(app)).toEqual([]);
  expect(app.lines("asked")).toHaveLength(1);

  expect(await app.command("/schedule run nightly")).toMatchObject({ outcome: "refused" });
  app.write("may", "");
  app.clock.leapTo(vetoed.nextAt as number);
  await last(app, "nightly", vetoed.nextAt as number);
  await until(async () => (await missions(app)).length > 0, "the mission");
  expect(await missions(app)).toMatchObject([{ scheduleId: "nightly" }]);
});

it("what was missed while the gateway was down is made good once, or not at all where the plan says so", async () => {
  const app = await missionApp(
    {
      nightly: { schedule: { cron: "0 3 * * *", timezone: "UTC" }, groups },
      strict: { schedule: { cron: "0 4 * * *", timezone: "UTC", catchUp: false }, groups },
    },
    { runners: RUNNERS, startMs: at("2026-01-10T12:00:00Z") },
  );
  await schedule(app, "strict");
  await app.stop();
  app.clock.leap(5 * DAY + 3_600_000);
  await app.start();
  expect(await last(app, "nightly", at("2026-01-11T03:00:00Z"))).toMatchObject({ nextAt: at("2026-01-16T03:00:00Z") });
  expect(await last(app, "strict", at("2026-01-11T04:00:00Z"))).toMatchObject({
    nextAt: at("2026-01-16T04:00:00Z"),
    last: { kind: "passed_by" },
  });
  expect(await missions(app)).toMatchObject([{ scheduleId: "nightly" }]);
  await app.stop();
  await app.start();
  await schedule(app, "nightly");
  expect(await missions(app)).toHaveLength(1);
});

it("people add, pause, take up, run and remove schedules; who may what is checked, and slips are answered", async () => {
  const guarded = { groups: [{ name: "only", tasks: [{ id: "one", assignTo: "guarded" }] }] };
  const runners = { ...RUNNERS, guarded: { ...RUNNERS.note, role: "admin" } };
  const app = await missionApp({ plain: { groups }, guarded }, { runners, startMs: at("2026-01-10T12:00:00Z") });
  expect((await app.command('/schedule add plain "0 25 * * *"')).text).toContain("is no cron expression");
  expect((await app.command('/schedule add plain "0 5 * * *" Europe/Berln')).text).toContain(
    'did you mean "Europe/Berlin"?',
  );
  expect((await app.command('/schedule add plian "0 9 * * *"')).text).toContain('Did you mean "plain"?');
  expect((await app.command('/schedule add plain "0 9 * * *" Europe/Berlni')).outcome).not.toBe("done");
  expect(await app.command('/schedule add plain "0 9 * * *"', "bob")).toMatchObject({ outcome: "refused" });
  const added = await app.command('/schedule add plain "0 9 * * *" Europe/Berlin');
  expect(added).toMatchObject({ outcome: "done", data: { id: "plain", nextAt: at("2026-01-11T08:00:00Z") } });
  expect((await app.command('/schedule add plain "@daily" UTC')).data.id).toBe("plain-2");
  const again = await app.command('/schedule add plain "@daily" UTC');
  expect(again).toMatchObject({
    outcome: "failed",
    text: expect.stringContaining('The schedule "plain-2" starts the plan "plain" at these times already.'),
  });
  expect(again.text).toContain("name=second");
  expect((await app.command('/schedule add plain "@daily" UTC name=second')).data.id).toBe("second");
  await app.command("/schedule remove second");

  expect(await app.command("/schedule pause plain", "bob")).toMatchObject({
    text: expect.stringMatching(/\*\*paused\*\* by Bob\b/),
  });
  app.clock.leap(3 * DAY);
  await last(app, "plain-2", at("2026-01-11T00:00:00Z"));
  const paused = await schedule(app, "plain");
  expect(paused).toMatchObject({ paused: { by: "web:2 (Bob)" } });
  expect(paused.nextAt).toBeUndefined();
  expect(await app.command("/schedule resume plain", "bob")).toMatchObject({
    data: { nextAt: at("2026-01-14T08:00:00Z") },
  });

  // Whoever may not begin a plan may not begin it by its schedule either.
  await app.command('/schedule add guarded "0 9 1 1 *" UTC');
  for (const line of ["/mission run guarded", "/schedule run guarded"])
    expect(await app.command(line, "bob"), line).toMatchObject({ outcome: "refused" });
  expect((await missions(app)).filter(({ scheduleId }) => scheduleId === "guarded")).toEqual([]);

  const { data } = await app.command("/schedule run plain", "bob");
  expect(data).toMatchObject({ kind: "started" });
  expect(await app.reaches(data.missionId, "done")).toMatchObject({ createdBy: "web:2 (Bob)", scheduleId: "plain" });
  expect((await schedule(app, "plain")).nextAt).toBe(at("2026-01-14T08:00:00Z"));
  expect(await app.command("/schedule remove plain")).toMatchObject({ outcome: "done" });
  expect((await app.command("/schedule pause plain")).text).toContain('Did you mean "plain-2"?');
});

it("an admin adds no schedule for a plan that only an owner may begin: not by command, not by the API, nothing is left of it", async () => {
  const owners = { groups: [{ name: "only", tasks: [{ id: "one", assignTo: "owners" }] }] };
  const app = await missionApp(
    { plain: { groups }, owners },
    {
      runners: { ...RUNNERS, owners: { ...RUNNERS.note, role: "owner" } },
      config: { operators: { admin: ["web:2"] } },
      startMs: at("2026-01-10T12:00:00Z"),
    },
  );
  const refused = await app.command('/schedule add owners "0 9 * * *" UTC', "bob");
  expect(refused).toMatchObject({ outcome: "refused", text: expect.stringContaining("owner") });
  const request = { plan: "owners", cron: "0 9 * * *", timezone: "UTC" };
  expect(await app.api("POST", "/schedules", request, "bob")).toMatchObject({
    status: 403,
    body: { code: "FORBIDDEN" },
  });
  expect((await app.command("/schedule list")).data.schedules).toEqual([]);
  expect(await app.command('/schedule add plain "0 9 * * *" UTC', "bob")).toMatchObject({ outcome: "done" });
  expect(await app.command('/schedule add owners "0 9 * * *" UTC')).toMatchObject({ outcome: "done" });
});

it("a broken plan gets no schedule, and /schedule list marks those whose plan broke or is gone", async () => {
  const broken = { groups: [{ name: "only", tasks: [{ id: "one", assignTo: "gone" }] }] };
  const app = await missionApp(
    { release: { groups }, removed: { groups }, broken },
    { runners: RUNNERS, startMs: at("2026-01-10T12:00:00Z") },
  );
  const refused = await app.command('/schedule add broken "0 3 * * SUN"');
  expect(refused).toMatchObject({ outcome: "failed", text: expect.stringContaining('no runner or person "gone"') });
  expect(refused.text).toContain("No schedule was added.");
  for (const plan of ["release", "removed"]) await app.command(`/schedule add ${plan} "0 3 * * SUN" UTC`);
  expect((await app.command("/schedule list")).text).not.toContain("cannot start");
  app.write("missions/release.json", JSON.stringify(broken));
  rmSync(join(app.folder, "missions/removed.json"));
  const { text, data } = await app.command("/schedule list");
  expect(data.schedules.map(({ id }: { id: string }) => id)).toEqual(["release", "removed"]);
  expect(text).toMatch(/`release`: plan .*; it \*\*cannot start\*\*: its plan is broken \(\/mission plans shows why\)/);
  expect(text).toMatch(/`removed`: plan .*; it \*\*cannot start\*\*: there is no plan `removed` any more/);
});

it("a plan that was broken meanwhile fails at its time, visibly, and is carried out when it is mended", async () => {
  const app = await missionApp(
    { nightly: { schedule: { cron: "0 3 * * *", timezone: "UTC" }, groups } },
    { runners: RUNNERS, startMs: at("2026-01-10T12:00:00Z") },
  );
  await schedule(app, "nightly");
  app.write(
    "missions/nightly.json",
    '{"schedule":"0 3 * * *","groups":[{"name":"only","tasks":[{"id":"one","assignTo":"gone"}]}]}',
  );
  app.clock.leapTo(at("2026-01-11T03:00:00Z"));
  const failed = await last(app, "nightly", at("2026-01-11T03:00:00Z"));
  expect(failed.last).toMatchObject({ kind: "failed", reason: expect.stringContaining('no runner or person "gone"') });
  app.write("missions/nightly.json", JSON.stringify({ schedule: { cron: "30 3 * * *", timezone: "UTC" }, groups }));
  const mended = await until(async () => {
    const found = await schedule(app, "nightly");
    return found.expression === "30 3 * * *" && found;
  }, "the new times");
  app.clock.leapTo(mended.nextAt as number);
  await last(app, "nightly", mended.nextAt as number);
  await until(() => app.lines("done").length === 1, "the mission");
});
