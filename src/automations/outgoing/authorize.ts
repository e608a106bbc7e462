/** Adds our login to a request. */
import { HookgateError } from "../../lib/errors.js";
import { mapTexts } from "../../lib/files/relative-paths.js";
import type { GuardedResponse } from "../../lib/outgoing/request.js";
import { secretMask } from "../../lib/signing/secret.js";
import type { Reach } from "../run-context.js";
import { type Auth, authVariables } from "./fields.js";

/** Throws SECRET_MISSING: a request that should carry a secret never goes out without it. */
export function authHeaders(auth: Auth | undefined, reach: Pick<Reach, "secret">): Record<string, string> {
  if (auth === undefined) return {};
  if ("bearer_env" in auth) return { authorization: `Bearer ${needSecret(reach, auth.bearer_env)}` };
  if ("header" in auth) return { [auth.header.toLowerCase()]: needSecret(reach, auth.value_env) };
  const pair = `${auth.user}:${needSecret(reach, auth.password_env)}`;
  return { authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
}

/** An answer that repeats our login may be posted in a chat, kept in the history, shown to a model: the login stays out of it. */
export function withoutLogin(answer: GuardedResponse, auth: Auth | undefined, reach: Pick<Reach, "secret">) {
  if (auth === undefined) return answer;
  const sent = Object.values(authHeaders(auth, reach)).map((value) => value.replace(/^(?:Bearer|Basic) /, ""));
  const mask = secretMask([...sent, ...authVariables(auth).map((name) => reach.secret(name))]);
  const body = Buffer.from(mask(answer.body.toString("utf8")));
  return { ...answer, headers: mapTexts(answer.headers, mask), body };
}

export function needSecret(reach: Pick<Reach, "secret">, variable: string): string {
  const secret = reach.secret(variable);
  if (secret !== undefined && secret !== "") return secret;
  throw new HookgateError({ code: "SECRET_MISSING", message: `the environment variable ${variable} is not set` });
}
