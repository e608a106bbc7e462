/** Greets a person on their first message ever, once, whatever happens in between. A sender that Hookgate ignores is not greeted. */
import { z } from "zod";
import { definePlugin } from "../../src/index.js";

export default definePlugin({
  id: "greeter",
  config: z.strictObject({
    /** Markdown; `{name}` is the person's name. */
    text: z.string().min(1).default("Welcome, {name}! Say /help to see what I can do."),
    groups: z.boolean().default(true),
  }),
  setup({ config, hooks, send, store, clock }) {
    hooks.registerVoid("message_received", async ({ message, access }) => {
      const { platform, botId, chatId, threadId, userId, messageId, isBot, isDm } = message;
      if (access === "denied" || isBot || (!isDm && !config.groups)) return;
      const person = `${platform}:${userId}`;
      if ((await store.get(person)) !== undefined) return;
      const at = { platform, botId, chatId, threadId };
      const name = plainName(message.displayName ?? message.username ?? "friend");
      const text = config.text.replaceAll("{name}", () => name);
      // `once`: should the process die before the note is written, the greeting is still not sent twice.
      const cause = { kind: "message" as const, id: `${platform}:${chatId}:${messageId}`, depth: 0 };
      await send(at, text, { once: `greet:${person}`, cause });
      await store.set(person, { greetedAt: clock.now() });
    });
  },
});

/** A name is what a stranger typed: no markup, no mentions, one line. */
function plainName(name: string): string {
  return (
    name
      .replace(/[\\`*_~|[\]<>@#\r\n]/g, "")
      .trim()
      .slice(0, 60) || "friend"
  );
}
