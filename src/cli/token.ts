/** `hookgate token`: the login token and a one-click link; `--reset` replaces the token. Works without a running gateway. */

import { readEnvironment } from "../config/env.js";
import { HookgateError } from "../lib/errors.js";
import { keepConsoleToken, resetConsoleToken } from "../store/console-token.js";
import { databaseFiles } from "../store/files.js";
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
  const file = databaseFiles(env.DATABASE_URL).token;
  const value = reset ? resetConsoleToken(file) : (env.HOOKGATE_TOKEN ?? keepConsoleToken(file));
  const place = gatewayPlace();
  const stranger = reset ? undefined : await strangerAt({ ...place, token: value });
  const link = stranger === undefined ? loginLink(place.url, value) : undefined;
  if (json) printJson(terminal, { token: value, link, needsRestart: reset, warning: stranger });
  else {
    terminal.out(`login token  ${value}${link === undefined ? "" : `\nlog in       ${link}`}`);
    if (stranger !== undefined) terminal.error(`${stranger}\nDo not enter the token there.`);
    if (reset) terminal.error("Restart the gateway to apply the new token. All sessions of the old token end then.");
  }
  return EXIT.done;
}

/** Why a login there would give the token away: another program answers on the gateway's port. Undefined when nobody answers. */
async function strangerAt(place: GatewayPlace): Promise<string | undefined> {
  try {
    await callGateway({ name: "status", options: {} }, place);
    return undefined;
  } catch (error) {
    const isStranger = error instanceof HookgateError && ["UNAUTHORIZED", "NOT_HOOKGATE"].includes(error.code);
    return isStranger ? error.message : undefined;
  }
}

/** Behind `#`: browsers send that part to no server. */
export function loginLink(url: string, value: string): string {
  return `${url.replace(/\/+$/, "")}/#token=${encodeURIComponent(value)}`;
}
