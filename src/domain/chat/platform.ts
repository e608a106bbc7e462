/** The platforms that there are adapters for, and whether a word starts with one of them. */
import { nearest } from "../../lib/validation/nearest.js";

export const PLATFORMS = ["web", "discord", "telegram"] as const;
export type PlatformName = (typeof PLATFORMS)[number];

/** Telegram has no mention of all who read a chat. */
export const canMentionEveryone = (platform: string | undefined) => platform !== "telegram";

/** The problem of the platform at the start of an address or a person, `discrod:123`; undefined when there is none. */
export function platformProblem(text: string): string | undefined {
  const [named = ""] = text.split(":");
  if (PLATFORMS.some((platform) => platform === named)) return undefined;
  const near = nearest(named, PLATFORMS);
  return `there is no platform "${named}"${near === undefined ? "" : ` (did you mean "${near}"?)`}`;
}
