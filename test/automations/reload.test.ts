import { describe, expect, test } from "vitest";
import { until } from "../support/until.js";
import { liveApp } from "./support/live-app.js";

const hook = (id: string, more = "") => `{ id: ${id}, on: message_received, ${more} run: { shell: { sh: "exit 0" } } }`;

describe("a changed configuration", () => {
  test("is taken over as it is saved: new files, changed ones, and what is gone", async () => {
    const live = await liveApp({ "hookgate.yaml": `hooks:\n  - ${hook("one")}\n  - ${hook("two")}\n` });
    const ids = () =>
      live.app.automations
        .list()
        .map(({ id }) => id)
        .sort()
        .join();
    expect(ids()).toBe("one,two");
    live.write("hooks/three.yaml", hook("three"));
    await until(() => ids() === "one,three,two", "the new file");
    live.write("hookgate.yaml", `hooks:\n  - ${hook("one", "cooldown: 1h,")}\n`);
    await until(() => ids() === "one,three", "the removed hook");
    expect(live.app.automations.get("one")?.cooldownMs).toBe(3_600_000);
    live.remove("hooks/three.yaml");
    await until(() => ids() === "one", "the removed file");
    await live.say("hello");
    await live.ended("one");
    expect(await live.runs("two")).toEqual([]);
  });

  test("is refused whole when a hook breaks, the set at work stays, and admins are told in chat once", async () => {
    const live = await liveApp({ "hookgate.yaml": `hooks:\n  - ${hook("one")}\n` });
    live.write(
      "hookgate.yaml",
      `hooks:\n  - ${hook("two")}\n  - { id: bad, on: mesage_received, run: { shell: { sh: "exit 0" } } }\n`,
    );
    const told = await until(
      async () => (await live.room("dm-1")).find((text) => text.includes("not taken over")),
      "the alert",
    );
    expect(told).toMatch(/hookgate\.yaml:3.*mesage_received.*did you mean/s);
    expect(live.app.automations.list().map(({ id }) => id)).toEqual(["one"]);
    await live.say("hello");
    await live.ended("one");

    live.write("hookgate.yaml", `hooks: [\n`);
    await until(async () => (await live.room("dm-1")).length === 2, "the second alert");
    expect(live.app.automations.list().map(({ id }) => id)).toEqual(["one"]);

    live.write("hookgate.yaml", `hooks:\n  - ${hook("two")}\n`);
    await until(() => live.app.automations.get("two") !== undefined, "the mended set");
  });

  test("lets what runs end under the definition that it began with", async () => {
    const live = await liveApp({
      "hookgate.yaml": `hooks:\n  - { id: slow, trigger: manual, run: { shell: { sh: "until [ -e go ]; do sleep 0.05; done; echo old" } } }\n`,
    });
    const fired = live.fire("slow");
    await until(async () => (await live.runs("slow"))[0]?.status === "running", "it running");
    live.write("hookgate.yaml", `hooks:\n  - { id: slow, trigger: manual, run: { shell: { sh: "echo new" } } }\n`);
    await until(
      () =>
        live.app.automations.get("slow")?.whenBusy !== undefined &&
        JSON.stringify(
          live.app.automations.get("slow")?.run.rendering.render({ event: {}, steps: [], now: 0 }),
        ).includes("new"),
      "the new definition",
    );
    live.write("go", "");
    expect((await fired).attempts[0]?.output).toMatchObject({ stdout: "old\n" });
    expect((await live.fire("slow")).attempts[0]?.output).toMatchObject({ stdout: "new\n" });
  });

  test("hooks that wait for nothing, or for each other, are broken, and the rest stands", async () => {
    const live = await liveApp(
      {
        "hookgate.yaml": `hooks:\n  - ${hook("lost", "after: [nobody],")}\n  - ${hook("hen", "after: [egg],")}\n  - ${hook("egg", "after: [hen],")}\n  - ${hook("heir", "after: [lost],")}\n  - ${hook("sound", "after: [base],")}\n  - ${hook("base")}\n`,
      },
      { mayBreak: true },
    );
    expect(live.app.automations.list().map(({ id }) => id)).toEqual(["sound", "base"]);
    const why = Object.fromEntries(live.app.automations.broken().map(({ id, problems }) => [id, problems[0]?.message]));
    expect(why.lost).toMatch(/nobody.*not registered/);
    expect(why.hen).toMatch(/wait for each other/);
    expect(why.egg).toMatch(/wait for each other/);
    expect(why.heir).toMatch(/"lost", which is not registered/);
  });

  test("a critical hook that is broken stops the start", async () => {
    const live = await liveApp(
      { "hookgate.yaml": `hooks:\n  - { id: guard, on: nowhere, critical: true, run: { shell: { sh: "exit 0" } } }\n` },
      { start: false },
    );
    await expect(live.start()).rejects.toMatchObject({ code: "HOOK_CRITICAL" });
  });
});
