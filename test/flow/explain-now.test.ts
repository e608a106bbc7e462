/** `/hooks why HOOK`, `show` and `list`: a hook that was not called, is disabled, runs now or was cut off is not said to have run. */
import { expect, it } from "vitest";
import { liveApp, TOKEN } from "../automations/support/live-app.js";
import { until } from "../support/until.js";
import { invoke } from "./stack.js";

const GATEWAY = "gateway: { unanswered_note: false, retry_first: 50ms, retry_max: 50ms, inbox_attempts: 3 }";

async function lab(config: string, plugin?: string) {
  const plugins = plugin === undefined ? "" : "\nplugins: [./ops.mjs]";
  const live = await liveApp({ "hookgate.yaml": `${GATEWAY}${plugins}\n${config}` }, { start: false });
  if (plugin !== undefined) live.write("ops.mjs", plugin.replaceAll("FOLDER", live.folder));
  await live.start();
  const ask = async (line: string) => (await invoke(live.app.url, line, TOKEN)).text.replace(/[\\`*]/g, "");
  /** The gateway's own id of the message, when its path is like that. */
  const say = async (text: string, end: RegExp) => {
    const before = idIn(await ask("/hooks why last"));
    await live.say(text);
    const path = await until(async () => {
      const now = await ask("/hooks why last");
      return idIn(now) !== before && end.test(now) ? now : undefined;
    }, `"${text}" ending as ${end}`);
    return idIn(path) as string;
  };
  return { live, ask, say };
}

const idIn = (path: string) => /What happened to (m\d+)/.exec(path)?.[1];
const first = (answer: string) => answer.split("\n")[0];

it("a fail-closed hook whose breaker is open is not said to have run, and what it holds back says so", async () => {
  const { live, ask, say } = await lab(`
automations: { breaker: { failures: 2, pause: 1h } }
hooks:
  - { id: brk, on: inbound_claim, on_failure: closed, run: { shell: { sh: "echo x >> brk.txt; exit 1" } } }
  - { id: after, on: inbound_claim, after: [brk], run: { shell: { command: ["true"] } } }
`);
  await say("one", /was given up after 3 attempts/);
  const row = await say("two", /was given up after 3 attempts/);
  expect(live.file("brk.txt")).toBe("x\nx\n");
  const why = await ask(`/hooks why brk ${row}`);
  expect(why).toContain("It was skipped: breaker: it failed 2 times in a row");
  expect(why).not.toContain("It ran");
  const path = await ask(`/hooks why ${row}`);
  expect(path).toContain("brk was skipped: breaker: it failed 2 times in a row");
  expect(path).toContain('Hook "brk" was not called at inbound_claim and is fail-closed: breaker: ');
  expect(await ask("/hooks show brk")).toMatch(/24 h: 2 fires, 2 failures/);
  expect(first(await ask("/hooks why brk"))).toMatch(
    /^brk did not run for the last inbound_claim\. It was skipped: breaker: .* Now it would not run\.$/,
  );
  expect(await ask(`/hooks why after ${row}`)).toMatch(
    /brk runs before it and was not called \(breaker: .*\)\. It is fail-closed, so the hooks after it did not run/,
  );
  expect(await ask(`/runs failed`)).toMatch(/inbound_claim +✗ failed +brk/);
  await ask("/hooks enable brk");
  const enabled = await ask("/hooks why brk");
  expect(first(enabled)).toContain("brk did not run for the last inbound_claim. It was skipped: breaker: ");
  expect(first(enabled)).toContain("Now it would run.");
});

it("a hook that was removed and added again was registered before", async () => {
  const config = (id: string) => `
hooks:
  - { id: taker, on: inbound_claim, priority: 1, run: { shell: { sh: "echo taken >&2; exit 2" } } }
  - { id: ${id}, on: inbound_claim, run: { shell: { command: ["true"] } } }
`;
  const { live, ask, say } = await lab(config("brk"));
  const row = await say("one", /blocked by taker/);
  const reason = "taker runs before it and blocked the message (taken). Hooks after a claim do not run.";
  expect(await ask(`/hooks why brk ${row}`)).toContain(reason);
  for (const id of ["brk2", "brk"]) {
    live.write("hookgate.yaml", `${GATEWAY}\n${config(id)}`);
    await until(async () => live.app.automations.get(id) !== undefined, `${id} being registered`);
    // Longer than a reload takes to replace a hook.
    if (id === "brk2") {
      const at = Date.now();
      await until(() => Date.now() > at + 1_100, "it being away");
    }
  }
  for (const answer of [await ask(`/hooks why brk ${row}`), await ask("/hooks why brk")]) {
    expect(answer).toContain(reason);
    expect(answer).not.toContain("registered");
  }
});
