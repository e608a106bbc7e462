/** What viewers and the log have of conditions without an answer: the condition and the kind of the error, and no words of the message. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type LogLine, logTo } from "../hooks/points.js";
import { until } from "../support/until.js";
import { BOB, OWNER, type RunningApp, runApp } from "./running-app.js";

const TEXT = "[pin plum 4711";
const run = { shell: { command: ["echo", "{}"] } };
const on = (id: string, when: string, more: object = {}) => ({
  id,
  on: "inbound_claim",
  match: { when },
  run,
  ...more,
});

let app: RunningApp;
const log: LogLine[] = [];
beforeAll(async () => {
  app = await runApp(
    {
      operators: { viewer: ["web:2"] },
      hooks: [
        on("keyed", '{"urgent": 3}[payload.message.text] > 2'),
        on("timed", 'duration(payload.message.text) > duration("1h")'),
        on("pattern", '"foo".matches(payload.message.text)'),
        on("truth", "bool(payload.message.text)"),
        on("zone", 'timestamp("2026-01-01T00:00:00Z").getHours(payload.message.text) > 1'),
        on("parsed", "bytes(payload.message.text).json().a == 1"),
        on("closed", 'payload.message.text.contains("shut") && {"urgent": 3}[payload.message.text] > 2', {
          on_failure: "closed",
        }),
        {
          id: "skipper",
          on: "message_received",
          context: [
            {
              shell: { command: ["echo", "{{ event.message.text }}"] },
              skip_if: '{"a": 1}[event.message.text] > 0 || {"a": 1}[step.stdout] > 0',
            },
          ],
          run,
        },
      ],
    },
    {},
    logTo(log),
  );
});
afterAll(() => app.close());

test("the reason of a condition without an answer quotes no message to viewers and to the log", async () => {
  for (const [index, text] of [TEXT, `${TEXT} shut`].entries()) {
    const said = { text, nonce: `nonce-of-the-plum-${index}` };
    expect((await app.call(OWNER, "POST", "/api/rooms/dm-1/messages", said)).status).toBeLessThan(300);
  }
  const runs = async () => JSON.stringify((await app.call(BOB, "GET", "/api/v1/runs?limit=50")).body);
  const command = async (line: string) =>
    JSON.stringify((await app.call(BOB, "POST", "/api/command", { line })).body).replace(/\\+[\\`"*]+/g, "");
  const has = (words: string) => log.some(({ message }) => message.includes(words));
  await until(() => has("skip_if"), "the warning of skip_if");
  await until(async () => (await runs()).includes("closed"), "the run of closed");
  const why = async (hook: string) => command(`/hooks why ${hook}`);
  expect(await why("keyed")).toContain("No such key: {urgent: 3}[payload.message.text] > 2");
  expect(await why("timed")).toContain("duration() requires a text such as");
  expect(await why("pattern")).toContain("matches() requires a regular expression (RE2)");
  expect(await why("truth")).toContain("bool() type error: cannot convert to bool");
  expect(await why("zone")).toContain("it cannot be evaluated with these values");
  expect(await why("parsed")).toContain("it cannot be evaluated with these values");
  expect(await why("closed")).toContain("match.when has no answer for this payload (No such key: ");
  const lines = log.map(({ facts, message }) => `${message} ${JSON.stringify(facts)}`);
  expect(lines.filter((line) => line.includes("had no answer")).length).toBeGreaterThan(5);
  const hooks = ["keyed", "timed", "pattern", "truth", "zone", "parsed", "closed", "skipper"];
  const shown = [
    await runs(),
    ...(await Promise.all(hooks.flatMap((hook) => [why(hook), command(`/runs ${hook}`)]))),
    await command("/runs all"),
    await command("/status"),
    ...lines,
  ];
  for (const one of shown) expect(one).not.toMatch(/plum|4711/);
});
