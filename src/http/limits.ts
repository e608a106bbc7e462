/**
 * Limits the requests of one person, in a minute and at once, and the malformed requests of one address. Owners are not limited: they
 * may run programs here anyway.
 */
import type { ServerResponse } from "node:http";
import { setImmediate } from "node:timers/promises";
import type { FastifyRequest } from "fastify";
import type { Gateway } from "../gateway/gateway.js";
import { inTurn } from "../lib/concurrency/in-turn.js";
import type { PerMinute } from "../lib/concurrency/per-minute.js";
import { HookgateError } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { HttpConfig } from "./config.js";
import { LOOPBACK } from "./failed-tokens.js";
import type { Person } from "./people.js";

export type Counted = "messages" | "uploads" | "commands";

export interface Limits {
  /** Throws RATE_LIMITED. For a request with a body: before that is read. */
  count(what: Counted, person: Person): void;
  /**
   * Counts one more long answer to a person, until it is sent or its connection ends. Resolves in its turn: each round of the event loop
   * makes one answer of a person, so that others wait for one and not for all. Rejects with TOO_MANY_READS.
   */
  answering(person: Person, response: ServerResponse): Promise<void>;
  /**
   * Allows one more request whose body has not arrived, beside `awaited` of the same person. Throws TOO_MANY_BODIES. False for an owner,
   * whose bodies make no room for others.
   */
  sending(person: Person, awaited: number): boolean;
  /** Resolves in the person's turn, which their long answers have too, so that others wait for one body and not for all. */
  reading(person: Person): Promise<void>;
  /** Throws RATE_LIMITED while the address has sent too many malformed requests. Not for loopback: there a bad script would lock the owner out. */
  checkMalformed(request: FastifyRequest): void;
  /** Counts one more; RATE_LIMITED when the address has sent too many. */
  malformed(request: FastifyRequest): HookgateError | undefined;
}

interface LimitsDeps {
  config: HttpConfig;
  /** For people without a role, who may use /help and /whoami. Requests to /api/v1 count too. */
  commandsPerMinute: number;
  gateway: Pick<Gateway, "identify">;
  perMinute: PerMinute;
  logger: Logger;
}

/** Long answers to one person that wait for their turn or are not taken yet: each of the latter is in memory. A browser asks for six at once. */
const MAX_READS = 20;
/** Bodies of one person that have not arrived: each holds a connection, and the part that has come is in memory. */
const MAX_BODIES = 20;
/** Malformed requests a minute from one address. */
const MAX_MALFORMED = 20;

export function createLimits({ config, commandsPerMinute, gateway, perMinute, logger }: LimitsDeps): Limits {
  const max = {
    messages: config.messages_per_minute,
    uploads: config.uploads_per_minute,
    commands: commandsPerMinute,
  };
  const readsOf = new Map<string, number>();
  const turnOf = turns();
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
    async answering({ id }, response) {
      const openOnes = () => readsOf.get(id) ?? 0;
      if (openOnes() >= MAX_READS && gateway.identify("web", id) !== "owner")
        throw new HookgateError({
          code: "TOO_MANY_READS",
          message: `${MAX_READS} of your requests wait for their answers, which is the most`,
          hint: "Read these answers, or close their connections, before you ask for more.",
          retryable: true,
        });
      readsOf.set(id, openOnes() + 1);
      const closed = new Promise((resolve) => response.once("close", resolve));
      const turn = turnOf(id);
      // An answer whose connection ends early keeps its place until its turn: else a person could have any number of them wait.
      void Promise.all([turn, closed]).then(() => {
        if (openOnes() === 1) readsOf.delete(id);
        else readsOf.set(id, openOnes() - 1);
      });
      await turn;
    },
    sending({ id }, awaited) {
      if (gateway.identify("web", id) === "owner") return false;
      if (awaited < MAX_BODIES) return true;
      if (perMinute.add(`bodies:${id}`) === 1)
        logger.warn(
          { personId: id, max: MAX_BODIES },
          "a request was refused: too many bodies of this person have not arrived; reported once a minute",
        );
      throw new HookgateError({
        code: "TOO_MANY_BODIES",
        message: `${MAX_BODIES} of your requests have not arrived whole, which is the most`,
        hint: "Send these, or close their connections, before you send more.",
        retryable: true,
      });
    },
    reading: ({ id }) => turnOf(id),
    count(what, { id }) {
      const key = `${what}:${id}`;
      const role = gateway.identify("web", id);
      if (role === "owner" || (what === "commands" && role !== undefined) || perMinute.add(key) <= max[what]) return;
      throw perMinute.exceeded(key, what);
    },
  };
}

/** Gives a person one turn in each round of the event loop. */
function turns(): (id: string) => Promise<void> {
  const peoples = new Map<string, { waiting: number; inTurn: ReturnType<typeof inTurn> }>();
  return async (id) => {
    const own = peoples.get(id) ?? { waiting: 0, inTurn: inTurn() };
    peoples.set(id, own);
    own.waiting++;
    await own.inTurn(() => setImmediate());
    own.waiting--;
    if (own.waiting === 0) peoples.delete(id);
  };
}
