/** Who a person is to us: the role that the config gives their numeric id or one of their platform roles. Nobody has one by default. */
import { hasRole, ROLES, type Role } from "../domain/identity.js";
import type { OperatorsConfig } from "./config.js";

export type Identify = (platform: string, userId: string, roleIds?: readonly string[]) => Role | undefined;

/** The person who holds the token of the local console. */
export interface ConsolePerson {
  platform: string;
  userId: string;
  name?: string;
}

export function identifier(config: OperatorsConfig, console?: ConsolePerson): Identify {
  const roles = new Map<string, Role>();
  // Ascending, so that the highest role of a person who is listed twice holds.
  for (const role of ROLES) for (const reference of config[role]) roles.set(reference, role);
  if (console && config.console !== "none") {
    const reference = `${console.platform}:${console.userId}`;
    if (!hasRole(roles.get(reference), config.console)) roles.set(reference, config.console);
  }
  if (roles.size === 0) return () => undefined;
  return (platform, userId, roleIds) => {
    let held = roles.get(`${platform}:${userId}`);
    if (roleIds)
      for (const roleId of roleIds) {
        const role = roles.get(`${platform}:role:${roleId}`);
        if (role && !hasRole(held, role)) held = role;
      }
    return held;
  };
}
