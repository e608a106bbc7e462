/** Who gives a command, as rows and cards name people: `web:1 (Ann)`. */
import type { Operator } from "../src/domain/identity.js";

export function whoIs({ platform, userId, displayName }: Operator): string {
  return displayName === undefined ? `${platform}:${userId}` : `${platform}:${userId} (${displayName})`;
}
