/** The Telegram adapter: puts the parts together for one run, and tears them down after it. */
import type { UserFromGetMe } from "grammy/types";
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
import { backoffMs, MAX_PAUSE_MS } from "../../src/lib/backoff.js";
import { wait } from "../../src/lib/clock.js";
import { HookgateError } from "../../src/lib/errors.js";
import { InFlight } from "../../src/lib/in-flight.js";
import { tooLarge } from "../../src/lib/outgoing/file-bytes.js";
import { joinSignals } from "../../src/lib/signals.js";
import { type Caller, openCaller, unexpected } from "./caller.js";
import { registerCommands } from "./commands.js";
import { encode, plainPart } from "./encode.js";
import {
  describeFailure,
  isPassing,
  isTokenRefused,
  isTokenWrong,
  readFailure,
  requestError,
  retryAfterOf,
  runError,
} from "./errors.js";
import { Intake } from "./intake.js";
import type { TelegramOptions } from "./options.js";
import { Floods } from "./outcome.js";
import { poll } from "./poll.js";
import { send } from "./send.js";
import { openTopic } from "./topic.js";
import { answerCall, dropOwnWebhook, setWebhookAtLast, type WebhookHeaders, watchWebhook } from "./webhook.js";

export type { TelegramOptions } from "./options.js";

export interface TelegramAdapter extends Adapter {
  /**
   * Answers a call of Telegram's in webhook mode: resolves with the HTTP status, after the durable write. Rejects when the
   * update could not be stored, so that Telegram calls again.
   */
  webhook(headers: WebhookHeaders, body: unknown): Promise<number>;
}

const MENU_ATTEMPTS = 6;
const MENU_PAUSE = { firstMs: 2_000, maxMs: 60_000 };

/** https://core.telegram.org/bots/api#getfile */
const DOWNLOAD_MAX = 20_000_000;
/** How long a run that failed waits for its sends, before the next one starts. A stop has no limit here: the gateway sets it. */
const DRAIN_WITHIN_MS = 10_000;

/** The run before ended because another program receives the bot's updates: until that is over, nobody is told that all is well. */
interface Contest {
  error?: HookgateError | undefined;
}

interface Running {
  caller: Caller;
  intake: Intake;
  send(operation: SendOperation, signal: AbortSignal): Promise<SendResult>;
  openTopic(at: Address, name: string): Promise<Address | undefined>;
}

export function createTelegramAdapter(options: TelegramOptions): TelegramAdapter {
  let running: Running | undefined;
  const floods = new Floods();
  const contest: Contest = {};
  const aborts = new Aborts();
  const sends = new InFlight();
  const traits: AdapterTraits = {
    idempotentCreate: false,
    idsPerChat: true,
    keepsBacklog: true,
    // Bots are told of no deletion: https://core.telegram.org/bots/api#update
    neverReports: ["message_deleted"],
    limits: options.limits,
    isGroup: (chatId) => chatId.startsWith("-"),
    // Of supergroups: https://core.telegram.org/api/links#message-links
    linkTo({ chatId, threadId }, messageId) {
      const id = /^-100(\d+)$/.exec(chatId)?.[1];
      return id && `https://t.me/c/${id}/${threadId === undefined ? "" : `${threadId}/`}${messageId}`;
    },
    // https://core.telegram.org/bots/api#markdownv2-style
    placeName: ({ chatId }) => running?.intake.titleOf(chatId),
    linkToPerson: (userId) => `tg://user?id=${userId}`,
    privateAddress: (at, userId) =>
      at.chatId === userId ? undefined : { platform: at.platform, botId: at.botId, chatId: userId },
  };
  return {
    platform: "telegram",
    traits,
    async run(context, signal) {
      const caller = openCaller(options, aborts);
      try {
        await serve(options, context, caller, signal, contest, (intake, tokenRefused) => {
          const { clock, logger } = context;
          const { freshLink } = context.gateway;
          const { uploadTimeoutMs, fileSilenceMs, maxFileBytes, outgoing } = options;
          const files = { uploadTimeoutMs, fileSilenceMs, maxFileBytes, outgoing, freshLink };
          const sending = { caller, floods, clock, ...files, tokenRefused, logger };
          running = {
            caller,
            intake,
            send: (operation, stop) => send(sending, operation, stop),
            openTopic: (at, name) => openTopic({ caller, clock, signal }, at, name),
          };
        });
      } finally {
        running = undefined;
        // Closed earlier, every send under way would be in doubt.
        await (signal.aborted ? sends.allEnded() : sends.allEndedWithin(context.clock, DRAIN_WITHIN_MS));
        await caller.close();
      }
    },
    encode: (message, _at, encoding) => encode(message, encoding),
    plainPart,
    async fetchAttachment({ ref }, signal) {
      if (!running) throw notConnected();
      const { caller } = running;
      try {
        const { file_path: path } = await caller.call("getFile", { file_id: ref }, signal);
        if (path === undefined)
          throw new HookgateError({ code: "FILE_UNAVAILABLE", message: "Telegram gives no way to the file" });
        return await caller.download(path, Math.min(options.maxFileBytes, DOWNLOAD_MAX), signal);
      } catch (thrown) {
        const failure = readFailure(thrown);
        if (failure.kind === "refused" && /file is too big/i.test(failure.description)) throw tooLarge(DOWNLOAD_MAX);
        throw requestError(thrown, "FILE_UNAVAILABLE", "Telegram does not give the file");
      }
    },
    send(operation, signal) {
      if (!running) return Promise.resolve({ kind: "retry", error: "Telegram is not connected", scope: "bot" });
      return sends.add(running.send(operation, signal));
    },
    // A mention notifies members only. Of people whom the bot never met, Telegram says nothing. https://core.telegram.org/bots/api#getchatmember
    async isReader({ chatId }, userId, signal) {
      if (!running) throw notConnected();
      if (!chatId.startsWith("-")) return undefined;
      const { intake, caller } = running;
      // What is said of this answer names the group. Without its title the answer is as good.
      if (intake.titleOf(chatId) === undefined)
        await caller.call("getChat", { chat_id: chatId }, signal).then(
          (chat) => intake.learnTitle({ message: { chat } }),
          () => undefined,
        );
      const asked = { chat_id: chatId, user_id: Number(userId) };
      const member = await caller.call("getChatMember", asked, signal).catch((thrown: unknown) => {
        const failure = readFailure(thrown);
        if (failure.kind === "refused" && failure.status === 400) return undefined;
        throw thrown;
      });
      return member === undefined
        ? undefined
        : !(
            member.status === "left" ||
            member.status === "kicked" ||
            (member.status === "restricted" && !member.is_member)
          );
    },
    async openTopic(at, name) {
      if (!running) throw notConnected();
      return running.openTopic(at, name);
    },
    async webhook(headers, body) {
      // Not 2xx: Telegram keeps the update and calls again.
      if (!running || !options.webhook) return 503;
      return answerCall(headers, body, options.webhook.secret, running.intake);
    },
  };
}

function notConnected(): HookgateError {
  return new HookgateError({ code: "TELEGRAM_OFFLINE", message: "Telegram is not connected", retryable: true });
}

async function serve(
  options: TelegramOptions,
  context: AdapterContext,
  caller: Caller,
  signal: AbortSignal,
  contest: Contest,
  start: (intake: Intake, tokenRefused: (thrown: unknown) => void) => void,
): Promise<void> {
  const { gateway, cursors, clock, logger } = context;
  gateway.state({ phase: "connecting" });
  const me = await caller
    .call("getMe", {}, signal)
    .then(requireBot)
    .catch((thrown: unknown) => stopOrThrow(thrown, context, caller, signal));
  if (!me) return;
  const known = {
    botId: String(me.id),
    botName: me.username,
    // https://core.telegram.org/bots/features#deep-linking
    inviteUrl: `https://t.me/${me.username}?startgroup=true`,
  };
  const state = (phase: AdapterState["phase"], reason?: string, hint?: string) =>
    gateway.state({ phase, ...known, reason, hint });
  const commands = gateway.commands();
  const self = { botId: known.botId, username: me.username, commands: new Set(commands.map(({ name }) => name)) };
  const ended = new AbortController();
  const whileConnected = joinSignals(signal, ended.signal);
  const intake = new Intake({ self, gateway, caller, cursors, clock, logger, signal: whileConnected.signal });
  // Calls that do not arrive say nothing of what is sent.
  const receiving: typeof state = (phase, reason, hint) =>
    phase === "reconnecting"
      ? gateway.state({ phase, ...known, reason: reason ?? "", hint, isSending: true })
      : state(phase, reason, hint);
  const refused = new AbortController();
  const webhooks = { caller, cursors, clock, logger, state: receiving, refused: refused.signal };
  start(intake, (thrown) => refused.abort(thrown));
  try {
    if (!options.webhook) await dropOwnWebhook(webhooks);
    else if (!(await setWebhookAtLast(webhooks, options.webhook, signal))) return;
    const { error } = options.webhook ? {} : contest;
    // What is sent is not contested.
    if (error) receiving("reconnecting", error.message, error.hint);
    else state("online");
    const registered = options.isCommandRegistrationWanted ? register() : undefined;
    if (options.webhook) await watchWebhook(webhooks, options.webhook, signal);
    else {
      const polled: typeof state = (phase, reason) => {
        if (phase === "online") contest.error = undefined;
        state(phase, reason);
      };
      const { pollTimeoutMs } = options;
      const isContested = error !== undefined;
      await poll({ caller, intake, clock, logger, pollTimeoutMs, isContested, state: polled }, signal);
    }
    await registered;
  } catch (thrown) {
    const failure = readFailure(thrown);
    if (failure.kind === "refused" && failure.status === 409) contest.error = runError(thrown, caller.apiUrl);
    await stopOrThrow(thrown, context, caller, signal);
  } finally {
    // The next connection looks at the menu itself.
    ended.abort();
    whileConnected.release();
    await intake.drain();
  }

  /** The menu is a convenience: without it every command still works. */
  async function register(): Promise<void> {
    const { signal } = whileConnected;
    for (let attempt = 1; !signal.aborted; attempt++) {
      try {
        await registerCommands(caller, commands, logger, signal);
        return;
      } catch (thrown) {
        const failure = readFailure(thrown);
        const isLast = attempt === MENU_ATTEMPTS || !isPassing(failure);
        const then = isLast ? "the next start tries again" : "it is tried again";
        if (!signal.aborted)
          logger.warn({ error: describeFailure(failure) }, `the command menu could not be registered; ${then}`);
        if (isLast) return;
        await wait(clock, retryAfterOf(failure) ?? backoffMs(MENU_PAUSE, attempt), signal).catch(() => {});
      }
    }
  }
}

/** Without an id, addresses would name no bot. */
function requireBot(me: UserFromGetMe): UserFromGetMe {
  if (Number.isSafeInteger(me.id) && typeof me.username === "string") return me;
  throw unexpected("getMe", me);
}

/** A failure during a stop is none. A limit becomes a stored pause, so that a restart does not ask earlier. */
async function stopOrThrow(
  thrown: unknown,
  { gateway }: AdapterContext,
  caller: Caller,
  signal: AbortSignal,
): Promise<undefined> {
  if (signal.aborted) return undefined;
  const failure = readFailure(thrown);
  const isWrong = isTokenRefused(failure) && (await isTokenWrong(caller, signal));
  if (signal.aborted) return undefined;
  const error = runError(thrown, caller.apiUrl, isWrong);
  if (failure.kind === "refused" && failure.status === 429 && failure.retryAfterMs !== undefined)
    gateway.pause(Math.min(failure.retryAfterMs, MAX_PAUSE_MS), error.message);
  throw error;
}
