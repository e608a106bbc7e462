/** The accounts that a message pings at a destination: only those of its own platform, and only those that the configuration names. */
import type { OutboundMessage } from "../../../domain/chat/message.js";
import { canMentionEveryone } from "../../../domain/chat/platform.js";
import type { Alerting } from "../../alerting.js";

/** `mentions`: `platform:id|name`. People of other platforms, and other people in a private chat, are named in the text already. */
export function mentionsFor(
  mentions: readonly string[],
  destination: string,
  { personOf }: Pick<Alerting, "personOf">,
): { prefix: string; mentions?: OutboundMessage["mentions"] } {
  const platform = destination.split(":")[0];
  const reader = personOf(destination);
  const users: string[] = [];
  const roles: string[] = [];
  let everyone = false;
  const written: string[] = [];
  for (const mention of mentions) {
    const bar = mention.indexOf("|");
    const ref = bar < 0 ? mention : mention.slice(0, bar);
    const name = bar < 0 ? "" : mention.slice(bar + 1).replace(/[<>|]/g, "");
    if (ref === "everyone") {
      if (!canMentionEveryone(platform) || reader !== undefined) continue;
      everyone = true;
      written.push("@everyone");
      continue;
    }
    const [of, kind, id] = ref.split(":");
    if (of !== platform || kind === undefined) continue;
    const isRole = kind === "role" && id !== undefined;
    (isRole ? roles : users).push(isRole ? id : kind);
    // An account id is only a number for a reader who does not know that person's account.
    if (reader === undefined || ref === reader)
      written.push(isRole ? `<@&${id}>` : `<@${kind}${name === ref || name === "" ? "" : `|${name}`}>`);
  }
  if (users.length + roles.length === 0 && !everyone) return { prefix: "" };
  return {
    prefix: written.map((one) => `${one} `).join(""),
    mentions: {
      users: users.length > 0 ? users : undefined,
      roles: roles.length > 0 ? roles : undefined,
      everyone: everyone || undefined,
    },
  };
}
