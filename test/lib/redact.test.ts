import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { redact, reveal } from "../../src/lib/text/redact.js";

const message = {
  platform: "web",
  botId: "web",
  chatId: "lobby",
  userId: "7",
  username: "ada",
  displayName: "Ada Lovelace",
  text: "my card is 4111 1111 1111 1111",
  attachments: [
    {
      type: "image",
      ref: "r1",
      url: "https://cdn.example/ada.png",
      mimeType: "image/png",
      filename: "ada.png",
      sizeBytes: 3,
    },
  ],
  isDm: true,
  isGroupMention: true,
  messageId: "42",
  isEdit: false,
  receivedAt: 5,
  raw: { from: { first_name: "Ada" } },
};

describe("redact", () => {
  it("masks what people wrote and what they are called, and keeps ids, times and structure", () => {
    const shown = redact({ message, access: "allowed" }, "us");
    expect(JSON.stringify(shown)).not.toMatch(/Ada|ada|card|4111|cdn/);
    expect(shown).toMatchObject({
      access: "allowed",
      message: {
        platform: "web",
        chatId: "lobby",
        userId: "7",
        text: "[text]",
        displayName: "[text]",
        attachments: [{ type: "image", mimeType: "image/png", sizeBytes: 3 }],
        isDm: true,
        messageId: "42",
        receivedAt: 5,
        raw: "[raw]",
      },
    });
  });

  it("masks the texts of a payload that it has never heard of", () => {
    expect(redact({ order: { note: "ring twice", lines: ["salad", "soup"], total: 3 } }, "us")).toEqual({
      order: { note: "[text]", lines: ["[text]", "[text]"], total: 3 },
    });
  });

  it("masks every text that others named, and what others named inside of ours", () => {
    const names = ["status", "id", "kind", "type", "userId", "code", "chatId", "atAt", "point"];
    const theirs = Object.fromEntries(names.map((name) => [name, "my PIN is 4711"]));
    const masked = Object.fromEntries(names.map((name) => [name, "[text]"]));
    expect(redact({ ...theirs, list: [theirs], at: "2026-01-01T00:00:00Z" }, "others")).toEqual({
      ...masked,
      list: [masked],
      at: "[text]",
    });
    expect(redact({ task: { id: "t-1", status: "done", input: theirs } }, "us")).toEqual({
      task: { id: "t-1", status: "done", input: masked },
    });
  });

  it("never lets a text through under any field name that is not known to be harmless", () => {
    const secretText = "PERSON-WROTE-THIS";
    const name = fc.string({ minLength: 1 }).filter((key) => !/(Ids?|At|Ms|Bytes|Key)$/.test(key));
    const tree = fc.letrec((tie) => ({
      node: fc.oneof(
        { maxDepth: 4 },
        fc.constant(secretText),
        fc.array(tie("node"), { maxLength: 3 }),
        fc.dictionary(name, tie("node"), { maxKeys: 3 }),
      ),
    })).node;
    fc.assert(
      fc.property(
        fc.dictionary(name, tree),
        (payload) => !harmless(payload) || !JSON.stringify(redact(payload, "us")).includes(secretText),
      ),
    );
  });

  it("keeps secrets masked even when revealed", () => {
    const token = `123456789:${"A".repeat(35)}`;
    const shown = reveal({
      text: `my token is ${token}`,
      botToken: "abc",
      headers: { authorization: "Bearer x" },
      credentials: { user: "u" },
    });
    expect(shown).toEqual({
      text: "my token is [secret]",
      botToken: "[secret]",
      headers: { authorization: "[secret]" },
      credentials: "[secret]",
    });
  });

  it("reveals texts otherwise, unchanged", () => {
    expect(reveal({ message: { text: message.text, displayName: message.displayName } })).toEqual({
      message: { text: message.text, displayName: message.displayName },
    });
  });

  it("survives a cycle-deep structure and hostile keys", () => {
    let deep: unknown = "end";
    for (let depth = 0; depth < 100; depth++) deep = { deep };
    expect(JSON.stringify(redact(deep, "us"))).toContain("too deep");
    expect(Object.keys(redact(JSON.parse('{"__proto__": {"text": "x"}}'), "us") as object)).toEqual(["__proto__"]);
  });
});

/** No field of the tree has a name on the list of harmless ones. */
function harmless(value: unknown): boolean {
  const known =
    /^(id|kind|type|platform|point|hooks?|model|phase|operation|status|access|format|tone|style|mimeType|severity|command|role|claimedBy|cancelledBy|emoji|code|finishReason|entityType|expression)$/;
  if (Array.isArray(value)) return value.every(harmless);
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([key, entry]) => !known.test(key) && harmless(entry));
}
