/**
 * Keeps other web pages out. A page of any site can make a browser send requests to this machine: by a name of its own
 * that it lets point here (DNS rebinding), or across sites with the person's cookie (CSRF).
 */
import { HookgateError } from "../lib/errors.js";
import type { HttpConfig } from "./config.js";

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/** True when only this machine can connect to the address that is listened on. */
export function isLoopback(listening: string): boolean {
  return /^(localhost|127\..*|::1)$/i.test(listening);
}

/** Behind a proxy everyone whom it serves connects, also where only this machine reaches the port. */
export function metricsNeedToken(
  { metrics_need_token, behind_proxy }: Pick<HttpConfig, "metrics_need_token" | "behind_proxy">,
  listening: string,
): boolean {
  return metrics_need_token ?? (behind_proxy || !isLoopback(listening));
}

export interface GuardedRequest {
  method: string;
  headers: Record<string, string | string[] | undefined>;
}

export interface Guard {
  /** Throws HOST_UNKNOWN unless the request names a host that is ours. */
  checkHost(request: GuardedRequest): void;
  /** For requests that a cookie speaks for: throws ORIGIN_WRONG unless our own page sent them. */
  checkOrigin(request: GuardedRequest): void;
}

/** `listening`: the address that is listened on. `trusted`: further names, with or without a port. */
export function createGuard(listening: string, trusted: readonly string[]): Guard {
  const own = listening.includes(":") ? `[${listening}]` : listening;
  const hosts = new Set([...LOOPBACK, own, ...trusted].map((host) => host.toLowerCase()));
  const isOurs = (host: string) => hosts.has(host.toLowerCase()) || hosts.has(host.toLowerCase().replace(/:\d+$/, ""));

  return {
    checkHost({ headers }) {
      const host = one(headers.host);
      if (host !== undefined && isOurs(host)) return;
      throw new HookgateError({
        code: "HOST_UNKNOWN",
        message: `this server is not known as "${(host ?? "").slice(0, 100)}"`,
        hint: "Add the name to http.trusted_hosts in hookgate.yaml.",
      });
    },

    checkOrigin({ method, headers }) {
      if (method === "GET" || method === "HEAD") return;
      const site = one(headers["sec-fetch-site"]);
      const origin = one(headers.origin);
      const sameHost = origin !== undefined && hostOf(origin) === one(headers.host)?.toLowerCase();
      if (sameHost && (site === undefined || site === "same-origin")) return;
      throw new HookgateError({
        code: "ORIGIN_WRONG",
        message: "this request did not come from Hookgate's own page",
        hint: "Programs send the token: Authorization: Bearer …",
      });
    },
  };
}

function hostOf(origin: string): string | undefined {
  try {
    const { protocol, host } = new URL(origin);
    return protocol === "http:" || protocol === "https:" ? host : undefined;
  } catch {
    return undefined; // "null" and other oddities are no origin
  }
}

function one(header: string | string[] | undefined): string | undefined {
  return typeof header === "string" ? header : header?.[0];
}
