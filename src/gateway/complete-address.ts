/** An address as deliveries have it: configs and plugins may leave the bot account out, and may name a chat that has moved. */
import type { Address } from "../domain/address.js";
import type { Deps } from "./deps.js";

export function completeAddress(at: Address, { adapters, moves }: Pick<Deps, "adapters" | "moves">): Address {
  return moves.current(at.botId === "" ? { ...at, botId: adapters.botId(at.platform) ?? "" } : at);
}
