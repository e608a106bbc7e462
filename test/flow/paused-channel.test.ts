/** A page that a Discord channel refuses with a pause: the whole product, which is killed during the pause. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { until } from "../support/until.js";
import { alertCards, destinations } from "./alert-cards.js";
import { allOnline, type Stack, startStack } from "./stack.js";

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
            // As most settings are written: without the bot account.
            to: [`discord::${around.discord.channelId}`],
            remind: { times: 0 },
            escalate: [{ after: "3s", mention: ["Olga"] }],
          },
        },
        fallback: [destinations(around).telegram],
        fallback_after: "20s",
        people: { Olga: [`telegram:${around.telegram.userId}`, `discord:${around.discord.userId}`] },
      },
    }),
  });
}, 120_000);
afterAll(() => stack.stop());
const { platform, room, run } = alertCards(() => stack);

const WAITS = /Not posted yet[\s*:]+The page in #\S+ \(discord\) waits until .*: sending there is paused\./;

it("the copy at the fallback, the alert about the channel, the details and /status say until when it is paused", async () => {
  const { discord, gateway } = stack;
  await platform("web").say(platform("web").places[1], "guest", "Where is my order?");
  const card = async () => (await platform("discord").seen(room("discord"))).find(({ text }) => text.includes("al_"));
  const id = /al_\w+/.exec((await until(card, "the card")).text)?.[0];
  discord.fail({
    method: "POST",
    path: `^/channels/${discord.channelId}/messages`,
    action: { kind: "rate-limit", retryAfterS: 300, scope: "user" },
  });
  const atFallback = (words: string) => async () =>
    (await platform("telegram").seen(room("telegram")))
      .map(({ text }) => text.replaceAll("\\", ""))
      .find((text) => text.includes(words));
  const copy = await until(atFallback("Escalated: step 1 of 1"), "the page at the fallback");
  expect(copy).toMatch(
    /\(it waits at #\S+ \(discord\); sending there is paused until \d\d:\d\d: rate limited by Discord\)/,
  );
  const about = await until(atFallback("Reminders and escalations do not reach"), "the alert about the channel");
  expect(about).toMatch(/sending there is paused until \d\d:\d\d: rate limited by Discord/);
  expect(about).not.toContain("given up");
  const details = async () => (await run(`/alerts show ${id}`)).text.replaceAll("\\", "");
  expect(await details()).toMatch(WAITS);
  expect((await run("/status")).text).toMatch(/Up, but sending to #\S+ is paused/);
  await gateway.kill();
  await gateway.start();
  await allOnline(gateway);
  expect(await details()).toMatch(WAITS);
  expect((await run("/pauses")).text).toContain("rate limited by Discord");
  expect((await run("/alerts")).text).not.toContain("Alerts do not reach");
});
