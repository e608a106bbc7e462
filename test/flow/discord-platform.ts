/** A person on the loopback Discord. */

import { carriesContent } from "../fakes/discord/calls.js";
import { FAKE_TOKEN, type FakeDiscord } from "../fakes/discord/server.js";
import { ChannelType } from "../fakes/discord/world.js";
import type { FlowPlatform, Place, Seen, Speaker } from "./platform.js";

export function discordPlatform(fake: FakeDiscord): FlowPlatform {
  const second = fake.world.addChannel({ type: ChannelType.text, name: "second" });
  const people: Record<Speaker, string> = {
    owner: fake.userId,
    stranger: fake.world.addUser({ username: "mallory" }).id,
    guest: fake.world.addUser({ username: "grace" }).id,
  };
  const first: Place = { chatId: fake.channelId };
  const where = (place: Place, who: Speaker) => ({ channelId: place.chatId, userId: people[who] });
  /** The private answer to somebody else. */
  const isHidden = (messageId: string, userId: string) =>
    [...fake.world.interactions.values()].some(
      (one) => one.originalId === messageId && one.acknowledged?.isPrivate === true && one.userId !== userId,
    );
  const parse = (line: string) => {
    const spec = line.trim().replace(/^\//, "").split(/\s+/);
    return { name: spec[0] as string, values: spec.slice(1) };
  };

  return {
    name: "discord",
    config: { access: { dms: "everyone", guilds: [fake.world.guildId], mention: "always" } },
    env: { DISCORD_TOKEN: FAKE_TOKEN, DISCORD_API_URL: fake.apiUrl },
    ownerRef: `discord:${people.owner}`,
    places: [first, { chatId: second.id }],
    thread: { chatId: fake.threadId },
    botId: () => fake.world.bot.id,
    begin: async () => {},
    end: async () => {},
    say: async (place, who, text, facts = {}) =>
      fake.people.says(text, {
        ...where(place, who),
        replyToId: facts.replyToId || undefined,
        attachments: facts.attachment
          ? [
              {
                id: fake.world.snowflake(),
                filename: "note.txt",
                size: 5,
                url: typeof facts.attachment === "string" ? facts.attachment : `${fake.apiUrl}/note.txt`,
                proxy_url: typeof facts.attachment === "string" ? facts.attachment : `${fake.apiUrl}/note.txt`,
                content_type: "text/plain",
              },
            ]
          : undefined,
      }).id,
    edit: async (place, who, id, text) => fake.people.edits(id, text, where(place, who)),
    remove: async (place, who, id) => fake.people.deletes(id, where(place, who)),
    react: async (place, who, id, emoji) => fake.people.reacts(id, emoji, where(place, who)),
    async command(place, who, line) {
      const { name, values } = parse(line);
      const registered = fake.world.commands.find((command) => command.name === name) as
        | { options?: { name: string; type: number }[] }
        | undefined;
      if (!registered) throw new Error(`Discord knows no command ${name}`);
      const options: Record<string, string | boolean> = {};
      let at = 0;
      for (const value of values) {
        const [, name, text = ""] = /^([a-z-]+)=([\s\S]*)$/.exec(value) ?? [];
        const named = registered.options?.find((option) => option.name === name);
        if (named) options[named.name] = named.type === 5 ? text === "true" : text;
        else options[registered.options?.[at]?.name ?? `extra${at}`] = value;
        if (!named) at++;
      }
      fake.people.slash(name, options, where(place, who));
    },
    press: async (place, who, id, label) => void fake.people.presses(id, label, where(place, who)),
    async fill(place, who, id, label, values) {
      const { token } = fake.people.presses(id, label, where(place, who));
      const answer = await fake.people.answerTo(token, 10_000);
      const modal = answer?.data as { custom_id?: string } | undefined;
      if (modal?.custom_id === undefined) throw new Error(`${label} opened no form`);
      fake.people.submits(modal.custom_id, values, { ...where(place, who), messageId: id });
    },
    whispers: async (_place, who) =>
      [...fake.world.interactions.values()]
        .filter(({ userId, acknowledged }) => userId === people[who] && acknowledged?.isPrivate)
        .flatMap(({ originalId, channelId }) => {
          const message = originalId && fake.world.channels.get(channelId)?.messages.get(originalId);
          return message ? [seenOf(message).text] : [];
        }),
    seen: async (place, who = "owner") =>
      [...(fake.world.channels.get(place.chatId)?.messages.values() ?? [])]
        .filter((message) => message.author.id === fake.world.bot.id)
        .filter(({ id }) => !isHidden(id, people[who]))
        .map(seenOf)
        .filter(({ text }) => text !== ""),
    seenPrivately: async (who) =>
      [...fake.world.channels.values()]
        .filter((channel) => channel.userId === people[who])
        .flatMap((channel) => [...channel.messages.values()])
        .filter((message) => message.author.id === fake.world.bot.id)
        .map(seenOf),
    contentCalls: async () =>
      fake.calls.filter(carriesContent).map((call) => ({
        kind: call.kind,
        text: seenOf({ id: "", ...(call.body as object) } as Parsed).text,
        messageId: call.messageId || undefined,
      })),
  };
}

interface Parsed {
  id: string;
  content?: string;
  embeds?: {
    title?: string;
    description?: string;
    fields?: { name: string; value: string }[];
    footer?: { text: string };
  }[];
  components?: unknown[];
}

function seenOf(message: Parsed): Seen {
  const embeds = (message.embeds ?? []).flatMap((embed) => [
    embed.title,
    embed.description,
    ...(embed.fields ?? []).flatMap(({ name, value }) => [name, value]),
    embed.footer?.text,
  ]);
  const rows = (message.components ?? []) as { components?: { label?: string }[] }[];
  return {
    id: message.id,
    text: [message.content, ...embeds].filter(Boolean).join("\n"),
    buttons: rows.flatMap((row) => (row.components ?? []).map(({ label }) => label ?? "")),
  };
}
