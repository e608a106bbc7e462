/** `attempt` at the points of work: how often a dispatch was started, over kills of the running product, and of what is asked again by a person. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSqlite } from "../../src/store/driver.js";
import { type GatewayProcess, gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { jsonLines } from "../support/lines.js";
import { until } from "../support/until.js";
import { missionApp } from "./mission-app.js";
import { refuse, WATCH, WORK_POINTS, watched } from "./support/watch-plugin.js";

/** Notes every call, then kills its process at the place that `kill-at` names, once `hold` is gone. No task starts while `no-start` is there. */
const WITNESS = `
const { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } = process.getBuiltinModule("node:fs");
const here = (name) => new URL("./" + name, import.meta.url);
export default { id: "witness", setup(api) {
  for (const hook of ${JSON.stringify(WORK_POINTS.filter((point) => !point.startsWith("orchestrator:")))})
    for (const phase of ["before", "after"])
      api.hooks.register({ hook, phase, id: phase + "-" + hook.replace(":", "-"), timeoutMs: 60_000, async handler({ data, dispatchId, attempt }) {
        const place = hook + (data.to ? ">" + data.to : "") + " " + phase;
        appendFileSync(here("calls"), JSON.stringify({ place, dispatchId, attempt }) + "\\n");
        if (!existsSync(here("kill-at")) || readFileSync(here("kill-at"), "utf8") !== place) return;
        while (existsSync(here("hold"))) await new Promise((done) => setTimeout(done, 20));
        if (!existsSync(here("kill-at"))) return;
        rmSync(here("kill-at"));
        writeFileSync(here("killed"), dispatchId);
        process.kill(process.pid, "SIGKILL");
      } });
  api.hooks.register({ hook: "orchestrator:tick", phase: "before", id: "starter", handler({ cancel }) {
    if (existsSync(here("no-start"))) cancel("not now");
  } });
} };`;

const JUDGED = {
  defaults: { assignTo: "work" },
  groups: [{ name: "only", tasks: [{ id: "a", expectations: [{ when: "result.ok" }] }], gate: { name: "good" } }],
};

describe("killed in a handler", () => {
  let gateway: GatewayProcess;
  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), "hookgate-attempts-"));
    gateway = await gatewayProcess({
      folder,
      env: { DATABASE_URL: "file:test.db" },
      config: {
        plugins: ["./witness.mjs"],
        web: { access: { dms: "everyone", chats: ["*"], mention: "always" } },
        gateway: { shutdown_timeout: "1s" },
        orchestrator: {
          tick: "200ms",
          shutdown_timeout: "1s",
          lease: "2s",
          max_crashes: 1,
          runners: { work: { shell: { command: ["true"] } }, bad: { shell: { command: ["false"] } } },
        },
        hooks: [
          {
            id: "maker",
            on: "inbound_claim",
            match: { when: 'payload.message.text.startsWith("make")' },
            context: [{ create_task: { to: "work", title: "Made by a hook" } }],
            run: { shell: { command: ["true"] } },
          },
        ],
      },
    });
    mkdirSync(join(folder, "missions"));
    writeFileSync(join(folder, "witness.mjs"), WITNESS);
    writeFileSync(join(folder, "missions/plan.json"), JSON.stringify(JUDGED));
    writeFileSync(join(folder, "missions/yearly.json"), JSON.stringify({ ...JUDGED, schedule: "0 0 1 1 *" }));
    await gateway.start();
    await gateway.ready();
  });
  afterAll(async () => {
    await gateway.kill();
    rmSync(gateway.folder, { recursive: true, force: true });
  });

  async function post(path: string, body: object): Promise<{ data?: Record<string, unknown>; text?: string }> {
    const answer = await fetch(`${gateway.url}/api${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return (await answer.json()) as { data?: Record<string, unknown> };
  }
  let said = 0;
  /** In a chat: handled again after the kill. */
  const say = (text: string) => post("/rooms/general/messages", { text, nonce: `nonce-number-${++said}` });
  const command = (line: string) => post("/command", { line });
  const add = async (line: string) => (await command(`/task add ${line}`)).data?.id as string;
  const is = (id: string, status: string) =>
    until(async () => (await command(`/task show ${id}`)).data?.status === status, `${id} being ${status}`);
  const given = async () => {
    const id = await add("person:web:1 Call them");
    await is(id, "assigned");
    return id;
  };
  const calls = () => jsonLines<{ place: string; dispatchId: string; attempt: number }>(join(gateway.folder, "calls"));
  function rows<T>(sql: string): T[] {
    const database = openSqlite(join(gateway.folder, "test.db"), { readonly: true });
    try {
      return database.prepare(sql).all() as T[];
    } finally {
      database.close();
    }
  }

  it("/hooks why shows the crash while the hooks wait to be called again", async () => {
    writeFileSync(join(gateway.folder, "kill-at"), "task:spawn before");
    await add("work Do it").catch(() => {}); // the answer may be lost with the process
    await until(() => !gateway.running(), "the kill");
    writeFileSync(join(gateway.folder, "no-start"), "");
    await gateway.start();
    await gateway.ready();
    const dispatchId = readFileSync(join(gateway.folder, "killed"), "utf8");
    const [id = ""] = dispatchId.split(":");
    const crash = `The gateway crashed once while hooks at task:spawn were at work on ${id}; what ran before each crash is not recorded. They are called again when it is its turn. After more than 1 crashes in a row`;
    const lines = ["witness.before-task-spawn", `witness.before-task-spawn ${id}`, "task:spawn", `task:spawn ${id}`];
    const answers: string[] = [];
    for (const line of lines) answers.push((await command(`/hooks why ${line}`)).text ?? "");
    rmSync(join(gateway.folder, "no-start"));
    for (const text of answers.map((one) => one.replaceAll(/[\\*`]/g, ""))) {
      expect(text).toContain(crash);
      expect(text).not.toMatch(/never fired|not fired|did not fire/);
    }
    await idle();
    expect(attemptsOf(dispatchId)).toEqual([1, 2]);
    expect((await command("/hooks why task:spawn")).text).not.toContain("crashed");
  }, 120_000);

  it.each<{ place: string; make?: () => Promise<string>; act: (id: string) => Promise<unknown> }>([
    { place: "task:create before", act: () => say("make one") },
    { place: "task:transition>assigned before", act: () => add("work Do it") },
    { place: "task:spawn before", act: () => add("work Do it") },
    { place: "task:transition>in_progress before", act: () => add("work Do it") },
    {
      place: "task:transition>pending before",
      make: async () => {
        const id = await add("bad Do it");
        await is(id, "failed");
        return id;
      },
      act: (id) => say(`/task retry ${id}`),
    },
    { place: "task:fail before", make: given, act: (id) => say(`/task decline ${id}`) },
    { place: "task:complete before", make: given, act: (id) => say(`/task done ${id}`) },
    // The end of a program: it is on disk, and the program does not run again.
    { place: "task:transition>done before", act: () => add("work Do it") },
    { place: "task:complete before", act: () => add("work Do it") },
    { place: "task:transition>failed before", act: () => add("bad Do it") },
    { place: "task:fail before", act: () => add("bad Do it") },
    { place: "task:retry before", act: () => add("bad retries=1 Do it") },
    { place: "task:transition>review before", act: () => add('work expect="when: result.ok" Do it') },
    { place: "assessment:run before", act: () => add('work expect="when: result.ok" Do it') },
    { place: "assessment:complete before", act: () => add('work expect="when: result.ok" Do it') },
    { place: "schedule:trigger before", act: () => say("/schedule run yearly") },
    { place: "schedule:trigger after", act: () => say("/schedule run yearly") },
    { place: "mission:execute before", act: () => say("/mission run plan") },
    { place: "mission:execute after", act: () => say("/mission run plan") },
    { place: "task:create before", act: () => say("/mission run plan") },
    { place: "quality:gate before", act: () => say("/mission run plan") },
    { place: "quality:gate after", act: () => say("/mission run plan") },
    { place: "mission:complete before", act: () => say("/mission run plan") },
    { place: "mission:complete after", act: () => say("/mission run plan") },
  ])(
    "at $place it is called again with the same dispatch id and the next attempt",
    async ({ place, make, act }) => {
      const id = (await make?.()) ?? "";
      writeFileSync(join(gateway.folder, "kill-at"), place);
      await act(id).catch(() => {}); // the answer may be lost with the process
      await calledAgain();
    },
    60_000,
  );

  it("at mission:execute of a schedule, also when hooks were notified of the schedule meanwhile", async () => {
    writeFileSync(join(gateway.folder, "hold"), "");
    writeFileSync(join(gateway.folder, "kill-at"), "mission:execute before");
    const asked = () => calls().filter(({ place }) => place === "mission:execute before").length;
    const before = asked();
    await say("/schedule run yearly");
    await until(() => asked() > before, "the call");
    const left = "SELECT id FROM pending WHERE kind = 'mission.hooks'";
    await until(() => rows(left).length === 0, "the schedule's hooks having been notified");
    rmSync(join(gateway.folder, "hold"));
    await calledAgain();
  }, 120_000);

  describe("after more crashes in a row than max_crashes", () => {
    const MISSION = "SELECT id FROM missions WHERE ended_at IS NULL";
    const TASK = "SELECT id FROM tasks WHERE status NOT IN ('done', 'failed')";
    it.each<{ place: string; act: () => Promise<unknown>; of: "mission" | "task" }>([
      { place: "task:transition>assigned before", act: () => add("work Do it"), of: "task" },
      { place: "task:spawn before", act: () => add("work Do it"), of: "task" },
      { place: "task:retry before", act: () => add("bad retries=1 Do it"), of: "task" },
      { place: "assessment:complete before", act: () => add('work expect="when: result.ok" Do it'), of: "task" },
      { place: "mission:execute before", act: () => say("/mission run plan"), of: "mission" },
      { place: "task:create before", act: () => say("/mission run plan"), of: "mission" },
      { place: "quality:gate before", act: () => say("/mission run plan"), of: "mission" },
      { place: "mission:complete before", act: () => say("/mission run plan"), of: "mission" },
    ])(
      "at $place it waits for a person, with the point and the count, and a person has the hooks called again",
      async ({ place, act, of }) => {
        const [point] = place.split(/[> ]/) as [string];
        const dispatchId = await crashTwice(place, act);
        const why = `the gateway crashed 2 times in a row while hooks at ${point} ran`;
        const [{ id }] = (await until(
          () =>
            rows(of === "task" ? TASK : MISSION).length === 1 && rows<{ id: string }>(of === "task" ? TASK : MISSION),
          "it being open",
        )) as [{ id: string }];
        const shown = await until(async () => {
          const said = await command(`/${of} show ${id}`);
          return said.data?.hold !== undefined && said;
        }, "it being held");
        expect((shown as { data: { hold: unknown } }).data.hold).toMatchObject({
          by: "hookgate",
          kind: "interruption",
        });
        expect(JSON.stringify((await command("/status")).data?.heldAfterCrashes)).toContain(id);
        expect((shown as { text: string }).text).toContain(why);
        expect(gateway.output()).toContain(`${why}: they are not called again by themselves`);
        expect(attemptsOf(dispatchId)).toEqual([1, 2]);
        // It did fire: what ran is not recorded.
        const explained = (await command(`/hooks why ${point}`)).text ?? "";
        expect(explained.replaceAll("\\", "")).toContain(`hooks were at work on ${"`"}${id}${"`"}`);
        const before = calls().length;
        await command(`/${of} retry ${id}`);
        await idle();
        const again = calls()
          .slice(before)
          .filter((one) => one.place.startsWith(point));
        expect(again.map(({ attempt }) => attempt)).toContain(1);
        expect(attemptsOf(dispatchId)).toEqual([1, 2]);
      },
      60_000,
    );

    it.each<{ place: string; act: () => Promise<unknown> }>([
      { place: "task:transition>assigned after", act: () => add("work Do it") },
      { place: "assessment:run after", act: () => add('work expect="when: result.ok" Do it') },
      { place: "mission:execute after", act: () => say("/mission run plan") },
    ])(
      "at $place the hooks are not notified of it again, and the work goes on",
      async ({ place, act }) => {
        const [point] = place.split(/[> ]/) as [string];
        const dispatchId = await crashTwice(place, act);
        await idle();
        expect(attemptsOf(dispatchId)).toEqual([1, 2]);
        expect(gateway.output()).toContain(
          `the gateway crashed 2 times in a row while hooks at ${point} (after) ran: they are not called again by themselves`,
        );
      },
      60_000,
    );

    it.each<{ place: string; act: () => Promise<unknown> }>([
      { place: "task:spawn before", act: () => add("work Do it") },
      { place: "assessment:run before", act: () => add('work expect="when: result.ok" Do it') },
      { place: "mission:execute before", act: () => say("/mission run plan") },
      { place: "task:create before", act: () => say("/mission run plan") },
    ])(
      "an orderly stop while a hook at $place runs is no crash, however often",
      async ({ place, act }) => {
        await idle();
        writeFileSync(join(gateway.folder, "hold"), "");
        writeFileSync(join(gateway.folder, "kill-at"), place);
        const before = calls().length;
        const held = () =>
          calls()
            .slice(before)
            .filter((one) => one.place === place);
        await act();
        for (let call = 1; call <= 2; call++) {
          await until(() => held().length === call, `call ${call}`);
          expect(await gateway.stop()).toBe(0);
          await gateway.start();
          await gateway.ready();
        }
        await until(() => held().length === 3, "the call after two stops");
        rmSync(join(gateway.folder, "kill-at"));
        rmSync(join(gateway.folder, "hold"));
        await idle();
        expect(held().map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
      },
      120_000,
    );

    it("at schedule:trigger its hooks are not called again for that time, with the count in the log, and are for the next time", async () => {
      const plan = { ...JUDGED, schedule: "* * * * * *" };
      const dispatchId = await crashTwice("schedule:trigger before", () => {
        writeFileSync(join(gateway.folder, "missions/ticking.json"), JSON.stringify(plan));
        return command("/schedule list"); // reads the plans
      });
      const isNext = (one: { place: string; dispatchId: string }) =>
        one.place === "schedule:trigger before" &&
        one.dispatchId.startsWith("schedule_ticking_") &&
        one.dispatchId !== dispatchId;
      await until(() => calls().some(isNext), "the next time");
      expect(attemptsOf(dispatchId)).toEqual([1, 2]);
      expect(gateway.output()).toContain(
        "the gateway crashed 2 times in a row while hooks at schedule:trigger ran: they are not called again by themselves",
      );
      await command("/schedule pause ticking");
      await idle();
    }, 120_000);

    /** The dispatch that ended the process. The gateway runs again after it. */
    async function crashTwice(place: string, act: () => Promise<unknown>): Promise<string> {
      await idle();
      writeFileSync(join(gateway.folder, "kill-at"), place);
      await act().catch(() => {}); // the answer may be lost with the process
      await until(() => !gateway.running(), "the first kill");
      writeFileSync(join(gateway.folder, "kill-at"), place);
      // It may be gone again before it says that it is ready.
      await gateway.start().catch(() => {});
      await until(() => !gateway.running(), "the second kill");
      await gateway.start();
      await gateway.ready();
      return readFileSync(join(gateway.folder, "killed"), "utf8");
    }
  });

  it("at schedule:trigger whose time has come", async () => {
    writeFileSync(join(gateway.folder, "kill-at"), "schedule:trigger before");
    const plan = { ...JUDGED, schedule: "* * * * * *" };
    writeFileSync(join(gateway.folder, "missions/timed.json"), JSON.stringify(plan));
    await command("/schedule list").catch(() => {}); // reads the plans; the answer may be lost with the process
    await calledAgain(() => command("/schedule pause timed"));
  }, 120_000);

  it("no number of a dispatch comes twice, and no count is left when all of it has ended", async () => {
    await idle();
    const numbers = new Map<string, number[]>();
    for (const { place, dispatchId, attempt } of calls())
      numbers.set(`${place} ${dispatchId}`, [...(numbers.get(`${place} ${dispatchId}`) ?? []), attempt]);
    // Counted before hooks are called: a kill may have come between the two.
    for (const [dispatch, attempts] of numbers)
      for (const [index, attempt] of attempts.entries())
        expect(attempt, `${dispatch}: ${attempts}`).toBeGreaterThan(attempts[index - 1] ?? 0);
  }, 120_000);

  /** All that was begun has ended, hooks were notified of it, and no count is left of it. */
  async function idle(): Promise<void> {
    const open = `SELECT id FROM missions WHERE ended_at IS NULL
      UNION SELECT id FROM tasks WHERE status NOT IN ('done', 'failed')
      UNION SELECT id FROM pending
      UNION SELECT key || value FROM key_values WHERE scope IN ('hooks.attempts', 'task.ends')`;
    await until(
      () => rows(open).length === 0,
      () => JSON.stringify(rows(open)),
    );
  }

  const attemptsOf = (dispatchId: string) =>
    calls().flatMap((one) => (one.dispatchId === dispatchId ? [one.attempt] : []));

  async function calledAgain(then?: () => Promise<unknown>): Promise<void> {
    await until(() => !gateway.running(), "the kill");
    const dispatchId = readFileSync(join(gateway.folder, "killed"), "utf8");
    rmSync(join(gateway.folder, "killed"));
    await gateway.start();
    await gateway.ready();
    await until(() => attemptsOf(dispatchId).length > 1, `${dispatchId} being called again`);
    expect(attemptsOf(dispatchId)).toEqual([1, 2]);
    await then?.();
    await idle();
  }
});

describe("asked again by a person after a veto", () => {
  const asked = (folder: string, point: (typeof WORK_POINTS)[number]) =>
    watched(folder, point, "before").map(({ dispatchId, attempt }) => ({ dispatchId, attempt }));

  it("it is another dispatch, the first of its id: the judgement of work, the start of a mission and its tasks", async () => {
    const app = await missionApp(
      { plan: JUDGED },
      { runners: { work: { shell: { command: ["true"] } } }, plugin: WATCH },
    );
    const points = [
      "mission:execute",
      "task:create",
      "assessment:run",
      "assessment:complete",
      "mission:complete",
    ] as const;
    refuse(app.folder, { hook: "mission:execute", has: "", reason: "not now" });
    const missionId = await app.run("plan");
    for (const [index, point] of points.entries()) {
      await until(() => asked(app.folder, point).length === 1, `${point} being asked`);
      const isAssessed = point.startsWith("assessment:");
      const id = isAssessed ? watched(app.folder, point)[0]?.data.task.id : missionId;
      const show = `/${isAssessed ? "task" : "mission"} show ${id}`;
      const isHeld = async () => JSON.stringify((await app.command(show)).data.hold ?? null).includes("not now");
      const held = async () => (isAssessed ? isHeld() : (await app.reaches(missionId, "blocked")) !== undefined);
      await until(held, `${point} being refused`);
      const next = points[index + 1];
      refuse(app.folder, ...(next === undefined ? [] : [{ hook: next, has: "", reason: "not now" } as const]));
      await app.command(`/${isAssessed ? "task" : "mission"} retry ${id}`);
      await until(() => asked(app.folder, point).length === 2, `${point} being asked again`);
      expect(asked(app.folder, point).map(({ attempt }) => attempt)).toEqual([1, 1]);
      expect(new Set(asked(app.folder, point).map(({ dispatchId }) => dispatchId)).size, point).toBe(2);
    }
    await app.reaches(missionId, "done");
  });
});
