/**
 * The facts that a start shows the person who sets the gateway up: the chats that each platform listens to, why a platform is offline, and
 * how the first owner is made.
 */
import type { Gateway } from "../gateway/gateway.js";
import type { OwnerClaims } from "../gateway/people/owner-claims.js";
import type { AdapterStatus } from "../gateway/status.js";
import type { Logger } from "../lib/logger.js";
import { type Clock, wait } from "../lib/time/clock.js";

export interface FirstSteps {
  /** The one-time code for `/claim`, while a platform that can be reached has no person with a role. */
  ownerCode: string | undefined;
  /** Platforms that are not connected, with the reason and the next step. */
  away: Pick<AdapterStatus, "platform" | "phase" | "reason" | "hint">[];
}

interface FirstStepsDeps {
  gateway: Gateway;
  claims: OwnerClaims;
  clock: Clock;
  logger: Logger;
}

/** A platform that has not answered by then is shown as connecting: most are only slow. */
const VERDICT_WITHIN_MS = 5_000;
const POLL_MS = 50;

/**
 * Waits until each platform is known to be online or not, logs the chats that the platforms listen to, and returns the facts that the start
 * prints.
 */
export async function firstSteps(deps: FirstStepsDeps, signal: AbortSignal): Promise<FirstSteps> {
  const adapters = await afterVerdicts(deps, signal);
  const away = adapters.filter(({ phase }) => phase !== "online");
  const reachable = adapters.filter(({ phase }) => phase !== "offline");
  reportListening(reachable, deps.logger);
  const needsOwner = reachable.some(({ listening }) => listening?.people === 0);
  return { ownerCode: needsOwner ? deps.claims.newCode() : undefined, away };
}

async function afterVerdicts({ gateway, clock }: FirstStepsDeps, signal: AbortSignal): Promise<AdapterStatus[]> {
  const until = clock.monotonic() + VERDICT_WITHIN_MS;
  for (;;) {
    const { adapters } = await gateway.status();
    const isKnown = adapters.every(({ phase }) => phase !== "off" && phase !== "connecting");
    if (isKnown || clock.monotonic() >= until) return adapters;
    await wait(clock, POLL_MS, signal);
  }
}

/** One line per platform: a bot that listens to nothing is a warning, with the next step. */
function reportListening(adapters: readonly AdapterStatus[], logger: Logger): void {
  for (const { platform, listening } of adapters) {
    if (listening === undefined) continue;
    if (listening.isNothing)
      logger.warn({ platform, hint: listening.hint }, `${platform} listens to ${listening.text}`);
    else logger.info({ platform, hint: listening.hint }, `${platform} listens to ${listening.text}`);
  }
}
