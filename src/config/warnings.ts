/** Settings that are valid and may still be a mistake: `hookgate check` and a start show them. */

import { isIP } from "node:net";
import { dirname, join } from "node:path";
import { HOOKS_FOLDER } from "../automations/definition/sources.js";
import { PLATFORMS } from "../domain/chat/platform.js";
import { isLoopback, metricsNeedToken } from "../http/guard.js";
import { isExposed, isWritableByOthers } from "../lib/files/private-files.js";
import { parseDestinations, whyNotPublic, whyTooWide } from "../lib/outgoing/destinations.js";
import type { Environment } from "./env.js";
import type { Config } from "./schema.js";

/** `file`: the configuration file, when there is one. */
export function configWarnings(config: Config, env: Environment, file: string | undefined): string[] {
  const { http, outgoing } = config;
  const isHttps = http.public_url?.startsWith("https:") === true;
  const open =
    isLoopback(env.HOOKGATE_HOST) || (isHttps && http.behind_proxy)
      ? []
      : [
          `HOOKGATE_HOST is ${env.HOOKGATE_HOST}: other machines can connect, and without TLS they send tokens and messages in clear. Put a proxy with TLS in front, and set http.public_url (https) and http.behind_proxy. Browsers can open the page under localhost, the host of http.public_url and the names in http.trusted_hosts. See SECURITY.md.`,
        ];
  const wide = outgoing.allow.flatMap((text) => {
    const why = whyTooWide(text);
    return why === undefined ? [] : [`outgoing.allow has ${text}: ${why}.`];
  });
  const isServed = http.behind_proxy || !isLoopback(env.HOOKGATE_HOST);
  const metrics =
    isServed && !metricsNeedToken(http, env.HOOKGATE_HOST)
      ? [
          "http.metrics_need_token is false: everyone who reaches the gateway, also through the proxy, can read /metrics, which names hooks. Remove the setting, and give Prometheus a token, or let the proxy refuse /metrics.",
        ]
      : [];
  return [
    ...open,
    ...metrics,
    ...wide,
    ...blockedWebhooks(config),
    ...uncopied(config),
    ...exposedVariables(),
    ...changeableFiles(file),
  ];
}

/** Escalations and the heartbeat: a request to such an address is never made. The address of a name is known only at the request. */
function blockedWebhooks({ alerts: { routes, heartbeat }, outgoing }: Config): string[] {
  const allowed = parseDestinations(outgoing.allow);
  const webhooks = Object.entries(routes).flatMap(([name, { escalate }]) =>
    escalate.flatMap(({ webhook }, i) =>
      webhook === undefined ? [] : [[`alerts.routes.${name}.escalate.${i}.webhook`, webhook] as const],
    ),
  );
  const beat =
    heartbeat.to !== undefined && /^https?:/.test(heartbeat.to) ? [["alerts.heartbeat.to", heartbeat.to] as const] : [];
  return [...webhooks, ...beat].flatMap(([path, url]) => {
    const { hostname, port, protocol } = new URL(url);
    const host = hostname.replace(/^\[(.*)\]$/, "$1");
    const at = Number(port || (protocol === "https:" ? 443 : 80));
    const why = host === "localhost" ? "loopback" : isIP(host) === 0 ? undefined : whyNotPublic(host);
    if (why === undefined || allowed.allowsHost(host, at) || allowed.allowsAddress(host, at)) return [];
    return [
      `${path}: ${host} is not a public address (${why}), so no request is sent there. Add "${hostname}:${at}" to outgoing.allow.`,
    ];
  });
}

/** A default route that copies messages for people to answer, while direct messages of customers are ignored. */
function uncopied({ gateway: { default_route: route }, ...config }: Config): string[] {
  if (typeof route === "string" || !("forward" in route)) return [];
  if (PLATFORMS.some((platform) => config[platform].access.dms === "everyone")) return [];
  return [
    "gateway.default_route copies messages to a chat, but direct messages of people without a role are ignored, because no platform has `access.dms: everyone`. Set `telegram.access.dms: everyone` or `discord.access.dms: everyone`, so that customers' direct messages are copied, too.",
  ];
}

/** Where nothing answers: no hook, no plugin, no default route. Everyone may write, and people without a role get no note. */
export function unansweredWarnings({ gateway, plugins, ...config }: Config, enabledHooks: number): string[] {
  // The configuration lists the people who may write in the web chat by name.
  const open = (["discord", "telegram"] as const).filter((platform) => config[platform].access.dms === "everyone");
  if (open.length === 0 || enabledHooks + plugins.length > 0 || gateway.default_route !== "none") return [];
  return [
    `${open.map((one) => `${one}.access.dms`).join(" and ")}: everyone may write to the bot, but nothing answers direct messages, because there is no hook, no plugin and no gateway.default_route. Set gateway.default_route to copy them to a chat where people answer, or add a hook.`,
  ];
}

/** Files that decide which programs run, and that other users may change. Plugins are checked elsewhere: they may be packages. */
export function changeableFiles(file: string | undefined): string[] {
  const folder = file === undefined ? undefined : dirname(file);
  const paths = folder === undefined ? [".env"] : [".env", file as string, folder, join(folder, HOOKS_FOLDER)];
  return paths
    .filter(isWritableByOthers)
    .map(
      (path) =>
        `Other users of this machine can change ${path}, and so run programs as the user of Hookgate. Run \`chmod o-w ${path}\`.`,
    );
}

/** `.env` of the working directory, which has the tokens. */
export function exposedVariables(): string[] {
  return isExposed(".env")
    ? ["Other users of this machine can open .env, and read the tokens in it. Run `chmod 600 .env`."]
    : [];
}
