/** Adds who we are to a request. */
import { HookgateError } from "../../lib/errors.js";
import type { Reach } from "../run-context.js";
import type { Auth } from "./fields.js";

/** Throws SECRET_MISSING: a request that should carry a secret never goes out without it. */
export function authHeaders(auth: Auth | undefined, reach: Pick<Reach, "secret">): Record<string, string> {
  if (auth === undefined) return {};
  if ("bearer_env" in auth) return { authorization: `Bearer ${needSecret(reach, auth.bearer_env)}` };
  if ("header" in auth) return { [auth.header.toLowerCase()]: needSecret(reach, auth.value_env) };
  const pair = `${auth.user}:${needSecret(reach, auth.password_env)}`;
  return { authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
}

export function needSecret(reach: Pick<Reach, "secret">, variable: string): string {
  const secret = reach.secret(variable);
  if (secret !== undefined && secret !== "") return secret;
  throw new HookgateError({ code: "SECRET_MISSING", message: `the environment variable ${variable} is not set` });
}
