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
/** Which of them nothing starts any more. */
const heldOf = (live: LiveApp, ids: readonly string[]) =>
  live.app.automations
    .problems()
    .filter(({ hookId, message }) => ids.includes(hookId) && message.includes("nothing starts it until /hooks enable"));
const notices = async (live: LiveApp) =>
  (await live.room("dm-1")).filter((text) => text.includes("seems to start itself"));

describe("hooks that start each other through files", { timeout: 120_000 }, () => {
  test("are held, over a restart, too, and admins are notified once; a person lets them run, or corrects the hook", async () => {
    const ping = (sh: string) => watching("ping", sh);
    const config = (sh: string) => `hooks:\n${ping(sh)}${watching("pong", "sleep 0.1; mktemp ping/XXXXXXXX")}`;
    const live = await liveApp({ "hookgate.yaml": config("mktemp pong/XXXXXXXX"), "pong/begin": "" });
    live.write("ping/by-hand", "x");
    const ids = ["ping", "pong"];
    await until(() => heldOf(live, ids).length > 0, "the loop being held");
    const rounds = await ran(live, "ping");
    expect(rounds).toBeGreaterThan(3);
    expect(rounds).toBeLessThan(20);
    await until(async () => (await notices(live)).length === 1, "the notice");
    const [held] = heldOf(live, ids);
    const id = held?.hookId ?? "";
    expect(held?.message).toContain(`through ${ids.find((other) => other !== id)}`);
    const why = async () => JSON.stringify(await live.post("/api/command", { line: `/hooks why ${id}` }));
    expect(await why()).toContain("nothing starts it until");

    await live.stop();
    await live.start();
    const before = await ran(live, id);
    live.write(`${id}/by-hand-1`, "x");
    await until(() => heldOf(live, ids).length > 0, "it being held after a restart");
    await wait(1_500);
    expect(await ran(live, id)).toBe(before);
    expect(await notices(live)).toHaveLength(1);

    await live.post("/api/command", { line: `/hooks enable ${id}` });
    await until(async () => (await ran(live, id)) > before, "it running again");
    await until(() => heldOf(live, ids).length > 0, "it being held again");
    // Both may be held at the same moment.
    await until(async () => (await notices(live)).length > 1, "the second notice");
    const again = heldOf(live, ids)[0]?.hookId ?? "";

    // A correction lets it run without a word.
    const first = await ran(live, again);
    live.write("hookgate.yaml", `${config("mktemp pong/XXXXXXXX").replaceAll("mktemp", "true")}`);
    await live.app.reload(live.read());
    await until(async () => (await ran(live, again)) > first, "the corrected hook running");
    await wait(1_500);
    expect(heldOf(live, ids)).toEqual([]);
    expect(existsSync(join(live.folder, "ping"))).toBe(true);
  });

  test("start with what changed meanwhile when the correction is to ignore what they write, also over a restart", async () => {
    const hook = (more: string) =>
      `hooks:\n  - { id: self, trigger: { files: { paths: self, debounce: 50ms${more} } }, when_busy: queue, max_queued: 1000, run: { shell: { sh: "tr -d '\\n' >> self.seen; echo >> self.seen; echo x >> self/out.log" } } }\n`;
    const live = await liveApp({ "hookgate.yaml": hook(""), "self/before": "" });
    live.write("self/a.txt", "by hand");
    await until(() => heldOf(live, ["self"]).length > 0, "the loop being held");
    live.write("self/b.txt", "meanwhile");
    await wait(500);
    await live.stop();
    live.write("self/c.txt", "while it was down");
    live.write("hookgate.yaml", hook(", ignore: '**/*.log'"));
    await live.start();
    const seen = () => live.file("self.seen");
    await until(() => seen().includes("b.txt") && seen().includes("c.txt"), "both changes");
    expect(heldOf(live, ["self"])).toEqual([]);
    expect(seen().match(/before/g)).toBeNull();
  });

  test("are held whatever lies between two files: an event, a long quiet time, a program that went on, a restart", async () => {
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
      await until(() => heldOf(live, ids).length > 0, `the loop of ${ids.join()} being held`, 90_000);
      for (const id of ids) expect(await ran(live, id)).toBeLessThan(25);
    }
    expect(heldOf(live, ["posts"])[0]?.message).toContain("its own output starts it again and again, through writes");
  });

  test("are held when more than eight different ones come one after the other", async () => {
    const ids = Array.from({ length: 11 }, (_, index) => `link${index + 1}`);
    const hooks = ids.map((id, index) => watching(id, `echo x > ${ids[index + 1] ?? "end"}/file`));
    const before = Object.fromEntries([...ids, "end"].map((id) => [`${id}/before`, ""]));
    const live = await liveApp({ "hookgate.yaml": `hooks:\n${hooks.join("")}`, ...before });
    live.write("link1/file", "by hand");
    await until(() => heldOf(live, ["link10"]).length > 0, "the tenth being held");
    expect(heldOf(live, ["link10"])[0]?.message).toContain("9 hooks start each other through files (link1 → link2 →");
    expect(await ran(live, "link9")).toBe(1);
    expect(await live.runs("link10")).toEqual([]);
    await live.post("/api/command", { line: "/hooks enable link10" });
    await live.ended("link11");
  });
});
