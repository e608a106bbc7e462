/** Tasks from being asked for to their end, through the started product: real programs, real requests, real people's commands. */
import { describe, expect, it } from "vitest";
import { taskedApp, waysOf } from "./support/tasked-app.js";

const sh = (line: string, more: Record<string, unknown> = {}) => ({ shell: { sh: line }, ...more });

describe("a task that a program does", () => {
  it("goes from pending to done, and its history says who made what of it", async () => {
    const app = await taskedApp({ orchestrator: { runners: { echo: sh('echo "hello $HOOKGATE_TASK_TITLE"') } } });
    const id = await app.add("/task add echo Say it");
    const task = await app.becomes(id, "done");
    expect(waysOf(task)).toEqual(["pending>assigned", "assigned>in_progress", "in_progress>done"]);
    expect(task.history.map(({ by }) => by)).toEqual(["web:1 (Owner)", "orchestrator", "runner:echo", "runner:echo"]);
    expect(task.result).toMatchObject({ ok: true, output: "hello Say it\n", exitCode: 0 });
  });
});
