/** SIGKILL of the running product while programs of its hooks run: none outlives it, and no run is lost, doubled or left running. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { linesOf } from "../support/lines.js";
import { until } from "../support/until.js";
import { type HookedGateway, hookedGateway, processRuns } from "./hooked-gateway.js";

let gateway: HookedGateway | undefined;
afterEach(() => gateway?.close());

/** A child, a grandchild, and one that begins a session of its own; each notes its process id. */
const FAMILY = `
sh -c 'echo $$ >> pids; sh -c "echo \\$\\$ >> pids; sleep 60" & sleep 60' &
setsid sh -c 'echo $$ >> pids; sleep 60' &
echo $$ >> pids
wait
`;
const background = (id: string, more: Record<string, unknown>) => ({
  id,
  on: "message_received",
  execution: "background",
  match: { when: 'payload.message.text == "go"' },
  ...more,
});

const lines = (file: string) => linesOf(join(gateway?.folder as string, file));
const pids = () => lines("pids").map(Number);
const gone = (what: string) => until(() => pids().filter(processRuns).length === 0, what);

it.each([
  ["a handler", { run: { shell: { sh: FAMILY } } }],
  ["a step", { context: [{ shell: { sh: FAMILY, timeout: "50s" } }], run: { shell: { sh: "true" } } }],
])("the family of %s does not outlive its gateway, and its run ends as interrupted", async (_, work) => {
  gateway = await hookedGateway([background("family", work)]);
  await gateway.start();
  await gateway.ready();
  await gateway.say("go");
  await until(() => pids().length === 4, "the family having begun");
  expect(pids().every(processRuns)).toBe(true);

  await gateway.kill();
  await gone("the end of the family");
  await gateway.start();
  await gateway.ready();
  const run = await until(
    () => gateway?.runs("family").find(({ status }) => status !== "running"),
    "the end of the run",
  );
  expect(run).toMatchObject({ status: "interrupted", attempt: 1 });
  expect(gateway.runs("family")).toHaveLength(1);
});

it("a run that may be repeated is run once more after the kill, and its first program is gone by then", async () => {
  const script =
    'echo $$ >> pids; echo "$HOOKGATE_RUN_ID" >> starts; [ -e may-end ] || sleep 60; echo "$HOOKGATE_RUN_ID" >> ends';
  gateway = await hookedGateway([
    background("again", { run: { shell: { sh: script } }, retry: { attempts: 5, backoff: "1s" } }),
  ]);
  await gateway.start();
  await gateway.ready();
  await gateway.say("go");
  await until(() => lines("starts").length === 1, "the first start");
  await gateway.kill();
  await gone("the end of the first program");
  writeFileSync(join(gateway.folder, "may-end"), "");
  await gateway.start();
  await gateway.ready();
  const run = await until(
    () => gateway?.runs("again").find(({ status }) => status === "succeeded"),
    "the second attempt",
  );
  expect(run.attempt).toBe(2);
  expect(gateway.runs("again")).toHaveLength(1);
  expect(lines("starts")).toEqual([run.id, run.id]);
  expect(lines("ends")).toEqual([run.id]);
});

it("a stop ends the programs that run, in bounded time", async () => {
  gateway = await hookedGateway([background("family", { run: { shell: { sh: FAMILY } } })], {
    config: { gateway: { shutdown_timeout: "1s" } },
  });
  await gateway.start();
  await gateway.ready();
  await gateway.say("go");
  await until(() => pids().length === 4, "the family having begun");
  await gateway.stop();
  await gone("the end of the family");
  expect(gateway.runs("family").filter(({ status }) => status === "running")).toEqual([]);
});
