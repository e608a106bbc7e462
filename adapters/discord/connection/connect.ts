/**
 * One life of the connection: open, keep watch, close. Small breaks are resumed inside; a break that lasts longer than the
 * connect timeout ends the run with a retryable error, and the supervisor tries again with back-off.
 */
import { GatewayCloseCodes, GatewayIntentBits, GatewayOpcodes, Routes } from "discord-api-types/v10";
import type { GatewayPort } from "../../../src/domain/chat/adapter.js";
import { TOKEN_PAUSE_MS } from "../../../src/domain/chat/platform-defaults.js";
import { HookgateError } from "../../../src/lib/errors.js";
import type { Logger } from "../../../src/lib/logger.js";
import type { Clock, Timer } from "../../../src/lib/time/clock.js";
import type { Caller } from "../caller.js";
import type { Intake } from "../intake.js";
import type { DiscordOptions } from "../options.js";
import { Limited, OwnLimit } from "../rest/errors.js";
import { describeFailure, isTokenRefused } from "../rest/outcome.js";
import { InvalidRequestPause } from "../rest/refusals.js";
import type { Session } from "./session.js";
import { openSocket } from "./socket.js";

interface Context {
  options: DiscordOptions;
  caller: Caller;
  pause: GatewayPort["pause"];
  intake: Intake;
  clock: Clock;
  logger: Logger;
  session(shardId: number): Session;
  /** Every shard is online. */
  onOnline(): void;
  onReconnecting(why: string): void;
  /** Rejects when something outside the connection ends the run (an inbox that refuses, a refused token). */
  failure: Promise<never>;
}

/** Close codes after which a session cannot be resumed. https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway-gateway-close-event-codes */
const SESSION_OVER: ReadonlySet<number> = new Set([
  1000,
  1001,
  GatewayCloseCodes.InvalidSeq,
  GatewayCloseCodes.SessionTimedOut,
]);

/** A connection that lasted this long was no failure. */
const STEADY_MS = 60_000;
/** This many short connections in a row end the run: the next run starts after a pause that grows. */
const SHORT_CONNECTIONS = 5;

/** A session whose server was silent for so long is checked. */
const RESUME_WITHIN_MS = 10_000;

/** Serves until the signal aborts; rejects with a HookgateError when it cannot go on. */
export async function connect(context: Context, signal: AbortSignal): Promise<void> {
  const { options, caller, logger } = context;
  let fail: (error: unknown) => void = () => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  const watch = new Watch(context, fail);
  const socket = openSocket(
    { token: options.token, intents: intents(options), caller },
    {
      session(shardId) {
        watch.connecting(shardId);
        return context.session(shardId).info();
      },
      sessionStarted(shardId, info) {
        context.intake.hurry(); // the rest of the session before
        context.session(shardId).start(info);
      },
      sessionEnded: (shardId) => context.session(shardId).drop(),
      frame: (shardId, op) => watch.frame(shardId, op),
      malformed: (shardId, why) => logger.warn({ shardId }, `skipped a malformed Discord frame: ${why}`),
      dispatch: (shardId, payload) => context.intake.take(context.session(shardId), payload),
      mustWait: () => context.intake.mustWait(),
      isTooMuch: () => context.intake.isTooMuch,
      unread: (shardId, sequence, text) => context.intake.takeLater(context.session(shardId), sequence, text),
      online: (shardId) => watch.online(shardId),
      closed(shardId, code) {
        if (code === GatewayCloseCodes.AuthenticationFailed)
          return void tokenError(`close code ${code}`, caller, signal).then(fail);
        const fatal = fatalClose(code);
        if (fatal) return fail(fatal);
        if (SESSION_OVER.has(code)) context.session(shardId).drop();
        logger.info({ shardId, code }, "the Discord connection closed; reconnecting");
        watch.offline(shardId);
        if (watch.shortConnections >= SHORT_CONNECTIONS) return fail(unsteady(code));
        const why = code === RESUMING ? `: ${RESUMING_WHY}` : "";
        context.onReconnecting(`connection closed (${code})${why}`);
      },
    },
  );
  const aborted = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
  watch.start();
  try {
    const connecting = socket.connect();
    connecting.catch(async (error) => fail(await connectError(error, context, signal)));
    await Promise.race([aborted, failed, context.failure]);
  } finally {
    watch.stop();
    await socket.close();
  }
}

function intents(options: DiscordOptions): number {
  return (
    GatewayIntentBits.Guilds |
    GatewayIntentBits.GuildMessages |
    GatewayIntentBits.GuildMessageReactions |
    GatewayIntentBits.DirectMessages |
    GatewayIntentBits.DirectMessageReactions |
    (options.isMessageContentWanted ? GatewayIntentBits.MessageContent : 0)
  );
}

/**
 * Fires when a shard is not online and nothing has come in for the connect timeout: a HELLO, READY or RESUMED that never
 * comes has no timer anywhere else. Gives up a session whose server does not answer us while Discord's API does:
 * `resume_gateway_url` names one zone, which may be gone for good, or greet us and never answer the RESUME.
 */
class Watch {
  readonly #context: Context;
  readonly #fail: (error: unknown) => void;
  /** With the time at which they came online. */
  readonly #online = new Map<number, number>();
  /** How many in a row closed soon after they came online. */
  shortConnections = 0;
  /** Shards that were greeted on their present connection. */
  readonly #greeted = new Set<number>();
  readonly #seen = new Set<number>([0]);
  /** Shards that were to connect. */
  readonly #tried = new Set<number>();
  /** Shards that were greeted or sent an event since the last check. Heartbeats alone are no progress. */
  readonly #advanced = new Set<number>();
  #timer: Timer | undefined;
  #checkTimer: Timer | undefined;

  constructor(context: Context, fail: (error: unknown) => void) {
    this.#context = context;
    this.#fail = fail;
  }

  start(): void {
    this.stop();
    const { clock, options } = this.#context;
    this.#timer = clock.after(options.connectTimeoutMs, () => this.#fire());
    this.#checkLater();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#checkTimer?.cancel();
    this.#checkTimer = undefined;
  }

  connecting(shardId: number): void {
    this.#tried.add(shardId);
  }

  frame(shardId: number, op: number): void {
    this.#seen.add(shardId);
    if (op === GatewayOpcodes.Hello) {
      this.#greeted.add(shardId);
      this.#advanced.add(shardId);
    }
    // A long replay is progress; heartbeats alone are not.
    if (op === GatewayOpcodes.Dispatch && this.#timer && !this.#online.has(shardId)) {
      this.#advanced.add(shardId);
      this.start();
    }
  }

  online(shardId: number): void {
    this.#online.set(shardId, this.#context.clock.monotonic());
    if (this.#online.size < this.#seen.size) return;
    this.stop();
    this.#context.onOnline();
  }

  offline(shardId: number): void {
    this.#greeted.delete(shardId);
    const since = this.#online.get(shardId);
    if (since !== undefined) {
      const lastedMs = this.#context.clock.monotonic() - since;
      this.shortConnections = lastedMs < STEADY_MS ? this.shortConnections + 1 : 0;
    }
    if (this.#online.delete(shardId) || !this.#timer) this.start();
  }

  #checkLater(): void {
    const { clock, options } = this.#context;
    const delayMs = Math.min(RESUME_WITHIN_MS, options.connectTimeoutMs / 3);
    this.#checkTimer = clock.after(delayMs, () => void this.#check());
  }

  /** Without an answer from Discord's API the network is down, and the session is kept. */
  async #check(): Promise<void> {
    const { caller, session, logger } = this.#context;
    const isDead = (shardId: number) =>
      !this.#online.has(shardId) && !this.#advanced.has(shardId) && session(shardId).id !== undefined;
    if ([...this.#tried].some(isDead)) {
      const isReachable = await caller.get(Routes.gatewayBot()).then(
        () => true,
        () => false,
      );
      if (!this.#checkTimer) return; // stopped meanwhile
      const dead = isReachable ? [...this.#tried].filter(isDead) : [];
      for (const shardId of dead) {
        logger.warn({ shardId }, "the server of this Discord session does not answer; a new session starts");
        session(shardId).giveUp();
      }
      if (dead.length > 0)
        return this.#fail(
          new HookgateError({
            code: "DISCORD_RESUME",
            message: "the server of the Discord session does not answer",
            hint: "A new session starts by itself; messages that were missed are read from the channels.",
            retryable: true,
          }),
        );
    }
    this.#advanced.clear();
    if (this.#checkTimer) this.#checkLater();
  }

  #fire(): void {
    const { connectTimeoutMs } = this.#context.options;
    const step = this.#greeted.size === 0 ? "did not greet" : "neither resumed nor started a session";
    this.#fail(
      new HookgateError({
        code: "DISCORD_TIMEOUT",
        message: `Discord ${step} within ${connectTimeoutMs} ms`,
        hint: "Discord or the network is in trouble; it is tried again.",
        retryable: true,
      }),
    );
  }
}

function unsteady(code: number): HookgateError {
  const [message, check] =
    code === RESUMING
      ? [
          `Hookgate gave up ${SHORT_CONNECTIONS} connections in a row soon after they were made: ${RESUMING_WHY}`,
          "Check the network, proxy and firewall between Hookgate and Discord.",
        ]
      : [
          `Discord closed ${SHORT_CONNECTIONS} connections in a row soon after they were made (close code ${code})`,
          "Check whether another program uses the same bot token.",
        ];
  return new HookgateError({
    code: "DISCORD_UNSTEADY",
    message,
    hint: `Hookgate connects again by itself after a pause; no message is lost. ${check}`,
    retryable: true,
  });
}

/** Why a close code means that trying again soon is no use. */
function fatalClose(code: number): HookgateError | undefined {
  switch (code) {
    case GatewayCloseCodes.DisallowedIntents:
      return new HookgateError({
        code: "DISCORD_INTENT",
        message: "Discord does not grant this bot the Message Content intent (close code 4014)",
        hint: "Switch on Message Content Intent under Bot in the Discord developer portal; the connection is tried again every 5 minutes. Or set discord.message_content: false and restart Hookgate.",
        retryAfterMs: REFUSED_PAUSE_MS,
      });
    case GatewayCloseCodes.InvalidIntents:
      return refusedConnection(code, "Discord does not accept the intents of the connection");
    case GatewayCloseCodes.InvalidAPIVersion:
      return refusedConnection(code, "Discord does not accept version 10 of its gateway any more");
    case GatewayCloseCodes.InvalidShard:
      return refusedConnection(code, "Discord does not accept the shard of the connection");
    case GatewayCloseCodes.ShardingRequired:
      return refusedConnection(
        code,
        "Discord requires more shards: the bot is in too many servers for this connection",
      );
    default:
      return undefined;
  }
}

/** A person may have to act, or Discord repairs a mistake of its own; Discord allows 1,000 sessions a day. */
const REFUSED_PAUSE_MS = 300_000;

function refusedConnection(code: number, why: string): HookgateError {
  return new HookgateError({
    code: "DISCORD_REFUSED",
    message: `${why} (close code ${code})`,
    hint: "The connection is tried again every 5 minutes. If it stays refused, update Hookgate; if that does not help, report the close code.",
    retryAfterMs: REFUSED_PAUSE_MS,
  });
}

/** @discordjs/ws closed it itself, to resume the session. */
const RESUMING = 4200;
const RESUMING_WHY = "Discord asked for a new one, or did not answer heartbeats";

/** None may be started before Discord's own time; one that is bought or reset is found within it. */
const SESSIONS_PAUSE_MS = 60_000;

export function wrongToken(): HookgateError {
  return new HookgateError({
    code: "DISCORD_TOKEN",
    message: "Discord refuses the bot token",
    hint: "Copy a new token from the developer portal (Bot → Reset Token) into DISCORD_TOKEN, then restart Hookgate. Without a restart it tries the same token again every minute.",
    retryAfterMs: TOKEN_PAUSE_MS,
  });
}

/** Whether Discord refuses the token also where another server answers: one 401 may be a mistake. */
export function isRefusedAgain(caller: Caller, signal: AbortSignal): Promise<boolean> {
  return caller.get(Routes.user(), { signal }).then(() => false, isTokenRefused);
}

/** After one refusal of the token. */
async function tokenError(how: string, caller: Caller, signal: AbortSignal, cause?: unknown): Promise<HookgateError> {
  if (await isRefusedAgain(caller, signal)) return wrongToken();
  return new HookgateError({
    code: "DISCORD_REFUSED_ONCE",
    message: `Discord refused the token once (${how}), and took it when it was asked again`,
    hint: "Hookgate connects again by itself. If this happens again, check the network, proxy and firewall between Hookgate and Discord.",
    retryable: true,
    cause,
  });
}

/** The reason why no connection was tried: the token, a limit, the network, or the daily number of sessions. */
async function connectError(
  error: unknown,
  { caller, pause }: Pick<Context, "caller" | "pause">,
  signal: AbortSignal,
): Promise<HookgateError> {
  if (error instanceof HookgateError) return error;
  if (isTokenRefused(error)) return await tokenError("401", caller, signal, error);
  const message = describeFailure(error);
  if (error instanceof OwnLimit)
    return new HookgateError({ code: "DISCORD_PAUSED", message, retryable: true, cause: error });
  if (error instanceof Limited) pause(error.afterMs, message);
  if (error instanceof Limited || error instanceof InvalidRequestPause)
    return new HookgateError({
      code: "DISCORD_PAUSED",
      message,
      hint: "Hookgate connects by itself after the pause; /pauses shows how long it lasts.",
      retryable: true,
      cause: error,
    });
  if (message.startsWith("Not enough sessions"))
    return new HookgateError({
      code: "DISCORD_SESSIONS",
      message: `Discord allows no new session${/resets at (\S+)/.exec(message)?.[1]?.replace(/^/, " before ") ?? " now"}`,
      hint: "The bot was started too often today. Hookgate tries again every minute; do not restart it.",
      retryable: true,
      retryAfterMs: SESSIONS_PAUSE_MS,
      cause: error,
    });
  return new HookgateError({
    code: "DISCORD_UNREACHABLE",
    message: `Discord cannot be reached: ${message}`,
    hint: "Check the network, and DISCORD_API_URL when it is set.",
    retryable: true,
    cause: error,
  });
}
