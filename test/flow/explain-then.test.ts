/** `/hooks why` after the state changed: what it says of a message, or of the last firing, is what held then. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type LiveApp, liveApp, TOKEN } from "../automations/support/live-app.js";
import { until } from "../support/until.js";
import { invoke } from "./stack.js";

const OPS = `import { existsSync } from "node:fs";
export default { id: "ops", setup({ hooks }) {
  const claiming = (id, priority, decide) =>
    hooks.registerClaiming("inbound_claim", ({ message }) => decide(message.text), { id, priority });
  claiming("alpha", 10, (text) => (text === "alpha" ? { handled: true, reply: "alpha was here" } : null));
  claiming("slow", 15, async (text) => {
    while (text === "slow" && !existsSync("FOLDER/go")) await new Promise((resolve) => setTimeout(resolve, 20));
    return null;
  });
  claiming("off", 18, () => null);
  claiming("beta", 20, (text) => (text === "beta" ? { handled: true, reply: "beta was here" } : null));
  hooks.registerClaiming("inbound_claim", ({ message }) => {
    if (message.text !== "doomed") return null;
    throw new Error("the pot is empty");
  }, { id: "doomed", priority: 5, failurePolicy: "fail-closed" });
} };`;

const config = (more: { hooks?: string; allowed?: string } = {}) => `
overrides: { ops.off: { enabled: false } }
gateway: { unanswered_note: false, retry_first: 50ms, retry_max: 50ms, inbox_attempts: 3${more.allowed ?? ""} }
plugins: [./ops.mjs]
hooks:
  - { id: ping, on: inbound_claim, match: { when: 'payload.message.text == "ping"' }, run: { shell: { command: ["true"] } } }
  - { id: choosy, on: message_received, context: [{ shell: { command: ["true"], skip_if: exit_zero } }], run: { shell: { command: ["true"] } } }
  - { id: rare, on: inbound_claim, cooldown: 1h, match: { when: 'payload.message.text == "rare"' }, run: { shell: { command: ["true"] } } }
  - { id: byhand, trigger: manual, run: { chat: { to: "web:web:general", text: "posted by hand" } } }
  - { id: hourly, trigger: { every: 1h }, run: { shell: { command: ["true"] } } }
${more.hooks ?? ""}`;
const blocker = (id: string) =>
  `  - { id: ${id}, on: inbound_claim, priority: 1, match: { when: 'payload.message.text == "bad"' }, run: { shell: { sh: "echo bad word >&2; exit 2" } } }\n`;

async function lab(hooks = "", mayBreak = false) {
  const live = await liveApp({ "hookgate.yaml": config({ hooks }) }, { start: false, mayBreak });
  live.write("ops.mjs", OPS.replaceAll("FOLDER", live.folder));
  await live.start();
  const ask = async (line: string) => (await invoke(live.app.url, line, TOKEN)).text.replace(/[\\`*]/g, "");
  /** The gateway's own id of the message, when it has ended so. */
  const say = async (text: string, end: RegExp) => {
    const before = await ask("/hooks why last");
    await live.say(text);
    const path = await until(async () => {
      const now = await ask("/hooks why last");
      return idIn(now) !== idIn(before) && end.test(now) ? now : undefined;
    }, `"${text}" ending as ${end}`);
    return idIn(path) as string;
  };
  return { live, ask, say };
}

const idIn = (path: string) => /What happened to (m\d+)/.exec(path)?.[1];
const first = (answer: string) => answer.split("\n")[0];
const UNCLAIMED = /no hook claimed it/;

async function reload(live: LiveApp, text: string, hookId: string) {
  live.write("hookgate.yaml", text);
  await until(
    async () =>
      ((await live.get("/api/v1/hooks?limit=200")) as { hooks: { id: string }[] }).hooks.some(
        ({ id }) => id === hookId,
      ),
    `${hookId} being registered`,
  );
}

it("a hook that was skipped during a pause is not said to have run, after the resume", async () => {
  const { ask, say } = await lab();
  await ask("/hooks pause");
  const row = await say("ping", UNCLAIMED);
  await ask("/hooks resume");
  const answer = await ask("/hooks why ping");
  expect(first(answer)).toContain("ping did not run for the last inbound_claim. It was skipped: ");
  expect(first(answer)).toContain("all configured hooks were paused");
  expect(first(answer)).toContain("Now it would run.");
  expect(await ask(`/hooks why ${row}`)).toContain("All configured hooks were paused then: ping");
});

it("a hook whose skip_if held is not said to have run", async () => {
  const { ask, say } = await lab();
  await say("hello", UNCLAIMED);
  const answer = await ask("/hooks why choosy");
  expect(first(answer)).toContain("choosy did not run for the last message_received. It was skipped: ");
  expect(answer).not.toContain("choosy ran for");
});

it("a hook of a plugin that was not allowed then is not said to have run", async () => {
  const { live, ask, say } = await lab();
  await say("alpha", /claimed by ops\.alpha/);
  live.write("hookgate.yaml", config({ allowed: ', allowed_plugins: { "*": [] }' }));
  await until(async () => (await ask("/hooks why ops.alpha")).includes("✗ plugin"), "the list that refuses ops");
  await say("alpha", UNCLAIMED);
  live.write("hookgate.yaml", config());
  const answer = await until(async () => {
    const now = await ask("/hooks why ops.alpha");
    return now.includes("✗ plugin") ? undefined : now;
  }, "the list being gone");
  expect(first(answer)).toContain(
    'ops.alpha did not run for the last inbound_claim. It was skipped: plugin "ops" is not allowed in this conversation. Now it would run.',
  );
});

it("a hook that is running is said to be running, and the others that its point is firing", async () => {
  const { live, ask, say } = await lab();
  await say("hello", UNCLAIMED);
  await live.say("slow");
  const answer = await until(async () => {
    const now = await ask("/hooks why ops.slow");
    return now.includes("is running now") ? now : undefined;
  }, "the slow hook running");
  expect(first(answer)).toMatch(/^ops\.slow is running now, for .* \(m\d+\)\.$/);
  expect(answer).toContain("Before that, it last fired");
  expect(answer).not.toContain("ran for the last");
  expect(await ask("/hooks why ops.beta")).toContain(
    "inbound_claim is firing now, and is recorded at its end: ops.slow",
  );
  writeFileSync(join(live.folder, "go"), "");
  await until(async () => UNCLAIMED.test(await ask("/hooks why last")), "the end of the slow message");
  expect(first(await ask("/hooks why ops.slow"))).toBe("ops.slow ran for the last inbound_claim.");
});

it("a hook that was registered after a message was not registered then, whatever stands before it now", async () => {
  const { live, ask, say } = await lab(blocker("blocker"));
  const row = await say("bad", /blocked by blocker/);
  expect(await ask(`/hooks why ops.beta ${row}`)).toContain("blocker runs before it and blocked the message");
  expect(await ask("/hooks why blocker")).toMatch(/It last fired .*: ⊘ blocked/);
  await reload(live, config({ hooks: blocker("blocker2") }), "blocker2");
  for (const answer of [await ask(`/hooks why blocker2 ${row}`), await ask("/hooks why blocker2")]) {
    expect(answer).toContain("It was not registered then: it was registered");
    expect(answer).not.toContain("before it and");
    expect(answer).not.toContain("Hooks after a claim");
  }
  expect(first(await ask("/hooks why blocker2"))).toContain("Now it would run.");
  const point = await ask(`/hooks why inbound_claim ${row}`);
  expect(point).toMatch(/blocker2 did not run\. It was not registered then/);
  // The blocker is gone: it came before the others then, and keeps none from running now.
  const beta = await ask("/hooks why ops.beta");
  expect(first(beta)).toContain("ops.beta did not run for the last inbound_claim. blocker ran before it and blocked");
  expect(first(beta)).toContain("Now it would run.");
  // A plugin that is loaded again was there all the time.
  live.write(
    "ops.mjs",
    live.file("ops.mjs").replace("  claiming(", '  claiming("gamma", 30, () => null);\n  claiming('),
  );
  await until(async () => (await ask("/hooks why ops.gamma")).includes("not registered then"), "the new version");
  expect(await ask(`/hooks why ops.beta ${row}`)).not.toContain("not registered");
});

it("after a restart it is not known whether a hook without an earlier run was registered", async () => {
  const { live, ask, say } = await lab(blocker("blocker"));
  const row = await say("bad", /blocked by blocker/);
  await live.stop();
  live.write("hookgate.yaml", config({ hooks: blocker("blocker") + blocker("blocker2") }));
  await live.start();
  const answer = await ask(`/hooks why blocker2 ${row}`);
  expect(answer).toContain("Whether it was registered then is not known");
  expect(answer).toContain("blocker blocked the message");
  expect(answer).not.toContain("before it and");
});

it("a hook that is disabled now is not what would keep another from running", async () => {
  const { ask, say } = await lab();
  await say("alpha", /claimed by ops\.alpha/);
  expect(first(await ask("/hooks why ops.beta"))).toBe(
    "ops.beta did not run for the last inbound_claim. ops.alpha runs before it and claimed the message. Hooks after a claim do not run.",
  );
  await ask("/hooks disable ops.alpha");
  const answer = await ask("/hooks why ops.beta");
  expect(first(answer)).toBe(
    "ops.beta did not run for the last inbound_claim. ops.alpha ran before it and claimed the message. Hooks after a claim do not run. Now it would run.",
  );
});

it("a firing by hand is not the last firing of the point, and names itself where it is the only one", async () => {
  const { ask, say } = await lab();
  await ask("/fire-hook ops.alpha example live=true");
  await until(async () => /inbound_claim last fired/.test(await ask("/hooks why inbound_claim")), "the record");
  expect(await ask("/hooks why inbound_claim")).toContain("/fire-hook fired it by hand, for one hook alone");
  expect(first(await ask("/hooks why ops.beta"))).toContain("/fire-hook fired it by hand, and for other hooks.");
  const firing = /\bf_\w+/.exec(await ask("/runs inbound_claim"))?.[0] as string;
  const path = await ask(`/hooks why ${firing}`);
  expect(path).toMatch(/The journal has:\s+2\. \S+ inbound_claim:/);
  expect(path).not.toContain("queues");
  const row = await say("alpha", /claimed by ops\.alpha/);
  expect(await ask(`/replay ${row}`)).toMatch(
    new RegExp(`${row} is a message, and not a dispatch\\.\\s+Name one of its dispatches: .*${row}:inbound_claim`),
  );
  expect(await ask("/hooks why m_nosuch")).toContain("There is no mission m_nosuch");
  expect(await ask("/hooks why ops.alpha t_nosuch")).toContain("There is no task t_nosuch");
  expect(await ask("/hooks why ops.alpha t_nosuch:4:done:task:complete")).toMatch(
    /is the id of a dispatch of the task t_nosuch, and no such dispatch is on record: .* There is no task t_nosuch/,
  );
  for (const action of ["enable", "disable"])
    expect(await ask(`/hooks ${action} inbound_claim`)).toMatch(
      /"inbound_claim" is a hook point, and not a hook\.\s+\/hooks order inbound_claim lists its hooks\./,
    );
  await ask("/fire-hook ops.beta example live=true");
  expect(await ask("/hooks why ops.beta")).toContain("ops.alpha runs before it and claimed the message");
});

it("/hooks next with an id that waits for no time says so, and what does wait", async () => {
  const { ask } = await lab();
  expect(await ask("/hooks next hour")).toContain("1 hook waits for a time");
  expect(await ask("/hooks next x")).toBe("There is no hook x. 1 hook waits for a time: /hooks next.");
  expect(await ask("/hooks next ping")).toContain("ping waits for no time: no schedule starts it. 1 hook waits");
});

it("attempts after a retry are not said to have a restart in between that was before them", async () => {
  const { live, ask, say } = await lab();
  const row = await say("doomed", /was given up after/);
  await live.stop();
  await live.start();
  expect(await ask(`/outbox retry ${row}`)).toContain(row);
  await until(async () => /tried again[\s\S]*was given up after/.test(await ask(`/hooks why ${row}`)), "its end");
  const path = await ask(`/hooks why ${row}`);
  expect(path).toContain("attempt 3");
  // Failures that repeat are one line before the retry, and one after it; what was done last comes last.
  expect(path.match(/✗ ops\.doomed failed/g)?.length).toBeLessThan(3);
  expect(path).not.toContain("more failure");
  expect(path).not.toContain("the process ended in between");
  await ask(`/outbox purge ${row} yes=true`);
  expect(await ask(`/outbox show ${row}`)).toContain(`${row} was purged by`);
});

it("the hook that a gate or skip_if refused is named for the message", async () => {
  const { ask, say } = await lab();
  await say("rare", UNCLAIMED);
  const row = await say("rare", UNCLAIMED);
  const path = await until(async () => {
    const now = await ask(`/hooks why ${row}`);
    return now.includes("choosy was skipped") ? now : undefined;
  }, "the end of the background run");
  expect(path).toMatch(/\d\d:\d\d:\d\d rare was skipped: cooldown: /);
  expect(path).toMatch(/\d\d:\d\d:\d\d choosy was skipped: skip_if: /);
  expect(path).not.toContain("ping was skipped");
});

it("what a run of a hook led to names the hook, and a hook that overrides disable names them", async () => {
  const { ask, say } = await lab();
  await say("hello", UNCLAIMED);
  await ask("/fire-hook byhand live=true");
  await until(
    async () => (await ask("/run last")).includes("because of hook byhand (run r_"),
    "the firing of the post",
  );
  const overridden = "overrides: { ops.off: { enabled: false } }";
  expect(await ask("/hooks why ops.off")).toContain(`${overridden} in the configuration disables it.`);
  expect(await ask("/hooks why ops.off last")).toContain(`It is disabled in the configuration: ${overridden}.`);
});

it("a time that passes during a pause of all hooks is on record, once a pause, and the answer after it names the pause", async () => {
  const { live, ask } = await lab('  - { id: fast, trigger: { every: 1s }, run: { shell: { command: ["true"] } } }\n');
  const paused = async () =>
    (await live.runs("fast")).filter(({ statusReason }) => statusReason?.startsWith("paused:"));
  const pauseOver = async (times: number, before: number) => {
    await ask("/hooks pause");
    const passed = new Set<number | undefined>();
    await until(
      async () =>
        passed.add(live.app.automations.next().find(({ hookId }) => hookId === "fast")?.at).size > times &&
        (await paused()).length > before,
      "times passing during the pause",
    );
    await ask("/hooks resume");
  };
  await pauseOver(3, 0);
  expect(await paused()).toMatchObject([
    { status: "skipped", trigger: "every", reason: expect.stringContaining("every 1s at") },
  ]);
  expect(await ask("/hooks why fast")).toMatch(
    /Last skipped \d.* ago: paused: all configured hooks were paused; later times during this pause are skipped without a record \(r_/,
  );
  expect(await ask("/runs fast")).toContain("skipped");
  await until(async () => (await live.runs("fast")).at(-1)?.status === "succeeded", "a run after the pause");
  await pauseOver(1, 1);
  expect(await paused()).toHaveLength(2);
});

it("a hook that was removed is said to have run when it ran, and not when it was skipped", async () => {
  const { live, ask, say } = await lab(
    '  - { id: marker, on: message_received, run: { shell: { command: ["true"] } } }\n',
  );
  await say("rare", UNCLAIMED);
  await say("rare", UNCLAIMED);
  live.write(
    "hookgate.yaml",
    config()
      .replace(/^.*id: rare.*$/m, "")
      .replace("byhand, trigger", "other, trigger"),
  );
  await until(async () => (await ask("/hooks why rare")).includes("no longer registered"), "the hook being removed");
  const [skipped, ran] = (await live.runs("rare")).toReversed();
  const answer = await ask("/hooks why rare");
  expect(answer).toMatch(/rare is no longer registered\. It last ran .* at inbound_claim\./);
  expect(answer).toMatch(/It was last skipped .* at inbound_claim: cooldown: /);
  const { data } = await invoke(live.app.url, "/hooks why rare", TOKEN);
  expect(data).toMatchObject({ lastDispatchId: ran?.dispatchId, registered: false });
  expect(skipped?.dispatchId).not.toBe(ran?.dispatchId);
});

it("of a task, a point without an enabled hook is not recorded, and is not said not to have fired", async () => {
  const { ask } = await lab();
  const id = /t_\w+/.exec(await ask("/task add person:web:1 count the beans"))?.[0] as string;
  expect(await ask("/task start nosuch")).toContain("There is no task");
  expect(await ask("/task cancel blocked")).toBe("There is no open task that is blocked.");
  expect(await ask("/task cancel blocked yes=true selection=0123456789ab")).toMatch(
    /^The tasks are not the same as when you were asked; nothing was done\.\s+There is no open task that is blocked\.$/,
  );
  await ask(`/task done ${id}`);
  expect(await ask(`/hooks why task:complete ${id}`)).toBe(
    `Whether task:complete fired for ${id} is not recorded.\n\nA point is recorded only when it has an enabled hook, and no hook is registered at task:complete.`,
  );
  expect(await ask(`/hooks why inbound_claim ${id}`)).toContain(
    `inbound_claim fires for messages, and ${id} is a task.`,
  );
  const { ask: again } = await lab(
    '  - { id: seen, on: "task:create", phase: after, run: { shell: { command: ["true"] } } }\n',
  );
  const second = /t_\w+/.exec(await again("/task add person:web:1 count the beans"))?.[0] as string;
  await until(
    async () => (await again(`/hooks why task:create ${second}`)).includes("seen"),
    "the record of its creation",
  );
  await again(`/task done ${second}`);
  expect(await again(`/hooks why task:complete ${second}`)).toContain(
    `Whether task:complete fired for ${second} is not recorded.`,
  );
  // The id of the dispatch, as /runs shows it.
  const dispatchId = /t_\w+:\S*task:create\S*/.exec(await again("/runs task:create"))?.[0] as string;
  const path = await again(`/hooks why ${dispatchId}`);
  expect(path).toContain(`A dispatch of task ${second}: /task show ${second} shows the task.`);
  expect(path).toMatch(/task:create: . \w+/);
  expect(path).not.toContain("no such task");
});

it("a hook that is broken since a restart is said to have done to a message what it did", async () => {
  const { live, ask, say } = await lab(blocker("strict"), true);
  const [blocked, other] = [await say("bad", /blocked by strict/), await say("fine", UNCLAIMED)];
  live.write("hookgate.yaml", config({ hooks: blocker("strict").replace("payload.message", "payload.mesage") }));
  await live.stop();
  await live.start();
  const answer = await ask(`/hooks why strict message=${blocked}`);
  expect(answer).toMatch(new RegExp(`^strict and ${blocked}:\\s+It ran, ⊘ blocked.*: bad word`, "s"));
  expect(answer).toMatch(/It is not in force now\s+strict at hookgate\.yaml:\d+.*mesage/s);
  expect(await ask(`/hooks why strict message=${other}`)).toMatch(
    /^strict and m2:\s+It was skipped.*It is not in force/s,
  );
  const later = await say("bad", UNCLAIMED);
  expect(await ask(`/hooks why strict message=${later}`)).toMatch(
    /^No run of strict is on record for m3\.\s+Not in force/,
  );
  expect(await ask("/hooks why strict")).toMatch(/^Not in force\s+strict at hookgate\.yaml/);
});
