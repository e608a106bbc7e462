/** What operators are answered when they ask why: each answer states what happened, and promises nothing that does not come. */
import { expect, it } from "vitest";
import { liveApp, TOKEN } from "../automations/support/live-app.js";
import { until } from "../support/until.js";
import { invoke } from "./stack.js";

const LAB = `export default { id: "lab", setup({ hooks }) {
  const claiming = (id, priority, decide, options = {}) =>
    hooks.registerClaiming("inbound_claim", ({ message }) => decide(message.text), { id, priority, ...options });
  claiming("longdefer", 10, (text) => (text === "hold" ? { handled: true, deferMs: 60_000, reason: "not yet" } : null));
  claiming("taker", 20, (text) => (text === "take" ? { handled: true, reason: "I take it silently" } : null));
  let failures = 0;
  claiming("flaky", 30, (text) => {
    if (text !== "flaky") return null;
    if (failures++ === 0) throw new Error("the pot is empty");
    return { handled: true, reply: "full again" };
  }, { failurePolicy: "fail-closed" });
  claiming("shut", 35, (text) => {
    if (text === "shut") throw new Error("the door is shut");
    return null;
  }, { failurePolicy: "fail-closed" });
  claiming("echo", 40, (text) => (text.startsWith("guarded") ? { handled: true, reply: text } : null));
  hooks.registerVoid("message_received", () => {}, { id: "watcher", execution: "background" });
  hooks.registerModifying("message_sending", ({ message }) => {
    if (message.text.startsWith("guarded")) throw new Error("the guard is out of order");
    return null;
  }, { id: "guard", failurePolicy: "fail-closed" });
} };`;

const NO = "shell: { command: ['false'] }";
const CONFIG = `
gateway: { unanswered_note: false, retry_first: 100ms, retry_max: 200ms, inbox_attempts: 3 }
automations: { breaker: { failures: 2, pause: 1h } }
plugins: [./lab.mjs]
hooks:
  - { id: bgjob, on: message_received, execution: background, match: { when: 'payload.message.text == "job"' }, retry: { attempts: 3, backoff: 100ms }, run: { ${NO} } }
  - { id: nightly, trigger: { cron: "0 3 * * *" }, run: { ${NO} } }
  - { id: byhand, trigger: manual, run: { ${NO} } }
  - { id: vetotask, on: "task:create", phase: before, run: { shell: { sh: "echo no tasks today >&2; exit 2" } } }
  - { id: keeper, on: inbound_claim, priority: 5, run: { shell: { command: ["true"] } } }
`;

async function lab() {
  const live = await liveApp({ "hookgate.yaml": CONFIG, "lab.mjs": LAB });
  const ask = async (line: string) => (await invoke(live.app.url, line, TOKEN)).text.replace(/[\\`*]/g, "");
  /** The gateway's own id of the last message, when it is settled. */
  const say = async (text: string, end: RegExp) => {
    await live.say(text);
    await until(async () => end.test(await ask("/hooks why last")), `"${text}" ending as ${end}`);
    return /What happened to (m\d+)/.exec(await ask("/hooks why last"))?.[1] as string;
  };
  return { live, ask, say };
}

it("a retry that did not come is shown with its reason, and so is the failure before it", async () => {
  const { ask, say } = await lab();
  const row = await say("job", /was not tried again/);
  const path = await ask(`/hooks why ${row}`);
  expect(path).toMatch(/attempt 2 of 3 failed[\s\S]*bgjob was not tried again: breaker: it failed 2 times in a row/);
  expect(path).not.toContain("tried again in");
});

it("a lifted deferral is offered to the hooks again, and why a hook did not run at the last offer is shown", async () => {
  const { live, ask } = await lab();
  await live.say("hold");
  const isPutOff = async () => (await ask("/hooks why last")).includes("put off by lab.longdefer");
  await until(isPutOff, "the deferral");
  const lifted = await ask("/pauses lift all");
  expect(lifted).toContain("offered to the hooks again now; a hook may put it off again");
  expect(lifted).not.toContain("platform");
  await until(async () => (await ask("/pauses")).includes("put off a message"), "the second deferral");
  await ask("/hooks disable lab.longdefer");
  await ask("/pauses lift all");
  await until(async () => (await ask("/hooks why last")).includes("no hook claimed it"), "the end");
  const answer = await ask("/hooks why lab.longdefer last");
  expect(answer).toContain("offered to the hooks again, and this hook did not run then. It was disabled then, by");
});

it("a held reply is shown with what has it sent, wherever one asks why", async () => {
  const { live, say } = await lab();
  const row = await say("guarded words", /is held|held:/);
  const id = `d_${row}r`;
  const send = `/outbox release ${id} sends it if the hooks let it pass`;
  for (const line of [
    `/hooks why ${row}`,
    `/hooks why lab.echo ${row}`,
    `/hooks why lab.guard ${row}`,
    `/outbox show ${row}`,
  ]) {
    const { text, message } = (await invoke(live.app.url, line, TOKEN)) as {
      text: string;
      message: { buttons?: { label: string; action: { line?: string } }[][] };
    };
    expect(text.replace(/[\\`*]/g, ""), line).toContain(send);
    expect(message.buttons?.flat().map(({ label, action }) => [label, action.line])).toContainEqual([
      "The reply (held)",
      `/outbox show ${id}`,
    ]);
  }
});

it("the path of a message shows that its author was notified of a held reply", async () => {
  const live = await liveApp({ "hookgate.yaml": "plugins: [./lab.mjs]", "lab.mjs": LAB });
  const ask = async (line: string) => (await invoke(live.app.url, line, TOKEN)).text.replace(/[\\`*]/g, "");
  await live.post("/api/rooms/dm-1/messages", { text: "guarded words", nonce: "nonce-of-the-words" });
  const notice = /(d_n\w+) \(a notice to the author\) sent as/;
  await until(async () => notice.test(await ask("/hooks why m1")), "the line about the notice");
  const [, id] = notice.exec(await ask("/hooks why m1")) ?? [];
  expect(await ask(`/hooks why ${id}`)).toContain("sent by the gateway itself: a notice to the author");
});

it("a run that a newer one replaced counts as skipped, and names the message of the newer one", async () => {
  const sh = "while [ ! -e go ]; do sleep 0.02; done";
  const live = await liveApp({
    "hookgate.yaml": `hooks: [{ id: coal, on: message_received, when_busy: coalesce, run: { shell: { sh: "${sh}" } } }]`,
  });
  const ask = async (line: string) => (await invoke(live.app.url, line, TOKEN)).text.replace(/[\\`*]/g, "");
  for (const [index, text] of ["one", "two", "three"].entries()) {
    await live.say(text);
    await until(async () => (await live.runs("coal")).length > index, `the run for "${text}"`);
  }
  live.write("go", "");
  await until(async () => (await live.runs("coal"))[1]?.status === "skipped", "the second run to be replaced");
  expect(await ask("/hooks why m2")).toMatch(
    /1 skipped\n[\s\S]*coal was skipped: coalesce: its run for m3 replaces this one, which \/hooks why coal m3 shows/,
  );
  const why = await ask("/hooks why coal m2");
  expect(why).toContain("It did not run: coalesce: its run for m3 replaces this one");
  expect(why).toContain("message_received – skipped · 0 runs, 1 skipped");
  expect(await ask("/hooks why message_received m2")).toContain("message_received – skipped · 0 runs, 1 skipped");
});

it("a hook that is tried with a payload that does not match is shown as that", async () => {
  const live = await liveApp({
    "hookgate.yaml": `hooks: [{ id: pings, on: message_received, match: { when: 'payload.message.text.contains("ping")' }, run: { shell: { command: ["true"] } } }, { id: all, on: message_received, run: { shell: { command: ["true"] } } }]`,
  });
  const ask = async (line: string) => (await invoke(live.app.url, line, TOKEN)).text.replace(/[\\`*]/g, "");
  for (const [text, isMatch] of [
    ["ping me", true],
    ["nothing", false],
  ] as const) {
    await live.say(text);
    await until(async () => (await ask("/hooks why last")).includes("no hook claimed it"), `the end of "${text}"`);
    for (const line of ["/hooks test pings last", "/fire-hook pings last"])
      expect((await ask(line)).includes("This payload does not match, so it would not start pings"), line).toBe(
        !isMatch,
      );
  }
  expect(await ask("/hooks test all last")).not.toContain("does not match");
});

it("the id of a hook in the place of a message is shown as that", async () => {
  const { ask } = await lab();
  expect(await ask("/hooks why nightly keeper")).toContain(
    "keeper is the id of a hook, and not of a message: /hooks why keeper shows its state.",
  );
});

it("a purged delivery is known as purged by /outbox, and its release stays on record", async () => {
  const { ask, say } = await lab();
  const row = await say("guarded words", /is held|held:/);
  const id = `d_${row}r`;
  await ask(`/outbox release ${id}`);
  await until(async () => (await ask(`/hooks why ${row}`)).match(/guard failed/g)?.length === 2, "the second failure");
  await until(async () => (await ask(`/outbox show ${id}`)).includes("· held"), "it being held again");
  expect(await ask(`/outbox purge ${id} yes=true`)).toContain("1 message deleted");
  for (const verb of ["show", "release", "retry"])
    expect(await ask(`/outbox ${verb} ${id}`)).toContain(`${id} was purged by`);
  expect(await ask(`/hooks why ${row}`)).toMatch(new RegExp(`released ${id}[\\s\\S]*${id} was held: .*, and purged`));
  expect(await ask("/outbox show d_m99999r")).toContain("There is no delivery");
});

it("a message that was given up and then purged is known as purged, in a few lines", async () => {
  const { ask, say } = await lab();
  const row = await say("shut", /was given up after/);
  expect(await ask(`/hooks why ${row}`)).toMatch(
    new RegExp(`was given up after .* /outbox retry ${row} has it handled again\\.`),
  );
  expect(await ask(`/outbox purge ${row} yes=true`)).toContain("1 message deleted");
  const path = await ask(`/hooks why ${row}`);
  expect(path).toMatch(
    new RegExp(`${row} was dead: .*, and purged by .* \\(/outbox purge ${row}\\): nothing more of it is handled`),
  );
  expect(path).toMatch(/\d\d:\d\d:\d\d inbound_claim: .*times; this is the newest\)/);
  expect(path.split("\n").length).toBeLessThan(9);
  expect(await ask("/hooks why last")).toContain(
    "The gateway has no message on record, apart from commands: none was received, or what was received has been deleted.",
  );
  expect(await ask("/hooks why m0")).toContain("There is no m0");
});

it("the last firing of a point is not called that while no hook is enabled there", async () => {
  const { ask } = await lab();
  await ask("/task add person:web:1 count the beans");
  await until(async () => (await ask("/hooks why task:create")).includes("task:create last fired:"), "the firing");
  await ask("/hooks disable vetotask");
  expect(await ask("/hooks why task:create")).toContain(
    "task:create is not recorded now, because no hook is enabled there. The last that was recorded:",
  );
});

it("a hook that waits for its time or for a person is explained as that, and has no last payload", async () => {
  const { ask } = await lab();
  expect(await ask("/hooks why nightly")).toMatch(/It is due next at .* UTC \(in .*\)\./);
  expect(await ask("/hooks why byhand")).toContain("It runs only when a person fires it: /fire-hook byhand live=true.");
  expect(await ask("/hooks test nightly last")).toContain("nightly is started by time, so it has no last payload");
});

it("a task that a hook vetoed at its creation is explained by its id", async () => {
  const { ask, live } = await lab();
  await ask("/task add owner sweep");
  const { data } = await invoke(live.app.url, "/runs task:create", TOKEN);
  const id = (data as { dispatches: { id: string }[] }).dispatches[0]?.id.split(":")[0];
  expect(await ask(`/hooks why vetotask ${id}`)).toContain("no tasks today");
  expect(await ask(`/hooks why ${id}`)).toMatch(/There is no such task[\s\S]*by vetotask: no tasks today/);
});

it("a task that a hook vetoed is part of the path of the command that was to create it", async () => {
  const { ask, live } = await lab();
  await live.say("/task add owner sweep");
  await until(async () => (await ask("/hooks why m1")).includes("a command"), "the command");
  expect(await ask("/hooks why m1")).toContain("vetotask vetoed it at task:create: no tasks today");
  const answer = await ask("/hooks why vetotask m1");
  expect(answer).toContain("no tasks today");
  expect(answer).not.toContain("did not");
});

it("every command says of a broken hook that it is not in force, and why", async () => {
  const { live, ask } = await lab();
  live.write("hookgate.yaml", `${CONFIG}  - { id: crooked, on: nowhere, run: { ${NO} } }\n`);
  await until(async () => (await ask("/hooks broken")).includes("crooked"), "the broken hook");
  for (const line of [
    "/hooks enable crooked",
    "/hooks disable crooked",
    "/hooks order crooked",
    "/hooks test crooked",
    "/fire-hook crooked live=true",
  ])
    expect(await ask(line), line).toMatch(
      /The hook "crooked" is not in force, because its definition is broken: on: .*nowhere.*hookgate\.yaml/,
    );
});

it("runs of configured hooks leave out those of plugins", async () => {
  const { ask, say } = await lab();
  await say("job", /bgjob was not tried again/);
  await until(async () => (await ask("/runs lab.watcher")).includes("message_received"), "the run of the plugin");
  expect(await ask("/runs configured")).toContain("bgjob");
  expect(await ask("/runs configured")).not.toContain("lab.watcher");
});

it("tasks are found by who does them", async () => {
  const { ask } = await lab();
  await ask("/hooks disable vetotask");
  await ask("/task add person:web:1 count the beans");
  for (const who of ["person:web:1", "Owner", "beans"])
    expect(await ask(`/task list ${who}`)).toContain("count the beans");
  expect(await ask("/task list nobody")).toContain("No task for nobody.");
});

it("a message that a plugin takes without a reply is claimed, and steps are in the order of time", async () => {
  const { ask, say } = await lab();
  expect(await ask(`/hooks why ${await say("take", /claimed by/)}`)).toContain(
    "claimed by lab.taker, without a reply: I take it silently",
  );
  const path = await ask(`/hooks why ${await say("flaky", /claimed by lab.flaky/)}`);
  expect(path).toMatch(/lab\.flaky failed at inbound_claim[\s\S]*claimed by lab\.flaky/);
  expect(path).toMatch(/inbound_claim: \d+ hooks ran/);
});

it("a pause says which hooks it is about, reactions are on record, and a failed new version of a plugin is shown", async () => {
  const { live, ask, say } = await lab();
  await ask("/hooks pause");
  const row = await say("take", /claimed by/);
  expect(await ask(`/hooks why keeper ${row}`)).toContain("all configured hooks were paused");
  await ask("/hooks resume");
  const { messages } = (await live.get("/api/rooms/general/messages")) as { messages: { id: number }[] };
  const reaction = await fetch(`${live.app.url}/api/messages/${messages[0]?.id}/reactions`, {
    method: "PUT",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ emoji: "👍", on: true }),
  });
  expect(reaction.status).toBe(200);
  await until(async () => /\d reaction \(m\d+\)/.test(await ask(`/hooks why ${row}`)), "the reaction");
  live.write("lab.mjs", "export default {");
  await until(
    async () => (await ask("/hooks why lab.guard")).includes("the new version failed, the previous one stays in place"),
    "the failed version",
  );
});

it("answers that may overtake each other in a direct message point at their commands", async () => {
  const { live } = await lab();
  const lines = ["/hooks next", "/nope", "/whoami", "/fire-hook byhand"];
  for (const [index, text] of lines.entries())
    await live.post("/api/rooms/dm-1/messages", { text, nonce: `nonce-of-the-line-${index}` });
  type Shown = { id: number; text: string; replyToId?: number; userId?: string };
  const room = async () => ((await live.get("/api/rooms/dm-1/messages")) as { messages: Shown[] }).messages;
  const asked = async (line: string) => (await room()).find(({ text }) => text === line)?.id;
  await until(async () => (await room()).length === 2 * lines.length, "the answers");
  const answers = (await room()).filter(({ text }) => !lines.includes(text));
  const plain = answers.filter(({ replyToId }) => replyToId === undefined).map(({ text }) => text);
  expect(plain).toEqual([expect.stringContaining("for a time"), expect.stringContaining("You are")]);
  const answerTo = (id: number | undefined) => answers.find(({ replyToId }) => replyToId === id)?.text;
  expect(answerTo(await asked("/nope"))).toContain("There is no command /nope");
  expect(answerTo(await asked("/fire-hook byhand"))).toContain("byhand");
});
