/** A group that Telegram pauses before a page is due: the whole product, which is killed during the pause. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { until } from "../support/until.js";
import { alertCards, destinations } from "./alert-cards.js";
import { allOnline, type Stack, startStack } from "./stack.js";

const PAUSE_S = 45;

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    // Nothing answers the customer.
    withFlow: false,
    config: (around) => ({
      sla: {
        policies: [
          {
            id: "replies",
            for: "conversation",
            measure: "first_response",
            match: 'entity.facts.chat != "general"',
            target: "2s",
          },
        ],
        after_start: "1s",
      },
      alerts: {
        routes: {
          default: {
            to: [destinations(around).telegram],
            remind: { times: 0 },
            escalate: [{ after: "3s", mention: ["Olga"] }],
          },
        },
        fallback: [destinations(around).discord],
        fallback_after: "15s",
        people: { Olga: [`telegram:${around.telegram.userId}`, `discord:${around.discord.userId}`] },
      },
    }),
  });
}, 120_000);
afterAll(() => stack.stop());
const { platform, room } = alertCards(() => stack);

const pages = async (name: "discord" | "telegram") =>
  (await platform(name).seen(room(name)))
    .map(({ text }) => text.replaceAll("\\", ""))
    .filter((text) => text.includes("Escalated: step 1 of 1"));

it("the person on call is paged once, at the fallback, and the group gets the page without a mention when it opens", async () => {
  const { telegram, gateway } = stack;
  await platform("web").say(platform("web").places[1], "guest", "Where is my order?");
  const card = async () => (await platform("telegram").seen(room("telegram"))).find(({ text }) => text.includes("al_"));
  await until(card, "the card");
  telegram.fail({ chatId: telegram.forumId, action: { kind: "rate-limit", retryAfterS: PAUSE_S } });
  // The answer is refused.
  await platform("telegram").command(room("telegram"), "owner", "/whoami");
  const [copy] = await until(async () => {
    const found = await pages("discord");
    return found.length > 0 ? found : undefined;
  }, "the page at the fallback");
  expect(await pages("telegram")).toEqual([]);
  expect(copy).toMatch(/\(it waits at .*; sending there is paused until \d\d:\d\d: /);
  expect(copy).toContain(`<@${stack.discord.userId}>`);
  await gateway.kill();
  await gateway.start();
  await allOnline(gateway);
  const [late] = await until(async () => {
    const found = await pages("telegram");
    return found.length > 0 ? found : undefined;
  }, "the page in the group");
  expect(late).toMatch(/Olga was notified in /);
  const sent = telegram
    .callsOf("sendMessage")
    .filter(({ payload }) => String(payload.text).includes("Escalated: step 1 of 1"));
  expect(JSON.stringify(sent.map(({ payload }) => payload))).not.toContain(`tg://user?id=${telegram.userId}`);
  expect(await pages("discord")).toEqual([copy]);
  expect(await pages("telegram")).toHaveLength(1);
});
