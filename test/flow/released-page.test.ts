/** A page of which nobody knows whether it arrived, and that an operator releases from the outbox later: the whole product, the real clients. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { until } from "../support/until.js";
import { alertCards, destinations } from "./alert-cards.js";
import { type Stack, startStack } from "./stack.js";

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
        people: { Olga: [`telegram:${around.telegram.userId}`, `discord:${around.discord.userId}`] },
      },
    }),
  });
}, 120_000);
afterAll(() => stack.stop());
const { platform, room, run } = alertCards(() => stack);

const pages = async (name: "discord" | "telegram") =>
  (await platform(name).seen(room(name)))
    .map(({ text }) => text.replaceAll("\\", ""))
    .filter((text) => text.includes("Escalated: step 1 of 1"));

it("the page is written anew: it says when it was due and who was notified elsewhere, and mentions no one again", async () => {
  const { telegram } = stack;
  await platform("web").say(platform("web").places[1], "guest", "Where is my order?");
  const card = async () => (await platform("telegram").seen(room("telegram"))).find(({ text }) => text.includes("al_"));
  const id = /al_\w+/.exec((await until(card, "the card")).text)?.[0];
  telegram.fail({ method: "sendMessage", chatId: telegram.forumId, action: { kind: "proxy-error", status: 502 } });
  await until(async () => (await pages("discord")).length > 0, "the copy at the fallback");
  expect(await pages("telegram")).toEqual([]);
  expect((await run("/outbox release all confirmed=false")).text).toContain("1 message");
  const [late] = await until(async () => {
    const found = await pages("telegram");
    return found.length > 0 ? found : undefined;
  }, "the page");
  expect(late).toMatch(/Olga was notified in #\S+ \(discord\)/);
  expect(late).toMatch(/It was due .+ and was not posted then/);
  const sent = telegram
    .callsOf("sendMessage")
    .filter(({ payload }) => String(payload.text).includes("and was not posted then"));
  expect(JSON.stringify(sent.map(({ payload }) => payload))).not.toContain(`tg://user?id=${telegram.userId}`);
  expect(await pages("telegram")).toHaveLength(1);
  const history = async () => (await run(`/alerts show ${id}`)).text.includes("posted late");
  await until(history, "the line of the history");
});
