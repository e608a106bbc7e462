/** Hooks that start each other through files: real shells, a real watcher, the started product. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { until } from "../support/until.js";
import { type LiveApp, liveApp } from "./support/live-app.js";

/** Watches the folder of its name; what it does is shell. */
const watching = (id: string, sh: string, more = "") =>
  `  - { id: ${id}, trigger: { files: { paths: ${id}, debounce: 50ms } }, when_busy: queue, max_queued: 1000, run: { shell: { sh: "cat > /dev/null; ${sh}" } }${more} }\n`;

const ran = async (live: LiveApp, id: string) =>
  (await live.runs(id)).filter(({ status }) => status === "succeeded").length;
const cutsOf = async (live: LiveApp, ids: readonly string[]) =>
  (await Promise.all(ids.map((id) => live.runs(id))))
    .flat()
    .filter(({ statusReason }) => statusReason?.startsWith("loop: "));
const told = async (live: LiveApp) => (await live.room("dm-1")).filter((text) => text.includes("again and again"));

describe("hooks that start each other through files", { timeout: 120_000 }, () => {
  test("are cut, on record, and admins are told once; a person's later edit starts them again", async () => {
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

    for (let edit = 1; edit <= 2; edit++) {
      const before = [await ran(live, "ping"), (await cutsOf(live, ids)).length] as const;
      live.write(`ping/by-hand-${edit}`, "x");
      await until(async () => (await cutsOf(live, ids)).length > before[1], `edit ${edit} being cut again`);
      expect((await ran(live, "ping")) - before[0]).toBeLessThanOrEqual(2);
    }
    expect(await told(live)).toHaveLength(1);
    expect(existsSync(join(live.folder, "ping"))).toBe(true);
  });
});
