/** Discord's own payloads, as recorded, read as what they mean. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { decodeAction } from "../../../adapters/discord/decode/interaction.js";
import { decodeMessage, isForUs } from "../../../adapters/discord/decode/message.js";
import { guildPayload, interactionPayload, messagePayload } from "../../../adapters/discord/decode/payloads.js";
import { readableIn } from "../../../adapters/discord/permissions.js";
import { isNewer, snowflakeAt, snowflakeTime } from "../../../adapters/discord/snowflake.js";

const fixture = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../fixtures/discord/${name}.json`, import.meta.url), "utf8"));
const self = { botId: "1100000000000000001", applicationId: "1100000000000000001", botName: "hookgate" };

it("a reply to us with a voice message", () => {
  const payload = messagePayload.parse(fixture("message-reply"));
  expect(isForUs(payload, self)).toBe(true);
  expect(decodeMessage(payload, { self, receivedAt: 5 }, false)).toEqual({
    platform: "discord",
    botId: self.botId,
    chatId: "1200000000000000001",
    guildId: "1100000000000000002",
    userId: "1300000000000000001",
    username: "ada",
    displayName: "Ada (ops)",
    userRoleIds: ["1100000000000000004", "1100000000000000005"],
    text: "yes, go",
    attachments: [
      {
        type: "audio",
        ref: "1400000000000000001",
        url: "https://cdn.discordapp.com/attachments/1/2/voice-message.ogg?ex=1",
        mimeType: "audio/ogg",
        filename: "voice-message.ogg",
        sizeBytes: 4242,
      },
    ],
    replyToId: "1378700000000000011",
    replyToUserId: self.botId,
    replyToOwn: { text: "Shall I?", writtenAt: snowflakeTime("1378700000000000011") },
    isDm: false,
    isGroupMention: true,
    messageId: "1378700000000000012",
    isEdit: false,
    receivedAt: 5,
    writtenAt: 1_748_778_095_007,
  });
});

it("a webhook's message is a bot's, with its thread's parent when known", () => {
  const payload = messagePayload.parse(fixture("webhook-message"));
  const around = { self, receivedAt: 5, parentChatId: "1200000000000000001" };
  expect(decodeMessage(payload, around, false)).toMatchObject({
    isBot: true,
    parentChatId: "1200000000000000001",
    text: "deploy done",
  });
});

it("a follow-up of our own application is not for us", () => {
  const payload = { ...messagePayload.parse(fixture("webhook-message")), webhook_id: self.applicationId };
  expect(isForUs(payload, self)).toBe(false);
});

it("a mention of our role means us", () => {
  const payload = {
    ...messagePayload.parse(fixture("webhook-message")),
    content: "<@&77> status",
    mention_roles: ["77"],
  };
  expect(decodeMessage(payload, { self, ownRoleId: "77", receivedAt: 5 }, false)).toMatchObject({
    isGroupMention: true,
    text: "status",
  });
});

it("a modal from a button in a thread, with rows and with labels", () => {
  const payload = interactionPayload.parse(fixture("interaction-modal"));
  expect(decodeAction(payload, { self, receivedAt: 5 })).toMatchObject({
    kind: "action",
    eventId: "interaction:1378700000000000030",
    token: "tok-7",
    values: { reason: "too noisy", for: "2h" },
    message: { chatId: "1200000000000000031", parentChatId: "1200000000000000001", messageId: "1378700000000000029" },
    interaction: {
      expiresAt: snowflakeTime("1378700000000000030") + 14 * 60_000,
    },
  });
});

it("which channels of a guild we may read, threads by their parent", () => {
  const guild = guildPayload.parse(fixture("guild-create"));
  const isReadable = readableIn(guild, self.botId);
  const readable = [...guild.channels, ...guild.threads].filter(isReadable).map((channel) => channel.id.slice(-2));
  expect(readable).toEqual(["01", "03", "31"]);
});

it("ids compare by age, also when one is longer", () => {
  expect(isNewer("1000", "999")).toBe(true);
  expect(isNewer("999", "1000")).toBe(false);
  expect(isNewer("5", "5")).toBe(false);
  const at = Date.UTC(2026, 0, 1);
  expect(snowflakeTime(snowflakeAt(at))).toBe(at);
});
