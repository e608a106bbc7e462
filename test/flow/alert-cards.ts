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

/** What shows an alert and is no card of one: reminders, escalations, details, answers. */
const isOther = /Overdue now|^Ended\b|Escalated: step|\(reminder \d|Severity|For how long\?|✓ |Nothing to do/;

export function alertCards(stack: () => Stack) {
  const platform = (name: Name): FlowPlatform => stack().platforms[name];
  const room = (name: Name): Place => platform(name).places[0];

  /** The cards that say all of this in a room, in whichever case. */
  async function cards(name: Name, words: string | readonly string[]): Promise<Seen[]> {
    const wanted = [words, "al_"].flat().map((word) => word.toLowerCase());
    const seen = await platform(name).seen(room(name));
    return seen.filter(
      // A notice whose alert ended is two lines.
      (one) =>
        !isOther.test(shown(one)) &&
        shown(one).trim().split("\n").length > 2 &&
        wanted.every((word) => shown(one).toLowerCase().includes(word)),
    );
  }

  /** The message that has this button: the card, or the answer to its "More…" or "Snooze ▾". */
  async function holderOf(name: Name, cardId: string, label: string): Promise<string> {
    const all = () => platform(name).seen(room(name), "owner");
    const card = await until(async () => (await all()).find(({ id }) => id === cardId), `the card ${cardId}`);
    if (card.buttons.includes(label)) return cardId;
    const before = new Set((await all()).map(({ id }) => id));
    const isSnooze = /^(Snooze|Next business)/.test(label);
    await platform(name).press(room(name), "owner", cardId, isSnooze ? "Snooze ▾" : "More…");
    const isNew = ({ id, buttons }: Seen) => !before.has(id) && buttons.includes(label);
    return (await until(async () => (await all()).find(isNew), `${label} among the details in ${name}`)).id;
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
    press: async (name: Name, cardId: string, label: string) =>
      platform(name).press(room(name), "owner", await holderOf(name, cardId, label), label),
    fill: async (name: Name, cardId: string, label: string, values: Record<string, string>) =>
      platform(name).fill(room(name), "owner", await holderOf(name, cardId, label), label, values),
    /** The card in each room, once all show this. */
    async everywhere(words: string | readonly string[], part: RegExp): Promise<Record<Name, Seen>> {
      const found = NAMES.map(async (name) => [name, await cardOf(name, words, part)] as const);
      return Object.fromEntries(await Promise.all(found)) as Record<Name, Seen>;
    },
  };
}
