/** Chains of hooks that are cut at a point where hooks decide: an error for the caller, and on record for the hook that was cut. */
import { describe, expect, test } from "vitest";
import { until } from "../support/until.js";
import { type LiveApp, liveApp } from "./support/live-app.js";

const why = async (live: LiveApp, id: string) =>
  ((await live.post("/api/command", { line: `/hooks why ${id}` })) as { text: string }).text;
const told = async (live: LiveApp, id: string) =>
  (await live.room("dm-1")).filter((text) => text.includes(`hook ${id} `) && text.includes("long chain"));

describe("a chain of hooks that reaches a point where hooks decide", () => {
  test("leaves a run of each hook that was cut there, and admins are told once, also after a restart", async () => {
    const answers = Array.from(
      { length: 9 },
      (_, index) =>
        `  - { id: h${index + 1}, on: message_sent, match: { when: 'payload.message.text == "${index + 1}"' }, run: { chat: { to: "web:web:general", text: "${index + 2}" } } }\n`,
    );
    const live = await liveApp({
      "hookgate.yaml": `hooks:
  - { id: begins, trigger: manual, run: { chat: { to: "web:web:general", text: "1" } } }
  - { id: rewrites, on: message_sending, run: { shell: { sh: "exit 0" } } }
  - { id: claims, on: before_dispatch, run: { shell: { sh: "exit 0" } } }
${answers.join("")}`,
    });
    await live.fire("begins");
    const cut = await until(
      async () => (await live.runs("claims")).find(({ statusReason }) => statusReason?.startsWith("loop: ")),
      "the claiming hook being cut",
    );
    expect(cut).toMatchObject({ status: "skipped", event: "before_dispatch", cause: { kind: "hook", depth: 9 } });
    expect(cut.statusReason).toContain("caused by a chain of more than 8 hooks");
    expect(await why(live, "claims")).toMatch(/Last skipped.*loop: before\\_dispatch was caused by a chain/s);
    expect((await live.get(`/api/v1/runs/${encodeURIComponent(cut.id)}`)).status).toBe("skipped");
    await until(async () => (await told(live, "claims")).length === 1, "admins being told");
    expect(await live.room()).not.toContain("10");

    await live.stop();
    await live.start();
    const before = (await live.runs("claims")).filter(({ statusReason }) => statusReason?.startsWith("loop: ")).length;
    await live.fire("begins");
    await until(
      async () =>
        (await live.runs("claims")).filter(({ statusReason }) => statusReason?.startsWith("loop: ")).length > before,
      "it being cut again",
    );
    expect(await told(live, "claims")).toHaveLength(1);
  });
});
