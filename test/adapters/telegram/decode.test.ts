/** Updates as Telegram sends them (test/fixtures/telegram), and what they become. */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isPlain } from "../../../adapters/telegram/decode/plain.js";
import type { Self } from "../../../adapters/telegram/decode/self.js";
import { decodeUpdate } from "../../../adapters/telegram/decode/update.js";
import type { InboundEvent } from "../../../src/domain/chat/event.js";
import { type InboundMessage, inboundMessage } from "../../../src/domain/chat/message.js";

const FOLDER = resolve(import.meta.dirname, "../../fixtures/telegram");
const NOW = 1_792_000_500_000;
const self: Self = { botId: "7654321", username: "HookgateBot", commands: new Set(["hooks", "fire-hook"]) };

function fixture(name: string): unknown {
  return JSON.parse(readFileSync(join(FOLDER, `${name}.json`), "utf8"));
}

function eventsOf(name: string): InboundEvent[] {
  const decoded = decodeUpdate(fixture(name), self, NOW);
  if (decoded.kind === "malformed") throw new Error(`${name}: ${decoded.why}`);
  return decoded.events;
}

function messageOf(name: string): InboundMessage {
  const [event] = eventsOf(name);
  if (!event || !("message" in event)) throw new Error(`${name} is no message`);
  return event.message;
}

describe("messages", () => {
  it("come from private chats", () => {
    const [event] = eventsOf("private-text");
    expect(event).toEqual({
      kind: "message",
      eventId: "11",
      message: {
        platform: "telegram",
        botId: "7654321",
        chatId: "1001",
        userId: "1001",
        username: "ada_lovelace",
        displayName: "Ada Lovelace",
        text: "hello there",
        format: "plain",
        attachments: [],
        isDm: true,
        isGroupMention: false,
        messageId: "11",
        isEdit: false,
        receivedAt: NOW,
        writtenAt: 1_792_000_000_000,
        raw: Reflect.get(Object(fixture("private-text")), "message"),
      },
    });
  });

  it.each([
    ["group-plain", "nobody in particular", false],
    ["group-mention", "what is up", true],
    ["group-mention-inside", "ask @HookgateBot please", true],
    ["group-text-mention", "help", true],
    ["group-other-mention", "@SomebodyElse hi", false],
    ["group-command", "/fire_hook greet dry-run", true],
    ["group-command-dash", "/fire-hook greet", true],
    ["group-command-ours", "/Hooks show x", true],
    ["group-command-other-bot", "/hooks@OtherBot show x", false],
    ["group-command-unknown", "/weather in Rome", false],
    ["group-reply-to-us", "thanks", true],
    ["group-reply-to-person", "agreed", false],
  ])("%s reads %j and is for us: %s", (name, text, isGroupMention) => {
    expect(messageOf(name)).toMatchObject({ text, isGroupMention, isDm: false });
  });

  it("know what they reply to", () => {
    expect(messageOf("group-reply-to-us")).toMatchObject({ replyToId: "5", replyToUserId: "7654321" });
    const toPerson = messageOf("group-reply-to-person");
    expect(toPerson).toMatchObject({ replyToId: "5", replyToUserId: "1002" });
    expect(toPerson.threadId).toBeUndefined(); // a reply chain is no topic
  });

  it("belong to their topic, and do not reply to the message that opened it", () => {
    const message = messageOf("topic-message");
    expect(message).toMatchObject({ threadId: "7", isGroupMention: false });
    expect(message.replyToId).toBeUndefined();
    expect(messageOf("topic-reply")).toMatchObject({ threadId: "7", replyToId: "44" });
    expect(messageOf("topic-general").threadId).toBeUndefined();
  });

  it("by an anonymous admin or a channel carry the chat's id, never the shared account's", () => {
    expect(messageOf("anonymous-admin")).toMatchObject({ userId: "-1001000000001", text: "/hooks" });
    expect(messageOf("anonymous-admin").isBot).toBeUndefined();
    expect(messageOf("channel-forward")).toMatchObject({ userId: "-1001000000077", isBot: true });
    expect(messageOf("other-bot")).toMatchObject({ userId: "5555", isBot: true });
  });

  it.each(["own-message", "service-pin", "service-joined", "channel-post", "callback-inline", "reaction-removed"])(
    "are not made of %s",
    (name) => {
      expect(eventsOf(name)).toEqual([]);
    },
  );

  it.each([
    ["location", "[place] 48.2, 16.37"],
    ["contact", "[contact] Grace Hopper +43123"],
    ["poll", "[poll] Lunch?\n- Yes\n- No"],
    ["dice", "[dice] 🎲 4"],
    ["sticker", "[sticker] 👍"],
    ["checklist", "[checklist] Move\n- Pack\n- Clean"],
    ["game", "[game] Chess"],
    ["story", "[story]"],
  ])("without text, such as a %s, are told in words", (name, text) => {
    expect(messageOf(name).text).toBe(text);
  });
});

describe("attachments", () => {
  it.each([
    [
      "document-only",
      {
        type: "file",
        kind: "document",
        ref: "doc",
        mimeType: "application/pdf",
        filename: "report.pdf",
        sizeBytes: 4321,
      },
    ],
    [
      "image-as-document",
      { type: "image", kind: "document", ref: "img", mimeType: "image/png", filename: "scan.png", sizeBytes: 4321 },
    ],
    ["voice", { type: "audio", kind: "voice", ref: "voice", mimeType: "audio/ogg", sizeBytes: 999 }],
    [
      "audio",
      {
        type: "audio",
        kind: "audio",
        ref: "audio",
        mimeType: "audio/mpeg",
        filename: "song.mp3",
        sizeBytes: 5_000_000,
      },
    ],
    [
      "video",
      { type: "video", kind: "video", ref: "video", mimeType: "video/mp4", filename: "clip.mp4", sizeBytes: 123_456 },
    ],
    ["video-note", { type: "video", kind: "video_note", ref: "note", mimeType: "video/mp4", sizeBytes: 8000 }],
    [
      "animation",
      { type: "video", kind: "animation", ref: "anim", mimeType: "video/mp4", filename: "funny.mp4", sizeBytes: 7000 },
    ],
    ["sticker", { type: "image", kind: "sticker", ref: "sticker", mimeType: "image/webp", sizeBytes: 20_000 }],
    [
      "sticker-animated",
      { type: "file", kind: "sticker", ref: "sticker", mimeType: "application/x-tgsticker", sizeBytes: 20_000 },
    ],
  ])("%s", (name, attachment) => {
    expect(messageOf(name).attachments).toEqual([{ url: "", id: expect.any(String), ...attachment }]);
  });

  it("take the largest size of a photo, with its caption", () => {
    expect(messageOf("photo-caption")).toMatchObject({
      text: "look at this",
      isGroupMention: true,
      attachments: [{ type: "image", kind: "photo", ref: "large", mimeType: "image/jpeg", sizeBytes: 90_000 }],
    });
  });
});

describe("other events", () => {
  it("an edit has its own id, and two within a second are two", () => {
    const [event] = eventsOf("edited");
    expect(event).toMatchObject({
      kind: "edited",
      eventId: expect.stringMatching(/^edit:11:1792000060:/),
      message: { text: "hello there, again", isEdit: true, messageId: "11" },
    });
    const second = decodeUpdate({ ...Object(fixture("edited")), update_id: 42 }, self, NOW);
    expect(second.kind === "events" && second.events[0]?.eventId).not.toBe(event?.eventId);
    expect(messageOf("edited-caption")).toMatchObject({ text: "a new caption", isEdit: true });
  });

  it("each added reaction is an event", () => {
    const address = { platform: "telegram", botId: "7654321", chatId: "-1001000000001" };
    expect(eventsOf("reaction-added")).toEqual(
      ["🔥", "custom:5368"].map((emoji) => ({
        kind: "reaction",
        eventId: `reaction:5:1001:1792000100:${emoji}`,
        address,
        messageId: "5",
        userId: "1001",
        emoji,
        isDm: false,
        at: NOW,
      })),
    );
  });

  it("a press is an action in its topic, and can show its person one short word", () => {
    expect(eventsOf("callback")).toMatchObject([
      {
        kind: "action",
        eventId: "interaction:4382",
        token: "tok_abc",
        message: { chatId: "-1001000000003", threadId: "7", userId: "1001", messageId: "50", text: "", isDm: false },
      },
    ]);
    expect(eventsOf("callback")[0]).toMatchObject({ interaction: { token: "4382", isPrivate: true, isNotice: true } });
    expect(eventsOf("callback-inaccessible")).toMatchObject([
      { token: "tok_old", message: { messageId: "9", isDm: true } },
    ]);
  });

  it("a migration is the same event from both chats", () => {
    const moved = {
      kind: "moved",
      eventId: "moved:-1001000000099",
      address: { platform: "telegram", botId: "7654321", chatId: "-4002" },
      toChatId: "-1001000000099",
      at: NOW,
    };
    expect(eventsOf("migrate-to")).toEqual([moved]);
    expect(eventsOf("migrate-from")).toEqual([moved]);
  });
});

describe("malformed updates", () => {
  const fixtures = readdirSync(FOLDER).map((name) => fixture(name.replace(/\.json$/, "")));

  it("never throw, whatever they are", () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        decodeUpdate(value, self, NOW);
      }),
    );
  });

  it("never throw when any one field of a real update is anything else, and what is decoded is whole", () => {
    fc.assert(
      fc.property(fc.constantFrom(...fixtures), fc.nat(), fc.jsonValue(), (update, seed, value) => {
        const decoded = decodeUpdate(withOneFieldChanged(update, seed, value), self, NOW);
        if (decoded.kind === "malformed") return;
        for (const event of decoded.events) if ("message" in event) inboundMessage.parse(event.message);
      }),
      { numRuns: 3000 },
    );
  });
});

describe("messages of nothing but words", () => {
  const plain = {
    update_id: 7,
    message: {
      message_id: 8,
      date: 1_792_000_000,
      text: "hello",
      chat: { id: -5, type: "group", title: "Team", username: "team" },
      from: { id: 42, is_bot: false, first_name: "Ada", last_name: "L", username: "ada", language_code: "en" },
    },
  };

  it("are read without the schema", () => {
    expect(isPlain(plain)).toBe(true);
    expect(isPlain({ ...plain, edited_message: plain.message })).toBe(false);
    expect(isPlain({ ...plain, message: { ...plain.message, message_thread_id: 3 } })).toBe(false);
  });

  it("are read as the schema reads them, whatever any one field is", () => {
    fc.assert(
      fc.property(fc.nat(), fc.jsonValue(), (seed, value) => {
        const update = withOneFieldChanged(plain, seed, value) as typeof plain;
        // A field that nobody reads, which the schema alone accepts.
        const other = { ...update, later: {} };
        const [read, parsed] = [decodeUpdate(update, self, NOW), decodeUpdate(other, self, NOW)];
        if (parsed.kind === "malformed") expect(isPlain(update)).toBe(false);
        expect(read).toEqual(parsed);
      }),
      { numRuns: 3000 },
    );
  });
});

/** A copy in which the field that `seed` picks holds `value`. */
function withOneFieldChanged(update: unknown, seed: number, value: unknown): unknown {
  const copy: unknown = structuredClone(update);
  const places: { holder: object; key: string }[] = [];
  const visit = (node: unknown) => {
    if (typeof node !== "object" || node === null) return;
    for (const [key, child] of Object.entries(node)) {
      places.push({ holder: node, key });
      visit(child);
    }
  };
  visit(copy);
  const place = places[seed % places.length];
  if (place) Reflect.set(place.holder, place.key, value);
  return copy;
}
