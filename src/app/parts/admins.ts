/** The chats where the owners and admins of the settings are notified. */
import type { Environment } from "../../config/env.js";
import type { Config } from "../../config/schema.js";
import type { Address } from "../../domain/chat/address.js";
import { directAddress } from "./direct.js";

/** Direct messages to owners and admins. Roles are not people: accounts that have one by a Discord role are not notified. */
export function adminsOf(
  config: Pick<Config, "operators" | "web">,
  env: Environment,
  consoleId: string,
  owners: ReadonlyMap<string, unknown>,
): Address[] {
  const { operators, web } = config;
  const people = [...new Set([...operators.owner, ...owners.keys(), ...operators.admin])];
  const consoleIsAdmin = operators.console === "owner" || operators.console === "admin";
  return [...(web.enabled && consoleIsAdmin ? [`web:${consoleId}`] : []), ...people].flatMap((person): Address[] => {
    const [platform, id, ...more] = person.split(":");
    if (platform === undefined || id === undefined || more.length > 0) return [];
    const at = directAddress(platform, id, config, env);
    return at === undefined ? [] : [at];
  });
}
