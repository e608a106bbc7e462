/** A person's role: the one that the configuration gives their numeric id or one of their platform roles. None by default. */
import { hasRole, ROLES, type Role } from "../../domain/chat/identity.js";
import type { OperatorsConfig } from "../config.js";

export type Identify = (platform: string, userId: string, roleIds?: readonly string[]) => Role | undefined;

/** The person who holds the token of the local console. */
export interface ConsolePerson {
  platform: string;
  userId: string;
  name?: string;
}

/** `owners`: people who were claimed as owners in chat, by `platform:id`; read at every call. */
export function identifier(
  config: OperatorsConfig,
  console?: ConsolePerson,
  owners?: ReadonlyMap<string, unknown>,
): Identify {
  const roles = new Map<string, Role>();
  // Ascending, so that the highest role of a person who is listed twice holds.
  for (const role of ROLES) for (const reference of config[role]) roles.set(reference, role);
  if (console && config.console !== "none") {
    const reference = `${console.platform}:${console.userId}`;
    if (!hasRole(roles.get(reference), config.console)) roles.set(reference, config.console);
  }
  if (roles.size === 0 && owners === undefined) return () => undefined;
  return (platform, userId, roleIds) => {
    const reference = `${platform}:${userId}`;
    if (owners?.has(reference)) return "owner";
    let held = roles.get(reference);
    if (roleIds)
      for (const roleId of roleIds) {
        const role = roles.get(`${platform}:role:${roleId}`);
        if (role && !hasRole(held, role)) held = role;
      }
    return held;
  };
}

/** How many people, or platform roles, of a platform have a role. */
export function peopleOn(platform: string, config: OperatorsConfig, owners: ReadonlyMap<string, unknown>): number {
  const all = new Set([...ROLES.flatMap((role) => config[role]), ...owners.keys()]);
  return [...all].filter((reference) => reference.startsWith(`${platform}:`)).length;
}
