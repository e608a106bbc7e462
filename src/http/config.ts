/** Settings of the HTTP server: `http:` in hookgate.yaml. Host, port and token come from the environment. */
import { z } from "zod";
import { duration } from "../lib/validation/config-fields.js";

export const httpConfig = z.strictObject({
  trusted_hosts: z
    .array(
      z.string().regex(/^[\w.-]+(:\d+)?$|^\[[0-9a-f:]+\](:\d+)?$/i, "expected a host name such as chat.example.org"),
    )
    .default([])
    .describe(
      "Host names and addresses that browsers may use besides localhost, the host of public_url and the address in HOOKGATE_HOST. With HOOKGATE_HOST=0.0.0.0, list the machine's name or address.",
    ),
  public_url: z
    .url({ protocol: /^https?$/ })
    .transform((url) => url.replace(/\/+$/, ""))
    .optional()
    .describe(
      "Where people open the web chat, such as https://chat.example.org: links on cards lead there, and its host is trusted. This machine's own address when absent.",
    ),
  behind_proxy: z
    .boolean()
    .default(false)
    .describe(
      "Use X-Forwarded-For and X-Forwarded-Proto of a proxy on this machine or in a private network. Only behind a proxy that sets them itself.",
    ),
  session_life: duration("30d").describe("How long a login in the browser lasts."),
  max_upload_mb: z
    .number()
    .int()
    .min(1)
    .max(1000)
    .default(25)
    .describe("The largest file that can be sent in the web chat, or copied to it, in MB."),
  uploads_keep: duration("90d").describe("How long files are kept that were sent in the web chat or copied to it."),
  uploads_quota_mb: z
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .default(500)
    .describe("How much one person may have in files that are kept, in MB."),
  messages_per_minute: z
    .number()
    .int()
    .min(1)
    .max(100_000)
    .default(120)
    .describe(
      "Messages, edits, reactions, presses and changes of the name of one person in a minute. Owners are not limited.",
    ),
  uploads_per_minute: z
    .number()
    .int()
    .min(1)
    .max(10_000)
    .default(30)
    .describe("Files that one person may send in a minute. Owners are not limited."),
  max_connections: z
    .number()
    .int()
    .min(10)
    .max(100_000)
    .default(1000)
    .describe(
      "Connections at once, live pages among them; a further one is closed. From nine tenths on, each new one ends another: the one that has waited longest for a request or for the body of a request without a login or, when one person (not an owner) sends more bodies than there are of these, the oldest of that person.",
    ),
  metrics_need_token: z
    .boolean()
    .optional()
    .describe(
      "Ask for a Bearer token at /metrics. Default: yes with behind_proxy, and unless only this machine can connect.",
    ),
});
export type HttpConfig = z.output<typeof httpConfig>;
