/**
 * Every transition that the table has, gone by a task of the started product: hooks are asked and told of it, and its history says who
 * and why. Every one that it has not is refused, and no hook is asked.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { TASK_STATUSES, TASK_TRANSITIONS, type Task, type TaskStatus } from "../../src/domain/orchestrator/task.js";
import type { TaskEvent } from "../../src/domain/orchestrator/task-store.js";
import { until } from "../support/until.js";
import { type MissionApp, missionApp } from "./mission-app.js";
import { problemsOf, type Refusal, refuse, WATCH, watched } from "./support/watch-plugin.js";

type Way = `${TaskStatus}>${TaskStatus}`;
type Shown = Task & { history: TaskEvent[] };

const RUNNERS = {
  good: { shell: { sh: "echo good" }, concurrency: 4 },
  bad: { shell: { sh: "exit 1" }, concurrency: 4 },
  long: { shell: { sh: "sleep 600" }, concurrency: 50 },
};
const PERSON = "person:web:2";
const PASSES = 'expect="when: result.ok"';
const MISSES = "expect=\"when: result.output == 'none'\"";

let app: MissionApp;
beforeAll(async () => {
  app = await missionApp(
    {},
    {
      plugin: WATCH,
      config: { orchestrator: { runners: RUNNERS, tick: "1s", shutdown_timeout: "100ms", max_running: 100 } },
      keep: true,
    },
  );
}, 120_000);
afterAll(() => app.remove());

const show = async (id: string) => (await app.command(`/task show ${id}`)).data as Shown;
const is = (id: string, status: TaskStatus) =>
  until(async () => {
    const task = await show(id);
    return task.status === status && (status !== "review" || task.hold !== undefined) && task;
  }, `${id} being ${status}`);
/** Adds one and waits until it stands there. */
async function stands(status: TaskStatus, line: string): Promise<string> {
  const { data, text } = await app.command(`/task add ${line}`);
  if (typeof data?.id !== "string") throw new Error(text);
  await is(data.id, status);
  return data.id;
}
async function say(action: string, id: string, words = ""): Promise<string> {
  const said = await app.command(`/task ${action} ${id} ${words}`.trim());
  if (said.outcome !== "done") throw new Error(said.text);
  return id;
}
const refused = (hook: Refusal["hook"], has = "") => refuse(app.folder, { hook, has, reason: "no" });
/** Nothing ever frees it. */
const waiting = async () => stands("pending", `good Wait after=${await stands("assigned", `${PERSON} First`)}`);
const held = async (status: TaskStatus, hook: Refusal["hook"], line: string, has?: string) => {
  refused(hook, has);
  const id = await stands(status, line);
  refuse(app.folder);
  return id;
};
const blocked = () => held("blocked", "task:spawn", "good Do it");

const WAYS: Record<Way, () => Promise<string>> = {
  "draft>pending": async () => say("start", await stands("draft", "good Do it draft=true")),
  "draft>cancelled": async () => say("cancel", await stands("draft", "good Do it draft=true")),
  "pending>assigned": () => stands("done", "good Do it"),
  "pending>awaiting_approval": () => stands("awaiting_approval", "good Do it approve=true"),
  "pending>blocked": async () => stands("blocked", `good Do it after=${await stands("failed", "bad First")}`),
  "pending>paused": async () => say("pause", await waiting()),
  "pending>done": async () => say("done", await waiting(), "elsewhere"),
  "pending>failed": async () => say("refuse", await waiting(), "nobody can"),
  "pending>cancelled": async () => say("cancel", await waiting(), "not needed"),
  "awaiting_approval>pending": async () => say("approve", await stands("awaiting_approval", "good Do it approve=true")),
  "awaiting_approval>failed": async () => say("refuse", await stands("awaiting_approval", "good Do it approve=true")),
  "awaiting_approval>cancelled": async () =>
    say("cancel", await stands("awaiting_approval", "good Do it approve=true")),
  "assigned>in_progress": async () => {
    const id = await stands("assigned", `${PERSON} Do it`);
    // As the button of the card of the person who has it.
    return say("start", id, `expected=${(await show(id)).changedAt}`);
  },
  "assigned>pending": async () => say("assign", await stands("assigned", `${PERSON} Do it`), "good"),
  "assigned>review": async () => say("done", await stands("assigned", `${PERSON} Do it ${PASSES}`), "it is done"),
  "assigned>done": async () => say("done", await stands("assigned", `${PERSON} Do it`)),
  "assigned>failed": async () => say("decline", await stands("assigned", `${PERSON} Do it`), "no"),
  "assigned>blocked": blocked,
  "assigned>paused": async () => say("pause", await stands("assigned", `${PERSON} Do it`)),
  "assigned>cancelled": async () => say("cancel", await stands("assigned", `${PERSON} Do it`)),
  "in_progress>review": () => stands("done", `good Do it ${PASSES}`),
  "in_progress>done": () => stands("done", "good Do it"),
  "in_progress>failed": () => stands("failed", "bad Do it"),
  "in_progress>pending": () => stands("failed", "bad Do it retries=1"),
  "in_progress>blocked": () => held("blocked", "task:complete", "good Do it"),
  "in_progress>paused": async () => say("pause", await stands("in_progress", "long Do it")),
  "in_progress>cancelled": async () => say("cancel", await stands("in_progress", "long Do it")),
  "review>done": () => stands("done", `good Do it ${PASSES}`),
  "review>failed": () => stands("failed", `good Do it ${MISSES}`),
  "review>pending": () => stands("failed", `good Do it retries=1 ${MISSES}`),
  "review>blocked": () => held("blocked", "task:complete", `good Do it ${PASSES}`),
  "review>cancelled": async () => say("cancel", await held("review", "assessment:run", `good Do it ${PASSES}`)),
  "blocked>pending": async () => say("retry", await blocked()),
  "blocked>review": async () =>
    say("retry", await held("blocked", "task:transition", `good Do it ${PASSES}`, '"to":"review"')),
  "blocked>done": async () => say("retry", await held("blocked", "task:complete", "good Do it")),
  "blocked>failed": async () => say("retry", await held("blocked", "task:fail", "bad Do it")),
  "blocked>cancelled": async () => say("cancel", await blocked()),
  "paused>pending": async () => say("resume", await say("pause", await waiting())),
  "paused>done": async () => say("done", await say("pause", await waiting())),
  "paused>failed": async () => say("refuse", await say("pause", await waiting()), "never"),
  "paused>cancelled": async () => say("cancel", await say("pause", await waiting())),
  "failed>pending": async () => say("retry", await stands("failed", "bad Do it")),
  "cancelled>pending": async () => say("retry", await say("cancel", await waiting())),
} as Record<Way, () => Promise<string>>;

const TABLE = TASK_STATUSES.flatMap((from) => TASK_TRANSITIONS[from].map((to): Way => `${from}>${to}`));

it("each that the table has", async () => {
  expect(Object.keys(WAYS).sort()).toEqual([...TABLE].sort());
  for (const way of TABLE) {
    const id = await WAYS[way]();
    const event = await until(async () => {
      const { history } = await show(id);
      return history.find(({ kind, from, to }) => kind === "transition" && `${from}>${to}` === way);
    }, `${way} of ${id}`);
    expect(event.by, way).toMatch(/^(web:1 \(Owner\)|orchestrator|assessment|runner:\w+|of-the-test\.before-.+)$/);
    const heard = (phase: "before" | "after") =>
      watched(app.folder, "task:transition", phase).filter(
        ({ data }) => data.taskId === id && `${data.from}>${data.to}` === way,
      );
    await until(() => heard("after").length > 0, `${way} being told`);
    // The way into `blocked` by a veto is nobody's to veto; every other was asked for.
    if (!(way.endsWith(">blocked") && event.note !== undefined)) expect(heard("before").length, way).toBeGreaterThan(0);
    expect([...heard("before"), ...heard("after")].flatMap(problemsOf)).toEqual([]);
    refuse(app.folder);
  }
}, 240_000);

it("none that the table has not", async () => {
  const states: Record<TaskStatus, () => Promise<string>> = {
    draft: () => stands("draft", "good Do it draft=true"),
    pending: waiting,
    assigned: () => stands("assigned", `${PERSON} Do it`),
    in_progress: () => stands("in_progress", "long Do it"),
    review: () => held("review", "assessment:run", `good Do it ${PASSES}`),
    awaiting_approval: () => stands("awaiting_approval", "good Do it approve=true"),
    blocked,
    paused: async () => say("pause", await waiting()),
    done: () => stands("done", "good Do it"),
    failed: () => stands("failed", "bad Do it"),
    cancelled: async () => say("cancel", await waiting()),
  };
  for (const from of TASK_STATUSES) {
    const id = await states[from]();
    const before = (await show(id)).version;
    for (const to of TASK_STATUSES.filter((one) => !TASK_TRANSITIONS[from].includes(one)))
      await expect(
        app.app.orchestrator.transition(id, { to, actor: { by: "the test" }, onVeto: "refuse" }),
        `${from}>${to}`,
      ).rejects.toMatchObject({ code: "TASK_TRANSITION" });
    expect((await show(id)).version, from).toBe(before);
    expect(watched(app.folder).filter(({ data }) => data.by === "the test")).toEqual([]);
  }
}, 120_000);
