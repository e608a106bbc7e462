/** Telegram end to end where it refuses an answer: the whole gateway as a process on the loopback Telegram. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { FaultAction } from "../fakes/telegram/faults.js";
import { until } from "../support/until.js";
import { invoke, type Stack, startStack } from "./stack.js";

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    config: ({ telegram }) => {
      const grace = [...telegram.world.users.values()].find(({ first_name }) => first_name === "Grace")?.id;
      const at = `telegram::${telegram.forumId}`;
      return {
        operators: { owner: [`telegram:${telegram.userId}`], operator: [`telegram:${grace}`] },
        orchestrator: { runners: { ada: { person: { user: `telegram:${telegram.userId}`, at } } } },
      };
    },
  });
  // From now on the bot may write to this person.
  stack.telegram.people.says("echo hello", { dm: true });
  await until(async () => (await stack.platforms.telegram.seenPrivately("owner")).length > 0, "the private chat");
});
afterAll(() => stack.stop());
afterEach(() => stack.telegram.faults.clear());

const fail = (action: FaultAction, times = 10) =>
  stack.telegram.fail({ method: "sendMessage", chatId: stack.telegram.forumId, times, action });
const refuse = (status: number, description: string, times?: number) =>
  fail({ kind: "refuse", status, description }, times);

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

describe("a question of a button in a group", () => {
  const NO_RIGHT = "Bad Request: not enough rights to send text messages to the chat";
  /** A task for Ada, whose card is in the group, and its id. */
  async function card(title: string): Promise<[cardId: string, taskId: string]> {
    const { telegram } = stack.platforms;
    await telegram.command(telegram.places[1], "owner", `/task add ada ${title}`);
    const { id } = await until(
      async () =>
        (await telegram.seen(telegram.places[0])).find(
          ({ text, buttons }) => text.includes(title) && buttons.includes("Decline"),
        ),
      "the card",
    );
    const { tasks } = (await invoke(stack.gateway.url, `/task list ${title}`)).data as { tasks: { id: string }[] };
    return [id, tasks[0]?.id ?? "none"];
  }
  const privately = (words: RegExp) =>
    until(
      async () => (await stack.platforms.telegram.seenPrivately("owner")).find(({ text }) => words.test(text)),
      `${words} in the private chat`,
    );
  const statusOf = async (taskId: string) => (await invoke(stack.gateway.url, `/task show ${taskId}`)).data;

  it("is asked in the private chat when Telegram refuses it, and answered there", async () => {
    const { telegram } = stack.platforms;
    const [cardId, taskId] = await card("piano");
    refuse(400, NO_RIGHT);
    await telegram.press(telegram.places[0], "owner", cardId, "Decline");
    const question = await privately(/Reply to this message/);
    stack.telegram.people.says("too heavy", { dm: true, replyTo: Number(question.id) });
    await until(
      async () => ((await statusOf(taskId)) as { reason?: string }).reason === "too heavy",
      "the task being declined",
    );
    await until(
      async () => (await telegram.seenPrivately("owner")).every(({ id }) => id !== question.id),
      "the question being taken away",
    );
  });

  it("leaves a line in the group when the person cannot be reached privately", async () => {
    const { telegram } = stack.platforms;
    const [cardId] = await card("organ");
    refuse(400, NO_RIGHT, 1);
    await telegram.press(telegram.places[0], "guest", cardId, "Decline");
    await until(
      async () =>
        (await telegram.seen(telegram.places[0])).find(({ text }) => /Press the button again, or type/.test(text)),
      "the line",
    );
  });

  it("that may have been posted leaves the person with the reason and the next step", async () => {
    const { telegram } = stack.platforms;
    const [cardId, taskId] = await card("harp");
    fail({ kind: "drop-after" }, 1);
    await telegram.press(telegram.places[0], "owner", cardId, "Decline");
    const { text } = await privately(/It is not known whether the question of the button was posted/);
    expect(text).toMatch(/press the button again, or type \/task/);
    expect(text).toContain(taskId);
    expect(text).toMatch(/\/outbox show d_m\d+q has the details/);
  });
});
