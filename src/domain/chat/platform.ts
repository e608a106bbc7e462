/** The platforms that there are adapters for, and whether a word begins with one of them. */
import { nearest } from "../../lib/validation/nearest.js";

export const PLATFORMS = ["web", "discord", "telegram"] as const;
export type PlatformName = (typeof PLATFORMS)[number];

/** Telegram has no mention of all who read a chat. */
export const canMentionEveryone = (platform: string | undefined) => platform !== "telegram";

/** What is wrong with the platform that an address or a person begins with, `discrod:123`; undefined when nothing is. */
export function platformProblem(text: string): string | undefined {
  const [named = ""] = text.split(":");
  if (PLATFORMS.some((platform) => platform === named)) return undefined;
  const near = nearest(named, PLATFORMS);
  return `there is no platform "${named}"${near === undefined ? "" : ` (did you mean "${near}"?)`}`;
}
