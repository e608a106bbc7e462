/** `hookgate token`: the login token and, when the gateway runs, a link that logs in; `--reset` replaces the token. */

import { z } from "zod";
import { readEnvironment } from "../config/env.js";
import { HookgateError } from "../lib/errors.js";
import { isResetSinceStart, keepConsoleToken, resetConsoleToken } from "../store/console-token.js";
import { databaseFiles, requireFolder } from "../store/database-file/files.js";
import { callGateway, type GatewayPlace, gatewayPlace } from "./call-gateway.js";
import { EXIT, type ExitCode } from "./exit.js";
import { printJson, type Terminal } from "./terminal.js";

export async function token({ reset, json }: { reset: boolean; json: boolean }, terminal: Terminal): Promise<ExitCode> {
  const { env, problems } = readEnvironment();
  if (!env)
    throw new HookgateError({
      code: "CONFIG_INVALID",
      message: problems.map(({ variable, message }) => `${variable}: ${message}`).join("; "),
      hint: "`npx hookgate check` shows every problem.",
    });
  if (reset && env.HOOKGATE_TOKEN !== undefined)
    throw new HookgateError({
      code: "BAD_USAGE",
      message: "The login token comes from HOOKGATE_TOKEN, so there is no stored token in use to reset.",
      hint: "Change HOOKGATE_TOKEN (for example in .env) and restart the gateway, or remove it there first.",
    });
  const files = databaseFiles(env.DATABASE_URL);
  // Only a stored token needs the folder.
  if (env.HOOKGATE_TOKEN === undefined) requireFolder(files);
  const file = files.token;
  let replaced: string | undefined;
  const noteReplaced = (message: string) => {
    replaced = message;
  };
  const value = reset ? resetConsoleToken(file) : (env.HOOKGATE_TOKEN ?? keepConsoleToken(file, noteReplaced));
  const isNew = reset || replaced !== undefined;
  const place = { ...gatewayPlace(), token: value };
  // A new token is known to no gateway that runs.
  const warning = isNew ? replaced : await whyNoLink(place);
  const link = isNew || warning !== undefined ? undefined : loginLink(place.url, value);
  if (json) printJson(terminal, { token: value, link, needsRestart: isNew, warning });
  else {
    terminal.out(`login token  ${value}${link === undefined ? "" : `\nlog in       ${link}`}`);
    if (warning !== undefined) terminal.error(warning);
    if (isNew) terminal.error("Restart the gateway to apply the new token. All sessions of the old token end then.");
  }
  return EXIT.done;
}

/**
 * A link sends the token to the program that listens there, so it is shown only when that has just proven to be the gateway. Undefined
 * when it has, and has a web chat; else advice for the person.
 */
async function whyNoLink(place: GatewayPlace): Promise<string | undefined> {
  try {
    const { data } = await callGateway({ name: "status", options: {} }, place, ANSWER_MS);
    return whyNoChat(data);
  } catch (error) {
    if (!(error instanceof HookgateError)) throw error;
    if (error.code === "NOT_RUNNING" && isRefusal(error.cause))
      return `No gateway runs at ${place.url}. Start it (\`npx hookgate start\`), then open that address and log in with the token.`;
    const isNewer = error.code === "UNAUTHORIZED" && place.files !== undefined && isResetSinceStart(place.files);
    if (isNewer) return `${error.message}\nDo not enter the token there. ${error.hint}`;
    if (NOT_PROVEN.includes(error.code))
      return `${error.message}\nDo not enter the token there. Start the gateway (\`npx hookgate start\`) and run this again.`;
    return undefined; // an answer that the gateway has signed, such as a refusal
  }
}

/** The page at the link would only show that the web chat is off. */
function whyNoChat(data: unknown): string | undefined {
  const status = gatewayStatus.safeParse(data);
  if (!status.success) return undefined; // of another version
  const web = status.data.adapters.find(({ platform }) => platform === "web");
  if (web === undefined)
    return "The web chat is switched off, so there is no link. `web.enabled: true` in hookgate.yaml and a restart switch it on.";
  if (web.phase !== "offline") return undefined;
  return `The web chat is off, so there is no link: ${web.reason ?? "it cannot start"}\n${web.hint ?? "`npx hookgate status` shows its state."}`;
}

const gatewayStatus = z.object({
  adapters: z.array(
    z.object({
      platform: z.string(),
      phase: z.string(),
      reason: z.string().optional(),
      hint: z.string().optional(),
    }),
  ),
});

/** The codes of callGateway for a program that has not proven to be the gateway. */
const NOT_PROVEN = ["NOT_RUNNING", "CUT_OFF", "TIMEOUT", "UNAUTHORIZED", "NOT_HOOKGATE"];

/** A gateway that runs answers within milliseconds; one that is busy, within a second or two. */
const ANSWER_MS = 5_000;

/** Nothing listens there. */
const isRefusal = (cause: unknown) => cause instanceof Error && "code" in cause && cause.code === "ECONNREFUSED";

/** Behind `#`: browsers send that part to no server. */
export function loginLink(url: string, value: string): string {
  return `${url.replace(/\/+$/, "")}/#token=${encodeURIComponent(value)}`;
}
