/** A person on the loopback Telegram. */
import { carriesContent } from "../fakes/telegram/calls.js";
import { buttonsOf } from "../fakes/telegram/people.js";
import { FAKE_TOKEN, type FakeTelegram } from "../fakes/telegram/server.js";
import type { FakeMessage } from "../fakes/telegram/world.js";
import { until } from "../support/until.js";
import type { FlowPlatform, Place, Seen, Speaker } from "./platform.js";

export function telegramPlatform(fake: FakeTelegram): FlowPlatform {
  const people: Record<Speaker, number> = {
    owner: fake.userId,
    stranger: fake.world.addUser({ firstName: "Mallory" }).id,
    guest: fake.world.addUser({ firstName: "Grace" }).id,
  };
  const places: readonly [Place, Place] = [{ chatId: String(fake.forumId) }, { chatId: String(fake.chatId) }];
  const where = (place: Place, who: Speaker) => ({
    chatId: Number(place.chatId),
    userId: people[who],
    threadId: place.threadId === undefined ? undefined : Number(place.threadId),
  });
  const messagesOf = (chatId: number): FakeMessage[] => [...(fake.world.chats.get(chatId)?.messages.values() ?? [])];

  return {
    name: "telegram",
    config: {
      access: { dms: "everyone", chats: [String(fake.forumId), String(fake.chatId)], mention: "always" },
      limits: { per_second: 1000, per_chat_per_second: 1000, per_group_per_minute: 60_000 },
      poll_timeout: "5s",
    },
    env: { TELEGRAM_TOKEN: FAKE_TOKEN, TELEGRAM_API_URL: fake.apiUrl },
    ownerRef: `telegram:${people.owner}`,
    places,
    thread: { chatId: String(fake.forumId), threadId: String(fake.topicId) },
    botId: () => String(fake.world.bot.id),
    begin: async () => {},
    end: async () => {},
    say: async (place, who, text, facts = {}) =>
      String(
        fake.people.says(text, {
          ...where(place, who),
          replyTo: facts.replyToId ? Number(facts.replyToId) : undefined,
          file: facts.attachment ? { kind: "document", name: "note.txt", mime: "text/plain" } : undefined,
        }).message_id,
      ),
    edit: async (place, who, id, text) => void fake.people.edits(Number(id), text, where(place, who)),
    react: async (place, who, id, emoji) => void fake.people.reacts(Number(id), [emoji], where(place, who)),
    command: async (place, who, line) => {
      const [name = "", ...rest] = line.split(" ");
      fake.people.says(
        [`${name.replaceAll("-", "_")}@${fake.world.bot.username}`, ...rest].join(" "),
        where(place, who),
      );
    },
    press: async (place, who, id, label) => void fake.people.presses(Number(id), label, where(place, who)),
    async fill(place, who, id, label, values) {
      const asked = () =>
        messagesOf(Number(place.chatId)).filter(
          ({ reply_markup: markup }) => markup !== undefined && "force_reply" in markup,
        );
      const known = new Set(asked().map(({ message_id }) => message_id));
      fake.people.presses(Number(id), label, where(place, who));
      for (const value of Object.values(values)) {
        const question = await until(
          () => asked().find(({ message_id }) => !known.has(message_id)),
          `what ${label} asks`,
        );
        known.add(question.message_id);
        fake.people.says(value, { ...where(place, who), replyTo: question.message_id });
      }
    },
    whispers: async (_place, who) =>
      fake.calls
        .filter(({ method, payload }) => method === "answerCallbackQuery" && payload.text !== undefined)
        .filter(({ payload }) => fake.people.pressedBy(String(payload.callback_query_id)) === people[who])
        .map(({ payload }) => String(payload.text)),
    seen: async (place) =>
      messagesOf(Number(place.chatId))
        .filter((message) => message.from?.id === fake.world.bot.id)
        .filter((message) => String(message.message_thread_id ?? "") === (place.threadId ?? ""))
        .map(seenOf),
    seenPrivately: async (who) =>
      messagesOf(people[who])
        .filter((message) => message.from?.id === fake.world.bot.id)
        .map(seenOf),
    contentCalls: async () =>
      fake.calls.filter(carriesContent).map((call) => ({
        kind: call.kind,
        text: String(call.payload.text ?? call.payload.caption ?? ""),
        messageId: call.messageIds[0] === undefined ? undefined : String(call.messageIds[0]),
      })),
  };
}

function seenOf(message: FakeMessage): Seen {
  return {
    id: String(message.message_id),
    text: message.text ?? message.caption ?? "",
    buttons: buttonsOf(message).map(({ text }) => text),
  };
}
