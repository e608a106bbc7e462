/** Slash commands are registered when they differ, and only then. */
import { afterEach, beforeEach, expect, it } from "vitest";
import type { CommandSpec } from "../../../src/domain/chat/command.js";
import { type FakeDiscord, startFakeDiscord } from "../../fakes/discord/server.js";
import { ManualClock } from "../../support/manual-clock.js";
import { until } from "../../support/until.js";
import { RecordingGateway, startRig } from "./rig.js";

const table: CommandSpec[] = [
  {
    name: "fire-hook",
    summary: "Fires a hook",
    role: "operator",
    options: [
      { name: "payload", summary: "JSON", type: "string", rest: true },
      { name: "hook", summary: "Which", type: "string", required: true, complete: "hooks-and-points" },
      { name: "dry-run", summary: "Send nothing", type: "boolean" },
      { name: "mode", summary: "How", type: "string", choices: ["example", "last"] },
      { name: "count", summary: "How often", type: "integer" },
    ],
  },
  { name: "status", summary: "s".repeat(200), role: "viewer", options: [] },
];

let fake: FakeDiscord;
beforeEach(async () => {
  fake = await startFakeDiscord();
});
afterEach(() => fake.stop());

const puts = () => fake.calls.filter((call) => call.method === "PUT").length;
const gets = () => fake.calls.filter((call) => call.method === "GET" && call.path.endsWith("/commands")).length;

async function runOnce(commands: CommandSpec[]): Promise<void> {
  const gateway = new RecordingGateway();
  gateway.table = commands;
  const asked = gets();
  const changes = puts();
  const rig = await startRig(fake, { gateway });
  await until(() => gets() > asked);
  // A registration, if any, follows its look-up at once; a message there and back is slower than both.
  fake.people.says("ping");
  await until(() => gateway.texts.includes("ping"));
  await until(() => puts() > changes || rig.logger.lines.every((line) => !line.includes("registered")));
  await rig.stop();
}

it("an empty account gets the table: required options first, completion and choices marked", async () => {
  await runOnce(table);
  await until(() => puts() === 1);
  expect(fake.world.commands).toMatchObject([
    {
      name: "fire-hook",
      options: [
        { name: "hook", type: 3, required: true, autocomplete: true },
        { name: "payload", type: 3, required: false },
        { name: "dry-run", type: 5 },
        {
          name: "mode",
          type: 3,
          choices: [
            { name: "example", value: "example" },
            { name: "last", value: "last" },
          ],
        },
        { name: "count", type: 4 },
      ],
    },
    { name: "status" },
  ]);
  expect(String(fake.world.commands[1]?.description)).toHaveLength(100);
});

it("an equal table is not registered again, in whatever order; a changed one is", async () => {
  await runOnce(table);
  await until(() => puts() === 1);
  await runOnce(table);
  await runOnce([...table].reverse());
  expect(puts()).toBe(1);
  await runOnce([{ ...(table[0] as CommandSpec), summary: "Fires it" }]);
  await until(() => puts() === 2);
  expect(fake.world.commands).toHaveLength(1);
});

it.each([
  ["missing access", { code: 50001, message: "Missing Access" }, 403, /scope applications\.commands/, /missing access/],
  [
    "the daily limit",
    { code: 30034, message: "Max number of daily application command creates" },
    400,
    /every hour/,
    /daily limit/,
  ],
  [
    "a command's form",
    { code: 50035, message: "Invalid Form Body", errors: { 1: { name: { _errors: [{ code: "X", message: "no" }] } } } },
    400,
    /Correct the name/,
    /\/status/,
  ],
])(
  "a registration that Discord refuses (%s) is a remark with its reason and what to do, until it succeeds",
  async (...[, body, status, hint, reason]) => {
    fake.fail({ method: "PUT", path: "/commands", action: { kind: "status", status, body } });
    const gateway = new RecordingGateway();
    gateway.table = table;
    const clock = new ManualClock(Date.now());
    const rig = await startRig(fake, { gateway, clock });
    await until(() => gateway.states.at(-1)?.hint !== undefined, "the remark");
    expect(gateway.states.at(-1)).toMatchObject({
      phase: "online",
      reason: expect.stringMatching(reason),
      hint: expect.stringMatching(hint),
    });
    await clock.advance(3_600_000);
    await until(() => fake.world.commands.length === 2 && gateway.states.at(-1)?.hint === undefined, "the end of it");
    await rig.stop();
  },
);

it("a registration that a limit refuses is tried again after the time that the limit names, and is not reported", async () => {
  fake.fail({
    method: "PUT",
    path: "/commands",
    action: { kind: "rate-limit", retryAfterS: 90, scope: "user" },
  });
  const gateway = new RecordingGateway();
  gateway.table = table;
  const clock = new ManualClock(Date.now());
  const rig = await startRig(fake, { gateway, clock });
  const failures = () => rig.logger.lines.filter((line) => line.includes("could not register")).length;
  await until(() => failures() === 1, "the limit");
  await clock.advance(89_000);
  expect(failures()).toBe(1);
  await clock.advance(2_000);
  await until(() => fake.world.commands.length === 2, "the table");
  expect(puts()).toBe(2);
  expect(gateway.states.filter(({ hint }) => hint !== undefined)).toEqual([]);
  await rig.stop();
});

it("a failing registration does not stop the adapter, and is said", async () => {
  fake.fail({ path: "/commands", times: 10, action: { kind: "status", status: 500 } });
  const gateway = new RecordingGateway();
  gateway.table = table;
  const rig = await startRig(fake, { gateway });
  await until(() => rig.logger.lines.some((line) => line.includes("could not register")));
  fake.people.says("still served");
  await until(() => gateway.texts.includes("still served"));
  await rig.stop();
});
