/** One run of the adapter: puts its parts together, serves the connection, and tears them down after it. */
import { z } from "zod";
import type { AdapterContext, AdapterState, SendOperation, SendResult } from "../../src/domain/chat/adapter.js";
import type { Address } from "../../src/domain/chat/address.js";
import { DRAIN_WITHIN_MS } from "../../src/domain/chat/platform-defaults.js";
import type { Aborts } from "../../src/fast/aborts.js";
import { InFlight } from "../../src/lib/concurrency/in-flight.js";
import { errorMessage, HookgateError } from "../../src/lib/errors.js";
import { wait } from "../../src/lib/time/clock.js";
import { Caller } from "./caller.js";
import { Channels } from "./channels.js";
import { CatchUp, type Unreachable } from "./connection/catch-up.js";
import { connect, isRefusedAgain, wrongToken } from "./connection/connect.js";
import { Ledger } from "./connection/ledger.js";
import { accountMark, Session } from "./connection/session.js";
import { isForUs, type Self } from "./decode/message.js";
import { Intake } from "./intake.js";
import { Interactions } from "./interactions.js";
import { inviteUrl } from "./invite.js";
import type { DiscordOptions } from "./options.js";
import { isReader } from "./reader.js";
import { describeFailure, outcomeOf } from "./rest/outcome.js";
import { keepRegistered, type RegistrationTrouble } from "./rest/registration.js";
import { notConnected, send } from "./rest/send.js";
import { openThread } from "./rest/thread.js";

export class Run {
  readonly channels: Channels;
  readonly #options: DiscordOptions;
  readonly #context: AdapterContext;
  /** The adapter is to stop. */
  readonly #stop: AbortSignal;
  readonly #aborts: Aborts;
  readonly #ended = new AbortController();
  /** The adapter is to stop, or this run has ended. */
  readonly #signal: AbortSignal;
  /** Rejects when this run cannot go on. */
  readonly #failure: Promise<never>;
  #fail: (error: unknown) => void = () => {};
  readonly #caller: Caller;
  readonly #ledger: Ledger;
  readonly #interactions: Interactions;
  readonly #catchUp: CatchUp;
  readonly #intake: Intake;
  /** By shard. */
  readonly #sessions = new Map<number, Session>();
  readonly #sends = new InFlight();
  #self: Self | undefined;
  #isOnline = false;
  #isRegistered: boolean;
  #isCheckingToken = false;
  /** Shown as a remark while online: everything but the slash commands works. */
  #registrationTrouble: RegistrationTrouble | undefined;
  /** Shown as a remark while online: the missed messages of some channels cannot be read. */
  #unreachable: Pick<AdapterState, "reason" | "hint"> | undefined;

  /** `aborts`: one for all runs, because the signals of sends outlive a run. */
  constructor(options: DiscordOptions, context: AdapterContext, stop: AbortSignal, aborts: Aborts) {
    const { gateway, cursors, clock, logger } = context;
    this.#options = options;
    this.#context = context;
    this.#stop = stop;
    this.#aborts = aborts;
    this.#signal = AbortSignal.any([stop, this.#ended.signal]);
    this.#failure = new Promise<never>((_, reject) => {
      this.#fail = (error) => reject(asHookgateError(error));
    });
    this.#failure.catch(() => {}); // it is also raced in connect(); a failure after that is moot
    this.#caller = new Caller(options, gateway, clock, logger);
    this.#ledger = new Ledger(cursors, clock, this.#fail);
    this.channels = new Channels(this.#caller, this.#ledger, clock, logger, this.#signal);
    this.#interactions = new Interactions({ gateway, caller: this.#caller, channels: this.channels, clock, logger });
    this.#self = parseSelf(this.#ledger.get("bot"));
    this.#isRegistered = !options.isCommandRegistrationWanted;
    this.#catchUp = new CatchUp({
      caller: this.#caller,
      ledger: this.#ledger,
      clock,
      logger,
      signal: this.#signal,
      limits: options.catchUp,
      port: {
        accept: (payload, raw) => this.#intake.acceptMissed(payload, raw),
        isForUs: (payload) => this.#self !== undefined && isForUs(payload, this.#self),
        unreachable: (reasons) => this.#noteUnreachable(reasons),
      },
    });
    this.#intake = new Intake({
      gateway,
      channels: this.channels,
      catchUp: this.#catchUp,
      interactions: this.#interactions,
      clock,
      logger,
      self: () => this.#self,
      identified: (found) => {
        this.#self = found;
        this.#ledger.note("bot", JSON.stringify(found));
      },
      fail: this.#fail,
    });
  }

  send(operation: SendOperation, signal: AbortSignal): Promise<SendResult> {
    if (!this.#self) return Promise.resolve(notConnected("Discord is not connected yet"));
    const { gateway, logger } = this.#context;
    const sending = {
      caller: this.#caller,
      channels: this.channels,
      applicationId: this.#self.applicationId,
      files: { allow: this.#options.outgoing, freshLink: gateway.freshLink, logger },
      acknowledged: (id: string) => this.#interactions.acknowledged(id),
      unauthorized: () => this.#checkToken(),
    };
    return this.#sends.add(send(sending, operation, signal, this.#aborts));
  }

  forgetLimits(): void {
    this.#caller.forgetLimits();
  }

  freshLink(url: string, signal: AbortSignal): Promise<string | undefined> {
    return freshLink(this.#caller, url, signal);
  }

  isReader(at: Address, userId: string, signal: AbortSignal): Promise<boolean | undefined> {
    return isReader({ caller: this.#caller, channels: this.channels, signal }, at, userId);
  }

  openThread(at: Address, messageId: string, name: string): Promise<Address | undefined> {
    const { clock } = this.#context;
    const deps = { caller: this.#caller, channels: this.channels, clock, signal: this.#signal };
    return openThread(deps, at, messageId, name);
  }

  /** Until the adapter is to stop; rejects when the run cannot go on. */
  serve(): Promise<void> {
    const { gateway, clock, logger } = this.#context;
    gateway.state({ phase: "connecting", ...known(this.#self) });
    this.#catchUp.resume();
    return connect(
      {
        options: this.#options,
        caller: this.#caller,
        pause: gateway.pause,
        intake: this.#intake,
        clock,
        logger,
        failure: this.#failure,
        session: (shardId) => this.#sessionOf(shardId),
        onOnline: () => {
          this.#isOnline = true;
          this.#reportOnline();
          this.#register();
        },
        onReconnecting: (reason) => {
          this.#isOnline = false;
          gateway.state({ phase: "reconnecting", reason, ...known(this.#self) });
        },
      },
      this.#stop,
    );
  }

  /** Lets the events under way reach the disk, stores how far it got, and closes the pools. */
  async end(): Promise<void> {
    const { clock, logger } = this.#context;
    this.#intake.close();
    const drained = Promise.all([...this.#sessions.values()].map((session) => session.allEnded())).then(() =>
      this.#interactions.allEnded(),
    );
    const limit = new AbortController();
    await Promise.race([drained, wait(clock, DRAIN_WITHIN_MS, limit.signal).catch(() => {})]); // aborted just below
    limit.abort();
    // The gateway limits how long a stop waits; a run that failed is not to wait long for the next one.
    await (this.#stop.aborted ? this.#sends.allEnded() : this.#sends.allEndedWithin(clock, DRAIN_WITHIN_MS));
    this.#ended.abort();
    // The store may have failed; the replay makes up for cursors that lag.
    await this.#ledger
      .flush()
      .catch((error) => logger.warn({ error: errorMessage(error) }, "Discord cursors were not stored"));
    await this.#caller.close();
  }

  #sessionOf(shardId: number): Session {
    let session = this.#sessions.get(shardId);
    if (!session) {
      session = new Session(this.#ledger, shardId, accountMark(this.#options));
      if (!this.#self) session.drop(); // resumed, we would not know who we are
      this.#sessions.set(shardId, session);
    }
    return session;
  }

  /** Slash commands, once in a run. */
  #register(): void {
    if (this.#isRegistered || !this.#self) return;
    this.#isRegistered = true;
    const { gateway, clock, logger } = this.#context;
    const { applicationId } = this.#self;
    const deps = { caller: this.#caller, applicationId, gateway, clock, logger, signal: this.#signal };
    void keepRegistered(deps, (trouble) => {
      this.#registrationTrouble = trouble;
      if (this.#isOnline) this.#reportOnline();
    });
  }

  #reportOnline(): void {
    const remark = this.#registrationTrouble ?? this.#unreachable;
    this.#context.gateway.state({ phase: "online", ...known(this.#self), ...remark });
  }

  #noteUnreachable(reasons: ReadonlyMap<string, Unreachable>): void {
    const [first] = reasons;
    this.#unreachable =
      first &&
      unreachableText(this.channels.nameOf(first[0], undefined) ?? `channel ${first[0]}`, first[1], reasons.size - 1);
    if (this.#isOnline) this.#reportOnline();
  }

  /** A proxy may have refused one send: the token is wrong when Discord refuses it a second time. */
  #checkToken(): void {
    if (this.#isCheckingToken) return;
    this.#isCheckingToken = true;
    isRefusedAgain(this.#caller, this.#signal)
      .then((isRefused) => isRefused && this.#fail(wrongToken()))
      .finally(() => {
        this.#isCheckingToken = false;
      });
  }
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

/** Our own ids, kept on disk because a resumed session does not name them. */
const storedSelf = z.object({ botId: z.string(), applicationId: z.string(), botName: z.string() });

/** Undefined when absent or written by another version. */
function parseSelf(text: string | undefined): Self | undefined {
  if (text === undefined) return undefined;
  try {
    return storedSelf.parse(JSON.parse(text));
  } catch {
    return undefined; // a new session names them again
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
function unreachableText(
  place: string,
  { reason, mayBePermissions }: Unreachable,
  others: number,
): { reason: string; hint: string } {
  const elsewhere = others === 1 ? "another channel" : `${others} other channels`;
  return {
    reason: `what was missed in ${place} cannot be read: ${reason}${others > 0 ? `; nor in ${elsewhere} (the log has the reasons)` : ""}`,
    hint: `${mayBePermissions ? `Give the bot View Channel and Read Message History in ${place}. ` : ""}Hookgate tries again every minute.`,
  };
}
