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
  expect(why).toMatch(/is paused until [\d:]+ UTC\. It is fail-closed/);
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
  expect(await ask(`/runs failed`)).toMatch(/\d+\. ✗ failed · brk · /);
  await ask("/hooks enable brk");
  const enabled = await ask("/hooks why brk");
  expect(first(enabled)).toContain("brk did not run for the last inbound_claim. It was skipped: breaker: ");
  expect(first(enabled)).toContain("Now it would run.");
});

it("a fail-closed hook that its cooldown or hourly rate keeps from running holds what it guards, and a fallback stands in", async () => {
  const guard = (text: string, more: string) =>
    `on: message_sending, ${more}, match: { when: 'payload.message.text.contains("${text}")' }, run: { shell: { sh: "echo no >&2; exit 2" } }`;
  const { live, ask } = await lab(`
hooks:
  - { id: cooled, ${guard("COOL", "on_failure: closed, cooldown: 1h")} }
  - { id: rated, ${guard("RATE", "on_failure: closed, max_per_hour: 1")} }
  - { id: stand-in, ${guard("SWAP", "on_failure: fallback, fallback: { message: { text: stood in } }, cooldown: 1h")} }
  - { id: lax, ${guard("LAX", "cooldown: 1h")} }
  - { id: late, on: "task:create", phase: before, on_failure: closed, cooldown: 1h, run: { shell: { sh: "echo no >&2; exit 2" } } }
`);
  const send = (text: string) =>
    live.app.gateway.send(
      { platform: "web", botId: "web", chatId: "general" },
      { text },
      { cause: { kind: "api", id: "t", depth: 0 } },
    );
  for (const text of ["COOL", "RATE", "SWAP", "LAX"]) await send(text);
  for (const hook of ["cooled", "rated", "stand-in", "lax"])
    expect(await live.ended(hook)).toMatchObject({ status: "blocked" });
  expect(await ask("/hooks why cooled")).toMatch(
    /✗ gates: cooldown would refuse it now: .* left of 1 h\. It is fail-closed, so the messages that it would decide about are held\./,
  );
  expect(await ask("/hooks why rated")).toMatch(
    /rate would refuse it now: at most 1 run in an hour, the next in (1 h|59 min[^.]*)\. It is fail-closed, so the messages/,
  );
  expect(await ask("/hooks why stand-in")).toContain("left of 1 h. Its fallback is used instead.");
  expect(await ask("/hooks why lax")).toMatch(/gates: cooldown would refuse it now: .* left of 1 h\.$/m);

  const cooled = await send("COOL");
  const rated = await send("RATE");
  for (const text of ["SWAP", "LAX"]) await send(text);
  await until(async () => (await live.room()).length === 2, "what is not held");
  expect((await live.room()).sort()).toEqual(["LAX", "stood in"]);
  for (const [hook, id, reason] of [
    ["cooled", cooled, /cooldown: .* left of 1 h/],
    ["rated", rated, /rate: at most 1 run in an hour/],
  ] as const) {
    const why = await until(async () => {
      const now = await ask(`/hooks why ${hook} ${id}`);
      return now.includes(" is held now.") ? now : undefined;
    }, `${id} being held`);
    expect(why).toMatch(reason);
    expect(why).toContain(`It is fail-closed, so message_sending failed. ${id} is held now.`);
    const run = await ask(`/run ${id}`);
    expect(run).toContain(`held: Hook "${hook}" was not called at message_sending and is fail-closed`);
    expect(run).toMatch(reason);
  }
  for (const line of ["/task add me one", "/task add me two"]) {
    const added = await ask(line);
    expect(added).toContain("late");
    expect(added).not.toContain("Added");
  }
  expect(await ask("/hooks why late")).toContain("It is fail-closed, so task:create fails where it would decide.");
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

const VETO = `export default { id: "tasks", setup({ hooks }) {
  hooks.register({ hook: "task:create", phase: "before", id: "veto", handler(ctx) {
    if (ctx.data.title.includes("forbidden")) ctx.cancel("no such task");
  } });
} };`;

it("a disabled hook whose point another hook keeps on record is not said to leave it unrecorded", async () => {
  const { ask, say } = await lab(`
hooks:
  - { id: one, on: inbound_claim, run: { shell: { command: ["true"] } } }
  - { id: other, on: inbound_claim, run: { shell: { command: ["true"] } } }
`);
  await say("hello", /no hook claimed it/);
  await ask("/hooks disable one");
  expect(first(await ask("/hooks why one"))).toMatch(
    /^one did not run for any inbound_claim since Owner disabled it [^;]*\. Before that, it ran .* Now it would not run\.$/,
  );
  await ask("/hooks disable other");
  expect(first(await ask("/hooks why one"))).toContain("; what fires while no hook is enabled there is not recorded.");
});

it("a hook that was disabled when its point fired last is not said to have run then, also after it was enabled again", async () => {
  const { ask } = await lab("", VETO);
  const add = (title: string) => ask(`/task add person:web:1 ${title}`);
  const recorded = () =>
    until(async () => (await ask("/hooks why tasks.veto")).includes("It last fired"), "the record of its run");
  expect(first(await ask("/hooks why tasks.veto"))).toBe("tasks.veto would run.");
  await ask("/hooks disable tasks.veto");
  await add("forbidden one");
  expect(first(await ask("/hooks why tasks.veto"))).toMatch(
    /^tasks\.veto did not run for any task:create since Owner disabled it .*; what fires while no hook is enabled there is not recorded\. Now it would not run\.$/,
  );
  await ask("/hooks enable tasks.veto");
  const enabled = await ask("/hooks why tasks.veto");
  expect(first(enabled)).toMatch(
    /did not run for any task:create from when Owner disabled it .* until Owner enabled it/,
  );
  expect(enabled).not.toContain("task:create has not fired either");
  await add("fine");
  await recorded();
  expect(first(await ask("/hooks why tasks.veto"))).toBe("tasks.veto ran for the last task:create.");

  await ask("/hooks disable tasks.veto");
  await add("forbidden two");
  expect(first(await ask("/hooks why tasks.veto"))).toMatch(
    /did not run for any task:create since Owner disabled it .* Before that, it ran for the last one \(.*\)\. Now it would not run\.$/,
  );
  await ask("/hooks enable tasks.veto");
  expect(first(await ask("/hooks why tasks.veto"))).toMatch(
    /did not run for any task:create from when Owner disabled it .* until Owner enabled it .* Before that, it ran for the last one \(.*\)\. Now it would run\.$/,
  );
  expect(await ask("/hooks why task:create")).toContain("The hooks that are enabled at task:create were enabled");
  await add("also fine");
  await until(
    async () => first(await ask("/hooks why tasks.veto")) === "tasks.veto ran for the last task:create.",
    "it",
  );
});

it("a hook that the configuration disabled for a while is not said to have run for what fired then", async () => {
  const config = (enabled: boolean) => `
hooks:
  - { id: seen, on: message_received, enabled: ${enabled}, run: { shell: { command: ["true"] } } }
  - { id: claims, on: inbound_claim, match: { when: 'payload.message.text == "never"' }, run: { shell: { command: ["true"] } } }
`;
  const { live, ask, say } = await lab(config(true));
  const isEnabled = (wanted: boolean) =>
    until(() => live.app.automations.get("seen")?.enabled === wanted, `its being enabled: ${wanted}`);
  await say("one", /no hook claimed it/);
  expect(first(await ask("/hooks why seen"))).toContain("seen ran for the last message_received.");
  live.write("hookgate.yaml", `${GATEWAY}\n${config(false)}`);
  await isEnabled(false);
  await say("two", /no hook claimed it/);
  expect(first(await ask("/hooks why seen"))).toMatch(
    /^seen did not run for any message_received since it was disabled; .* Before that, it ran for the last one/,
  );
  live.write("hookgate.yaml", `${GATEWAY}\n${config(true)}`);
  await isEnabled(true);
  expect(first(await ask("/hooks why seen"))).toMatch(
    /^seen did not run for any message_received in the time before it was enabled .* Before that, it ran for the last one/,
  );
});

it("a hook that was off in the file and was enabled since says so for what fired before", async () => {
  const { ask, say } = await lab(`
hooks:
  - { id: off, on: inbound_claim, enabled: false, run: { shell: { command: ["true"] } } }
  - { id: on, on: inbound_claim, run: { shell: { command: ["true"] } } }
`);
  await say("one", /no hook claimed it/);
  await ask("/hooks enable off");
  expect(first(await ask("/hooks why off"))).toMatch(
    /^off did not run for the last inbound_claim\. It was disabled then\. \S+ enabled it .*\. Now it would run\.$/,
  );
});

const SLOW = `import { existsSync } from "node:fs";
const until = async (file) => {
  while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 20));
};
export default { id: "ops", setup({ hooks }) {
  hooks.registerClaiming("inbound_claim", ({ message }) => (message.text === "slow" ? until("FOLDER/go") : null), { id: "slow" });
  hooks.registerVoid("message_received", () => {}, { id: "bg", execution: "background" });
} };`;

it("the first run of a hook that is under way is no run before it, and the hook is not called never fired", async () => {
  const { live, ask } = await lab(
    `hooks:\n  - { id: byhand, trigger: manual, run: { shell: { sh: "while [ ! -e go ]; do sleep 0.05; done" } } }`,
    SLOW,
  );
  await live.say("slow");
  const fired = live.fire("byhand");
  for (const id of ["ops.slow", "byhand"]) {
    let now = "";
    const why = await until(async () => {
      now = await ask(`/hooks why ${id}`);
      return now.includes("is running now") ? now : undefined;
    }, `${id} running`);
    expect(why).toContain("It has not run before.");
    expect(why).not.toMatch(/last fired|never fired/);
    expect(await ask(`/hooks show ${id}`)).toMatch(/last fired: .*, running now/);
    expect(await ask("/status")).not.toMatch(new RegExp(`never fired[^\\n]*${id}`));
  }
  live.write("go", "");
  await fired;
});

it("a hook whose runs wait for one another, or for the end of a pause, would wait; one that skips would not run", async () => {
  const sh = (id: string) => `{ shell: { sh: "until [ -e go-${id} ]; do sleep 0.05; done" } }`;
  const { live, ask } = await lab(`
hooks:
  - { id: queued, on: message_received, cooldown: 1ms, run: ${sh("queued")} }
  - { id: skips, on: message_received, when_busy: skip, run: ${sh("skips")} }
  - { id: hourly, trigger: { every: 1h }, run: { shell: { command: ["true"] } } }
`);
  await live.say("hello");
  const isRunning = async (id: string) => (await ask(`/hooks why ${id}`)).includes("is running now");
  await until(async () => (await isRunning("queued")) && isRunning("skips"), "both running");
  expect(await ask("/hooks why queued")).toContain(
    "… gates: it would wait for its turn now, and then run: concurrency, 1 of 1 running.",
  );
  expect(await ask("/hooks why skips")).toMatch(/✗ gates: concurrency would refuse it now: 1 of 1 running\.$/m);
  await ask("/hooks pause");
  live.write("go-queued", "");
  live.write("go-skips", "");
  await until(async () => !(await isRunning("queued")) && !(await isRunning("skips")), "the end of both");
  const paused = await ask("/hooks why queued");
  expect(first(paused)).toBe("queued ran for the last message_received, and would wait until /hooks resume now.");
  expect(paused).toContain("… gates: paused by Owner: its runs wait in the background until /hooks resume.");
  const hourly = await ask("/hooks why hourly");
  expect(first(hourly)).toBe("hourly would not run.");
  expect(hourly).toMatch(/✗ gates: paused would refuse it now: by Owner\.$/m);
});

it("what happens to the next event of a busy hook is explained for each when_busy, for a full queue and for a person", async () => {
  const sh = (id: string) => `run: { shell: { sh: "echo x >> ran-${id}; until [ -e go ]; do sleep 0.05; done" } }`;
  const { live, ask } = await lab(`
automations: { max_running: 4 }
hooks:
  - { id: merges, on: message_received, when_busy: coalesce, ${sh("merges")} }
  - { id: short, on: message_received, when_busy: queue, max_queued: 1, ${sh("short")} }
  - { id: skips, on: message_received, when_busy: skip, ${sh("skips")} }
  - { id: hand, trigger: manual, when_busy: queue, ${sh("hand")} }
`);
  const why = async (id: string, wanted: RegExp) =>
    until(async () => {
      const now = await ask(`/hooks why ${id}`);
      return wanted.test(now) ? now : undefined;
    }, `${id}: ${wanted}`);
  await live.say("one");
  for (const id of ["merges", "short", "skips"]) await why(id, /is running now/);
  const merges = `… gates: it would wait for its turn now, and then run once, for the newest event that waits: concurrency, 1 of 1 running. The events before that one are skipped.`;
  expect(await ask("/hooks why merges")).toContain(merges);
  const { data } = await invoke(live.app.url, "/hooks why merges", TOKEN);
  expect(data).toMatchObject({ runs: true, waits: { gate: "concurrency", until: "for its turn" } });
  expect(data).not.toHaveProperty("gate");
  const fired = live.fire("hand");
  expect(await why("hand", /is running now/)).toContain("✗ gates: concurrency would refuse it now: 1 of 1 running.");
  expect(await ask("/fire-hook hand live=true")).toContain("hand is running already");
  // All four places are taken, and skips is refused by its own run all the same.
  expect(await ask("/hooks why skips")).toMatch(/✗ gates: concurrency would refuse it now: 1 of 1 running\.$/m);

  await live.say("two");
  await live.say("three");
  expect(await why("merges", /2 more runs wait for their turn/)).toContain("… gates: ");
  expect(await why("short", /1 more run waits for its turn/)).toMatch(
    /✗ gates: queue would refuse it now: 1 wait already\.$/m,
  );
  await live.say("four");
  await until(async () => (await ask("/runs short")).includes("queue: 1 wait already"), "the one that is refused");
  live.write("go", "");
  await fired;
  await until(() => live.file("ran-short")?.length === 4 && live.file("ran-merges")?.length === 4, "those that waited");
  expect(live.file("ran-skips")).toBe("x\n");
});

it("of a hook that runs, the runs that wait for their turn are counted, and /runs queued lists what /status counts", async () => {
  const { live, ask } = await lab(`
hooks:
  - { id: slow, on: message_received, run: { shell: { sh: "until [ -e go ]; do sleep 0.05; done" } } }
`);
  for (const text of ["one", "two", "three"]) await live.say(text);
  await until(
    async () => /is running now[\s\S]*2 more runs wait for their turn\./.test(await ask("/hooks why slow")),
    "the two that wait",
  );
  expect(await ask("/status")).toContain("runs: 2 wait to be started, 2 of slow");
  expect(await ask("/runs queued")).toMatch(/^2 runs of queued: they wait to be started\n/);
  live.write("go", "");
  await until(async () => !/is running now|more run|not run yet/.test(await ask("/hooks why slow")), "their end");
});

it("the path of a message calls a run in the background that, and names what the message waits for alone", async () => {
  const { live, ask } = await lab(`
hooks:
  - { id: archive, on: message_received, run: { shell: { sh: "until [ -e go ]; do sleep 0.05; done" } } }
  - { id: sort, on: inbound_claim, run: { shell: { sh: "until [ -e go ]; do sleep 0.05; done" } } }
`);
  await live.say("hello");
  const path = await until(async () => {
    const now = await ask("/hooks why last");
    return /archive is running now[\s\S]*sort is running now/.test(now) ? now : undefined;
  }, "both running");
  expect(path).toMatch(/The message is being handled now: sort has been running at inbound_claim for [^,]+\.$/m);
  expect(path).toMatch(/archive is running now, in the background, for /);
  expect(path).toMatch(/sort is running now, for /);
  live.write("go", "");
  await until(async () => !/running/.test(await ask("/hooks why last")), "their end");
});

it("a pause of all hooks keeps the background hook of a plugin from running now", async () => {
  const { live, ask } = await lab("", SLOW);
  await ask("/hooks pause");
  await live.say("hello");
  const why = await until(async () => {
    const now = await ask("/hooks why ops.bg");
    return now.includes("It has not run yet") ? now : undefined;
  }, "the background run waiting");
  expect(first(why)).toMatch(/because Owner paused all hooks\. Now it would wait until \/hooks resume\.$/);
  expect(why).toContain("… gates: paused by Owner: its runs wait in the background until /hooks resume.");
  await ask("/hooks resume");
  await until(async () => first(await ask("/hooks why ops.bg")) === "ops.bg ran for the last message_received.", "it");
});

const FULL = `import { existsSync } from "node:fs";
export default { id: "ops", setup({ hooks }) {
  const wait = async () => { while (!existsSync("FOLDER/go")) await new Promise((done) => setTimeout(done, 20)); };
  hooks.registerVoid("message_received", wait, { id: "slow", execution: "background" });
  hooks.registerVoid("message_received", () => {}, { id: "quick", execution: "background" });
} };`;

it("runs that wait because others hold all places say so, and an older run is not told as that of the last due time", async () => {
  const { live, ask } = await lab(
    `
automations: { max_running: 2 }
hooks:
  - { id: beat, trigger: { every: 1s }, run: { shell: { command: ["true"] } } }
`,
    FULL,
  );
  await until(async () => first(await ask("/hooks why beat")) === "beat ran for the last hook.due.", "the first beat");
  expect(await ask("/status")).not.toContain("max_running");
  for (const text of ["one", "two", "three"]) await live.say(text);
  const why = "all places (automations.max_running: 2) are taken: 2 by ops.slow";
  const beat = await until(async () => {
    const now = await ask("/hooks why beat");
    return now.includes("has not run yet") && now.includes(why) ? now : undefined;
  }, "a beat that waits");
  const waits = `It has not run yet: it waits in the background for a place, because ${why}. Now it would wait for a place.`;
  expect(first(beat)).toBe(`beat did not run for the last hook.due. ${waits}`);
  expect(beat).toContain(`… gates: its next run waits for a place, and then runs: ${why}.`);
  const quick = await until(async () => {
    const now = await ask("/hooks why ops.quick");
    return first(now) === `ops.quick did not run for the last message_received. ${waits}` ? now : undefined;
  }, "a message for which it waits");
  expect(quick).toContain(`… gates: its next run waits for a place, and then runs: ${why}.`);
  expect(await ask("/hooks why ops.slow")).toContain(why);
  const status = await ask("/status");
  expect(status).toMatch(/^Up, but background runs wait for a place$/m);
  expect(status).toContain(`⚠ background runs wait for a place: ${why}. /runs running lists them`);
  live.write("go", "");
  await until(async () => first(await ask("/hooks why beat")) === "beat ran for the last hook.due.", "beat going on");
  await until(async () => !(await ask("/status")).includes("max_running"), "room");
});

const ONE_PLACE = `import { existsSync } from "node:fs";
export default { id: "ops", setup({ hooks }) {
  const wait = async () => { while (!existsSync("FOLDER/go")) await new Promise((done) => setTimeout(done, 20)); };
  const only = (word) => ({ execution: "background", match: { when: 'payload.message.text.startsWith("' + word + '")' } });
  hooks.registerVoid("message_received", wait, { id: "occupy", ...only("occupy") });
  hooks.registerVoid("message_received", () => {}, { id: "mine", ...only("mine") });
} };`;

it("a run that waits for a place is told also when a later message did not match its hook", async () => {
  const { live, ask } = await lab("\nautomations: { max_running: 1 }\n", ONE_PLACE);
  const waits = "1 run waits for its turn. /runs queued lists what waits.";
  await live.say("occupy it");
  await until(async () => (await ask("/hooks why ops.occupy")).includes("is running now"), "the place being taken");
  await live.say("mine");
  const own = await until(async () => {
    const now = await ask("/hooks why ops.mine");
    return now.includes("It has not run yet") ? now : undefined;
  }, "the run that waits");
  expect(own).not.toContain("waits for its turn");
  await live.say("other");
  const why = await until(async () => {
    const now = await ask("/hooks why ops.mine");
    return now.includes("is false") ? now : undefined;
  }, "the later message");
  expect(why).toContain(waits);
  live.write("go", "");
  await until(async () => !(await ask("/hooks why ops.mine")).includes(waits), "its run");
});

const REACT = `export default { id: "ops", setup({ hooks }) {
  hooks.registerVoid("reaction_added", () => {}, { id: "react" });
  hooks.registerClaiming("inbound_claim", () => { throw new Error("the pot is empty"); }, {
    id: "fallbk", failurePolicy: "fallback", fallback: { handled: true, reply: "the kitchen is closed" },
  });
} };`;

it("of two reactions, the one for which the hook was disabled is told apart from the one that it saw", async () => {
  const { live, ask, say } = await lab("", REACT);
  const row = await say("hello", /claimed by/);
  const { messages } = (await live.get("/api/rooms/general/messages")) as { messages: { id: string; text: string }[] };
  const id = messages.find(({ text }) => text === "hello")?.id;
  const react = async (emoji: string, end: RegExp) => {
    const { ok } = await fetch(`${live.app.url}/api/messages/${id}/reactions`, {
      method: "PUT",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify({ emoji, on: true }),
    });
    expect(ok).toBe(true);
    await until(async () => end.test(await ask(`/hooks why ${row}`)), `the reaction ${emoji}`);
  };
  await react("👍", /reaction \(m\d+\) · reaction_added: 1 hook ran/);
  await ask("/hooks disable ops.react");
  await react("🎉", /reaction \(m\d+\) · no hook was enabled at reaction_added/);
  const path = await ask(`/hooks why ${row}`);
  expect(path).toMatch(/reaction \(m\d+\) · reaction_added: 1 hook ran\n.*reaction \(m\d+\) · no hook was enabled/);
  const why = await ask(`/hooks why ops.react ${row}`);
  expect(why).toMatch(
    /The last reaction \(m\d+, .*\) came after that, and it did not run for it\. It was disabled then, by Owner/,
  );
  expect(why).toContain("It ran, ✓ passed");
  await ask("/hooks enable ops.react");
  expect(await ask(`/hooks why ops.react ${row}`)).toMatch(/It was disabled then, by Owner .*\. Owner enabled it /);
});

it("the fallback of a hook that failed is named as the answer, and its error is shown without a message, too", async () => {
  const { ask, say } = await lab("", REACT);
  const row = await say("hello", /claimed by the fallback of ops\.fallbk/);
  expect(await ask(`/hooks why ops.fallbk ${row}`)).toMatch(
    /✗ failed.*the pot is empty.* Its fallback was used instead\./,
  );
  expect(await ask(`/run ${row}:inbound_claim`)).toMatch(/the pot is empty.* · its fallback was used instead/);
  expect(await ask("/hooks why ops.fallbk")).toMatch(
    /ran for the last inbound_claim\.\n+It ran, ✗ failed, .*: error: the pot is empty/,
  );
});

it("the reason of a veto, and a pending retry, are shown without a message, too", async () => {
  const { live, ask } = await lab(
    "hooks:\n  - { id: again, on: message_received, execution: background, retry: { attempts: 3, backoff: 1h }, run: { shell: { sh: 'echo no fire >&2; exit 1' } } }",
    VETO,
  );
  await ask("/task add person:web:1 forbidden");
  const why = await until(async () => {
    const now = await ask("/hooks why tasks.veto");
    return now.includes("ran for the last") ? now : undefined;
  }, "the record of the veto");
  expect(why).toMatch(/It ran, ⊘ cancelled, .*: no such task/);
  await live.say("hello");
  await until(async () => /It is tried again at .*exit/.test(await ask("/hooks why again")), "the pending retry");
});

const PHASES = `export default { id: "f", setup({ hooks }) {
  hooks.register({ hook: "task:create", phase: "before", id: "b", handler(ctx) { ctx.data.priority = 1; } });
  hooks.register({ hook: "task:create", phase: "after", id: "a", handler() {} });
} };`;

it("a hook of one phase ran for the last firing of that phase, whatever fired in another", async () => {
  const { ask } = await lab("", PHASES);
  await ask("/task add person:web:1 Title2");
  for (const [id, phase] of [
    ["f.b", "before"],
    ["f.a", "after"],
  ]) {
    let now = "";
    const why = await until(async () => {
      now = await ask(`/hooks why ${id}`);
      return now.includes("It last fired") ? now : undefined;
    }, `the record of ${id}`);
    expect(first(why)).toBe(`${id} ran for the last task:create (${phase}).`);
  }
});

it("a point whose only hook is disabled in the file is not said not to have fired", async () => {
  const config = (enabled: boolean) => `
hooks:
  - { id: edits, on: message_edited, enabled: ${enabled}, run: { shell: { command: ["true"] } } }
`;
  const { live, ask, say } = await lab(config(false));
  const row = await say("hello", /no hook claimed it|no hook was enabled at inbound_claim/);
  const { messages } = (await live.get("/api/rooms/general/messages")) as { messages: { id: string; text: string }[] };
  const id = messages.find(({ text }) => text === "hello")?.id;
  const { ok } = await fetch(`${live.app.url}/api/messages/${id}`, {
    method: "PATCH",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ text: "hello again", nonce: "edit-0001" }),
  });
  expect(ok).toBe(true);
  await until(
    async () => (await ask(`/hooks why ${row}`)).includes("no hook was enabled at message_edited"),
    "the edit",
  );
  const disabled = await ask("/hooks why edits");
  expect(first(disabled)).toBe(
    "edits did not run for any message_edited while it is disabled; what fires while no hook is enabled there is not recorded. Now it would not run.",
  );
  expect(disabled).not.toContain("has not fired");
  live.write("hookgate.yaml", `${GATEWAY}\n${config(true)}`);
  await until(async () => live.app.automations.get("edits")?.enabled === true, "it being enabled");
  const enabled = await ask("/hooks why edits");
  expect(first(enabled)).toMatch(
    /^edits did not run for any message_edited in the time before it was enabled .*; what fires while no hook .* Now it would run\.$/,
  );
  expect(enabled).not.toContain("has not fired");
});

it("a hook that only a person fires would run while all hooks are paused, and every id of its firing leads to it", async () => {
  const { live, ask } = await lab(`
hooks:
  - { id: man, trigger: manual, run: { shell: { command: ["true"] } } }
  - { id: auto, trigger: { every: 1h }, run: { shell: { command: ["true"] } } }
`);
  const { data } = await invoke(live.app.url, "/fire-hook man live=true", TOKEN);
  const { id, dispatchId, cause } = data as { id: string; dispatchId: string; cause: { id: string } };
  for (const one of [id, dispatchId, cause.id]) {
    expect(await ask(`/run ${one}`), one).toMatch(/^man ✓ succeeded/);
    for (const line of [`/hooks why ${one}`, `/hooks why man ${one}`]) {
      expect(await ask(line), line).toContain(`/run ${one}`);
      expect(await ask(line), line).not.toContain("never received");
    }
  }
  await ask("/hooks pause");
  const man = await ask("/hooks why man");
  expect(first(man)).toBe("man ran for the last hook.due.");
  expect(man).toContain("That does not hold for this one: only /fire-hook man live=true runs it.");
  expect(man).toContain("It runs only when a person fires it: /fire-hook man live=true.");
  expect(man).not.toMatch(/would not run|would refuse/);
  expect(await ask("/hooks why auto")).toContain("auto would not run.");
  expect(await ask("/fire-hook man live=true")).toContain("man ✓ succeeded");
  await ask("/hooks disable man");
  expect(first(await ask("/hooks why man"))).toContain("would not run when a person fires it");
});

it("a cooldown holds for a hook that a person fires, and /fire-hook, /hooks why and /runs agree on it", async () => {
  const { ask } = await lab(`
hooks:
  - { id: deploy, trigger: manual, cooldown: 1h, run: { shell: { command: ["true"] } } }
`);
  expect(await ask("/fire-hook deploy live=true")).toContain("deploy ✓ succeeded");
  expect(await ask("/hooks why deploy")).toMatch(/gates: cooldown would refuse it now: .* left of 1 h/);
  const again = await ask("/fire-hook deploy live=true");
  expect(again).toContain("deploy – skipped");
  expect(again).toMatch(
    /It did not run, because its cooldown holds for runs by hand, too\. It can run again in (1 h|\d+ min( \d+ s)?)\./,
  );
  const dry = await ask("/fire-hook deploy");
  expect(dry).toContain("Its handler was not called, and nothing was stored.");
  expect(dry).not.toContain("Its steps ran");
  const runs = await ask("/runs deploy");
  expect(runs).toMatch(/skipped/);
  expect(runs.match(/succeeded/g)).toHaveLength(1);
});

it("a hook that watches files of the gateway only is not in force, and what a glob leaves to it is explained by its own files", async () => {
  const live = await liveApp(
    {
      "hookgate.yaml": `
hooks:
  - { id: db, trigger: { files: { paths: ["test.db", "*.db-wal"] } }, run: { shell: { command: ["true"] } } }
  - { id: glob, trigger: { files: { paths: ["test.*"] } }, run: { shell: { command: ["true"] } } }
  - { id: in, trigger: { files: { paths: ["test.db", "in.txt"], debounce: 100ms } }, run: { shell: { command: ["true"] } } }
  - { id: other, trigger: { files: { paths: ["other.txt"], debounce: 100ms } }, run: { shell: { command: ["true"] } } }
`,
    },
    { mayBreak: true },
  );
  const ask = async (line: string) => (await invoke(live.app.url, line, TOKEN)).text.replace(/[\\`*]/g, "");
  expect(await ask("/hooks why db")).toContain(
    "trigger.files.paths: names only files of the gateway itself (its database, uploads, .env), and their changes start no hook: name other files",
  );
  const glob = await ask("/hooks why glob");
  expect(glob).toContain("glob would not run");
  expect(glob).toContain("all of the gateway itself, whose changes start no hook");
  live.write("in.txt", "1");
  await live.ended("in");
  live.write("other.txt", "1");
  await live.ended("other");
  const own = await ask("/hooks why in");
  expect(first(own)).toBe("in ran for the last file.changed.");
  expect(own).not.toContain("is none of");
});

it("a message that is being handled again shows why the attempt before failed, and so does one that waits for it", async () => {
  const flaky =
    "if [ -e tried ]; then until [ -e go ]; do sleep 0.05; done; else touch tried; echo the pot is empty >&2; exit 1; fi";
  const { live, ask } = await lab(`
hooks:
  - { id: flaky, on: inbound_claim, on_failure: closed, run: { shell: { sh: "${flaky}" } } }
`);
  await live.say("one");
  const row = await until(async () => {
    const now = await ask("/hooks why last");
    return /is being handled now: .* The attempt before failed: .*the pot is empty/.test(now) ? idIn(now) : undefined;
  }, "the second attempt with the reason of the first");
  await live.say("two");
  await until(
    async () =>
      /handled now, after an attempt that failed \(.*the pot is empty.*\)\./.test(await ask("/hooks why last")),
    `the reason that ${row} is waited for`,
  );
  live.write("go", "");
  await until(async () => !/handled now|waits/.test(await ask("/hooks why last")), "their end");
});

it("of the newest attempt of a message, /run names the time of the next one; over the API, a row is named by its id", async () => {
  const live = await liveApp({
    "hookgate.yaml": `
gateway: { unanswered_note: false, retry_first: 1h, retry_max: 1h }
hooks: [{ id: shut, on: inbound_claim, on_failure: closed, run: { shell: { sh: "exit 1" } } }]
`,
  });
  const ask = async (line: string) => (await invoke(live.app.url, line, TOKEN)).text.replace(/[\\`*]/g, "");
  await live.say("hold this");
  await until(async () => (await ask("/hooks why last")).includes("is handled again at"), "the wait");
  const attempt = await ask("/run m1:inbound_claim");
  // With its day when that is another one.
  expect(attempt).toMatch(/It will be tried again at [-\d: ]+ \(in (1 h|\d+ min)[^)]*\): m1 is deferred\./);
  expect(attempt).not.toContain("last word");

  expect(await ask("/runs failed")).toContain("shut");
  expect(await ask("/replay 1")).toContain("over the API a row is named by its id");
  expect(await ask("/replay 1")).not.toContain("you saw here lately");
  expect(await ask("/run shut")).toContain('"shut" is a hook, and not a dispatch or run.');
  expect(await ask("/run t_m5")).toContain('"t_m5" is the id of a task, and not a dispatch or run.');
  expect(await ask("/run al_5")).toContain('"al_5" is the id of an alert, and not a dispatch or run.');
});
