/** Webhook mode: Telegram calls us. A call is answered only when its update is on disk; anything but 2xx comes again. */
import { createHash } from "node:crypto";
import type { WebhookInfo } from "grammy/types";
import type { AdapterState, CursorStore } from "../../src/domain/chat/adapter.js";
import { HookgateError } from "../../src/lib/errors.js";
import type { Logger } from "../../src/lib/logger.js";
import { sameSecret } from "../../src/lib/signing/secret.js";
import { backoffMs, MAX_PAUSE_MS } from "../../src/lib/time/backoff.js";
import { type Clock, wait } from "../../src/lib/time/clock.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import type { Caller } from "./caller.js";
import { describeFailure, isTokenRefused, readFailure, retryAfterOf } from "./errors.js";
import type { Intake } from "./intake.js";
import type { WebhookOptions } from "./options.js";
import { ALLOWED_UPDATES } from "./payloads.js";

const SECRET_HEADER = "x-telegram-bot-api-secret-token";
/** The webhook that we set ourselves, so that a change of mode may remove it again, and a change of secret is noticed. */
const CURSOR = "webhook";
/** How often Telegram is asked whether its calls arrive. */
const WATCH_EVERY_MS = 60_000;
/** A failure older than this no longer counts. */
const RECENT_S = 120;
/** A webhook that is lost again within this time is fought over. */
const FIGHT_MS = 600_000;
const SET_AGAIN = { firstMs: 1_000, maxMs: WATCH_EVERY_MS };
const HINT_SET =
  "Check the network and telegram.webhook.url. Hookgate tries again by itself; messages are sent meanwhile.";
/** The answer of our own endpoint, or of a proxy before it, to a call without the right secret. */
const NOT_LET_IN = /\b40[13]\b/;

export type WebhookHeaders = Record<string, string | string[] | undefined>;

/** The HTTP status to answer. Rejects when the update could not be stored. */
export async function answerCall(
  headers: WebhookHeaders,
  body: unknown,
  secret: string,
  intake: Intake,
): Promise<number> {
  const given = headers[SECRET_HEADER];
  if (typeof given !== "string" || !sameSecret(given, secret)) return 401;
  const update = readBody(body);
  if (update === undefined) return 400;
  await intake.take(update);
  return 200;
}

function readBody(body: unknown): unknown {
  if (typeof body !== "string" && !(body instanceof Uint8Array)) return body ?? undefined;
  try {
    return JSON.parse(typeof body === "string" ? body : Buffer.from(body).toString("utf8"));
  } catch {
    return undefined; // no JSON: answered with 400
  }
}

export interface WebhookContext {
  caller: Caller;
  cursors: CursorStore;
  clock: Clock;
  logger: Logger;
  /** Aborted with the answer when a send found that the token is refused. */
  refused: AbortSignal;
  state(phase: AdapterState["phase"], reason?: string, hint?: string): void;
}

/** Tells Telegram where to call, unless it knows. */
async function setWebhook(context: WebhookContext, options: WebhookOptions): Promise<void> {
  const { caller, cursors } = context;
  const { url, maxConnections } = options;
  const known = await caller.call("getWebhookInfo", {});
  const isSame =
    known.url === url &&
    known.max_connections === maxConnections &&
    cursors.get(CURSOR) === markOf(options) &&
    [...(known.allowed_updates ?? [])].sort().join() === [...ALLOWED_UPDATES].sort().join();
  if (!isSame) await putWebhook(context, options);
}

/**
 * Sets the webhook, with growing pauses until Telegram takes it; false when `signal` aborted first. Rejects when the token is refused, and
 * with a limit, which is a stored pause of its own. Only receiving is in trouble meanwhile.
 */
export async function setWebhookAtLast(
  context: WebhookContext,
  options: WebhookOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const { clock, logger, state } = context;
  for (let attempt = 1; ; attempt++) {
    try {
      await setWebhook(context, options);
      return true;
    } catch (thrown) {
      if (signal.aborted) return false;
      const failure = readFailure(thrown);
      if (thrown instanceof HookgateError || isTokenRefused(failure)) throw thrown;
      if (failure.kind === "refused" && failure.status === 429) throw thrown;
      const reason = `Telegram's webhook cannot be set: ${describeFailure(failure)}`;
      const pauseMs = backoffMs(SET_AGAIN, attempt);
      logger.warn({ pauseMs }, `${reason}; it is set again after a pause`);
      state("reconnecting", reason, HINT_SET);
      await wait(clock, pauseMs, signal).catch(() => {}); // just below
      if (signal.aborted) return false;
    }
  }
}

async function putWebhook({ caller, cursors, logger }: WebhookContext, options: WebhookOptions): Promise<void> {
  const { url, secret, maxConnections } = options;
  await caller.call("setWebhook", {
    url,
    secret_token: secret,
    max_connections: maxConnections,
    allowed_updates: ALLOWED_UPDATES,
  });
  await cursors.set(CURSOR, markOf(options));
  logger.info({ url }, "Telegram's webhook is set");
}

function markOf({ url, secret }: WebhookOptions): string {
  return createHash("sha256").update(`${url}\n${secret}`).digest("base64url");
}

/** Before polling: takes away the webhook that an earlier run of ours set. A webhook of another program stays, and polling reports it. */
export async function dropOwnWebhook({ caller, cursors, logger }: WebhookContext): Promise<void> {
  if (cursors.get(CURSOR) === undefined) return;
  await caller.call("deleteWebhook", {});
  await cursors.set(CURSOR, undefined);
  logger.info({}, "Telegram's webhook is taken away; updates are polled");
}

/**
 * Until `signal` aborts: reports calls that did not arrive, and sets the webhook again when another program changed it. Rejects when the
 * token is refused. The webhook stays set, so that Telegram keeps the updates that come while we are away.
 */
export async function watchWebhook(
  context: WebhookContext,
  options: WebhookOptions,
  signal: AbortSignal,
): Promise<void> {
  const { caller, clock, logger, state, refused } = context;
  let isTroubled = false;
  let lostAt = Number.NEGATIVE_INFINITY;
  let pauseMs = WATCH_EVERY_MS;
  while (!signal.aborted) {
    await wait(clock, pauseMs, AbortSignal.any([signal, refused])).catch(() => {}); // seen below
    pauseMs = WATCH_EVERY_MS;
    if (signal.aborted) return;
    if (refused.aborted) throw refused.reason;
    let toSet: Trouble | undefined;
    try {
      const info = await caller.call("getWebhookInfo", {}, signal);
      const now = clock.now();
      const trouble = troubleOf(info, options, now);
      if (trouble === undefined) {
        if (isTroubled) state("online");
        isTroubled = false;
        continue;
      }
      const { kind, reason, hint } = trouble;
      logger.warn({ waiting: info.pending_update_count, hint }, reason);
      state("reconnecting", reason, hint);
      isTroubled = true;
      if (kind === "unreached") continue;
      const isFight = now - lostAt < FIGHT_MS;
      toSet = trouble;
      await putWebhook(context, options);
      if (kind === "lost") lostAt = now;
      // Lost once, it is ours again. Lost again, or refused, only the next look shows whether it helped.
      if (kind === "lost" && !isFight) state("online", `${reason}; it is set again`, hint);
    } catch (thrown) {
      if (signal.aborted) return;
      if (isTokenRefused(readFailure(thrown))) throw thrown;
      // Calls may arrive all the same: only our own requests get no answer.
      const failure = readFailure(thrown);
      pauseMs = Math.min(retryAfterOf(failure) ?? WATCH_EVERY_MS, MAX_PAUSE_MS);
      const error = describeFailure(failure);
      const then = `the next try is in ${formatDuration(pauseMs)}`;
      logger.warn({ error }, `Telegram's webhook could not be looked at or set again; ${then}`);
      if (toSet) state("reconnecting", `${toSet.reason}, and it cannot be set again: ${error}; ${then}`, toSet.hint);
    }
  }
}

interface Trouble {
  /** `lost`: the address is not ours. `refused`: our endpoint lets no call in. `unreached`: calls fail otherwise. */
  kind: "lost" | "refused" | "unreached";
  reason: string;
  hint?: string;
}

function troubleOf(info: WebhookInfo, { url }: WebhookOptions, now: number): Trouble | undefined {
  const hint = "Another program uses this bot's token. Stop it, or give this gateway a token of its own.";
  const set = info.url ?? "";
  if (set === "") return { kind: "lost", reason: "another program took Telegram's webhook away", hint };
  if (normal(set) !== normal(url))
    // Its path may be a secret of the other program's.
    return { kind: "lost", reason: `another program set Telegram's webhook to ${hostOf(set)}`, hint };
  const isRecent = info.last_error_date !== undefined && info.last_error_date > now / 1000 - RECENT_S;
  if (!isRecent || info.pending_update_count === 0) return undefined;
  const lastError = info.last_error_message ?? "unknown";
  const reason = `Telegram's calls do not arrive: ${lastError} (${info.pending_update_count} waiting)`;
  if (!NOT_LET_IN.test(lastError)) return { kind: "unreached", reason };
  return {
    kind: "refused",
    reason,
    hint: "Another program may have set the webhook with a secret of its own, so Hookgate sets it again. If that does not help: a proxy before the gateway refuses the calls.",
  };
}

/** A server may give an address back in another spelling, which must not look like another address. */
function normal(url: string): string {
  return URL.canParse(url) ? new URL(url).href : url;
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "another address";
}
