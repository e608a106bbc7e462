/** People and their rights. A person is a platform's numeric user id, never a name. */

export const ROLES = ["viewer", "operator", "admin", "owner"] as const;
export type Role = (typeof ROLES)[number];

/** True when `held` is `needed` or above. No role is below every role; an unknown `needed` is never reached. */
export function hasRole(held: Role | undefined, needed: Role): boolean {
  return held !== undefined && ROLES.includes(needed) && ROLES.indexOf(held) >= ROLES.indexOf(needed);
}

export function highestRole(roles: readonly [Role, ...Role[]]): Role {
  return roles.reduce((one, other) => (hasRole(one, other) ? one : other));
}

/** The person who did something, as hooks, the audit log and commands see them. */
export interface Operator {
  platform: string;
  userId: string;
  displayName?: string;
  /** Absent = no role: may only ask who they are. */
  role?: Role;
}
