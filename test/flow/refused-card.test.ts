/** A chat that refuses the card of an alert, which is tried again as it changes: the whole product, the real clients. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { until } from "../support/until.js";
import { destinations } from "./alert-cards.js";
import { invoke, type Stack, startStack } from "./stack.js";

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    // Nothing answers the customer.
    withFlow: false,
    config: (around) => ({
      sla: {
        policies: [{ id: "replies", for: "conversation", measure: "first_response", target: "2s" }],
        after_start: "1s",
      },
      alerts: {
        routes: { default: { to: [destinations(around).telegram], remind: { times: 0 } } },
        fallback: ["web:web:general"],
      },
    }),
  });
}, 120_000);
afterAll(() => stack.stop());

it("it is found by the id that it had before it was tried again", async () => {
  const { telegram, gateway, platforms } = stack;
  const run = (line: string) => invoke(gateway.url, line);
  const dead = async () => {
    const { letters = [] } = (await run("/outbox list dead")).data as { letters?: { id: string }[] };
    return letters[0]?.id;
  };
  telegram.fail({
    method: "sendMessage",
    chatId: telegram.forumId,
    times: 500,
    action: { kind: "refuse", status: 403, description: "Forbidden: bot was kicked from the group chat" },
  });
  await platforms.web.say(platforms.web.places[1], "guest", "Where is my order?");
  const first = await until(dead, "the dead letter");
  const again = async () => {
    const { text } = await run(`/outbox show ${first}`);
    return text.includes(`in place of \`${first}\``);
  };
  await until(again, "the next try");
  const { text } = await run(`/outbox release ${first}`);
  expect(text).toContain("is on its way");
  expect(text).not.toContain(first);
});
