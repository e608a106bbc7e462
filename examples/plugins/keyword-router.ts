/** Answers or forwards messages by the words in them. The first rule that fits wins; words are compared whole, in any case. Answers to copies are left alone: they are for the person who wrote the original. */
import { z } from "zod";
import { type Address, definePlugin, parseAddress } from "../../src/index.js";

const address = z.string().transform((text, context): Address => {
  const parsed = parseAddress(text);
  if (parsed) return parsed;
  context.addIssue({
    code: "custom",
    message: `expected platform:bot:chat or platform:bot:chat:thread, got "${text}"`,
  });
  return z.NEVER;
});

const rule = z
  .strictObject({
    words: z.array(z.string().min(1)).min(1),
    /** Only a message without other words fits, besides mentions: a greeting, and not a question that starts with one. */
    alone: z.boolean().default(false),
    /** Markdown. */
    reply: z.string().optional(),
    route_to: address.optional(),
  })
  .refine(({ reply, route_to }) => reply !== undefined || route_to !== undefined, "expected reply, route_to or both");

export default definePlugin({
  id: "keyword-router",
  config: z.strictObject({ rules: z.array(rule).min(1) }),
  setup({ config, hooks }) {
    const rules = config.rules.map((one) => ({ ...one, words: new Set(one.words.flatMap(wordsOf)) }));

    hooks.registerClaiming("inbound_claim", ({ message, isAnswer }) => {
      if (message.isBot || isAnswer) return { handled: false };
      const written = wordsOf(message.text.replace(/<?@\S+/g, ""));
      const fitting = rules.find(
        ({ words, alone }) =>
          written.some((word) => words.has(word)) && (!alone || written.every((word) => words.has(word))),
      );
      if (!fitting) return { handled: false };
      const { reply, route_to: routeTo } = fitting;
      return {
        handled: true,
        reply,
        routeTo,
      };
    });
  },
});

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}
