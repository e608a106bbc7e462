/** Kills while programs of hooks run and messages come in. The named moments are in `recovery`, `flow-kill` and `outside-kill`. */
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { linesOf } from "../support/lines.js";
import { until } from "../support/until.js";
import { type HookedGateway, hookedGateway, processRuns } from "./hooked-gateway.js";

let gateway: HookedGateway | undefined;
afterEach(() => gateway?.close());

const lines = (file: string) => linesOf(join(gateway?.folder as string, file));

it("every message has its run, which has ended, and is done once where it was not cut off", async () => {
  // One write a line, so that lines of programs that run at once do not mix.
  const shell = { sh: `line=$(sed 's/.*"text":"\\([^"]*\\)".*/\\1/'); echo "$line" >> log` };
  const noter = {
    id: "noter",
    on: "message_received",
    when_busy: "queue",
    max_queued: 10_000,
    concurrency: 3,
    retry: { attempts: 20 },
    run: { shell },
  };
  const started = await hookedGateway([noter]);
  gateway = started;
  await started.start();
  await started.ready();
  const said: string[] = [];
  for (let life = 0; life < 8; life++) {
    for (let i = 0; i < 8; i++) {
      const text = `m${life}x${i}`;
      await started.say(text);
      said.push(text);
    }
    // Somewhere in the middle of what these messages started: later in each life.
    await until(() => lines("log").some((line) => line.startsWith(`m${life}x${life}`)), "some runs");
    await started.kill();
    await started.start();
    await started.ready();
  }
  await until(() => said.every((text) => lines("log").includes(text)), "every message noted");
  // A program notes before it ends: a stop in between leaves its run to the next start.
  await until(() => started.runs("noter").every(({ status }) => status === "succeeded"), "the end of every run");
  await started.stop();
  const runs = started.runs("noter");
  expect(runs.map(({ status }) => status)).toEqual(said.map(() => "succeeded"));
  const times = (text: string) => lines("log").filter((line) => line === text).length;
  const whole = runs.filter(({ attempt }) => attempt === 1).length;
  expect(said.filter((text) => times(text) === 1).length).toBeGreaterThanOrEqual(whole);
  expect(said.reduce((sum, text) => sum + times(text), 0)).toBeLessThanOrEqual(
    runs.reduce((sum, { attempt }) => sum + attempt, 0),
  );
}, 240_000);

it("of many programs in flight each ends, none twice, and no program is left", async () => {
  const script =
    'echo $$ >> pids; echo "$HOOKGATE_RUN_ID" >> starts; sleep 0.$(( $$ % 7 )); echo "$HOOKGATE_RUN_ID" >> ends';
  const hooks = ["one", "two", "three"].map((id) => ({
    id,
    on: "message_received",
    execution: "background",
    match: { when: 'payload.message.text == "go"' },
    concurrency: 2,
    when_busy: "queue",
    run: { shell: { sh: script } },
    retry: { attempts: 20, backoff: "1s" },
  }));
  const started = await hookedGateway(hooks);
  gateway = started;
  const LIVES = 6;
  for (let life = 0; life < LIVES; life++) {
    await started.start();
    await started.ready();
    for (let i = 0; i < 4; i++) await started.say("go");
    await until(() => lines("starts").length > life * 6, "programs in flight");
    await started.kill();
  }
  await started.start();
  await started.ready();
  const all = () => ["one", "two", "three"].flatMap((id) => started.runs(id));
  await until(
    () => all().length === LIVES * 12 && all().every(({ status }) => status === "succeeded"),
    "the end of all runs",
    120_000,
  );
  // A program may have ended before its gateway could write that down: such a run is repeated, and only such a one.
  const ends = lines("ends");
  expect(new Set(ends).size).toBe(LIVES * 12);
  for (const { id, attempt } of all()) expect(ends.filter((one) => one === id).length).toBeLessThanOrEqual(attempt);
  await until(() => lines("pids").map(Number).filter(processRuns).length === 0, "the end of all programs");
}, 240_000);
