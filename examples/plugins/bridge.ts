/**
 * Joins chats of two platforms: what is said in one is posted in the other, both ways, under its author's name. The gateway keeps
 * the pairs of messages, so replies, edits and deletions find their counterpart. Set `mention: always` for the chats it joins.
 * A place may be in one pair only, because the gateway forwards a message to one place; a thread is a place of its own.
 */
import { z } from "zod";
import { type Address, definePlugin, formatAddress, type InboundMessage, parseAddress } from "../../src/index.js";

/** `discord::123456789012345678`, `telegram::-1001234567890` or `telegram::-1001234567890:7`; the bot may be left out. */
const address = z.string().transform((text, context): Address => {
  const parsed = parseAddress(text);
  if (parsed) return parsed;
  context.addIssue({
    code: "custom",
    message: `expected platform:bot:chat or platform:bot:chat:thread, got "${text}"`,
  });
  return z.NEVER;
});

const pair = z
  .tuple([address, address])
  .refine(([one, other]) => !isSamePlace(one, other), "expected two different places");

const pairs = z
  .array(pair)
  .min(1)
  .superRefine((all, { addIssue }) => {
    const seen: Address[] = [];
    for (const [i, ends] of all.entries()) {
      for (const [j, end] of ends.entries()) {
        if (seen.some((other) => isSamePlace(other, end)))
          addIssue({
            code: "custom",
            path: [i, j],
            message: `${formatAddress(end)} is in an earlier pair. A message is forwarded to one place, so a place may be in one pair only: remove one of the two pairs`,
          });
      }
      seen.push(...ends);
    }
  });

export default definePlugin({
  id: "bridge",
  config: z.strictObject({
    pairs,
    /** Other bots stay on their side, or two bridges would talk for ever. */
    bots: z.boolean().default(false),
  }),
  setup({ config, hooks, currentAddress }) {
    hooks.registerClaiming(
      "inbound_claim",
      ({ message }) => {
        if (message.isBot && !config.bots) return { handled: false };
        // A chat may have moved since its address was written: messages have its new id.
        const isFrom = (end: Address) => isSamePlace(currentAddress(end), message);
        const routeTo = config.pairs.map((ends) => otherEnd(ends, isFrom)).find((end) => end !== undefined);
        return routeTo ? { handled: true, routeTo } : { handled: false };
      },
      { name: "both-ways", priority: 500 }, // hooks that answer come first
    );
  },
});

function otherEnd([one, other]: [Address, Address], isFrom: (end: Address) => boolean): Address | undefined {
  if (isFrom(one)) return other;
  return isFrom(other) ? one : undefined;
}

function isSamePlace(end: Address, at: Pick<InboundMessage, keyof Address>): boolean {
  const isSameBot = end.botId === "" || at.botId === "" || end.botId === at.botId;
  return end.platform === at.platform && isSameBot && end.chatId === at.chatId && end.threadId === at.threadId;
}
