/**
 * What one person may do in a minute, and how many malformed requests one address may send. Owners are not limited: they may run programs
 * here anyway.
 */
import type { FastifyRequest } from "fastify";
import type { Gateway } from "../gateway/gateway.js";
import type { HookgateError } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { PerMinute } from "../lib/per-minute.js";
import type { HttpConfig } from "./config.js";
import { LOOPBACK } from "./failed-tokens.js";
import type { Person } from "./people.js";

export type Counted = "messages" | "uploads" | "commands";

export interface Limits {
  /** Throws RATE_LIMITED. */
  count(what: Counted, person: Person): void;
  /** Throws RATE_LIMITED while the address has sent too many malformed requests. Not for loopback: there a bad script would lock the owner out. */
  checkMalformed(request: FastifyRequest): void;
  /** Counts one more; RATE_LIMITED when the address has sent too many. */
  malformed(request: FastifyRequest): HookgateError | undefined;
}

interface LimitsParts {
  config: HttpConfig;
  /** For people without a role, who may use /help and /whoami. Requests to /api/v1 count too. */
  commandsPerMinute: number;
  gateway: Pick<Gateway, "identify">;
  perMinute: PerMinute;
  logger: Logger;
}

/** Malformed requests a minute from one address. */
const MAX_MALFORMED = 20;

export function createLimits({ config, commandsPerMinute, gateway, perMinute, logger }: LimitsParts): Limits {
  const max = {
    messages: config.messages_per_minute,
    uploads: config.uploads_per_minute,
    commands: commandsPerMinute,
  };
  const malformedOf = ({ ip }: FastifyRequest) => `malformed:${ip}`;
  const tooMalformed = (request: FastifyRequest) =>
    perMinute.exceeded(malformedOf(request), "malformed requests from this address");
  return {
    checkMalformed(request) {
      if (!LOOPBACK.test(request.ip) && perMinute.count(malformedOf(request)) > MAX_MALFORMED)
        throw tooMalformed(request);
    },
    malformed(request) {
      const count = perMinute.add(malformedOf(request));
      if (count <= MAX_MALFORMED) return undefined;
      if (count === MAX_MALFORMED + 1)
        logger.warn(
          { address: request.ip, route: request.routeOptions.url, count },
          "too many malformed requests: they are refused for a minute",
        );
      return tooMalformed(request);
    },
    count(what, { id }) {
      const key = `${what}:${id}`;
      const role = gateway.identify("web", id);
      if (role === "owner" || (what === "commands" && role !== undefined) || perMinute.add(key) <= max[what]) return;
      throw perMinute.exceeded(key, what);
    },
  };
}
