/** Access: decides for one message, from the platform's access lists, and gives the reason of a denial to hooks and the journal. */
import { type AccessConfig, NOT_ADDRESSED } from "../../domain/chat/access.js";
import type { Role } from "../../domain/chat/identity.js";

/** The facts that access is decided by. `formerChatIds`: ids that the chat had before it moved. */
export interface Place {
  chatId: string;
  parentChatId?: string;
  guildId?: string;
  isDm: boolean;
  formerChatIds?: readonly string[];
}

export interface Verdict {
  access: "allowed" | "denied";
  reason?: string;
}

const ALLOWED: Verdict = { access: "allowed" };
const deny = (reason: string): Verdict => ({ access: "denied", reason });

/** `addressed`: the message mentions us; undefined where that is no question (a reaction, a deletion). */
export function decideAccess(
  config: AccessConfig | undefined,
  place: Place,
  role: Role | undefined,
  addressed: boolean | undefined,
): Verdict {
  if (!config) return deny("this platform has no access list");
  if (place.isDm) {
    if (config.dms === "everyone") return ALLOWED;
    if (config.dms === "off") return deny("direct messages are off");
    return role ? ALLOWED : deny("direct messages are for operators");
  }
  if (!isListed(config, place)) return deny("this place is not listed");
  if (config.mention === "required" && addressed === false) return deny(NOT_ADDRESSED);
  return ALLOWED;
}

/** How messages of a person are treated at a place. `mention`: only those that mention the gateway are answered. */
export type Listens = "always" | "mention" | "never";

export function listensAt(config: AccessConfig | undefined, place: Place, role: Role | undefined): Listens {
  if (decideAccess(config, place, role, true).access === "denied") return "never";
  return decideAccess(config, place, role, false).access === "denied" ? "mention" : "always";
}

function isListed({ guilds, chats }: AccessConfig, { chatId, parentChatId, guildId, formerChatIds }: Place): boolean {
  if (guildId && (guilds.includes(guildId) || guilds.includes("*"))) return true;
  if (chats.includes(chatId) || chats.includes("*")) return true;
  if (parentChatId !== undefined && chats.includes(parentChatId)) return true;
  return formerChatIds?.some((id) => chats.includes(id)) ?? false;
}
