/** Hooks that the gateway waits for: what is said while one waits for its turn, and of a run whose result came after its deadline. */
import { expect, test, vi } from "vitest";
import { until } from "../support/until.js";
import { type LiveApp, liveApp } from "./support/live-app.js";

type Write = () => Promise<boolean>;
/** How the ends of runs are written, and what telling people waits for. */
const ends = vi.hoisted(() => ({ write: (write: Write): Promise<boolean> => write(), notified: async () => {} }));
vi.mock(import("../../src/automations/notify.js"), async (load) => {
  const actual = await load();
  const createNotifier: typeof actual.createNotifier = (options) => ({
    ...actual.createNotifier(options),
    outcome: () => ends.notified(),
  });
  return { ...actual, createNotifier };
});
vi.mock(import("../../src/store/automation/runs.js"), async (load) => {
  const actual = await load();
  const createRuns: typeof actual.createRuns = (...given) => {
    const runs = actual.createRuns(...given);
    return { ...runs, update: (...row) => ends.write(() => runs.update(...row)) };
  };
  return { ...actual, createRuns };
});

const CLAIM = `echo "{\\"decision\\":\\"claim\\",\\"reply\\":\\"done\\"}"`;
const guarded = (timeout: string) =>
  liveApp({
    "hookgate.yaml": `
hooks:
  - id: guard
    on: inbound_claim
    timeout: ${timeout}
    run: { shell: { sh: 'echo x >> started; until [ -e go ]; do sleep 0.05; done; ${CLAIM.replaceAll("'", "''")}' } }
`,
  });

const ask = async (live: LiveApp, line: string) =>
  ((await live.post("/api/command", { line })) as { text: string }).text.replaceAll("\\", "");
const say = (live: LiveApp, room: string) =>
  live.post(`/api/rooms/${room}/messages`, { text: `bad ${room}`, nonce: `nonce-of-${room}` });

test("a hook whose turn has not come is not said to run", async () => {
  const live = await guarded("60s");
  await say(live, "general");
  await until(async () => (await ask(live, "/hooks why m1")).includes("has been running at"), "the first at work");
  await say(live, "dm-1");
  const waits = "`guard` waits for its turn at `inbound_claim` (`concurrency: 1`), for ";
  const why = await until(async () => {
    const text = await ask(live, "/hooks why m2");
    return text.includes(waits) ? text : undefined;
  }, "the second that waits");
  expect(why).not.toContain("running");
  expect(await ask(live, "/hooks why guard m2")).toContain("It **waits for its turn** (`concurrency: 1`), for ");
  live.write("go", "");
  await until(async () => (await live.room("dm-1")).includes("done"), "the second answer");
  expect((await live.runs("guard")).map(({ status }) => status)).toEqual(["succeeded", "succeeded"]);
});

test("a run whose time was spent on waiting for its turn says so", async () => {
  const live = await guarded("1500ms");
  await say(live, "general");
  await until(async () => (await ask(live, "/hooks why m1")).includes("has been running at"), "the first at work");
  await say(live, "dm-1");
  const why = await until(async () => {
    const text = await ask(live, "/hooks why m2");
    return text.includes("timed out") ? text : undefined;
  }, "the second that timed out");
  expect(why).toMatch(/Hook "guard" waited (\S+ \S+ )?for its turn \(concurrency: 1\)/);
  expect(why).not.toContain("did not end within 1500 ms");
  expect(await ask(live, "/hooks why m1")).toContain("did not end within 1500 ms");
});

test("a run whose result came after the deadline did not succeed", async () => {
  const live = await liveApp({
    "hookgate.yaml": `
hooks:
  - { id: guard, on: inbound_claim, timeout: 500ms, run: { shell: { sh: '${CLAIM.replaceAll("'", "''")}' } } }
`,
  });
  const timedOut = (id: string) => async () => (await ask(live, `/hooks why ${id}`)).includes("timed out");
  const dropped = async (n: number) => {
    const { statusReason } = await until(async () => {
      const run = (await live.runs("guard"))[n];
      return run?.status === "timed_out" ? run : undefined;
    }, "the run whose result was dropped");
    expect(statusReason).toContain("did not end within 500 ms");
  };
  // The program ended in time, and writing that takes longer than what was left.
  ends.write = async (write) => {
    await until(timedOut("m1"), "the dispatch going on");
    return write();
  };
  await say(live, "general");
  await dropped(0);
  // It was written in time, and what follows takes longer.
  ends.write = (write) => write();
  ends.notified = async () => void (await until(timedOut("m2"), "the dispatch going on"));
  await say(live, "dm-1");
  await dropped(1);
  expect([...(await live.room()), ...(await live.room("dm-1"))]).not.toContain("done");
});
