/** The Discord adapter: puts the parts together for one run, and tears them down after it. */

import { z } from "zod";
import type {
  Adapter,
  AdapterContext,
  AdapterState,
  AdapterTraits,
  SendOperation,
  SendResult,
} from "../../src/domain/adapter.js";
import type { Address } from "../../src/domain/address.js";
import { Aborts } from "../../src/fast/aborts.js";
import { wait } from "../../src/lib/clock.js";
import { errorMessage, HookgateError } from "../../src/lib/errors.js";
import { InFlight } from "../../src/lib/in-flight.js";
import { Caller } from "./caller.js";
import { CatchUp, type Unread } from "./catch-up.js";
import { Channels } from "./channels.js";
import { connect, isRefusedAgain, wrongToken } from "./connect.js";
import { isForUs, type Self } from "./decode/message.js";
import { dmChatId } from "./dm.js";
import { encode, plainPart } from "./encode.js";
import { Intake } from "./intake.js";
import { Interactions } from "./interactions.js";
import { inviteUrl } from "./invite.js";
import { Ledger } from "./ledger.js";
import type { DiscordOptions } from "./options.js";
import { describeFailure, outcomeOf } from "./outcome.js";
import { readableText } from "./readable-text.js";
import { isReader } from "./reader.js";
import { keepRegistered, type RegistrationTrouble } from "./registration.js";
import { notConnected, send } from "./send.js";
import { accountMark, Session } from "./session.js";
import { openThread } from "./thread.js";

/** "A few minutes", says Discord of enforce_nonce; two are counted on. */
const NONCE_MEMORY_MS = 2 * 60_000;
const DRAIN_WITHIN_MS = 10_000;

/** What `send` and the traits need, while a run is under way. */
interface Running {
  freshLink(url: string, signal: AbortSignal): Promise<string | undefined>;
  channels: Channels;
  forgetLimits(): void;
  send(operation: SendOperation, signal: AbortSignal): Promise<SendResult>;
  isReader(at: Address, userId: string, signal: AbortSignal): Promise<boolean | undefined>;
  openThread(at: Address, messageId: string, name: string): Promise<Address | undefined>;
}

export function createDiscordAdapter(options: DiscordOptions): Adapter {
  let running: Running | undefined;
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
      const life = beginRun(options, context, signal, aborts);
      running = life;
      channels = life.channels;
      try {
        await life.serve();
      } finally {
        running = undefined;
        await life.end();
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

/** `aborts`: one for all runs, because the signals of sends outlive a run. */
function beginRun(options: DiscordOptions, context: AdapterContext, signal: AbortSignal, aborts: Aborts) {
  const { gateway, cursors, clock, logger } = context;
  let fail: (error: unknown) => void = () => {};
  const failure = new Promise<never>((_, reject) => {
    fail = (error) => reject(asHookgateError(error));
  });
  failure.catch(() => {}); // it is also raced in connect(); a failure after that is moot
  const ended = new AbortController();
  const runSignal = AbortSignal.any([signal, ended.signal]);
  const caller = new Caller(options, gateway, clock, logger);
  const ledger = new Ledger(cursors, clock, fail);
  const channels = new Channels(caller, ledger, clock, logger, runSignal);
  const interactions = new Interactions({ gateway, caller, channels, clock, logger });
  let self = parseSelf(ledger.get("bot"));
  let isRegistered = !options.isCommandRegistrationWanted;
  const sessions = new Map<number, Session>();
  const account = accountMark(options);
  const sends = new InFlight();

  const catchUp = new CatchUp({
    caller,
    ledger,
    clock,
    logger,
    signal: runSignal,
    limits: options.catchUp,
    port: {
      accept: (payload, raw) => intake.acceptMissed(payload, raw),
      isForUs: (payload) => self !== undefined && isForUs(payload, self),
      unreadable(reasons) {
        const [first] = reasons;
        unreadable =
          first &&
          unreadText(channels.nameOf(first[0], undefined) ?? `channel ${first[0]}`, first[1], reasons.size - 1);
        if (isOnline) reportOnline();
      },
    },
  });
  const intake: Intake = new Intake({
    gateway,
    channels,
    catchUp,
    interactions,
    clock,
    logger,
    self: () => self,
    identified(found) {
      self = found;
      ledger.note("bot", JSON.stringify(found));
    },
    fail,
  });

  let isOnline = false;
  /** Shown as a remark while online: everything but the slash commands works. */
  let registrationTrouble: RegistrationTrouble | undefined;
  let unreadable: Pick<AdapterState, "reason" | "hint"> | undefined;
  const reportOnline = () => gateway.state({ phase: "online", ...known(self), ...(registrationTrouble ?? unreadable) });

  let isChecking = false;
  /** One refused send may be a proxy's doing: the token is wrong when Discord says so a second time. */
  function checkToken(): void {
    if (isChecking) return;
    isChecking = true;
    isRefusedAgain(caller, runSignal)
      .then((isRefused) => isRefused && fail(wrongToken()))
      .finally(() => {
        isChecking = false;
      });
  }

  return {
    channels,
    send(operation: SendOperation, sendSignal: AbortSignal): Promise<SendResult> {
      if (!self) return Promise.resolve(notConnected("Discord is not connected yet"));
      const { applicationId } = self;
      const files = { allow: options.outgoing, freshLink: gateway.freshLink, logger };
      const acknowledged = (id: string) => interactions.acknowledged(id);
      const sending = { caller, channels, applicationId, files, acknowledged, unauthorized: checkToken };
      return sends.add(send(sending, operation, sendSignal, aborts));
    },
    forgetLimits: () => caller.forgetLimits(),
    freshLink: (url: string, askSignal: AbortSignal) => freshLink(caller, url, askSignal),
    isReader: (at: Address, userId: string, askSignal: AbortSignal) =>
      isReader({ caller, channels, signal: askSignal }, at, userId),
    openThread: (at: Address, messageId: string, name: string) =>
      openThread({ caller, channels, clock, signal: runSignal }, at, messageId, name),
    serve(): Promise<void> {
      gateway.state({ phase: "connecting", ...known(self) });
      catchUp.resume();
      return connect(
        {
          options,
          caller,
          pause: gateway.pause,
          intake,
          clock,
          logger,
          failure,
          session: (shardId) => sessionOf(sessions, shardId, () => new Session(ledger, shardId, account), self),
          onOnline() {
            isOnline = true;
            reportOnline();
            if (isRegistered || !self) return;
            isRegistered = true;
            const { applicationId } = self;
            void keepRegistered({ caller, applicationId, gateway, clock, logger, signal: runSignal }, (trouble) => {
              registrationTrouble = trouble;
              if (isOnline) reportOnline();
            });
          },
          onReconnecting(reason) {
            isOnline = false;
            gateway.state({ phase: "reconnecting", reason, ...known(self) });
          },
        },
        signal,
      );
    },
    /** Lets what is under way reach the disk, stores how far it got, and closes the pools. */
    async end(): Promise<void> {
      intake.close();
      const drained = Promise.all([...sessions.values()].map((session) => session.idle())).then(() =>
        interactions.idle(),
      );
      const limit = new AbortController();
      await Promise.race([drained, wait(clock, DRAIN_WITHIN_MS, limit.signal).catch(() => {})]); // aborted just below
      limit.abort();
      // The gateway limits how long a stop waits; a run that failed is not to wait long for the next one.
      await (signal.aborted ? sends.allEnded() : sends.allEndedWithin(clock, DRAIN_WITHIN_MS));
      ended.abort();
      // The store may be what failed; cursors that lag are made good by the replay.
      await ledger
        .flush()
        .catch((error) => logger.warn({ error: errorMessage(error) }, "Discord cursors were not stored"));
      await caller.close();
    },
  };
}

function sessionOf(
  sessions: Map<number, Session>,
  shardId: number,
  open: () => Session,
  self: Self | undefined,
): Session {
  let session = sessions.get(shardId);
  if (!session) {
    session = open();
    if (!self) session.drop(); // resumed, we would not know who we are
    sessions.set(shardId, session);
  }
  return session;
}

function known(self: Self | undefined): Pick<AdapterState, "botId" | "botName" | "inviteUrl"> {
  return self ? { botId: self.botId, botName: self.botName, inviteUrl: inviteUrl(self.applicationId) } : {};
}

function asHookgateError(error: unknown): HookgateError {
  if (error instanceof HookgateError) return error;
  return new HookgateError({
    code: "DISCORD_FAILED",
    message: `the Discord adapter cannot go on: ${errorMessage(error)}`,
    hint: "It is restarted and goes on from what is on disk.",
    retryable: true,
    cause: error,
  });
}

/** Our own ids, kept on disk because a resumed session does not tell them. */
const storedSelf = z.object({ botId: z.string(), applicationId: z.string(), botName: z.string() });

/** Undefined when absent or written by another version. */
function parseSelf(text: string | undefined): Self | undefined {
  if (text === undefined) return undefined;
  try {
    return storedSelf.parse(JSON.parse(text));
  } catch {
    return undefined; // a new session tells them again
  }
}

const refreshedLinks = z.object({ refreshed_urls: z.array(z.object({ refreshed: z.string().nullish() })) });

/**
 * A fresh address for a file of a message: the signed ones that Discord gives end after a day. Rejects retryable when Discord limits
 * requests or is in trouble. https://docs.discord.com/developers/reference#signed-attachment-cdn-urls
 */
async function freshLink(caller: Caller, url: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    const given = await caller.post("/attachments/refresh-urls", { body: { attachment_urls: [url] }, signal });
    return refreshedLinks.parse(given).refreshed_urls[0]?.refreshed ?? undefined;
  } catch (error) {
    // Asking twice does no harm, so all that is no refusal may be asked again.
    const outcome = outcomeOf(error, { repeat: "harmless", isInteraction: false, isPlain: true });
    throw new HookgateError({
      code: "DISCORD_GAVE_NO_LINK",
      message: describeFailure(error),
      retryable: outcome.kind === "retry",
      retryAfterMs: outcome.kind === "retry" ? outcome.afterMs : undefined,
      cause: error,
    });
  }
}

/** `others`: how many more channels have a reason, perhaps another one. */
function unreadText(place: string, { reason, isHidden }: Unread, others: number): { reason: string; hint: string } {
  const elsewhere = others === 1 ? "another channel" : `${others} other channels`;
  return {
    reason: `what was missed in ${place} cannot be read: ${reason}${others > 0 ? `; nor in ${elsewhere} (the log has the reasons)` : ""}`,
    hint: `${isHidden ? `Give the bot View Channel and Read Message History in ${place}. ` : ""}Hookgate tries again every minute.`,
  };
}
