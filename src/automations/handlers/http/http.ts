/** `run: http`: tells another system by a signed request. */
import type { Handler } from "../../handler.js";
import { authVariable } from "../../outgoing/fields.js";
import { type HttpOptions, httpOptions, secretVariables } from "./options.js";

export const httpHandler: Handler<HttpOptions> = {
  name: "http",
  summary: "Sends a signed request (Standard Webhooks); the answer may carry a decision.",
  options: httpOptions,
  secrets: (options) => [...secretVariables(options), ...authVariable(options.auth)],
  async run() {
    return { kind: "failed", error: "not yet", isRetryable: false };
  },
};
