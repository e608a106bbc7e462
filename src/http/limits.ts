/** What one person may do in a minute. Owners are not limited: they may run programs here anyway. */
import type { Gateway } from "../gateway/gateway.js";
import type { PerMinute } from "../lib/per-minute.js";
import type { HttpConfig } from "./config.js";
import type { Person } from "./people.js";

export type Counted = "messages" | "uploads" | "commands";

export interface Limits {
  /** Throws RATE_LIMITED. */
  count(what: Counted, person: Person): void;
}

interface LimitsParts {
  config: HttpConfig;
  /** For people without a role, who may use /help and /whoami. Requests to /api/v1 count too. */
  commandsPerMinute: number;
  gateway: Pick<Gateway, "identify">;
  perMinute: PerMinute;
}

export function createLimits({ config, commandsPerMinute, gateway, perMinute }: LimitsParts): Limits {
  const max = {
    messages: config.messages_per_minute,
    uploads: config.uploads_per_minute,
    commands: commandsPerMinute,
  };
  return {
    count(what, { id }) {
      const key = `${what}:${id}`;
      const role = gateway.identify("web", id);
      if (role === "owner" || (what === "commands" && role !== undefined) || perMinute.add(key) <= max[what]) return;
      throw perMinute.exceeded(key, what);
    },
  };
}
