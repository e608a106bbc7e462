/** A page in a private chat on Discord: that chat has the id of a channel, and pages are sent to the person. */
import { expect, it } from "vitest";
import { afterTest } from "../support/clean-up.js";
import { until } from "../support/until.js";
import { startStack } from "./stack.js";

it("`last` in a private chat is the alert that was posted there", async () => {
  const stack = await startStack({
    withFlow: false,
    config: ({ discord, telegram }) => ({
      // Telegram only: a second alert, of what is written on the web to begin with, could become the last one.
      sla: {
        policies: [
          {
            ...{ id: "first", for: "conversation", measure: "first_response", target: "1s", warn_at: [] },
            match: 'entity.facts.platform == "telegram"',
          },
        ],
      },
      alerts: {
        routes: {
          default: {
            to: [`telegram::${telegram.groupId}`],
            remind: { times: 0 },
            escalate: [{ after: "1s", mention: [`discord:${discord.userId}`] }],
          },
        },
      },
    }),
  });
  afterTest(() => stack.stop());
  const { platforms, discord, telegram } = stack;
  const group = { chatId: String(telegram.groupId) };
  const { channel_id: channelId } = discord.people.says("hello", { userId: discord.userId, dm: true });
  const said = (part: RegExp) => async () =>
    (await platforms.discord.seen({ chatId: channelId })).find(({ text }) => part.test(text))?.text;

  await platforms.telegram.say(platforms.telegram.places[1], "guest", "Where is my parcel?");
  const firing = await until(
    async () => (await platforms.telegram.seen(group)).find(({ text }) => /parcel[\s\S]*No owner/.test(text))?.text,
    "the card",
  );
  const page = await until(said(/parcel[\s\S]*Escalated: step 1 of 1/), "the page");
  discord.people.says("/ack last", { userId: discord.userId, dm: true });
  const answer = await until(said(/Acknowledged: |No alert/), "the answer");
  expect(answer).toMatch(/Acknowledged: .* first response overdue/);

  // Every message about an alert starts with the same sign, also where a card has no colour.
  const card = await until(
    async () => (await platforms.telegram.seen(group)).find(({ text }) => /parcel[\s\S]*Acknowledged/.test(text))?.text,
    "the card",
  );
  const signs = [firing, page, card].map((text) => /\p{Extended_Pictographic}/u.exec(text)?.[0]);
  expect(signs).toEqual(["🔶", "🔶", "👀"]);
});
