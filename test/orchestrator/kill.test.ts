/**
 * SIGKILL of the running product in each transition and while runners are at work: no task is lost, none is left running, none runs
 * more often than its policy allows, and everybody is told of every change.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Task } from "../../src/domain/orchestrator/task.js";
import { processRuns } from "../automations/hooked-gateway.js";
import type { GatewayProcess } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import { calls, killAt } from "./support/guard-plugin.js";
import { add, again, command, ends, gone, lines, removeAll, show, start } from "./support/killed-product.js";
import { waysOf } from "./support/tasked-app.js";

afterAll(removeAll);

const once = { shell: { sh: 'echo "$HOOKGATE_TASK_ID $HOOKGATE_RUN_ID" >> runs' } };

/** Its hook takes as long as there is no `go`, for the task "slow". */
const slowPlugin = (hook: string) => `
const { appendFileSync, existsSync } = process.getBuiltinModule("node:fs");
const here = (name) => new URL("./" + name, import.meta.url);
export default { id: "slow", setup(api) {
  api.hooks.register({ hook: "${hook}", phase: "before", id: "waits", timeoutMs: 120_000, async handler({ data, dispatchId, attempt }) {
    if (data.task.title !== "slow") return;
    appendFileSync(here("asked"), JSON.stringify({ dispatchId, attempt }) + "\\n");
    while (!existsSync(here("go"))) await new Promise((done) => setTimeout(done, 20));
  } });
} };`;

describe("killed in a transition", () => {
  /** One for all: each test kills it at another place, and finds it running again. */
  let shared: GatewayProcess | undefined;
  it.each([
    // Before the write: nothing has happened, and it is asked again.
    ["task:transition>assigned before", 1],
    ["task:spawn before", 1],
    ["task:transition>in_progress before", 1],
    // The run had ended: hooks are asked again, and its program does not run again.
    ["task:transition>done before", 1],
    ["task:complete before", 1],
    // After the write: what is told is told again.
    ["task:create after", 1],
    ["task:transition>assigned after", 1],
    ["task:transition>done after", 1],
    ["task:complete after", 1],
  ])(
    "at %s, the task is done all the same, after %i runs",
    async (place, runs) => {
      shared ??= await start({ work: once });
      const gateway = shared;
      if (!gateway.running()) await again(gateway);
      killAt(gateway.folder, place);
      const wanted = `Do it, killed at ${place.replace(/\W/g, " ")}`;
      // The answer may be lost with the process.
      await command(gateway, `/task add work ${wanted}`).catch(() => {});
      await gone(gateway);
      await again(gateway);
      const { data = {} } = await command(gateway, "/task list all");
      const listed = (data.tasks as Task[]).filter(({ title }) => title === wanted);
      expect(listed).toHaveLength(1);
      const task = await ends(gateway, listed[0]?.id ?? "");
      expect(task.status).toBe("done");
      const ran = lines(gateway, "runs").filter((line) => line.startsWith(`${task.id} `));
      expect(ran).toHaveLength(runs);
      expect(new Set(ran).size).toBe(1);
      const own = () => calls(gateway.folder).filter(({ data }) => data.taskId === task.id);
      // Whoever is told after it was told of each step, the one that the kill cut off included.
      await until(
        () => own().some(({ hook, phase }) => hook === "task:complete" && phase === "after"),
        "task:complete being told",
      );
      const told = own().filter(({ hook, phase }) => hook === "task:transition" && phase === "after");
      expect([...new Set(told.map(({ data: { from, to } }) => `${from}>${to}`))]).toEqual([...new Set(waysOf(task))]);
      // What was told twice says so.
      const twice = told.filter(
        ({ dispatchId }, index) => told.findIndex((one) => one.dispatchId === dispatchId) < index,
      );
      expect(twice.every(({ attempt }) => attempt === 2)).toBe(true);
    },
    90_000,
  );

  describe("on its other ways", () => {
    const noted = 'echo "$HOOKGATE_TASK_ID $HOOKGATE_RUN_ID" >> runs';
    let shared: GatewayProcess | undefined;
    const ready = async () => {
      shared ??= await start({
        work: once,
        bad: { shell: { sh: `${noted}; exit 3` } },
        long: { shell: { sh: `${noted}; sleep 60` } },
      });
      if (!shared.running()) await again(shared);
      return shared;
    };
    const draft = (line: string) => async (gateway: GatewayProcess) =>
      add(gateway, `/task add ${line.replace("work ", "work draft=true ").replace("bad ", "bad draft=true ")}`);
    const assigned = async (gateway: GatewayProcess) => {
      const id = await add(gateway, "/task add person:web:1 Call them");
      await until(async () => (await show(gateway, id)).status === "assigned", "it being given to somebody");
      return id;
    };
    const running = async (gateway: GatewayProcess) => {
      const id = await add(gateway, "/task add long Take your time");
      await until(() => lines(gateway, "runs").some((line) => line.startsWith(id)), "its program");
      return id;
    };
    const behind = async (gateway: GatewayProcess) => {
      const first = await add(gateway, "/task add bad First");
      await ends(gateway, first);
      return add(gateway, `/task add work draft=true after=${first} Second`);
    };
    const GOOD = 'work expect="when: result.ok" Do it';

    /** `make` is there already, then `act` is asked for and the kill comes; `lost`: a person's request that the kill took is asked for again. */
    it.each<{
      place: string;
      make(gateway: GatewayProcess): Promise<string>;
      act?: string;
      lost?: true;
      end: string;
      runs: number;
    }>([
      { place: ">review before", make: draft(GOOD), end: "done", runs: 1 },
      { place: ">review after", make: draft(GOOD), end: "done", runs: 1 },
      { place: ">failed before", make: draft("bad Do it"), end: "failed", runs: 1 },
      { place: ">failed after", make: draft("bad Do it"), end: "failed", runs: 1 },
      { place: ">pending before", make: draft("work Do it"), lost: true, end: "done", runs: 1 },
      { place: ">pending after", make: draft("work Do it"), end: "done", runs: 1 },
      { place: ">blocked before", make: behind, end: "blocked", runs: 0 },
      { place: ">blocked after", make: behind, end: "blocked", runs: 0 },
      { place: ">awaiting_approval before", make: draft("work approve=true Do it"), end: "awaiting_approval", runs: 0 },
      { place: ">awaiting_approval after", make: draft("work approve=true Do it"), end: "awaiting_approval", runs: 0 },
      { place: ">paused before", make: assigned, act: "pause", lost: true, end: "paused", runs: 0 },
      { place: ">paused after", make: assigned, act: "pause", end: "paused", runs: 0 },
      { place: ">cancelled before", make: running, act: "cancel", lost: true, end: "cancelled", runs: 2 },
      { place: ">cancelled after", make: running, act: "cancel", end: "cancelled", runs: 1 },
    ])(
      "at $place it comes to be $end all the same, with $runs runs",
      async ({ place, make, act = "start", lost, end, runs }) => {
        const gateway = await ready();
        const id = await make(gateway);
        killAt(gateway.folder, `task:transition${place}`);
        // The answer may be lost with the process.
        await command(gateway, `/task ${act} ${id}`).catch(() => {});
        await gone(gateway);
        await again(gateway);
        const ran = () => lines(gateway, "runs").filter((line) => line.startsWith(`${id} `));
        if (lost) {
          if (act === "cancel") await until(() => ran().length === runs, "its program once more");
          expect((await show(gateway, id)).status, "before it was asked for").not.toBe(end);
          await command(gateway, `/task ${act} ${id}`);
        }
        const task = await until(async () => {
          const now = await show(gateway, id);
          return now.status === end ? now : undefined;
        }, `it being ${end}`);
        expect(ran()).toHaveLength(runs);
        expect(new Set(ran()).size).toBeLessThanOrEqual(1);
        const told = () =>
          calls(gateway.folder)
            .filter(({ hook, phase, data }) => hook === "task:transition" && phase === "after" && data.taskId === id)
            .map(({ attempt, data: { from, to } }) => ({ way: `${from}>${to}`, attempt }));
        await until(() => waysOf(task).every((way) => told().some((one) => one.way === way)), "each step being told");
        // What the kill came into was told of once more.
        if (place.endsWith("after"))
          await until(
            () => told().some(({ way, attempt }) => attempt === 2 && place.startsWith(`>${way.split(">")[1]} `)),
            "it being told again",
          );
      },
      90_000,
    );
  });

  it.each(["task:retry after", "task:fail after"])(
    "at %s, hooks are told of it by the next start",
    async (place) => {
      const gateway = await start({ work: { shell: { sh: "exit 3" } } });
      killAt(gateway.folder, place);
      const id = await add(gateway, "/task add work Do it retries=1");
      await gone(gateway);
      await again(gateway);
      expect((await ends(gateway, id)).status).toBe("failed");
      const [hook] = place.split(" ");
      const told = () => calls(gateway.folder).filter((one) => one.hook === hook && one.phase === "after");
      await until(() => told().some(({ attempt }) => attempt === 2), "it being told again");
      expect(new Set(told().map(({ dispatchId }) => dispatchId)).size).toBe(1);
      if (hook === "task:fail")
        expect(told().map(({ data }) => data.reason)).toEqual(Array(2).fill("the program exited with 3"));
    },
    60_000,
  );

  it.each([
    ["a run that had ended", "task:complete", "true", [1, 2]],
    ["a run that was cut off", "task:retry", "[ -e killed ] || sleep 60", [1]],
  ])(
    "hooks that are asked about %s keep no other task from starting",
    async (_, hook, sh, attempts) => {
      const gateway = await start({ work: { shell: { sh: `echo run >> runs; ${sh}` } }, other: once });
      await gateway.kill();
      writeFileSync(join(gateway.folder, "plugin.mjs"), slowPlugin(hook));
      await again(gateway);
      const slow = await add(gateway, "/task add work slow");
      const asked = () => lines(gateway, "asked").map((line) => JSON.parse(line));
      await until(
        () => (hook === "task:retry" ? lines(gateway, "runs") : asked()).length === 1,
        "the place of the kill",
      );
      await gateway.kill();
      writeFileSync(join(gateway.folder, "killed"), "");
      await again(gateway);
      await until(() => asked().length === attempts.length, "the hook being asked after the start");
      expect(await ends(gateway, await add(gateway, "/task add other quick"))).toMatchObject({ status: "done" });
      expect(await show(gateway, slow)).toMatchObject({ status: "in_progress" });
      writeFileSync(join(gateway.folder, "go"), "");
      expect(await ends(gateway, slow)).toMatchObject({ status: "done" });
      expect(asked().map(({ attempt }) => attempt)).toEqual(attempts);
      expect(new Set(asked().map(({ dispatchId }) => dispatchId)).size).toBe(1);
    },
    90_000,
  );

  it("what must not run twice waits for a person, with the reason; what counts it as a failure has failed", async () => {
    const crash = { shell: { sh: "echo run >> runs; kill -9 $PPID" } };
    const gateway = await start({
      work: { ...crash, on_interrupt: "hold" },
      other: { ...crash, on_interrupt: "fail" },
    });
    for (const [runner, end] of [
      ["work", "blocked"],
      ["other", "failed"],
    ] as const) {
      const id = await add(gateway, `/task add ${runner} Do it`);
      await gone(gateway);
      await again(gateway);
      const task = await ends(gateway, id);
      expect(task).toMatchObject({ status: end, attempt: 1 });
      expect(task.reason).toMatch(/^interrupted: the gateway ended while it ran/);
    }
    expect(lines(gateway, "runs")).toHaveLength(2);
    await until(
      () => calls(gateway.folder).some(({ hook, phase }) => hook === "task:fail" && phase === "after"),
      "task:fail being told",
    );
  }, 120_000);

  it("waits while its runner is not in the settings at the next start, and then does what the runner says", async () => {
    const long = { shell: { sh: 'echo "$HOOKGATE_TASK_ID" >> runs; [ -e go ] || sleep 60' } };
    const runners = {
      never: { ...long, on_interrupt: "hold" },
      twice: { ...long, on_interrupt: "restart" },
      fails: { ...long, on_interrupt: "fail" },
    };
    const gateway = await start(runners);
    const ids: string[] = [];
    for (const runner of Object.keys(runners)) ids.push(await add(gateway, `/task add ${runner} Do it`));
    await until(() => lines(gateway, "runs").length === 3, "all three programs");
    await gateway.kill();
    const settings = join(gateway.folder, "hookgate.yaml");
    const good = readFileSync(settings, "utf8");
    const without = JSON.parse(good);
    writeFileSync(settings, JSON.stringify({ ...without, orchestrator: { ...without.orchestrator, runners: {} } }));
    writeFileSync(join(gateway.folder, "go"), "");
    await again(gateway);
    for (const id of ids) {
      const task = await ends(gateway, id);
      expect(task).toMatchObject({ status: "blocked", attempt: 1, hold: { kind: "assignee" } });
      expect(task.reason).toMatch(/^interrupted: the gateway ended while it ran, and its assignee ".+" does not exist/);
    }
    writeFileSync(settings, good);
    gateway.hangUp();
    const decided = await Promise.all(
      ids.map((id) =>
        until(async () => {
          const task = await show(gateway, id);
          return ["done", "failed"].includes(task.status) || task.hold?.kind === "interruption" ? task : undefined;
        }, `what becomes of ${id}`),
      ),
    );
    expect(decided).toMatchObject([
      { status: "blocked", attempt: 1, hold: { kind: "interruption", wanted: "pending" } },
      { status: "done", attempt: 2 },
      { status: "failed", attempt: 1, lastError: "interrupted: the gateway ended while it ran" },
    ]);
    expect(decided[0]?.reason).toBe(
      "interrupted: the gateway ended while it ran, and never does nothing twice by itself: a person has to decide what to do",
    );
    expect((await command(gateway, "/status")).data).toMatchObject({ heldAfterCrashes: { tasks: [ids[0]] } });
    expect(lines(gateway, "runs").toSorted()).toEqual([...ids, ids[1]].toSorted());
    await command(gateway, `/task retry ${ids[0]}`);
    expect(await ends(gateway, ids[0] ?? "")).toMatchObject({ status: "done", attempt: 2 });
  }, 120_000);

  it("an end whose hooks take the gateway down waits for a person, who has the hooks called again without another run", async () => {
    const gateway = await start({ work: { ...once, on_interrupt: "hold" } }, { max_crashes: 1 });
    killAt(gateway.folder, "task:complete before");
    const id = await add(gateway, "/task add work Do it");
    await gone(gateway);
    killAt(gateway.folder, "task:complete before");
    // It is gone again before it says that it is ready.
    await gateway.start().catch(() => {});
    await gone(gateway);
    await again(gateway);
    const task = await ends(gateway, id);
    expect(task).toMatchObject({
      status: "blocked",
      attempt: 1,
      result: { ok: true },
      hold: { kind: "interruption", point: "task:complete", wanted: "done" },
    });
    expect(task.reason).toBe(
      "the gateway crashed 2 times in a row while hooks at task:complete ran: a person has to decide what to do",
    );
    expect((await command(gateway, `/task show ${id}`)).text).toContain(
      `Its program ended with exit code 0. \`/task retry ${id}\` calls the hooks again, without another run. \`/task done ${id}\` accepts it as it is.`,
    );
    const held = await command(gateway, "/status");
    expect(held.data).toMatchObject({ heldAfterCrashes: { tasks: [id] } });
    expect(JSON.stringify(held)).toContain("1 task stopped by an end of the gateway");
    expect(JSON.stringify(held)).not.toContain("All is well");
    await command(gateway, `/task retry ${id}`);
    expect(await ends(gateway, id)).toMatchObject({ status: "done", result: { ok: true } });
    expect((await command(gateway, "/status")).data).toMatchObject({ heldAfterCrashes: { tasks: [] } });
    const asked = calls(gateway.folder).filter(({ hook, phase }) => hook === "task:complete" && phase === "before");
    expect(asked.map(({ attempt }) => attempt)).toEqual([1, 2, 1]);
    expect(lines(gateway, "runs")).toHaveLength(1);
  }, 120_000);

  it("one that takes the gateway down with it is not started for ever", async () => {
    const gateway = await start({ work: { shell: { sh: "echo run >> runs; kill -9 $PPID" } } }, { max_crashes: 1 });
    const id = await add(gateway, "/task add work Do it");
    for (let crash = 0; crash < 2; crash++) {
      await gone(gateway);
      // It may be gone again before it says that it is ready.
      await gateway.start().catch(() => {});
    }
    await gateway.ready();
    const task = await ends(gateway, id);
    expect(task).toMatchObject({ status: "blocked", attempt: 2, hold: { kind: "interruption" } });
    expect(task.reason).toContain("2 crashes in a row");
    expect(lines(gateway, "runs")).toHaveLength(2);
    // Many of them are cancelled at once.
    const asked = await command(gateway, "/task cancel all reason=crash");
    expect(JSON.stringify(asked)).toContain("Cancel 1 task with");
    const cancelled = await command(gateway, "/task cancel blocked reason=crash yes=true");
    expect(JSON.stringify(cancelled)).toContain("1 task cancelled");
    expect(await show(gateway, id)).toMatchObject({ status: "cancelled" });
  }, 120_000);
});

describe("killed while runners are in flight", () => {
  it("leaves no program behind, and starts those again whose policy allows it", async () => {
    const family =
      '[ -e go ] && echo end >> ends && exit; echo $$ >> pids; setsid sh -c "echo \\$\\$ >> pids; sleep 60" & sleep 60';
    const gateway = await start({
      once: { shell: { sh: family }, on_interrupt: "hold" },
      work: { shell: { sh: family } },
    });
    const never = await add(gateway, "/task add once Once only");
    const twice = await add(gateway, "/task add work Twice");
    await until(() => lines(gateway, "pids").length === 4, "both programs and their children");
    const pids = lines(gateway, "pids").map(Number);
    await gateway.kill();
    await until(() => pids.filter(processRuns).length === 0, "the end of all programs");
    writeFileSync(join(gateway.folder, "go"), "");
    await again(gateway);
    expect(await ends(gateway, never)).toMatchObject({ status: "blocked", attempt: 1 });
    expect(await ends(gateway, twice)).toMatchObject({ status: "done", attempt: 2 });
    expect(lines(gateway, "ends")).toHaveLength(1);
  }, 120_000);
});
