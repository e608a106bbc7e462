import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { catalogue } from "../../src/hooks/catalogue/index.js";
import { type Logger, silentLogger } from "../../src/lib/logger.js";
import { systemClock } from "../../src/lib/time/clock.js";
import { until } from "../support/until.js";
import { type LiveApp, liveApp } from "./support/live-app.js";

describe("a configured hook in the running gateway", () => {
  test("observes messages in the background: steps, template, shell, and a history in which nobody's words stand", async () => {
    const live = await liveApp({
      "note.txt": "remember the milk",
      "hookgate.yaml": `
hooks:
  - id: noter
    on: message_received
    context:
      - read_file: { path: note.txt }
    run:
      shell:
        command: [sh, -c, 'cat > seen.json; echo "$1" > step.txt', note, "{{ steps[0].text }}"]
`,
    });
    await live.say("the door is open");
    const run = await live.ended("noter");
    expect(run).toMatchObject({
      hookId: "noter",
      trigger: "on",
      status: "succeeded",
      event: "message_received",
      attempt: 1,
    });
    expect(JSON.parse(readFileSync(join(live.folder, "seen.json"), "utf8")).message.text).toBe("the door is open");
    expect(readFileSync(join(live.folder, "step.txt"), "utf8")).toBe("remember the milk\n");
    expect(run.attempts[0]?.steps).toMatchObject([{ step: "read_file", outcome: "passed" }]);
    expect(JSON.stringify(run)).not.toContain("the door is open");
    expect(run.leaseOwner).toBeUndefined();
    expect(run.pendingPayload).toBeUndefined();
  });

  test("blocks, rewrites and claims as its point carries it, and lets pass what it has no opinion on", async () => {
    const live = await liveApp({
      "hookgate.yaml": `
hooks:
  - id: secret-keeper
    on: message_sending
    match: { when: 'payload.message.text.contains("secret")' }
    run: { shell: { sh: 'echo "no secrets here" >&2; exit 2' } }
  - id: shouter
    on: message_sending
    match: { when: 'payload.message.text.contains("loud")' }
    run: { shell: { sh: 'echo "{\\"decision\\":\\"modify\\",\\"patch\\":{\\"message\\":{\\"text\\":\\"LOUD!\\"}}}"' } }
  - id: answerer
    on: inbound_claim
    run: { shell: { sh: 'text=$(cat | sed -n "s/.*\\"text\\":\\"\\([^\\"]*\\)\\".*/\\1/p"); printf "{\\"decision\\":\\"claim\\",\\"reply\\":\\"%s\\"}" "$text"' } }
`,
    });
    for (const text of ["plain words", "a secret", "be loud"]) await live.say(text);
    await until(async () => (await live.room()).includes("LOUD!"), "the rewritten answer");
    expect((await live.runs("secret-keeper")).map(({ status, statusReason }) => [status, statusReason])).toEqual([
      ["blocked", "no secrets here"],
    ]);
    expect((await live.room()).sort()).toEqual(["LOUD!", "a secret", "be loud", "plain words", "plain words"]);
  });
});

describe("execution policies", () => {
  test("fire_and_record delays nobody and keeps its history; deadline waits as long as it may; both miss what they would decide", async () => {
    const live = await liveApp({
      "hookgate.yaml": `
hooks:
  - { id: free, on: message_sending, execution: fire_and_record, run: { shell: { sh: "until [ -e go ]; do sleep 0.05; done; echo no >&2; exit 2" } } }
  - { id: bound, on: message_sending, execution: deadline, timeout: 200ms, run: { shell: { sh: "sleep 20" } } }
`,
    });
    await live.app.gateway.send(
      { platform: "web", botId: "web", chatId: "general" },
      { text: "hello" },
      { cause: { kind: "api", id: "t", depth: 0 } },
    );
    await until(async () => (await live.room()).includes("hello"), "the message");
    expect((await live.runs("free"))[0]?.status).toBe("running");
    expect(await live.ended("bound")).toMatchObject({ status: "timed_out" });
    live.write("go", "");
    expect(await live.ended("free")).toMatchObject({
      status: "failed",
      statusReason: expect.stringMatching(/block has no effect here.*fire_and_record/),
    });
  });

  test("a hook at orchestrator:shutdown has run when the gateway has stopped, before and after", async () => {
    const hooks = ["before", "after"].flatMap((phase) =>
      ["one", "two"].map((name) => ({ phase, id: `${phase}-${name}` })),
    );
    const line = ({ phase, id }: (typeof hooks)[number]) =>
      `  - { id: ${id}, on: "orchestrator:shutdown", phase: ${phase}, run: { shell: { sh: "sleep 0.3; echo x > ${id}" } } }\n`;
    const live = await liveApp({
      "hookgate.yaml": `automations: { max_running: 1 }\nhooks:\n${hooks.map(line).join("")}`,
    });
    await live.app.stop();
    expect(hooks.filter(({ id }) => !existsSync(join(live.folder, id)))).toEqual([]);
  });

  test("a hook that is switched off does not run; switched on again it does", async () => {
    const live = await liveApp({
      "hookgate.yaml": `hooks:\n  - { id: worker, on: message_received, run: { shell: { sh: "exit 0" } } }\n`,
    });
    await commandOf(live, "/hooks disable worker");
    await live.say("one");
    await until(async () => (await live.app.gateway.status()).inbox.done === 1, "the message being handled");
    await commandOf(live, "/hooks enable worker");
    await live.say("two");
    await live.ended("worker");
    expect(await live.runs("worker")).toHaveLength(1);
  });
});

describe("gates of a running gateway", () => {
  test("what a gate refuses is recorded with its name, in the history and in the journal", async () => {
    const live = await liveApp({
      "hookgate.yaml": `
hooks:
  - { id: shy, on: message_received, cooldown: 1h, run: { shell: { sh: "exit 0" } } }
`,
    });
    await live.say("one");
    await live.ended("shy");
    await live.say("two");
    const second = await live.ended("shy", 2);
    expect(second).toMatchObject({
      status: "skipped",
      statusReason: expect.stringMatching(/^cooldown: .*left of 1 h$/),
    });
    expect(second.startedAt).toBeUndefined();
    expect(await commandOf(live, "/runs shy")).toMatch(/cooldown/);
    expect(await commandOf(live, "/hooks why shy")).toMatch(/cooldown/);
    const third = await live.fire("shy", { payload: examplePayload(live, "message_received") });
    expect(third).toMatchObject({
      status: "skipped",
      trigger: "manual",
      reason: "fired by Ann",
      statusReason: expect.stringMatching(/^cooldown: .*left of 1 h$/),
    });
  });

  test("an interval waits for the end of a cooldown, and lastRun is when the hook ran before", async () => {
    const live = await liveApp({
      "hookgate.yaml": `
hooks:
  - { id: beat, trigger: { every: 1s }, cooldown: 1300ms, run: { shell: { sh: "tr -d '\\\\n' >> beats; echo >> beats" } } }
`,
    });
    await live.ended("beat", 3);
    const runs = (await live.runs("beat")).slice(0, 3);
    expect(runs.map(({ status }) => status)).toEqual(["succeeded", "succeeded", "succeeded"]);
    const startedAt = runs.map((run) => run.startedAt ?? Number.NaN);
    const payloads = live
      .file("beats")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(payloads.slice(0, 3).map(({ lastRun }) => lastRun && Date.parse(lastRun))).toEqual([
      undefined,
      startedAt[0],
      startedAt[1],
    ]);
    for (const [index, run] of runs.entries())
      if (index > 0) expect((run.startedAt ?? 0) - (startedAt[index - 1] ?? 0)).toBeGreaterThanOrEqual(1300);
  });

  test("a field that an event does not carry prints nothing, and the hook goes on running", async () => {
    const live = await liveApp({
      "hookgate.yaml": `
hooks:
  - { id: told, trigger: manual, run: { chat: { text: '[{{ event.input.maybe }}|{{ event.input.list[0].name }}|{{ event.input.x | default: "none" }}]', to: 'web:web:general' } } }
`,
    });
    for (const payload of [{}, { x: 5, maybe: "yes", list: [{ name: "first" }] }]) {
      const run = await live.fire("told", { payload });
      expect(run).toMatchObject({ status: "succeeded" });
    }
    await until(async () => (await live.room()).length === 2, "both messages");
    expect(await live.room()).toEqual(["[||none]", "[yes|first|5]"]);
  });

  test("each gate refuses under its own name, in their order, and /hooks why tells which", async () => {
    const waits = `{ shell: { sh: "until [ -e go ]; do sleep 0.05; done" } }`;
    const live = await liveApp({
      "hookgate.yaml": `
automations: { max_running: 2 }
hooks:
  - { id: busy, on: message_received, when_busy: skip, cooldown: 1h, max_per_hour: 1, run: ${waits} }
  - { id: other, trigger: manual, run: ${waits} }
  - { id: rated, on: message_received, max_per_hour: 1, run: { shell: { sh: "exit 0" } } }
  - { id: asks, on: message_received, execution: deadline, when_busy: skip, match: { when: 'payload.message.text == "two"' }, run: { shell: { sh: "exit 0" } } }
`,
    });
    const why = (id: string) => commandOf(live, `/hooks why ${id}`);
    await live.say("one");
    await live.ended("rated");
    await until(async () => (await live.runs("busy"))[0]?.status === "running", "one running");
    const other = live.fire("other");
    await until(async () => (await live.runs("other"))[0]?.status === "running", "two running");
    await live.say("two");
    // The cap comes before its own concurrency, that before its cooldown, that before its rate.
    expect((await live.ended("asks")).statusReason).toBe(
      "cap: all places (automations.max_running: 2) are taken: 1 by busy, 1 by other",
    );
    expect((await live.ended("busy")).statusReason).toBe("concurrency: 1 of 1 running");
    expect((await live.ended("rated", 2)).statusReason).toBe("rate: at most 1 run in an hour");
    expect(await why("asks")).toContain("all places (automations.max_running: 2) are taken: ");
    // As the run above was refused.
    expect(await why("busy")).toContain("**concurrency** would refuse it now: 1 of 1 running");
    live.write("go", "");
    await other;
    await live.ended("busy", 2);
    await live.say("three");
    expect((await live.ended("busy", 3)).statusReason).toMatch(/^cooldown: /);
    expect(await why("busy")).toContain("left of 1 h");
    expect(await why("rated")).toContain("1 run in an hour");
  });

  test("a run outlives its lease while its process lives, and is not taken twice", async () => {
    const live = await liveApp({
      "hookgate.yaml": `
automations: { lease: 1s }
hooks:
  - { id: long, trigger: manual, retry: { attempts: 5 }, run: { shell: { sh: "echo begun >> begun.log; sleep 4" } } }
`,
    });
    expect(await live.fire("long")).toMatchObject({ status: "succeeded", attempt: 1 });
    expect(live.file("begun.log")).toBe("begun\n");
  });

  test("a step of the clock ends no lease while its run goes on: it is not run again, and the log blames no other process", async () => {
    let setBy = 0;
    const clock = { ...systemClock, now: () => systemClock.now() + setBy };
    const lines: string[] = [];
    const logger: Logger = { ...silentLogger, warn: (_, line = "") => void lines.push(line), child: () => logger };
    const hook = (id: string, settings: string, sh: string) =>
      `  - { id: ${id}, on: message_received, execution: background, match: { when: 'payload.message.text == "${id}"' }, ${settings} run: { shell: { sh: "${sh}" } } }\n`;
    const long = "echo begun >> NAME.log; until [ -e go ]; do sleep 0.05; done";
    const live = await liveApp(
      {
        "hookgate.yaml": `hooks:\n${hook("repeatable", "retry: { attempts: 3, idempotent: true },", long.replace("NAME", "repeatable"))}${hook("single", "", long.replace("NAME", "single"))}${hook("next", "", "true")}`,
      },
      { clock, logger },
    );
    for (const id of ["repeatable", "single"]) {
      await live.say(id);
      await until(async () => (await live.runs(id))[0]?.status === "running", `${id} running`);
    }
    setBy = 2 * 3_600_000;
    // What has expired is taken before what waits.
    await live.say("next");
    expect(await live.ended("next")).toMatchObject({ status: "succeeded" });
    live.write("go", "");
    for (const id of ["repeatable", "single"]) {
      expect(await live.ended(id)).toMatchObject({ status: "succeeded", attempt: 1 });
      expect(live.file(`${id}.log`)).toBe("begun\n");
    }
    expect(lines.filter((line) => /lease|recorded|interrupted/.test(line))).toEqual([]);
  });

  test("a chain of hooks that start each other is cut after eight, on record", async () => {
    const answers = (from: number) =>
      `  - { id: h${from}, on: message_sent, match: { when: 'payload.message.text == "${from}"' }, run: { chat: { to: "web:web:general", text: "${from + 1}" } } }\n`;
    const live = await liveApp({
      "hookgate.yaml": `hooks:\n  - { id: begins, trigger: manual, run: { chat: { to: "web:web:general", text: "1" } } }\n${Array.from({ length: 12 }, (_, index) => answers(index + 1)).join("")}`,
    });
    await live.fire("begins");
    const cut = await live.ended("h9");
    expect(cut.status).toBe("skipped");
    expect(cut.statusReason).toMatch(/^loop: message_sent was caused by a chain of more than 8 hooks/);
    expect(await commandOf(live, "/hooks why h9")).toMatch(/loop.*more than 8 hooks/s);
    expect(await live.room()).toEqual(["1", "2", "3", "4", "5", "6", "7", "8", "9"]);
  });

  test("when_busy: skip refuses, queue keeps and bounds, coalesce lets the newest stand for all", async () => {
    const hook = (id: string, busy: string) =>
      `  - { id: ${id}, on: message_received, when_busy: ${busy}, run: { shell: { sh: "until [ -e go ]; do sleep 0.05; done" } } }\n`;
    const live = await liveApp({
      "hookgate.yaml": `hooks:\n${hook("skipper", "skip")}${hook("queuer", "queue, max_queued: 4")}${hook("merger", "coalesce")}`,
    });
    await live.say("1");
    for (const id of ["skipper", "queuer", "merger"])
      await until(async () => (await live.runs(id))[0]?.status === "running", `${id} running`);
    for (const text of ["2", "3", "4"]) await live.say(text);
    await until(async () => (await live.runs("queuer")).length === 4, "four runs");
    live.write("go", "");
    const told = async (id: string) =>
      (await live.runs(id)).map(({ status, statusReason }) => [status, statusReason?.split(":")[0]]);
    await until(
      async () =>
        (await Promise.all(["skipper", "queuer", "merger"].map(told)))
          .flat()
          .every(([status]) => status === "succeeded" || status === "skipped"),
      "all ended",
    );
    expect(await told("skipper")).toEqual([
      ["succeeded", undefined],
      ["skipped", "concurrency"],
      ["skipped", "concurrency"],
      ["skipped", "concurrency"],
    ]);
    expect(await told("queuer")).toEqual([
      ["succeeded", undefined],
      ["succeeded", undefined],
      ["succeeded", undefined],
      ["skipped", "queue"],
    ]);
    expect(await told("merger")).toEqual([
      ["succeeded", undefined],
      ["skipped", "coalesce"],
      ["skipped", "coalesce"],
      ["succeeded", undefined],
    ]);
  });

  test("max_queued holds for what time starts, and for runs that wait to be tried again", async () => {
    const live = await liveApp({
      "hookgate.yaml": `hooks:
  - { id: ticks, trigger: { every: 1s }, when_busy: queue, max_queued: 2, run: { shell: { sh: "until [ -e go ]; do sleep 0.05; done" } } }
  - { id: fails, on: message_received, when_busy: queue, max_queued: 1, retry: { attempts: 2, backoff: 1h }, run: { shell: { sh: "exit 1" } } }
`,
    });
    await live.say("one");
    await until(
      async () => (await live.runs("fails"))[0]?.status === "queued",
      "the first run waiting for its second attempt",
    );
    await live.say("two");
    expect((await live.ended("fails")).statusReason).toBe("queue: 1 wait already");
    // One runs, two wait, and every further second is refused, on record.
    expect((await live.ended("ticks", 2)).statusReason).toBe("queue: 2 wait already");
    const statuses = (await live.runs("ticks")).map(({ status }) => status);
    expect(statuses.filter((status) => status === "running" || status === "queued")).toHaveLength(3);
    live.write("go", "");
  });

  test("a hook that its own output starts is cut, and says so", async () => {
    const live = await liveApp({
      "hookgate.yaml": `
hooks:
  - { id: echo, on: message_sent, cooldown: 0s, run: { chat: { to: "web:web:general", text: "again" } } }
`,
    });
    const first = await live.fire("echo", { payload: examplePayload(live, "message_sent") });
    expect(first.status).toBe("succeeded");
    const cut = await live.ended("echo", 2);
    expect(cut).toMatchObject({ status: "skipped", statusReason: "loop: its own output started it" });
    expect(await live.room()).toEqual(["again"]);
    expect(await live.runs("echo")).toHaveLength(2);
  });

  test("paused, nothing runs but what a person fires; a restart does not change that", async () => {
    const live = await liveApp({
      "hookgate.yaml": `hooks:\n  - { id: worker, on: message_received, run: { shell: { sh: "exit 0" } } }\n`,
    });
    await live.app.automations.pause("web:1");
    await live.stop();
    await live.start();
    expect(live.app.automations.paused()).toMatchObject({ by: "web:1" });
    await live.say("one");
    await until(async () => (await live.runs("worker")).length === 1, "the run being stored");
    expect((await live.runs("worker"))[0]?.status).toBe("backgrounded");
    expect(await live.fire("worker", { payload: examplePayload(live, "message_received") })).toMatchObject({
      status: "succeeded",
    });
    expect((await live.runs("worker"))[0]?.status).toBe("backgrounded");
    await live.app.automations.resume();
    expect(await live.ended("worker", 2)).toMatchObject({ status: "succeeded" });
  });
});

describe("failures", () => {
  test("a failed run is tried again with back-off while it may, each attempt on record", async () => {
    const live = await liveApp({
      "hookgate.yaml": `
hooks:
  - id: stubborn
    trigger: manual
    retry: { attempts: 3, backoff: 10ms }
    run: { http: { url: "http://127.0.0.1:1/", timeout: 2s, attempts: 1 } }
outgoing: { allow: ["127.0.0.1"] }
`,
    });
    void live.fire("stubborn");
    const run = await live.ended("stubborn");
    expect(run).toMatchObject({ status: "failed", attempt: 3 });
    expect(run.attempts.map(({ attempt, status }) => [attempt, status])).toEqual([
      [1, "failed"],
      [2, "failed"],
      [3, "failed"],
    ]);
  });

  test("in templates a step that went well is ok, also where nothing but its end says so", async () => {
    const live = await liveApp({
      "hookgate.yaml": `
hooks:
  - id: oks
    on: message_received
    context: [{ list_files: { path: "." } }, { journal: { of: runs } }, { db_query: { query: runs } }]
    run: { chat: { to: "web:web:general", text: "{% unless steps[2].ok %}db step failed{% endunless %}{{ steps[0].ok }} {{ step_1.ok }} {{ steps[2].ok }}" } }
  - { id: made, on: message_received, enabled: false, run: { http: { url: "https://example.org", body: '{"a": {{ event.message.text | json }}, "b": [{{ event.message.text | upcase | json }}]}' } } }
`,
    });
    await live.say("hello");
    await live.ended("oks");
    await until(async () => (await live.room()).includes("true true true"), "the answer");
  });

  test("on_failure decides what a failure means where somebody waits; a veto by accident there is none", async () => {
    const live = await liveApp({
      "hookgate.yaml": `
hooks:
  - { id: open, on: message_sending, match: { when: 'payload.message.text == "open"' }, run: { shell: { sh: "exit 7" } } }
  - { id: closed, on: message_sending, on_failure: closed, match: { when: 'payload.message.text == "closed"' }, run: { shell: { sh: "exit 7" } } }
  - { id: late, on: message_sending, timeout: 300ms, match: { when: 'payload.message.text == "late"' }, run: { shell: { sh: "sleep 20" } } }
  - { id: stand-in, on: message_sending, on_failure: fallback, fallback: { message: { text: "stood in" } }, match: { when: 'payload.message.text == "fallback"' }, run: { shell: { sh: "exit 7" } } }
`,
    });
    const at = { platform: "web", botId: "web", chatId: "general" };
    for (const text of ["open", "closed", "late", "fallback"])
      await live.app.gateway.send(at, { text }, { cause: { kind: "api", id: "t", depth: 0 } });
    await until(async () => (await live.room()).includes("stood in"), "the last message");
    expect((await live.room()).sort()).toEqual(["late", "open", "stood in"]);
    expect(await live.ended("late")).toMatchObject({ status: "timed_out" });
    expect(await live.ended("closed")).toMatchObject({ status: "failed" });
  });

  test("a hook that guards waits for room until its deadline, and then has failed instead of letting pass", async () => {
    const live = await liveApp({
      "hookgate.yaml": `
hooks:
  - { id: guard, on: message_sending, timeout: 500ms, on_failure: closed, run: { shell: { sh: "until [ -e go ]; do sleep 0.05; done" } } }
`,
    });
    const send = (chatId: string) =>
      live.app.gateway.send(
        { platform: "web", botId: "web", chatId },
        { text: "hello" },
        { cause: { kind: "api", id: "t", depth: 0 } },
      );
    await send("general");
    await send("dm-1");
    await until(
      async () => (await live.runs("guard")).filter(({ endedAt }) => endedAt !== undefined).length === 2,
      "both",
    );
    const runs = await live.runs("guard");
    expect(runs.map(({ status }) => status)).toEqual(["timed_out", "timed_out"]);
    expect([...(await live.room()), ...(await live.room("dm-1"))]).toEqual([]);
  });

  test("a stop gives what runs a while, puts back what may run again and ends the rest with the reason", async () => {
    const hook = (id: string, more: string) =>
      `  - { id: ${id}, on: message_received, ${more} run: { shell: { sh: "echo x >> ${id}; until [ -e go ]; do sleep 0.05; done" } } }\n`;
    const live = await liveApp({
      "hookgate.yaml": `gateway: { shutdown_timeout: 300ms }\nhooks:\n${hook("again", "retry: { attempts: 3 },")}${hook("once", "")}`,
    });
    await live.say("hello");
    for (const id of ["again", "once"]) await until(() => existsSync(join(live.folder, id)), `${id} running`);
    await live.stop();
    live.write("go", "");
    await live.start();
    expect(await live.ended("again")).toMatchObject({ status: "succeeded", attempt: 2 });
    expect(await live.ended("once")).toMatchObject({ status: "interrupted", statusReason: "the gateway stopped" });
    expect(readFileSync(join(live.folder, "once"), "utf8")).toBe("x\n");
  });

  test("people are told in one message, edited in place until it is over; the next trouble answers the first", async () => {
    const live = await liveApp({
      "hookgate.yaml": `
hooks:
  - id: guard
    trigger: manual
    notify: { to: ["web:web:general"] }
    run: { shell: { sh: "test -e fine || { echo broken >&2; exit 3; }" } }
`,
    });
    await live.fire("guard");
    await until(async () => (await live.room()).some((text) => text.includes("guard")), "the first word");
    await live.fire("guard");
    const edited = await until(async () => (await live.room()).find((text) => text.includes("2 times")), "the edit");
    expect(edited).toMatch(/guard.*failed.*2 times/s);
    live.write("fine", "");
    await live.fire("guard");
    await until(async () => (await live.room()).some((text) => text.startsWith("✓")), "the end of it");
    expect(await live.room()).toHaveLength(1);
    live.remove("fine");
    await live.fire("guard");
    await until(async () => (await live.room()).length === 2, "the next trouble");
  });

  test("the end of a trouble says only that a run ended without an error: its message may be withheld", async () => {
    const live = await liveApp({
      "hookgate.yaml": `
hooks:
  - id: idle
    trigger: manual
    notify: { on: [skipped], to: ["web:web:general"] }
    context: [{ shell: { sh: "test ! -e work", skip_if: exit_zero } }]
    run: { shell: { sh: "exit 0" } }
`,
    });
    await live.fire("idle");
    await until(async () => (await live.room()).some((text) => text.includes("idle skipped")), "the notice");
    live.write("work", "");
    await live.fire("idle");
    const last = await until(async () => (await live.room()).find((text) => text.startsWith("✓")), "the end of it");
    expect(last).toBe("✓ idle ended without an error. Before that: skipped one time.\n/runs idle shows what was sent.");
  });

  test("a chat that is spelled in several ways gets a message and a notice once", async () => {
    const live = await liveApp({
      "hookgate.yaml": `
hooks:
  - id: double
    on: message_received
    notify: { on: [succeeded], to: ["web::general", here, "web:web:general"] }
    run: { chat: { to: ["web::general", here, "web:web:general"], text: "said", update: true } }
`,
    });
    for (const [index, text] of ["one", "two"].entries()) {
      await live.say(text);
      const { attempts } = await live.ended("double", index + 1);
      expect(attempts[0]?.output).toMatchObject({ said: [{ to: "web:web:general" }] });
      const notice = index === 0 ? /^✓ double ended without an error\n/ : /^✓ double .* \(2 times since /;
      await until(async () => (await live.room()).some((one) => notice.test(one)), String(notice));
    }
    const posted = (await live.room()).filter((text) => text === "said" || text.startsWith("✓"));
    expect(posted).toHaveLength(2);
  });

  test("notices count each run that a gate skipped, also those that were waiting when the limit was reached", async () => {
    const live = await liveApp({
      "hookgate.yaml": `
hooks:
  - id: mail
    on: message_received
    max_per_hour: 2
    notify: { on: [skipped], to: ["web:web:dm-1"] }
    run: { shell: { command: [sh, -c, 'until [ -e "$1" ]; do sleep 0.05; done', wait, "{{ event.message.text }}"] } }
`,
    });
    const statuses = async () => (await live.runs("mail")).map(({ status }) => status).join();
    for (const text of ["one", "two", "three", "four"]) await live.say(text);
    const started = async () => (await live.runs("mail")).map(({ attempts }) => attempts.length).join();
    await until(async () => (await started()) === "1,0,0,0", "one that runs, and three that wait");
    live.write("one", "");
    await until(async () => (await started()) === "1,1,0,0", "the second one");
    await live.say("five");
    await until(async () => (await live.room("dm-1")).some((text) => /mail skipped\n/.test(text)), "the first notice");
    live.write("two", "");
    await live.ended("mail", 5);
    expect(await statuses()).toBe("succeeded,succeeded,skipped,skipped,skipped");
    const notices = await until(async () => {
      const texts = await live.room("dm-1");
      return texts.some((text) => text.includes("2 times")) && texts;
    }, "the other two");
    expect(notices).toEqual([
      expect.stringMatching(/^✓ mail ended without an error\. Before that: skipped one time\.\n/),
      expect.stringMatching(/^⚠ mail skipped \(2 times since /),
    ]);
  });

  test("the notice of a hook counts each of its outcomes by itself", async () => {
    const live = await liveApp({
      "hookgate.yaml": `
hooks:
  - id: nt
    trigger: manual
    notify: { on: [succeeded, failed, timed_out], to: ["web:web:general"] }
    timeout: 3s
    run: { shell: { sh: "test -e slow && sleep 9; test ! -e bad" } }
`,
    });
    const notice = (sign: RegExp) =>
      until(async () => (await live.room()).find((text) => sign.test(text)), String(sign));
    await live.fire("nt");
    await notice(/^✓ nt ended without an error\n\/runs nt shows what was sent\.\nrun /);
    live.write("bad", "");
    await live.fire("nt");
    await notice(/^⚠ nt failed \(since [^)]+: ended without an error one time, failed one time\)/);
    live.write("slow", "");
    await live.fire("nt");
    await notice(
      /^⚠ nt timed out \(since [^)]+: ended without an error one time, failed one time, timed out one time\)/,
    );
    live.remove("slow");
    await live.fire("nt");
    await notice(/^⚠ nt failed \(since [^)]+: ended without an error one time, failed 2 times, timed out one time\)/);
    expect(await live.room()).toHaveLength(1);
  });
});

async function commandOf({ app }: LiveApp, line: string): Promise<string> {
  const answer = await app.gateway.invoke({
    line,
    operator: { platform: "web", userId: "1", role: "owner" },
  });
  return JSON.stringify(answer);
}

function examplePayload(_: LiveApp, point: string): Record<string, unknown> {
  return catalogue.find(({ name }) => name === point)?.example as Record<string, unknown>;
}
