/** Rooms of the web chat that get customers' messages. Everyone who can log in reads a room, also people without a role. */
import { parseAddress } from "../domain/chat/address.js";
import { ROLES } from "../domain/chat/identity.js";
import { type Named, namedPlatforms } from "./named-platforms.js";
import type { Config } from "./schema.js";

const MAX_NAMED = 3;

/** A sentence for each setting. It may be meant so. */
export function readableRoomNotes(config: Config): string[] {
  const { web, operators, sla } = config;
  const withRole = new Set(ROLES.flatMap((role) => operators[role]));
  const readers = web.enabled ? web.people.filter(({ id }) => !withRole.has(`web:${id}`)) : [];
  if (readers.length === 0) return [];
  const names = readers.slice(0, MAX_NAMED).map(({ name }) => name);
  const more = readers.length - names.length;
  const who = `${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}, who ${readers.length === 1 ? "has" : "have"} no role`;
  const areQuoted = sla.policies.some((policy) => policy.for === "conversation");
  return namedPlatforms(config).flatMap(({ path, text }) => {
    const what = whatIsPosted(path, areQuoted);
    if (what === undefined || !isRoom(text)) return [];
    return `${path.join(".")}: ${what} ${text}. Everyone who can log in to the web chat reads its rooms, also ${who}. Name a chat of operators only, or give these people a role.`;
  });
}

/** Undefined for a setting by which no words of customers are posted. */
function whatIsPosted([section, key, , to]: Named["path"], areQuoted: boolean): string | undefined {
  if (section === "gateway") return key === "default_route" ? "messages of customers are posted in" : undefined;
  if (section !== "alerts" || !areQuoted) return undefined;
  const isChat = (key === "routes" && (to === "to" || to === "escalate")) || key === "fallback";
  return isChat ? "cards that quote customers are posted in" : undefined;
}

/** A chat with one person is read by that person. */
function isRoom(text: string): boolean {
  const at = parseAddress(text);
  return at?.platform === "web" && !at.chatId.startsWith("dm-");
}
