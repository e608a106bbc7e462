/** The system clock is set while the gateway runs: the real product as a process, against the loopback Telegram. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, expect, it } from "vitest";
import { discordPlatform } from "../flow/discord-platform.js";
import { invoke, type Stack, type StackOptions, startStack } from "../flow/stack.js";
import { gatewayProcess } from "../support/gateway-process.js";
import { until } from "../support/until.js";

const PRELOAD = resolve(import.meta.dirname, "../fixtures/step-clock.mjs");
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

type StackConfig = NonNullable<StackOptions["config"]>;

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function setUp(config: StackConfig = {}): Promise<{ stack: Stack; step: (ms: number) => void }> {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-clock-"));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "offset");
  writeFileSync(file, "0");
  const stack = await startStack({
    config: (around) => ({
      gateway: { retry_first: "1s", retry_max: "2s" },
      ...(typeof config === "function" ? config(around) : config),
    }),
    env: { LOG_LEVEL: "info", HOOKGATE_TEST_CLOCK: file, NODE_OPTIONS: `--import=${PRELOAD}` },
  });
  closers.push(() => stack.stop());
  return { stack, step: (ms) => writeFileSync(file, String(ms)) };
}

const answersOf = ({ telegram }: Stack, text: string) =>
  telegram.callsOf("sendMessage").filter(({ payload }) => String(payload.text).includes(text));
const refuse = ({ telegram }: Stack, retryAfterS: number) =>
  telegram.fail({ method: "sendMessage", action: { kind: "rate-limit", retryAfterS } });

it.each([-10 * MINUTE_MS, -DAY_MS])(
  "a pause lasts no longer when the clock moves by %i ms, and the step is logged",
  async (ms) => {
    const { stack, step } = await setUp();
    const { telegram } = stack.platforms;
    refuse(stack, 3);
    await telegram.say(telegram.places[0], "guest", "echo through a step");
    await until(() => answersOf(stack, "through a step").length === 1, "the refused try");
    step(ms);
    await until(() => answersOf(stack, "through a step").length === 2, "the second try");
    await until(() => stack.gateway.output().includes("The system clock moved backward"), "the log line");
  },
  90_000,
);

it("/status shows how long the gateway is up and its platforms are online, also after the clock moved", async () => {
  const { stack, step } = await setUp();
  for (const ms of [-60 * MINUTE_MS, DAY_MS]) {
    step(ms);
    const direction = ms < 0 ? "backward" : "forward";
    await until(() => stack.gateway.output().includes(`The system clock moved ${direction}`), "the step");
    const { text } = await invoke(stack.gateway.url, "/status");
    expect(text).toMatch(/web online for \d/);
    expect(text).toMatch(/\bup \d/);
    expect(text).not.toMatch(/(online for|\bup) (0 ms|\d+ [hd])/);
  }
}, 120_000);

it("a limit of Discord lasts no longer when the clock moves backward", async () => {
  const { stack, step } = await setUp();
  const { discord, platforms } = stack;
  const tries = () => discord.calls.filter(({ body }) => JSON.stringify(body ?? {}).includes("through a limit")).length;
  const action = { kind: "rate-limit", retryAfterS: 3, scope: "user" } as const;
  discord.fail({ method: "POST", path: "/messages$", action });
  await platforms.discord.say(platforms.discord.places[0], "guest", "echo through a limit");
  await until(() => tries() === 1, "the refused try");
  step(-30 * MINUTE_MS);
  await until(() => tries() === 2, "the second try");
}, 120_000);

it("what waits for a retry is not given up when the clock moves forward by two days", async () => {
  const { stack, step } = await setUp();
  const { telegram } = stack.platforms;
  refuse(stack, 4);
  await telegram.say(telegram.places[0], "guest", "echo over two days");
  await until(() => answersOf(stack, "over two days").length === 1, "the refused try");
  step(2 * DAY_MS);
  await until(() => answersOf(stack, "over two days").length === 2, "the second try");
  expect((await invoke(stack.gateway.url, "/outbox list dead")).text).toContain("Nothing is dead");
}, 120_000);

it("a send under way is repeated, and not held, when the clock moves forward by an hour and Discord does not answer", async () => {
  const { stack, step } = await setUp(({ discord }) => ({
    discord: { ...discordPlatform(discord).config, request_timeout: "2s" },
  }));
  const { discord, platforms } = stack;
  const tries = () => discord.calls.filter(({ body }) => JSON.stringify(body ?? {}).includes("without answer")).length;
  discord.fail({ method: "POST", path: "/messages$", action: { kind: "slow", delayMs: 6_000 } });
  await platforms.discord.say(platforms.discord.places[0], "guest", "echo without answer");
  await until(() => tries() === 1, "the send");
  step(60 * MINUTE_MS);
  await until(() => tries() === 2, "the repetition");
  expect((await invoke(stack.gateway.url, "/outbox list held")).text).toContain("Nothing is held");
}, 120_000);

it.each([
  [-30 * MINUTE_MS, "held"],
  [0, "repeated"],
])(
  "a send that a crash cut off, under a clock that is set by %i ms until the start, is %s",
  async (ms, fate) => {
    const { stack, step } = await setUp();
    const { discord, platforms } = stack;
    const tries = () => discord.calls.filter(({ body }) => JSON.stringify(body ?? {}).includes("cut off")).length;
    discord.fail({ method: "POST", path: "/messages$", action: { kind: "slow", delayMs: 6_000 } });
    await platforms.discord.say(platforms.discord.places[0], "guest", "echo cut off");
    await until(() => tries() === 1, "the send");
    await stack.gateway.kill();
    step(ms);
    await stack.gateway.start();
    const held = async () => {
      const { text } = await invoke(stack.gateway.url, "/outbox list held");
      return !text.includes("Nothing is held");
    };
    await until(async () => (await held().catch(() => false)) || tries() > 1, "the decision");
    expect({ fate: (await held()) ? "held" : "repeated", tries: tries() }).toEqual({
      fate,
      tries: fate === "held" ? 1 : 2,
    });
  },
  90_000,
);

it("a message that a hook put off is handled after a restart under an earlier clock", async () => {
  const { stack, step } = await setUp();
  const { telegram } = stack.platforms;
  const tries = () => stack.noted("inbound_claim").filter(({ text }) => text === "later 5000").length;
  await telegram.say(telegram.places[0], "guest", "later 5000");
  const metrics = async () => (await fetch(`${stack.gateway.url}/metrics`)).text();
  await until(async () => /inbox_rows\{status="deferred"\} 1/.test(await metrics()), "the message being put off");
  await stack.gateway.kill();
  step(-DAY_MS);
  await stack.gateway.start();
  await until(() => tries() > 1, "the next attempt");
}, 120_000);

it("an interval goes on when the clock moves backward", async () => {
  const { stack, step } = await setUp({
    hooks: [{ id: "beat", trigger: { every: "1s" }, run: { shell: { command: ["true"] } } }],
  });
  const runs = async () => {
    const { data } = await invoke(stack.gateway.url, "/runs beat");
    return JSON.stringify(data).match(/"hookId":"beat"/g)?.length ?? 0;
  };
  await until(async () => (await runs()) > 0, "the first run");
  step(-10 * MINUTE_MS);
  await until(() => stack.gateway.output().includes("The system clock moved backward"), "the log line");
  const before = await runs();
  await until(async () => (await runs()) > before, "a run after the step");
}, 120_000);

it("a cooldown does not start again when the clock was set back before a start", async () => {
  const { stack, step } = await setUp({
    hooks: [{ id: "long", trigger: { every: "1h" }, cooldown: "59s", run: { shell: { command: ["true"] } } }],
  });
  const leftS = async () => {
    const { text } = await invoke(stack.gateway.url, "/hooks why long");
    return Number(/(\d+) s left of 59 s/.exec(text)?.[1] ?? 0);
  };
  await invoke(stack.gateway.url, "/fire-hook long live=true");
  await until(async () => (await leftS()) > 0, "the cooldown");
  await until(async () => (await leftS()) < 56, "a part of the cooldown");
  await stack.gateway.stop();
  step(-10 * MINUTE_MS);
  await stack.gateway.start();
  await stack.gateway.ready();
  expect(await leftS()).toBeLessThan(56);
}, 120_000);

it.each(["while it runs", "while it is stopped"])(
  "cooldowns, hourly rates, retries of runs, and breakers keep their length when the clock moves backward %s",
  async (when) => {
    const fails = { shell: { command: ["false"] } };
    const { stack, step } = await setUp({
      automations: { breaker: { failures: 3, pause: "1m" } },
      hooks: [
        { id: "cool", trigger: { every: "1s" }, cooldown: "1s", run: { shell: { command: ["true"] } } },
        { id: "rate", trigger: { every: "1s" }, max_per_hour: 1_000, run: { shell: { command: ["true"] } } },
        { id: "again", trigger: { every: "1h" }, retry: { attempts: 2, backoff: "4s" }, run: fails },
        { id: "broken", trigger: { every: "1s" }, run: fails },
      ],
    });
    const text = async (line: string) => (await invoke(stack.gateway.url, line)).text.replace(/[*`]/g, "");
    const runs = async (id: string) =>
      JSON.stringify((await invoke(stack.gateway.url, `/runs ${id}`)).data).match(/"hookId"/g)?.length ?? 0;
    for (const id of ["cool", "rate"]) await until(async () => (await runs(id)) > 0, `the first run of ${id}`);
    await until(async () => (await text("/status")).includes("broken"), "the breaker");
    await until(
      async () => /broken.*(paused|not run|breaker)/i.test(await text("/hooks why broken")),
      "the open breaker",
    );
    await invoke(stack.gateway.url, "/fire-hook again live=true");
    if (when === "while it runs") step(-10 * MINUTE_MS);
    else {
      await stack.gateway.stop();
      step(-10 * MINUTE_MS);
      await stack.gateway.start();
      await stack.gateway.ready();
    }
    await until(() => stack.gateway.output().includes("The system clock moved backward"), "the log line");
    for (const id of ["cool", "rate"]) {
      const before = await runs(id);
      await until(async () => (await runs(id)) > before, `a run of ${id} after the step`);
    }
    // A pause of four seconds, and no ten minutes.
    expect(await text("/hooks why broken")).toMatch(/times before .* \(in \d\d? s\) are skipped/);
    // A pause of four seconds, and no ten minutes.
    await until(async () => !/queued|running/.test(await text("/runs again")), "the end of the retry");
    expect(await text("/runs again")).toContain("failed");
  },
  120_000,
);

it.each(["while it runs", "while it is stopped"])(
  "schedules of missions go on when the clock moves backward %s",
  async (when) => {
    const folder = mkdtempSync(join(tmpdir(), "hookgate-clock-"));
    closers.push(() => rmSync(folder, { recursive: true, force: true }));
    const offset = join(folder, "offset");
    writeFileSync(offset, "0");
    mkdirSync(join(folder, "missions"));
    const groups = [{ name: "only", tasks: [{ id: "one", assignTo: "note" }] }];
    writeFileSync(join(folder, "missions/often.json"), JSON.stringify({ schedule: { cron: "*/2 * * * * *" }, groups }));
    const gateway = await gatewayProcess({
      folder,
      config: { orchestrator: { runners: { note: { shell: { command: ["true"] } } } } },
      env: { LOG_LEVEL: "info", HOOKGATE_TEST_CLOCK: offset, NODE_OPTIONS: `--import=${PRELOAD}` },
    });
    closers.push(() => gateway.kill());
    await gateway.start();
    await gateway.ready();
    const missions = async () =>
      JSON.stringify((await invoke(gateway.url, "/mission list")).data).match(/"scheduleId"/g)?.length ?? 0;
    await until(async () => (await missions()) > 0, "the first mission");
    if (when === "while it is stopped") await gateway.stop();
    writeFileSync(offset, String(-10 * MINUTE_MS));
    if (when === "while it is stopped") {
      await gateway.start();
      await gateway.ready();
    }
    await until(() => gateway.output().includes("The system clock moved backward"), "the log line");
    const before = await missions();
    await until(async () => (await missions()) > before, "a mission after the step");
  },
  90_000,
);

it("a clock that was set back while the gateway was dead delays no retry", async () => {
  // Less than the longest retry: the row alone does not show that the clock was set.
  const { stack, step } = await setUp({ gateway: { retry_first: "1s", retry_max: "1h" } });
  const { telegram } = stack.platforms;
  refuse(stack, 15);
  await telegram.say(telegram.places[0], "guest", "echo after a crash");
  await until(async () => (await invoke(stack.gateway.url, "/pauses")).text.includes("1 pause"), "the pause");
  await stack.gateway.kill();
  step(-30 * MINUTE_MS);
  await stack.gateway.start();
  await until(() => answersOf(stack, "after a crash").length === 2, "the second try", 90_000);
  expect(stack.gateway.output()).toContain("The system clock moved backward by at least");
}, 180_000);

it("a clock that was set back before a crash is not followed a second time by the next start", async () => {
  const { stack, step } = await setUp();
  step(-30 * MINUTE_MS);
  await until(() => stack.gateway.output().includes("keep their length after the clock was set"), "the step");
  await stack.gateway.kill();
  await stack.gateway.start();
  await stack.gateway.ready();
  expect(stack.gateway.output()).not.toContain("The system clock moved backward by at least");
}, 120_000);

it("a clock that was set back between a stop and a start lengthens no pause", async () => {
  const { stack, step } = await setUp();
  const { telegram } = stack.platforms;
  // The step is shorter than the pause: its row alone does not show that the clock was set.
  refuse(stack, 3600);
  await telegram.say(telegram.places[0], "guest", "echo in a pause");
  const pauseEnd = async () => {
    const { data } = await invoke(stack.gateway.url, "/pauses");
    return (data as { pauses: { until: number }[] } | undefined)?.pauses[0]?.until;
  };
  const before = await until(pauseEnd, "the pause");
  await stack.gateway.stop();
  step(-30 * MINUTE_MS);
  await stack.gateway.start();
  const after = await until(() => pauseEnd().catch(() => undefined), "the pause after the restart");
  expect(before - after).toBeGreaterThan(10 * MINUTE_MS);
  expect(answersOf(stack, "in a pause")).toHaveLength(1);
}, 180_000);

it("a pause that was set under another clock is void after a restart, and an operator can lift one that is too long", async () => {
  const { stack, step } = await setUp();
  const { telegram } = stack.platforms;
  refuse(stack, 600);
  await telegram.say(telegram.places[0], "guest", "echo under another clock");
  await until(() => answersOf(stack, "another clock").length === 1, "the refused try");
  await until(async () => (await invoke(stack.gateway.url, "/pauses")).text.includes("1 pause"), "the pause");
  await stack.gateway.kill();
  step(-DAY_MS);
  await stack.gateway.start();
  await until(() => answersOf(stack, "another clock").length === 2, "the try after the restart");

  refuse(stack, 600);
  await telegram.say(telegram.places[0], "guest", "echo lifted by hand");
  await until(() => answersOf(stack, "lifted by hand").length === 1, "the refused try");
  const listed = await until(async () => {
    const { text } = await invoke(stack.gateway.url, "/pauses");
    return text.includes("1 pause") && text;
  }, "the pause being listed");
  const key = /`(telegram:[^`]+)`/.exec(listed)?.[1] ?? "none";
  expect((await invoke(stack.gateway.url, `/pauses lift ${key}`)).text).toContain("1 pause lifted");
  await until(() => answersOf(stack, "lifted by hand").length === 2, "the try after the lift");
  expect((await invoke(stack.gateway.url, "/pauses")).text).toContain("Nothing is paused");
}, 120_000);

it.each([false, true])(
  "the card of an alert that came while the clock was ahead shows its end when that is set right (while it is stopped: %s)",
  async (isStopped) => {
    const { stack, step } = await setUp({
      sla: {
        policies: [{ id: "first", for: "conversation", measure: "first_response", target: "10m" }],
        after_start: "1s",
      },
      alerts: { routes: { default: { to: ["web:web:general"] } } },
    });
    const { gateway } = stack;
    const { web, telegram } = stack.platforms;
    const shows = async (state: string) => (await web.seen(web.places[0])).some(({ text }) => text.includes(state));
    await telegram.say(telegram.places[0], "guest", "Where is my order?");
    await until(async () => (await invoke(gateway.url, "/sla list")).text.includes("first response"), "its clock");
    step(60 * MINUTE_MS);
    await until(() => shows("Overdue since"), "the card");
    if (isStopped) await gateway.stop();
    step(0);
    if (isStopped) {
      await gateway.start();
      await gateway.ready();
    }
    await until(async () => (await shows("Resolved")) && !(await shows("Overdue since")), "its end");
  },
  90_000,
);
