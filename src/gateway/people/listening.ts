/**
 * Describes in words what a platform listens to: for the start, /status and `doctor`. A bot that listens to nothing must not look healthy.
 */
import type { AccessConfig } from "../../domain/chat/access.js";

export interface Listening {
  /** "direct messages of people with a role (2); 1 server and 3 chats, when addressed" */
  text: string;
  /** On this platform the gateway answers no one (except `/whoami` and `/claim`). */
  isNothing: boolean;
  /** How many people, or platform roles, have a role here. */
  people: number;
  /** The setting to add to the configuration, when something is missing. */
  hint?: string;
}

/** `people`: how many people (or platform roles) of this platform have a role. */
export function listeningOf(platform: string, access: AccessConfig | undefined, people: number): Listening {
  const dms = directMessages(access, people);
  const places = placesOf(access);
  const parts = [dms, places].filter((part) => part !== undefined);
  if (parts.length === 0)
    return {
      text: "nothing: no person has a role here, and no server or chat is listed",
      isNothing: true,
      people,
      hint: `Write \`/claim CODE\` to the bot (\`npx hookgate claim\` prints the code), or add people under \`operators:\` and chats under \`${platform}.access.chats\` in hookgate.yaml. \`/whoami\` in a chat shows the lines.`,
    };
  const hint =
    places === undefined
      ? `No server or chat is listed: \`/whoami\` in a chat shows the lines for \`${platform}.access.chats\`.`
      : undefined;
  return { text: parts.join("; "), isNothing: false, people, hint };
}

function directMessages(access: AccessConfig | undefined, people: number): string | undefined {
  switch (access?.dms) {
    case "everyone":
      return "direct messages of everyone";
    case "operators":
      return people === 0 ? undefined : `direct messages of people with a role (${people})`;
    case "off":
    case undefined:
      return undefined;
  }
}

function placesOf(access: AccessConfig | undefined): string | undefined {
  if (access === undefined) return undefined;
  const { guilds, chats, mention } = access;
  const when = mention === "required" ? ", when addressed" : "";
  if (guilds.includes("*") || chats.includes("*")) return `all chats${when}`;
  const counts = [counted(guilds.length, "server"), counted(chats.length, "chat")].filter((part) => part !== undefined);
  return counts.length === 0 ? undefined : `${counts.join(" and ")}${when}`;
}

function counted(count: number, what: string): string | undefined {
  if (count === 0) return undefined;
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
