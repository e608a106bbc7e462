/** A hook that fires once, and whose time comes while all hooks are paused, or while it is disabled. */
import { expect, test } from "vitest";
import { until } from "../../support/until.js";
import { liveApp } from "../support/live-app.js";

test("the only time of a hook that comes during a pause is skipped for good, and every view of the hook says so", async () => {
  const live = await liveApp({ "hookgate.yaml": "hooks: []" });
  const ask = async (line: string) =>
    ((await live.post("/api/command", { line })) as { text: string }).text.replace(/[\\`*]/g, "");
  expect(await ask("/hooks pause")).toContain("a hook whose only time is skipped does not fire any more");
  const hook = (id: string) =>
    `  - { id: ${id}, trigger: { at: "${new Date(Date.now() + 300).toISOString()}" }, enabled: ${id === "once"}, run: { shell: { command: ["true"] } } }`;
  live.write("hookgate.yaml", `hooks:\n${hook("once")}\n${hook("off")}\n`);
  await live.post("/api/command", { line: "/reload" });
  const said = /all configured hooks were paused when its time came, .*: it does not fire any more/;
  await until(async () => said.test(await ask("/hooks show once")), "the time being skipped");
  const shown = async () => {
    expect(await ask("/hooks next")).toMatch(said);
    expect(await ask("/hooks next once")).toMatch(new RegExp(`once waits for no time: ${said.source}`));
    expect(await ask("/hooks broken")).toMatch(said);
    const why = await ask("/hooks why once");
    expect(why).toMatch(said);
    expect(why).toContain("once would not run");
    expect(why).not.toContain("It is due now");
    expect(await ask("/hooks show once")).toMatch(said);
    expect((await live.runs("once")).map(({ status }) => status)).toEqual(["skipped"]);
  };
  await shown();
  await ask("/hooks resume");
  await live.stop();
  await live.start();
  await shown();
  // A disabled hook waits for the person who enables it.
  expect(await ask("/hooks show off")).toContain("when it is enabled");
  await ask("/hooks enable off");
  expect((await live.ended("off")).status).toBe("succeeded");
});
