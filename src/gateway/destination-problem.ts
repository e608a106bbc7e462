/** A destination that a hook or a route names wrongly is refused at once: no retry would reach it. */
import { type Address, addressProblem } from "../domain/chat/address.js";
import type { Adapters } from "./adapters.js";

/** Why nothing can be posted there, as far as is known now; undefined when it can. */
export function destinationProblem(at: Address, adapters: Adapters): string | undefined {
  const { platform, botId } = at;
  const adapter = adapters.get(platform);
  if (adapter === undefined) return `the platform "${platform}" is not switched on`;
  const own = adapters.botId(platform);
  if (botId !== "" && own !== undefined && botId !== own)
    return `the gateway's account on ${platform} is "${own}", not "${botId}"`;
  return addressProblem(at);
}
