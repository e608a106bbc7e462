/** Telegram end to end where it refuses an answer: the whole gateway as a process on the loopback Telegram. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import { type Stack, startStack } from "./stack.js";

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
  // From now on the bot may write to this person.
  stack.telegram.people.says("echo hello", { dm: true });
  await until(async () => (await stack.platforms.telegram.seenPrivately("owner")).length > 0, "the private chat");
});
afterAll(() => stack.stop());
afterEach(() => stack.telegram.faults.clear());

const refuse = (status: number, description: string) =>
  stack.telegram.fail({
    method: "sendMessage",
    chatId: stack.telegram.forumId,
    times: 10,
    action: { kind: "refuse", status, description },
  });

describe("an answer in a group that Telegram refuses", () => {
  const words = (description: string) =>
    until(
      async () =>
        (await stack.platforms.telegram.seenPrivately("owner")).find(({ text }) => text.includes(description))?.text,
      "the private word",
    );

  it.each([
    [403, "Forbidden: bot was kicked from the supergroup chat"],
    [400, "Bad Request: not enough rights to send text messages to the chat"],
    [400, "Bad Request: TOPIC_CLOSED"],
  ])("to a command leaves the person with the reason in their private chat: %i %s", async (status, description) => {
    const { telegram } = stack.platforms;
    refuse(status, description);
    await telegram.command(telegram.places[0], "owner", "/status");
    expect(await words(description)).toMatch(/its answer was given up[\s\S]*outbox show d_m\d+a/);
  });

  it("to a press does so, too", async () => {
    const { telegram } = stack.platforms;
    await telegram.say(telegram.places[0], "owner", "card");
    const card = await until(
      async () => (await telegram.seen(telegram.places[0])).find(({ buttons }) => buttons.includes("Status")),
      "the card",
    );
    refuse(403, "Forbidden: bot is not a member of the supergroup chat");
    await telegram.press(telegram.places[0], "owner", card.id, "Status");
    expect(await words("not a member")).toContain("its answer was given up");
  });
});
