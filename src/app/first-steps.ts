/** What a start reports for the person who sets the gateway up: what each platform listens to, and how the first owner is made. */
import type { Gateway } from "../gateway/gateway.js";
import type { OwnerClaims } from "../gateway/owner-claims.js";
import type { Logger } from "../lib/logger.js";

/** One line per platform: a bot that listens to nothing is a warning, with what to do. */
export async function reportListening(gateway: Gateway, logger: Logger): Promise<void> {
  const { adapters } = await gateway.status();
  for (const { platform, phase, listening } of adapters) {
    if (listening === undefined || phase === "offline") continue;
    if (listening.isNothing)
      logger.warn({ platform, hint: listening.hint }, `${platform} listens to ${listening.text}`);
    else logger.info({ platform, hint: listening.hint }, `${platform} listens to ${listening.text}`);
  }
}

/** While a platform has nobody with a role, nobody there can be answered: its first owner is claimed with this code. */
export async function codeForFirstOwner(gateway: Gateway, claims: OwnerClaims): Promise<string | undefined> {
  const { adapters } = await gateway.status();
  return adapters.some(({ listening }) => listening?.people === 0) ? claims.newCode() : undefined;
}
