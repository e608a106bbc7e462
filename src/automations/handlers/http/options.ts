/** Options of the `http` handler. */
import { z } from "zod";
import { variableName } from "../../../lib/process/program-fields.js";
import { deadline, duration } from "../../../lib/validation/config-fields.js";
import { auth, body, checkAuth, checkForm, hasOneTarget, headers, ONE_TARGET, target } from "../../outgoing/fields.js";

export const httpOptions = z
  .strictObject({
    ...target,
    method: z.enum(["POST", "PUT", "PATCH", "DELETE", "GET"]).default("POST").describe("The method."),
    headers,
    body: body.describe(
      "Text or JSON, with templates; by default `{ type, timestamp, data }` with the payload as data.",
    ),
    secret_env: z
      .union([variableName, z.array(variableName).min(1).max(2)])
      .optional()
      .describe("The variable with the signing secret; two while it is changed, and both sign."),
    signature: z
      .enum(["standard", "crewship"])
      .default("standard")
      .describe("standard: Standard Webhooks headers. crewship: X-Crewship-Signature over the body besides."),
    auth: auth.describe("Who we are to the other side."),
    timeout: deadline("30s").describe("For one attempt."),
    attempts: z.int().min(1).max(20).default(4).describe("How often it is tried within one run."),
    backoff: duration("1s").describe("The pause after the first failure; it doubles, up to max_backoff."),
    max_backoff: duration("1m").describe(
      "The longest pause. A Retry-After beyond it leaves the rest to the hook's retry.",
    ),
    redirects: z
      .int()
      .min(0)
      .max(10)
      .default(0)
      .describe(
        "How many redirects are followed; a 301 or 302 for GET only. Another origin gets neither logins, own headers nor the signature.",
      ),
    decision: z
      .enum(["explicit", "status"])
      .default("explicit")
      .describe("explicit: only a decision in the answer blocks. status: every answer that is not 2xx blocks."),
    max_bytes: z.int().min(0).max(10_000_000).default(65_536).describe("How much of the answer is read."),
  })
  .refine(hasOneTarget, ONE_TARGET)
  .refine(({ signature, secret_env }) => signature === "standard" || secret_env !== undefined, {
    path: ["secret_env"],
    message: "expected the variable that holds the secret: nothing is signed without one",
  })
  .refine(({ backoff, max_backoff }) => backoff <= max_backoff, {
    path: ["backoff"],
    message: "no pause is longer than `max_backoff`: raise `max_backoff`, or lower this",
  })
  .superRefine(checkAuth)
  .superRefine(checkForm);
export type HttpOptions = z.output<typeof httpOptions>;

export function secretVariables({ secret_env }: Pick<HttpOptions, "secret_env">): readonly string[] {
  return typeof secret_env === "string" ? [secret_env] : (secret_env ?? []);
}
