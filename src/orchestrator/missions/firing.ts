/** The dispatch options for hooks about a mission, for the journal; the depth of its cause cuts hooks and missions that make each other. */
import { formatAddress } from "../../domain/chat/address.js";
import type { Mission } from "../../domain/orchestrator/mission.js";
import type { DispatchOptions } from "../../hooks/options.js";

/** `dispatchId`: it stays the same when the dispatch is repeated after a crash. */
export function firing({ address, cause }: Mission, dispatchId: string): DispatchOptions {
  return {
    dispatchId,
    cause,
    conversation: address && formatAddress(address),
  };
}
