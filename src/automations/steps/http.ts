/**
 * `- http:`: asks another system before the handler runs. An answer of any status is a result; only no answer is a failure. A dry
 * run asks only what changes nothing on the other side (GET, HEAD), and shows what it would have asked otherwise.
 */
import { z } from "zod";
import { HookgateError } from "../../lib/errors.js";
import { jsonOutput } from "../json-output.js";
import { authHeaders, withoutLogin } from "../outgoing/authorize.js";
import { type Composed, compose, redirectProblem, targetOf } from "../outgoing/compose.js";
import {
  addressVariables,
  auth,
  body,
  checkAuth,
  checkForm,
  formsOf,
  hasOneTarget,
  headers,
  ONE_TARGET,
  target,
  targetProblems,
  variablesOf,
} from "../outgoing/fields.js";
import type { Step, StepResult } from "../step.js";

const httpStepOptions = z
  .strictObject({
    ...target,
    method: z.enum(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]).default("GET").describe("The method."),
    headers,
    body: body.describe("Text or JSON, with templates."),
    auth: auth.describe("Who we are to the other side."),
    redirects: z
      .int()
      .min(0)
      .max(10)
      .default(3)
      .describe(
        "How many redirects are followed. A 301 or 302 is followed for GET and HEAD only; any other method fails, because the new request would have no body. After a 303, the new address is read with GET. At 0 the redirect is the answer.",
      ),
  })
  .refine(hasOneTarget, ONE_TARGET)
  .superRefine(checkAuth)
  .superRefine(checkForm);

export const httpStep: Step<z.output<typeof httpStepOptions>> = {
  name: "http",
  summary: "Asks a server: status, headers, body and, where it is JSON, its value.",
  options: httpStepOptions,
  okWord: "status_ok",
  places: ["url"],
  forms: formsOf,
  fields: { status: "number", ok: "boolean", headers: "object", body: "string", json: "any", truncated: "boolean" },
  secrets: (options) => variablesOf(options),
  addresses: addressVariables,
  missing: targetProblems,
  async run(options, { reach, signal, timeoutMs, maxBytes, dryRun }) {
    const request = compose(options.body, options.headers);
    const login = authHeaders(options.auth, reach);
    const { url, shown } = targetOf(options, reach);
    if (dryRun && !isSafe(options.method)) return unsent(`${options.method} ${shown}`, request);
    const response = await reach.request(url, {
      method: options.method,
      headers: { ...request.headers, ...login },
      body: request.body,
      signal,
      timeoutMs,
      maxBytes,
      redirects: options.redirects,
    });
    const redirect = isSafe(options.method) || options.redirects === 0 ? undefined : redirectProblem(response, options);
    if (redirect !== undefined) throw new HookgateError({ code: "OUTGOING_REDIRECTS", message: redirect });
    const answer = withoutLogin(response, options.auth, reach);
    const text = answer.body.toString("utf8");
    const { json, noJson } = jsonOutput(text, answer.truncated ? maxBytes : undefined);
    const isOk = answer.status >= 200 && answer.status < 300;
    return {
      value: {
        status: answer.status,
        ok: isOk,
        headers: shownHeaders(answer.headers),
        body: text,
        json,
        truncated: answer.truncated,
      },
      noJson,
      text,
      // An error page without words is still an error: it must not pass for "nothing to do".
      isEmpty: isOk && text.trim() === "",
      isOk,
      // The text of the server is output, and stays out of the reason that everybody reads.
      notOk: isOk ? undefined : `the server answered ${answer.status}`,
    };
  },
};

/** https://www.rfc-editor.org/rfc/rfc9110#section-9.2.1 */
const isSafe = (method: string) => method === "GET" || method === "HEAD";

/** Neither ok nor not: no request was sent, so no condition holds and nothing is red. */
function unsent(line: string, { body }: Composed): StepResult {
  return {
    value: {
      status: null,
      ok: null,
      headers: {},
      body: "",
      json: null,
      truncated: false,
      unsent: body === undefined ? line : `${line}\n\n${body}`,
    },
    text: `[not sent in a dry run: ${line}]`,
    isEmpty: false,
  };
}

/** The cookie of a session that a server opened for us is private. */
function shownHeaders(headers: Record<string, string>): Record<string, string> {
  const { "set-cookie": _cookies, ...shown } = headers;
  return shown;
}
