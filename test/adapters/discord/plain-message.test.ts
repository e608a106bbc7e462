/** The quick reading of a message agrees with the schema, whatever Discord sends. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { decodeMessage } from "../../../adapters/discord/decode/message.js";
import { messagePayload } from "../../../adapters/discord/decode/payloads.js";
import { isPlainMessage } from "../../../adapters/discord/decode/plain-message.js";

const user = { id: "7", username: "ada", global_name: "Ada", bot: false, avatar: null };
const plain = {
  id: "100",
  channel_id: "200",
  guild_id: "300",
  type: 0,
  content: "hello",
  author: user,
  member: { nick: null, roles: ["5"], joined_at: "2026-01-01T00:00:00Z" },
  webhook_id: "6",
  edited_timestamp: null,
  mentions: [user],
  mention_roles: ["5"],
  attachments: [],
  embeds: [],
  referenced_message: null,
};

/** Values that a field of a message has now and then, and values that none has. */
const value = fc.oneof(
  fc.constantFrom<unknown>(
    undefined,
    null,
    "",
    "12",
    "x",
    0,
    1.5,
    true,
    false,
    [],
    {},
    ["5"],
    ["x"],
    [null],
    [user],
    user,
  ),
  fc.constantFrom<unknown>(
    [{ id: "1" }],
    [{ id: 1 }],
    { nick: "n", roles: [] },
    { roles: "5" },
    { roles: [], user: {} },
  ),
  fc.constantFrom<unknown>({ id: "7" }, { ...user, bot: "yes" }, { ...user, global_name: 7 }, { message_id: "1" }),
  fc.jsonValue({ maxDepth: 2 }),
);
const fields = [...Object.keys(plain), "sticker_items", "poll", "message_reference", "message_snapshots"];

it("takes an ordinary message", () => {
  expect(isPlainMessage(plain)).toBe(true);
  expect(isPlainMessage({ ...plain, guild_id: undefined, member: undefined, webhook_id: undefined })).toBe(true);
});

it("what it takes, the schema takes, and it means the same", () => {
  const around = { self: { botId: "1", applicationId: "2", botName: "bot" }, receivedAt: 0 };
  let taken = 0;
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom(...fields), value), { maxLength: 3 }), (changes) => {
      const payload = { ...plain, ...Object.fromEntries(changes) };
      if (!isPlainMessage(payload)) return;
      taken++;
      const parsed = messagePayload.safeParse(payload);
      if (!parsed.success) throw new Error("the schema refuses it");
      expect(decodeMessage(payload, around, false)).toEqual(decodeMessage(parsed.data, around, false));
    }),
    { numRuns: 2_000 },
  );
  expect(taken).toBeGreaterThan(100);
});
