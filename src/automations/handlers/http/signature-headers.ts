/** Headers that prove to the receiver that a request is ours, and let it recognize a request that comes twice. */
import { createHmac } from "node:crypto";
import { sign } from "../../../lib/signing/webhook-signature.js";
import { needSecret } from "../../outgoing/authorize.js";
import type { RunContext } from "../../run-context.js";
import { type HttpOptions, secretVariables } from "./options.js";

/** The id stays the same over all attempts and restarts, the timestamp is that of the attempt. Throws SECRET_MISSING. */
export function signatureHeaders(
  options: Pick<HttpOptions, "signature" | "secret_env">,
  body: string,
  { runId, clock, reach }: RunContext,
): Record<string, string> {
  const at = clock.now();
  const secrets = secretVariables(options).map((variable) => needSecret(reach, variable));
  const headers: Record<string, string> = {
    "webhook-id": runId,
    "webhook-timestamp": String(Math.floor(at / 1000)),
  };
  const [first] = secrets;
  if (first === undefined) return headers;
  headers["webhook-signature"] = sign({ id: runId, at, body }, secrets);
  if (options.signature === "crewship")
    headers["x-crewship-signature"] = `sha256=${createHmac("sha256", first).update(body).digest("hex")}`;
  return headers;
}
