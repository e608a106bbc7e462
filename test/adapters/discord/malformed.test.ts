/** No frame and no payload, however wrong, ends the adapter or loses what comes after it. */
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type FakeDiscord, startFakeDiscord } from "../../fakes/discord/server.js";
import { until } from "../../support/until.js";
import { type Rig, startRig } from "./rig.js";

let fake: FakeDiscord;
let rig: Rig;
let isEnded = false;
const rejections: unknown[] = [];
const onRejection = (reason: unknown) => void rejections.push(reason);
beforeAll(async () => {
  process.on("unhandledRejection", onRejection);
  fake = await startFakeDiscord();
  rig = await startRig(fake);
  void rig.ended.then(() => {
    isEnded = true;
  });
});
afterAll(async () => {
  process.off("unhandledRejection", onRejection);
  await rig.stop();
  await fake.stop();
});

let count = 0;
async function isStillServed(): Promise<void> {
  const text = `probe ${count++}`;
  fake.people.says(text);
  await until(() => rig.gateway.texts.includes(text), text);
  expect(isEnded).toBe(false);
  expect(rejections).toEqual([]);
}

it.each([
  "",
  "not json",
  "null",
  "[]",
  "42",
  '"text"',
  "{}",
  '{"op":"0"}',
  '{"op":0}',
  '{"op":0,"t":"MESSAGE_CREATE","s":null,"d":{}}',
  '{"op":0,"t":"READY","s":1,"d":null}',
  '{"op":0,"t":"READY","s":1,"d":{"session_id":1}}',
  '{"op":9}',
  '{"op":9,"d":"no"}',
  '{"op":10}',
  '{"op":10,"d":{"heartbeat_interval":"soon"}}',
  '{"op":99,"d":{}}',
])("the frame %s is skipped", async (frame) => {
  fake.gateway.sendRaw(frame);
  await isStillServed();
});

const types = [
  "GUILD_CREATE",
  "CHANNEL_CREATE",
  "CHANNEL_DELETE",
  "THREAD_CREATE",
  "THREAD_LIST_SYNC",
  "MESSAGE_CREATE",
  "MESSAGE_UPDATE",
  "MESSAGE_DELETE",
  "MESSAGE_DELETE_BULK",
  "MESSAGE_REACTION_ADD",
  "INTERACTION_CREATE",
  "SOMETHING_NEW",
];

it("any payload of any type is skipped or taken, and the next message arrives", async () => {
  const inGuild = { isDm: false, needs: "always" } as const;
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...types), fc.jsonValue({ maxDepth: 3 }), async (type, data) => {
      fake.gateway.dispatch(type, data, inGuild);
    }),
    { numRuns: 400 },
  );
  await isStillServed();
});

it("a real message with any one field replaced is skipped or taken, never fatal", async () => {
  const { id: _id, ...real } = fake.people.says("template");
  const fields = Object.keys(real);
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...fields), fc.jsonValue({ maxDepth: 2 }), async (field, value) => {
      const payload = { ...real, id: fake.world.snowflake(), guild_id: fake.world.guildId, [field]: value };
      fake.gateway.dispatch("MESSAGE_CREATE", payload, { isDm: false, needs: "always" });
    }),
    { numRuns: 300 },
  );
  await isStillServed();
});

it("what was skipped is logged without its content", () => {
  const skipped = rig.logger.lines.filter((line) => line.includes("skipped a malformed"));
  expect(skipped.length).toBeGreaterThan(50);
  expect(skipped.join()).not.toContain(fake.token);
});
