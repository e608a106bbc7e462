/** The adapter of a platform whose settings cannot be used: offline for good, with the reason. Deliveries to it wait. */
import type { Adapter } from "../src/domain/chat/adapter.js";
import { HookgateError } from "../src/lib/errors.js";

export function createMisconfiguredAdapter(platform: string, why: string): Adapter {
  const refuse = () => {
    throw new HookgateError({
      code: "PLATFORM_MISCONFIGURED",
      message: why,
      hint: "Fix it (`npx hookgate check` shows where) and restart.",
    });
  };
  return {
    platform,
    traits: {
      idempotentCreate: false,
      limits: { perSecond: 1 },
      isGroup: () => false,
      privateAddress: () => undefined,
    },
    run: async () => refuse(),
    // Never reached: nothing is encoded for, or sent to, a platform that is not online.
    encode: refuse,
    send: async () => refuse(),
  };
}
