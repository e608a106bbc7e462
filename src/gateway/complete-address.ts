/** An address as deliveries have it: configs and plugins may leave the bot account out, and may name a chat that has moved. */
import { type Address, formatAddress } from "../domain/chat/address.js";
import type { Deps } from "./deps.js";

export function completeAddress(at: Address, { adapters, moves }: Pick<Deps, "adapters" | "moves">): Address {
  return moves.current(at.botId === "" ? { ...at, botId: adapters.botId(at.platform) ?? "" } : at);
}

/** The default route forwards there: who writes there is one of us. */
export function takesCopies(at: Address, deps: Pick<Deps, "config" | "moves" | "adapters">): boolean {
  const { default_route: route } = deps.config;
  if (typeof route === "string" || !("forward" in route)) return false;
  return formatAddress(completeAddress(route.forward, deps)) === formatAddress(completeAddress(at, deps));
}
