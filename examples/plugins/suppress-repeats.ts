/**
 * Sends the same text to the same chat once in a while only: an alert that fires every minute says it once an hour.
 * Two answers are never repeats of each other: a person who asks what another has just asked gets the same answer. What counts
 * as "the same" is therefore text and chat for messages that answer no person (alerts, API), and also the cause for all else.
 * An edit is never a repeat of the message that it changes.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import { definePlugin } from "../../src/index.js";

interface Sent {
  at: number;
  deliveryId: string;
}

export default definePlugin({
  id: "suppress-repeats",
  config: z.strictObject({
    window_ms: z.int().positive().default(60_000),
    unasked: z.array(z.enum(["alert", "api", "agent"])).default(["alert", "api"]),
  }),
  setup({ config, hooks, store, clock }) {
    let sweptAt = clock.now();

    hooks.registerClaiming(
      "before_dispatch",
      async ({ platform, botId, chatId, threadId, text, deliveryId, editOf, cause }) => {
        if (editOf !== undefined || cause.kind === "command") return { handled: false };
        const asker = config.unasked.some((kind) => kind === cause.kind) ? "" : `${cause.kind}:${cause.id}`;
        const parts = [platform, botId, chatId, threadId, asker, text];
        const key = createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
        const now = clock.now();
        const last = (await store.get(key)) as Sent | undefined;
        // The same delivery again is no repeat: it was cut off by a crash and is being sent after all.
        if (last && last.deliveryId !== deliveryId && isRecent(last, now))
          return { handled: true, reason: `the same text was sent here ${Math.round((now - last.at) / 1000)} s ago` };
        await store.set(key, { at: now, deliveryId } satisfies Sent);
        if (!isRecent({ at: sweptAt }, now)) await sweep(now);
        return { handled: false };
      },
    );

    /** What is later than now is not: the clock was set back. */
    function isRecent({ at }: Pick<Sent, "at">, now: number): boolean {
      return now >= at && now - at < config.window_ms;
    }

    async function sweep(now: number): Promise<void> {
      sweptAt = now;
      for (const { key, value } of await store.list()) if (!isRecent(value as Sent, now)) await store.delete(key);
    }
  },
});
