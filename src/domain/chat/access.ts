/** The access lists of one platform. Every adapter's config carries this schema, and the gateway decides by it. */
import { z } from "zod";

/** Ids as text; YAML may give small ones as numbers. Numbers that JavaScript cannot hold exactly are refused: quote them. */
const platformId = z.union([z.string().min(1), z.int()]).transform(String);

export const accessConfig = z.strictObject({
  dms: z
    .enum(["operators", "everyone", "off"])
    .default("operators")
    .describe("Whose direct messages are answered: operators (people with a role), everyone, or off."),
  guilds: z
    .array(platformId)
    .default([])
    .describe(
      'Ids of the guilds (servers) that are listened to, all channels. An empty list means none; "*" means all.',
    ),
  chats: z
    .array(platformId)
    .default([])
    .describe(
      'Ids of the channels, groups or rooms that are listened to; a thread goes with its parent. An empty list means none; "*" means all.',
    ),
  mention: z
    .enum(["required", "always"])
    .default("required")
    .describe("Outside direct messages: answer only when addressed (required), or every message (always)."),
});
export type AccessConfig = z.output<typeof accessConfig>;

/** The reason why a message is not answered although the gateway listens to its chat. */
export const NOT_ADDRESSED = "not addressed";
export const OF_A_BOT = "written by a bot account";

/**
 * Whether a payload of `message_received` comes from a chat where the gateway does not listen: from people who may write anything, as often
 * as they like.
 */
export function isOfStranger(point: string, payload: unknown): boolean {
  if (point !== "message_received" || typeof payload !== "object" || payload === null) return false;
  const { access, reason } = payload as { access?: unknown; reason?: unknown };
  return access === "denied" && reason !== NOT_ADDRESSED && reason !== OF_A_BOT;
}
