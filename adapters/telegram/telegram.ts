/** The Telegram adapter: puts the parts together for one run, and tears them down after it. */
import type { UserFromGetMe } from "grammy/types";
import type {
  Adapter,
  AdapterContext,
  AdapterState,
  AdapterTraits,
  EncodedPart,
  SendOperation,
  SendResult,
} from "../../src/domain/chat/adapter.js";
import type { Address } from "../../src/domain/chat/address.js";
import type { Attachment, OutboundMessage } from "../../src/domain/chat/message.js";
import { DRAIN_WITHIN_MS } from "../../src/domain/chat/platform-defaults.js";
import { Aborts } from "../../src/fast/aborts.js";
import { InFlight } from "../../src/lib/concurrency/in-flight.js";
import { joinSignals } from "../../src/lib/concurrency/signals.js";
import { HookgateError } from "../../src/lib/errors.js";
import { MAX_PAUSE_MS } from "../../src/lib/time/backoff.js";
import { withoutUndefined } from "../../src/lib/without-undefined.js";
import { type Caller, openCaller, unexpected } from "./caller.js";
import { keepRegistered, type MenuTrouble } from "./commands.js";
import { encode, plainPart } from "./encode.js";
import { isTokenRefused, isTokenWrong, readFailure, runError } from "./errors.js";
import { ownBytes } from "./files.js";
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

/** The run before ended because another program receives the bot's updates: until that has ended, the platform is not reported as online. */
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
  return new BotAdapter(options);
}

class BotAdapter implements TelegramAdapter {
  readonly platform = "telegram";
  readonly traits: AdapterTraits;
  readonly #options: TelegramOptions;
  /** Undefined while the bot is not known yet, and between two runs. */
  #running: Running | undefined;
  // All runs share these: sends, their signals and Telegram's answers outlive a run.
  readonly #floods = new Floods();
  readonly #contest: Contest = {};
  readonly #aborts = new Aborts();
  readonly #sends = new InFlight();

  constructor(options: TelegramOptions) {
    this.#options = options;
    this.traits = traitsOf(options, (chatId) => this.#running?.intake.titleOf(chatId));
  }

  async run(context: AdapterContext, signal: AbortSignal): Promise<void> {
    const caller = openCaller(this.#options, this.#aborts);
    try {
      await serve(this.#options, context, caller, signal, this.#contest, (intake, tokenRefused) => {
        this.#running = this.#connected(context, caller, signal, intake, tokenRefused);
      });
    } finally {
      this.#running = undefined;
      // Closed earlier, every send under way would be in doubt.
      await (signal.aborted ? this.#sends.allEnded() : this.#sends.allEndedWithin(context.clock, DRAIN_WITHIN_MS));
      await caller.close();
    }
  }

  encode(message: OutboundMessage, _at: Address, encoding: { plain: boolean }): EncodedPart[] {
    return encode(message, encoding);
  }

  plainPart(part: EncodedPart): EncodedPart[] | undefined {
    return plainPart(part);
  }

  async fetchAttachment(file: Attachment, signal: AbortSignal): Promise<Uint8Array> {
    if (!this.#running) throw notConnected();
    return ownBytes(file, this.#running.caller, { maxBytes: this.#options.maxFileBytes, signal });
  }

  send(operation: SendOperation, signal: AbortSignal): Promise<SendResult> {
    if (!this.#running) return Promise.resolve({ kind: "retry", error: "Telegram is not connected", scope: "bot" });
    return this.#sends.add(this.#running.send(operation, signal));
  }

  // A mention notifies members only. Telegram reports nothing about people whom the bot never met.
  // https://core.telegram.org/bots/api#getchatmember
  async isReader({ chatId }: Address, userId: string, signal: AbortSignal): Promise<boolean | undefined> {
    if (!this.#running) throw notConnected();
    if (!chatId.startsWith("-")) return undefined;
    const { intake, caller } = this.#running;
    // Texts about this answer name the group. The answer is just as good without the group's title.
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
  }

  async openTopic(at: Address, name: string): Promise<Address | undefined> {
    if (!this.#running) throw notConnected();
    return this.#running.openTopic(at, name);
  }

  async webhook(headers: WebhookHeaders, body: unknown): Promise<number> {
    const { webhook } = this.#options;
    // Not 2xx: Telegram keeps the update and calls again.
    if (!this.#running || !webhook) return 503;
    return answerCall(headers, body, webhook.secret, this.#running.intake);
  }

  #connected(
    { gateway, clock, logger }: AdapterContext,
    caller: Caller,
    signal: AbortSignal,
    intake: Intake,
    tokenRefused: (thrown: unknown) => void,
  ): Running {
    const { uploadTimeoutMs, fileSilenceMs, maxFileBytes, outgoing } = this.#options;
    const files = { uploadTimeoutMs, fileSilenceMs, maxFileBytes, outgoing, freshLink: gateway.freshLink };
    const sending = { caller, floods: this.#floods, clock, ...files, tokenRefused, logger };
    return {
      caller,
      intake,
      send: (operation, stop) => send(sending, operation, stop),
      openTopic: (at, name) => openTopic({ caller, clock, signal }, at, name),
    };
  }
}

function traitsOf({ limits }: TelegramOptions, titleOf: (chatId: string) => string | undefined): AdapterTraits {
  return {
    idempotentCreate: false,
    idsPerChat: true,
    keepsBacklog: true,
    // Bots get no update for a deletion: https://core.telegram.org/bots/api#update
    neverReports: ["message_deleted"],
    limits,
    isGroup: (chatId) => chatId.startsWith("-"),
    // Supergroups only: https://core.telegram.org/api/links#message-links
    linkTo({ chatId, threadId }, messageId) {
      const id = /^-100(\d+)$/.exec(chatId)?.[1];
      return id && `https://t.me/c/${id}/${threadId === undefined ? "" : `${threadId}/`}${messageId}`;
    },
    placeName: ({ chatId }) => titleOf(chatId),
    // https://core.telegram.org/bots/api#markdownv2-style
    linkToPerson: (userId) => `tg://user?id=${userId}`,
    privateAddress: (at, userId) =>
      at.chatId === userId ? undefined : { platform: at.platform, botId: at.botId, chatId: userId },
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
  const { state, receiving, menu } = reporting(gateway, known);
  const commands = new Set(gateway.commands().map(({ name }) => name));
  const self = { botId: known.botId, username: me.username, commands };
  const ended = new AbortController();
  const whileConnected = joinSignals(signal, ended.signal);
  const intake = new Intake({ self, gateway, caller, cursors, clock, logger, signal: whileConnected.signal });
  const refused = new AbortController();
  const webhooks = { caller, cursors, clock, logger, state: receiving, refused: refused.signal };
  start(intake, (thrown) => refused.abort(thrown));
  try {
    if (!options.webhook) await dropOwnWebhook(webhooks);
    else if (!(await setWebhookAtLast(webhooks, options.webhook, signal))) return;
    const { error } = options.webhook ? {} : contest;
    // Sending is not contested.
    const contested = error && (() => receiving("reconnecting", error.message, error.hint));
    if (contested) contested();
    else state("online");
    const registered = options.isCommandRegistrationWanted
      ? keepRegistered({ gateway, clock, logger, caller, signal: whileConnected.signal }, menu)
      : undefined;
    if (options.webhook) await watchWebhook(webhooks, options.webhook, signal);
    else {
      const polled: typeof state = (phase, reason, hint) => {
        if (phase === "online") contest.error = undefined;
        state(phase, reason, hint);
      };
      const { pollTimeoutMs } = options;
      await poll({ caller, intake, clock, logger, pollTimeoutMs, contested, state: polled }, signal);
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
}

type Report = (phase: AdapterState["phase"], reason?: string, hint?: string) => void;

/** `receiving`: calls that do not arrive prove nothing for sending. `menu`: its trouble is a remark while all else is well. */
function reporting(gateway: AdapterContext["gateway"], known: Partial<AdapterState>) {
  let trouble: MenuTrouble | undefined;
  let isWell = false;
  const state = (next: Pick<AdapterState, "phase" | "hint" | "isSending"> & { reason: string | undefined }) => {
    isWell = next.phase === "online" && next.reason === undefined;
    gateway.state(withoutUndefined({ ...known, ...next, ...(isWell ? trouble : undefined) }));
  };
  const report: Report = (phase, reason, hint) => state({ phase, reason, hint });
  const receiving: Report = (phase, reason = "", hint) =>
    phase === "reconnecting" ? state({ phase, reason, hint, isSending: true }) : report(phase, reason, hint);
  const menu = (found: MenuTrouble | undefined) => {
    trouble = found;
    if (isWell) report("online");
  };
  return { state: report, receiving, menu };
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
