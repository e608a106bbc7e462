/** People in rows: their account, and their name when it is known. */
import type { Operator } from "../../src/domain/chat/identity.js";

/** Who gives a command, as rows keep people: `web:1 (Ann)`. */
export function whoIs({ platform, userId, displayName }: Operator): string {
  return displayName === undefined ? `${platform}:${userId}` : `${platform}:${userId} (${displayName})`;
}

/** The name in a text of `whoIs`; the id when no name was known. */
export const nameIn = (by: string): string => /^\S+ \((.+)\)$/.exec(by)?.[1] ?? by;
