/** Webhook mode: Telegram calls us. A call is answered only when its update is on disk; anything but 2xx comes again. */
import { createHash } from "node:crypto";
import type { AdapterState, CursorStore } from "../../src/domain/adapter.js";
import { type Clock, wait } from "../../src/lib/clock.js";
import type { Logger } from "../../src/lib/logger.js";
import { sameSecret } from "../../src/lib/secret.js";
import { describeFailure, isTokenRefused, readFailure } from "./errors.js";
import type { Intake } from "./intake.js";
import type { WebhookOptions } from "./options.js";
import { ALLOWED_UPDATES } from "./payloads.js";
import type { Transport } from "./transport.js";

const SECRET_HEADER = "x-telegram-bot-api-secret-token";
/** What we set ourselves, so that a change of mode may take it away again, and a change of secret is noticed. */
const CURSOR = "webhook";
/** How often Telegram is asked whether its calls arrive. */
const WATCH_EVERY_MS = 60_000;
/** A failure older than this is over. */
const RECENT_S = 120;

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
  transport: Transport;
  cursors: CursorStore;
  clock: Clock;
  logger: Logger;
  state(phase: AdapterState["phase"], reason?: string): void;
}

/** Tells Telegram where to call, unless it knows. */
export async function setWebhook(
  { transport, cursors, logger }: WebhookContext,
  { url, secret, maxConnections }: WebhookOptions,
): Promise<void> {
  const mark = createHash("sha256").update(`${url}\n${secret}`).digest("base64url");
  const known = await transport.call((api) => api.getWebhookInfo());
  const isSame =
    known.url === url &&
    known.max_connections === maxConnections &&
    cursors.get(CURSOR) === mark &&
    [...(known.allowed_updates ?? [])].sort().join() === [...ALLOWED_UPDATES].sort().join();
  if (isSame) return;
  await transport.call((api) =>
    api.setWebhook({
      url,
      secret_token: secret,
      max_connections: maxConnections,
      allowed_updates: ALLOWED_UPDATES,
    }),
  );
  await cursors.set(CURSOR, mark);
  logger.info({ url }, "Telegram's webhook is set");
}

/** Before polling: takes away the webhook that an earlier run of ours set. Somebody else's stays, and polling says so. */
export async function dropOwnWebhook({ transport, cursors, logger }: WebhookContext): Promise<void> {
  if (cursors.get(CURSOR) === undefined) return;
  await transport.call((api) => api.deleteWebhook({}));
  await cursors.set(CURSOR, undefined);
  logger.info({}, "Telegram's webhook is taken away; updates are polled");
}

/** Until `signal` aborts: reports calls that did not arrive. Rejects when the token is refused. The webhook stays set, so that Telegram keeps what comes while we are away. */
export async function watchWebhook(
  { transport, clock, logger, state }: WebhookContext,
  signal: AbortSignal,
): Promise<void> {
  let isTroubled = false;
  while (!signal.aborted) {
    await wait(clock, WATCH_EVERY_MS, signal).catch(() => {}); // the loop sees the abort
    if (signal.aborted) return;
    try {
      const info = await transport.call((api) => api.getWebhookInfo(), signal);
      const isRecent = info.last_error_date !== undefined && info.last_error_date > clock.now() / 1000 - RECENT_S;
      if (isRecent && info.pending_update_count > 0) {
        const reason = `Telegram's calls do not arrive: ${info.last_error_message ?? "unknown"} (${info.pending_update_count} waiting)`;
        logger.warn({ waiting: info.pending_update_count }, reason);
        state("reconnecting", reason);
        isTroubled = true;
      } else if (isTroubled) {
        state("online");
        isTroubled = false;
      }
    } catch (thrown) {
      if (isTokenRefused(readFailure(thrown))) throw thrown;
      // Calls may arrive all the same: only what we ask is unanswered.
      logger.warn({ error: describeFailure(readFailure(thrown)) }, "Telegram could not be asked about its webhook");
    }
  }
}
