/** Tokens that match no person: counted by address, logged, audited and refused for a while when there are too many. */
import type { FastifyRequest } from "fastify";
import type { AuditStore } from "../domain/store.js";
import type { PerMinute } from "../lib/concurrency/per-minute.js";
import { errorMessage, HookgateError } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { Clock } from "../lib/time/clock.js";
import type { Metrics } from "./metrics.js";

/** Wrong tokens a minute from one address. */
const MAX_FAILURES = 20;
export const LOOPBACK = /^(127\.|::1$|::ffff:127\.)/;

export interface FailedTokens {
  /** Throws RATE_LIMITED while the address has sent too many. Not for loopback: there a stale script would lock the owner out. */
  check(request: FastifyRequest): void;
  /** Counts a wrong one; gives the error to answer: TOKEN_WRONG or RATE_LIMITED. */
  failed(request: FastifyRequest, way: "bearer" | "login" | "signed"): HookgateError;
}

export interface FailedTokensDeps {
  perMinute: PerMinute;
  audit: Pick<AuditStore, "record">;
  metrics: Pick<Metrics, "tokenFailed">;
  clock: Clock;
  logger: Logger;
}

export function createFailedTokens({ perMinute, audit, metrics, clock, logger }: FailedTokensDeps): FailedTokens {
  const keyOf = ({ ip }: FastifyRequest) => `token:${ip}`;
  const exceeded = (request: FastifyRequest) => perMinute.exceeded(keyOf(request), "wrong tokens from this address");

  /** Once at the first of a minute and once at the limit, so that guessing fills neither the log nor the table. */
  function report({ ip }: FastifyRequest, way: string, count: number): void {
    if (count !== 1 && count !== MAX_FAILURES + 1) return;
    const isLimited = count > 1;
    const facts = { address: ip, way, count };
    logger.warn(
      facts,
      isLimited ? "too many wrong tokens: the address is refused for a minute" : "a wrong token was sent",
    );
    audit
      .record({
        at: clock.now(),
        operator: { platform: "web", userId: "unknown" },
        action: "login",
        details: facts,
        outcome: "refused",
      })
      .catch((error: unknown) => logger.error({ error: errorMessage(error) }, "a wrong token could not be audited"));
  }

  return {
    check(request) {
      if (!LOOPBACK.test(request.ip) && perMinute.count(keyOf(request)) > MAX_FAILURES) throw exceeded(request);
    },
    failed(request, way) {
      const count = perMinute.add(keyOf(request));
      const isLimited = count > MAX_FAILURES;
      metrics.tokenFailed(way, isLimited ? "limited" : "refused");
      report(request, way, count);
      if (isLimited) return exceeded(request);
      return new HookgateError({
        code: "TOKEN_WRONG",
        message: "this token is not known",
        hint: "Run `npx hookgate token` on the gateway's machine to see the owner's. Other people get theirs from the owner.",
      });
    },
  };
}
