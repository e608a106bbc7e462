/** What the journal is told of a dispatch about a mission; the depth of its cause cuts hooks and missions that begin each other. */
import { formatAddress } from "../../domain/chat/address.js";
import type { Mission } from "../../domain/orchestrator/mission.js";
import type { DispatchOptions } from "../../hooks/options.js";

/** `dispatchId`: the same when it is done again after a crash. */
export function firing({ address, cause }: Mission, dispatchId: string): DispatchOptions {
  return {
    dispatchId,
    cause,
    conversation: address && formatAddress(address),
  };
}
