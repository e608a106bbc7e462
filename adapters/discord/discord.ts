/** The Discord adapter: the run that is under way answers the gateway's calls. */
import type { Adapter, AdapterTraits } from "../../src/domain/chat/adapter.js";
import { Aborts } from "../../src/fast/aborts.js";
import { HookgateError } from "../../src/lib/errors.js";
import type { Channels } from "./channels.js";
import { readableText } from "./decode/readable-text.js";
import { dmChatId } from "./dm.js";
import { encode, plainPart } from "./encode.js";
import type { DiscordOptions } from "./options.js";
import { notConnected } from "./rest/send.js";
import { Run } from "./run.js";

/** Discord documents "a few minutes" for enforce_nonce; two are counted on. */
const NONCE_MEMORY_MS = 2 * 60_000;

export function createDiscordAdapter(options: DiscordOptions): Adapter {
  let running: Run | undefined;
  const aborts = new Aborts();
  /** The channels of this run, or of the one before it: names of chats are asked for while Discord is away. */
  let channels: Channels | undefined;
  const traits: AdapterTraits = {
    idempotentCreate: true,
    idempotentForMs: NONCE_MEMORY_MS,
    // Opening a thread takes no nonce.
    isExceptionIn: (chatId) => running?.channels.isForum(chatId) === true,
    forms: true,
    limits: { perSecond: options.requestsPerSecond },
    // https://discord.com/developers/docs/topics/rate-limits: by route, and these are routes of their own.
    limitsChangesApart: true,
    isGroup: (chatId) => running?.channels.isDm(chatId) !== true,
    linkTo({ chatId, threadId }, messageId, guildId) {
      const guild = guildId ?? channels?.guildOf(chatId);
      return guild && `https://discord.com/channels/${guild}/${threadId ?? chatId}/${messageId}`;
    },
    parentOf: (chatId) => channels?.parentOf(chatId),
    placeName: ({ chatId, threadId }) => channels?.nameOf(chatId, threadId),
    readableText: (message) => readableText(message, (channelId) => channels?.nameOf(channelId, undefined)),
    linkToPerson: (userId) => `https://discord.com/users/${userId}`,
    privateAddress(at, userId) {
      if (running?.channels.isDm(at.chatId)) return undefined;
      return { platform: at.platform, botId: at.botId, chatId: running?.channels.dmOf(userId) ?? dmChatId(userId) };
    },
  };
  return {
    platform: "discord",
    traits,
    async run(context, signal) {
      const run = new Run(options, context, signal, aborts);
      running = run;
      channels = run.channels;
      try {
        await run.serve();
      } finally {
        running = undefined;
        await run.end();
      }
    },
    encode: (message, _at, encoding) => encode(message, encoding),
    plainPart,
    async send(operation, signal) {
      if (!running) return notConnected("Discord is not connected");
      return running.send(operation, signal);
    },
    forgetLimits: () => running?.forgetLimits(),
    async freshLink(url, signal) {
      if (!running) throw notRunning();
      return running.freshLink(url, signal);
    },
    async isReader(at, userId, signal) {
      if (!running) throw notRunning();
      return running.isReader(at, userId, signal);
    },
    async openThread(at, messageId, name) {
      if (!running) throw notRunning();
      return running.openThread(at, messageId, name);
    },
  };
}

function notRunning(): HookgateError {
  return new HookgateError({ code: "DISCORD_OFFLINE", message: "Discord is not connected", retryable: true });
}
