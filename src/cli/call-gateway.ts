/** Commands that need the live gateway: one POST to its API, as the owner of the local token. */
import { z } from "zod";
import { type Environment, readEnvironment } from "../config/env.js";
import type { OptionValue } from "../domain/chat/command.js";
import { outboundMessage } from "../domain/chat/message.js";
import { errorMessage, HookgateError } from "../lib/errors.js";
import { isResetSinceStart, readConsoleToken } from "../store/console-token.js";
import { type DatabaseFiles, databaseFiles } from "../store/database-file/files.js";
import { type JsonAnswer, postJson } from "./post-json.js";

/** Above the gateway's own limit for a command, so that its answer comes first. */
const TIMEOUT_MS = 180_000;

const answerSchema = z.object({
  message: outboundMessage,
  /** `null` over HTTP when the command has none. */
  data: z.unknown().transform((data) => data ?? undefined),
  outcome: z.enum(["done", "failed", "refused"]).optional(),
});
export type GatewayAnswer = z.infer<typeof answerSchema>;

/** An error as the gateway answers with it, and as the data of a command that failed has it. */
export const errorBody = z.object({
  error: z.object({ code: z.string(), message: z.string(), hint: z.string().optional() }),
});

/** A command with its options, or a line as it is written in chat. */
export type Call = NamedCall | { line: string };
export interface NamedCall {
  name: string;
  options: Record<string, OptionValue | undefined>;
}

export interface GatewayPlace {
  /** `http://127.0.0.1:8787`, without a slash at its end. */
  url: string;
  token: string | undefined;
  /** Has the token; undefined when it comes from HOOKGATE_TOKEN. */
  files?: DatabaseFiles | undefined;
}

export function gatewayPlace(): GatewayPlace {
  const { env, problems } = readEnvironment();
  if (!env)
    throw new HookgateError({
      code: "CONFIG_INVALID",
      message: problems.map(({ variable, message }) => `${variable}: ${message}`).join("; "),
      hint: "`npx hookgate check` shows every problem.",
    });
  const host = reachable(env.HOOKGATE_HOST);
  const files = filesOf(env, host);
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${env.HOOKGATE_PORT}`,
    token: files ? readConsoleToken(files.token) : env.HOOKGATE_TOKEN,
    files,
  };
}

/** A gateway that listens on every address is reached on this machine. */
function reachable(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  return host === "::" ? "::1" : host;
}

/** The local store's own token is for the local gateway only; it is never sent to another machine. */
function filesOf(env: Environment, host: string): DatabaseFiles | undefined {
  const isLocal = host === "localhost" || host === "::1" || host.startsWith("127.");
  return env.HOOKGATE_TOKEN === undefined && isLocal ? databaseFiles(env.DATABASE_URL) : undefined;
}

/**
 * Rejects with NOT_RUNNING when no gateway answers, CUT_OFF when the connection breaks after the call was sent, TIMEOUT when no answer
 * comes within `timeoutMs`, and UNAUTHORIZED when the program that answers does not prove that it has the token.
 */
export async function callGateway(
  call: Call,
  place: GatewayPlace = gatewayPlace(),
  timeoutMs = TIMEOUT_MS,
): Promise<GatewayAnswer> {
  const { status, body, isProven } = await post(place, call, timeoutMs);
  if (!isProven) throw unproven(place, status);
  const answer = answerSchema.safeParse(body);
  if (answer.success) return answer.data;
  const parsed = errorBody.safeParse(body);
  if (parsed.success)
    throw new HookgateError({ ...parsed.data.error, code: status === 403 ? "FORBIDDEN" : parsed.data.error.code });
  throw new HookgateError({
    code: "NOT_HOOKGATE",
    message: `What answers at ${place.url} is no gateway of this version (status ${status}).`,
    hint: "Check HOOKGATE_HOST and HOOKGATE_PORT.",
  });
}

/** Nothing that it answered is shown: it may be anybody's program on that port. */
function unproven({ url, token, files }: GatewayPlace, status: number): HookgateError {
  if (token === undefined)
    return new HookgateError({
      code: "UNAUTHORIZED",
      message: `Something listens at ${url}, but there is no token here to check that it is the gateway.`,
      hint: "Set HOOKGATE_TOKEN to the gateway's login token, or run this where its database is.",
    });
  if (files && isResetSinceStart(files))
    return new HookgateError({
      code: "UNAUTHORIZED",
      message: `The login token was reset after the gateway started, and what listens at ${url} does not know the new one (it answered with status ${status}). The token was not sent.`,
      hint: "Restart the gateway: it applies the new token then. If you have restarted it, check HOOKGATE_HOST and HOOKGATE_PORT: another program may listen there.",
    });
  return new HookgateError({
    code: "UNAUTHORIZED",
    message: `What listens at ${url} does not know the gateway's token; it may be another program (it answered with status ${status}). The token was not sent.`,
    hint: "Check that your gateway runs there (HOOKGATE_HOST, HOOKGATE_PORT), and that HOOKGATE_TOKEN or the database is that gateway's.",
  });
}

async function post({ url, token }: GatewayPlace, call: Call, timeoutMs: number): Promise<JsonAnswer> {
  try {
    return await postJson(`${url}/api/command`, { ...call, source: "cli" }, { token, timeoutMs });
  } catch (error) {
    if (error instanceof Error && error.name === "TimeoutError")
      throw new HookgateError({
        code: "TIMEOUT",
        message: `The gateway at ${url} did not answer in time.`,
        hint: "`npx hookgate runs` shows whether it ended.",
        retryable: true,
        cause: error,
      });
    if (isBroken(error))
      throw new HookgateError({
        code: "CUT_OFF",
        message: `The connection to ${url} broke before an answer came (${errorMessage(error)}). The gateway may have done this or not.`,
        hint: "Look before you repeat it: `npx hookgate status` shows whether the gateway runs; `npx hookgate do /audit`, `npx hookgate do /task list` and `npx hookgate do /mission list` show what was done. A gateway that runs may have refused the connection: look for http.max_connections in its log.",
        cause: error,
      });
    throw new HookgateError({
      code: "NOT_RUNNING",
      message: `No gateway answers at ${url} (${errorMessage(error)}).`,
      hint: "Start one with `npx hookgate start`, or point HOOKGATE_HOST and HOOKGATE_PORT at the one that runs.",
      retryable: true,
      cause: error,
    });
  }
}

/** The call was sent. Where no connection is made (ECONNREFUSED and the like), nothing is. */
function isBroken(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ECONNRESET" || error.code === "EPIPE");
}
