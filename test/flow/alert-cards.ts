/** Cards of alerts as people see them: in the first place of each of the three chats, where the routes of these suites tell them. */
import { until } from "../support/until.js";
import type { FlowPlatform, Place, Seen } from "./platform.js";
import { type Around, invoke, type Stack } from "./stack.js";

export const NAMES = ["web", "discord", "telegram"] as const;
export type Name = (typeof NAMES)[number];

/** For `to:` of a route. */
export const destinations = ({ discord, telegram }: Around): Record<Name, string> => ({
  web: "web:web:general",
  discord: `discord:${discord.world.bot.id}:${discord.channelId}`,
  telegram: `telegram:${telegram.world.bot.id}:${telegram.forumId}`,
});

/** What Markdown escapes away is shown. */
export const shown = ({ text }: Pick<Seen, "text">) => text.replaceAll("\\", "");

export const idIn = ({ text }: Pick<Seen, "text">) => /al_\w+/.exec(text)?.[0] ?? "none";

export function alertCards(stack: () => Stack) {
  const platform = (name: Name): FlowPlatform => stack().platforms[name];
  const room = (name: Name): Place => platform(name).places[0];

  /** The cards that say all of this in a room, in whichever case. */
  async function cards(name: Name, words: string | readonly string[]): Promise<Seen[]> {
    const wanted = [words, "al_", "state"].flat().map((word) => word.toLowerCase());
    const seen = await platform(name).seen(room(name));
    return seen.filter((one) => wanted.every((word) => shown(one).toLowerCase().includes(word)));
  }

  const cardOf = (name: Name, words: string | readonly string[], part: RegExp): Promise<Seen> =>
    until(
      async () => (await cards(name, words)).find((one) => part.test(shown(one))),
      `${part} on the card of ${words} in ${name}`,
    );

  return {
    platform,
    room,
    run: (line: string) => invoke(stack().gateway.url, line),
    cards,
    cardOf,
    /** The card in each room, once all show this. */
    async everywhere(words: string | readonly string[], part: RegExp): Promise<Record<Name, Seen>> {
      const found = NAMES.map(async (name) => [name, await cardOf(name, words, part)] as const);
      return Object.fromEntries(await Promise.all(found)) as Record<Name, Seen>;
    },
  };
}
