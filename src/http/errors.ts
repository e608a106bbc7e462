/** Errors as HTTP answers. The one place that maps codes to statuses. */
import { HookgateError, SEE_LOG } from "../lib/errors.js";

const STATUS: Record<string, number> = {
  BODY_INVALID: 400,
  BAD_USAGE: 400,
  TEXT_EMPTY: 400,
  NAME_REFUSED: 400,
  UNAUTHORIZED: 401,
  TOKEN_WRONG: 401,
  SIGNATURE_MISSING: 401,
  SIGNATURE_WRONG: 401,
  SIGNATURE_STALE: 401,
  FORBIDDEN: 403,
  HOST_UNKNOWN: 403,
  ORIGIN_WRONG: 403,
  NOT_YOURS: 403,
  ROUTE_NOT_FOUND: 404,
  NOT_FOUND: 404,
  EVENT_UNKNOWN: 404,
  PLAN_NOT_FOUND: 404,
  ROOM_NOT_FOUND: 404,
  MESSAGE_NOT_FOUND: 404,
  FILE_NOT_FOUND: 404,
  TASK_UNKNOWN: 404,
  TASK_TRANSITION: 409,
  TASK_BUSY: 409,
  TASK_VETOED: 409,
  NAME_TAKEN: 409,
  HOOK_RUNNING: 409,
  NOT_REPLAYABLE: 409,
  MISSION_OVER: 409,
  NOT_BLOCKED: 409,
  NOT_SHUT: 409,
  ID_TAKEN: 409,
  IN_PLAN: 409,
  TOO_MANY_ROOMS: 409,
  TOO_MANY_REACTIONS: 409,
  TEXT_TOO_LONG: 413,
  TOO_LARGE: 413,
  MEDIA_TYPE: 415,
  IDEMPOTENCY_KEY_REUSED: 422,
  PAYLOAD_INVALID: 422,
  EVENT_ID_REUSED: 422,
  PLAN_INVALID: 422,
  CRON_INVALID: 422,
  TASK_INVALID: 422,
  TASK_ASSIGNEE: 422,
  RATE_LIMITED: 429,
  TOO_MANY_PAGES: 429,
  TOO_MANY_READS: 429,
  TOO_MANY_BODIES: 429,
  TOO_MANY_WAITING: 429,
  QUOTA: 413,
  EVENT_UNAVAILABLE: 503,
  WEB_OFFLINE: 503,
  UPLOADS_UNAVAILABLE: 503,
  GATEWAY_FULL: 503,
  STORE_LOCKED: 503,
  STORE_READ_ONLY: 503,
  STORE_FULL: 507,
  DISK_FULL: 507,
  STORE_CORRUPT: 503,
  STORE_FOREIGN: 500,
  STORE_GONE: 500,
  STORE_FAILED: 500,
  INTERNAL: 500,
};

/** Errors of fastify and its plugins, by status: their codes and texts are theirs, ours are for the person who must act. */
const BY_STATUS: Record<number, string> = {
  400: "BODY_INVALID",
  403: "FORBIDDEN",
  404: "ROUTE_NOT_FOUND",
  413: "TOO_LARGE",
  415: "MEDIA_TYPE",
  429: "RATE_LIMITED",
};

export interface ErrorAnswer {
  status: number;
  body: { error: { code: string; message: string; hint?: string } };
}

/** The texts of the store's errors for clients: their own texts name files of this machine, which the log shows. */
const STORE_WORDS: Record<string, string> = {
  STORE_LOCKED: "the database is busy",
  STORE_READ_ONLY: "the database cannot be written",
  STORE_FULL: "the disk of the database is full",
  STORE_CORRUPT: "the database is damaged",
  STORE_FOREIGN: "the database was replaced by another file",
  STORE_GONE: "the database was deleted, moved or replaced",
};

/** An error of the store in words without paths; undefined when it is none. */
export function storeWords(code: string): string | undefined {
  return code.startsWith("STORE_") ? (STORE_WORDS[code] ?? "the database failed") : undefined;
}

/** Never shows a client the text of an unexpected error: that is for the log. */
export function errorAnswer(thrown: unknown): ErrorAnswer {
  const error = withoutPaths(known(thrown));
  const status = STATUS[error.code] ?? (error.retryable ? 503 : 400);
  return {
    status,
    body: {
      error: { code: error.code, message: error.message, hint: error.hint },
    },
  };
}

function withoutPaths(error: HookgateError): HookgateError {
  const message = storeWords(error.code);
  if (message === undefined) return error;
  const { code, retryable } = error;
  return new HookgateError({ code, message, hint: SEE_LOG, retryable });
}

function known(thrown: unknown): HookgateError {
  if (thrown instanceof HookgateError) return thrown;
  const status = thrown instanceof Error && "statusCode" in thrown ? Number(thrown.statusCode) : 500;
  const code = BY_STATUS[status];
  if (code !== undefined && thrown instanceof Error)
    return new HookgateError({
      code,
      message: status === 403 || status === 404 ? "there is nothing here" : thrown.message,
    });
  return new HookgateError({
    code: "INTERNAL",
    message: "something went wrong inside Hookgate",
    hint: SEE_LOG,
    cause: thrown,
  });
}
