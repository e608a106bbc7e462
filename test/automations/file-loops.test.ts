/** Hooks that start each other through files: real shells, a real watcher, the started product. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { until } from "../support/until.js";
import { type LiveApp, liveApp } from "./support/live-app.js";

/** Watches the folder of its name; what it does is shell. */
const watching = (id: string, sh: string, more = "") =>
  `  - { id: ${id}, trigger: { files: { paths: ${id}, debounce: 50ms } }, when_busy: queue, max_queued: 1000, run: { shell: { sh: "cat > /dev/null; ${sh}" } }${more} }\n`;

/** Goes on after the run: what is still in its group when the program ends is ended with it. */
const detached = (sh: string) =>
  `setsid sh -c 'touch is-off; ${sh}' > /dev/null 2>&1 & until [ -e is-off ]; do sleep 0.02; done; rm is-off`;

const ran = async (live: LiveApp, id: string) =>
  (await live.runs(id)).filter(({ status }) => status === "succeeded").length;
const cutsOf = async (live: LiveApp, ids: readonly string[]) =>
  (await Promise.all(ids.map((id) => live.runs(id))))
    .flat()
    .filter(({ statusReason }) => statusReason?.startsWith("loop: "));
const told = async (live: LiveApp) => (await live.room("dm-1")).filter((text) => text.includes("again and again"));

describe("hooks that start each other through files", { timeout: 120_000 }, () => {
  test("are cut, on record, and admins are told once, over a restart, too; a person's later edit starts them again", async () => {
    const live = await liveApp({
      "hookgate.yaml": `hooks:\n${watching("ping", "mktemp pong/XXXXXXXX")}${watching("pong", "sleep 0.1; mktemp ping/XXXXXXXX")}`,
      "pong/begin": "",
    });
    live.write("ping/by-hand", "x");
    const ids = ["ping", "pong"];
    await until(async () => (await cutsOf(live, ids)).length > 0, "the loop being cut", 60_000);
    const rounds = await ran(live, "ping");
    expect(rounds).toBeGreaterThan(3);
    expect(rounds).toBeLessThan(20);
    const [cut] = await cutsOf(live, ids);
    expect(cut).toMatchObject({ status: "skipped", cause: { kind: "file" } });
    await until(async () => (await told(live)).length === 1, "admins being told");

    for (let edit = 1; edit <= 3; edit++) {
      if (edit === 3) {
        await live.stop();
        await live.start();
      }
      const before = [await ran(live, "ping"), (await cutsOf(live, ids)).length] as const;
      // What is written just while they run is taken for theirs: people write again.
      let writes = 0;
      await until(
        async () => {
          live.write(`ping/by-hand-${edit}-${++writes}`, "x");
          await wait(1_000);
          return (await ran(live, "ping")) > before[0];
        },
        `edit ${edit} starting it`,
        60_000,
      );
      await until(async () => (await cutsOf(live, ids)).length > before[1], `edit ${edit} being cut again`);
      expect((await ran(live, "ping")) - before[0]).toBeLessThanOrEqual(writes + 1);
    }
    expect(await told(live)).toHaveLength(1);
    expect(existsSync(join(live.folder, "ping"))).toBe(true);
  });

  test("are cut whatever lies between two files: an event, a long quiet time, a program that went on, a restart", async () => {
    const live = await liveApp(
      { "hookgate.yaml": "hooks: []\n" },
      { env: { EVENT_SECRET: "a secret that signs events" } },
    );
    const { port } = new URL(live.app.url);
    await live.stop();
    live.write(
      "hookgate.yaml",
      `
events: { mixed: { secret_env: EVENT_SECRET } }
outgoing: { allow: ["127.0.0.1"] }
hooks:
  - { id: posts, trigger: { files: { paths: posts, debounce: 50ms } }, when_busy: queue, run: { http: { url: "http://127.0.0.1:${port}/ingest/mixed", secret_env: EVENT_SECRET } } }
  - { id: writes, trigger: { event: mixed }, when_busy: queue, run: { shell: { sh: "cat > /dev/null; mktemp posts/XXXXXXXX" } } }
${watching("quick", "mktemp slow/XXXXXXXX")}
${watching("slow", "mktemp quick/XXXXXXXX").replace("50ms", "700ms")}
${watching("late", detached("sleep 0.5; mktemp late/XXXXXXXX"))}`,
    );
    for (const id of ["posts", "quick", "slow", "late"]) live.write(`${id}/before`, "");
    await live.start({ HOOKGATE_PORT: port });
    for (const id of ["posts", "quick"]) live.write(`${id}/by-hand`, "x");
    await until(async () => (await ran(live, "quick")) >= 2, "some rounds");
    await live.stop();
    await live.start({ HOOKGATE_PORT: port });
    live.write("late/by-hand", "x");
    for (const ids of [["posts"], ["quick", "slow"], ["late"]]) {
      await until(async () => (await cutsOf(live, ids)).length > 0, `the loop of ${ids.join()} being cut`, 90_000);
      for (const id of ids) expect(await ran(live, id)).toBeLessThan(25);
    }
    expect((await cutsOf(live, ["posts"]))[0]?.statusReason).toContain("its own output started it, through writes");
  });

  test("are cut when more than eight different ones stand behind each other", async () => {
    const ids = Array.from({ length: 11 }, (_, index) => `link${index + 1}`);
    const hooks = ids.map((id, index) => watching(id, `echo x > ${ids[index + 1] ?? "end"}/file`));
    const before = Object.fromEntries([...ids, "end"].map((id) => [`${id}/before`, ""]));
    const live = await liveApp({ "hookgate.yaml": `hooks:\n${hooks.join("")}`, ...before });
    live.write("link1/file", "by hand");
    const cut = await live.ended("link10");
    expect(cut).toMatchObject({ status: "skipped", cause: { kind: "file", presumed: { depth: 9, isSole: true } } });
    expect(cut.statusReason).toContain("loop: 9 hooks deep: they start each other through files (link1 → link2 →");
    expect(await ran(live, "link9")).toBe(1);
    expect(await live.runs("link11")).toEqual([]);
  });
});
