/** A Telegram group that becomes a supergroup while copies of a customer's messages wait for it: the whole product. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { until } from "../support/until.js";
import { allOnline, invoke, type Stack, startStack } from "./stack.js";

const GROUP = -4788;
const WAITING = 6;
const NEW = 4;

let stack: Stack;
let team = GROUP;
beforeAll(async () => {
  stack = await startStack({
    withFlow: false,
    config: {
      telegram: { access: { dms: "everyone", chats: ["*"] } },
      gateway: { default_route: { forward: `telegram::${GROUP}` } },
    },
  });
  stack.telegram.world.addChat({ type: "group", title: "Team", id: GROUP });
});
afterAll(() => stack.stop());

const shown = (chatId: number) =>
  [...(stack.telegram.world.chats.get(chatId)?.messages.values() ?? [])].flatMap(
    ({ text }) => text?.match(/line \d+/)?.[0] ?? [],
  );

// The second time it is the chat that the group became.
it.each(["runs", "is stopped"])("keeps their order when the group moves while the gateway %s", async (state) => {
  const { telegram, gateway } = stack;
  const { id: userId } = telegram.world.addUser({ firstName: "Bob" });
  telegram.fail({ method: "sendMessage", chatId: team, times: 1, action: { kind: "rate-limit", retryAfterS: 4 } });
  const lines = Array.from({ length: WAITING + NEW }, (_, i) => `line ${i}`);
  for (const line of lines.slice(0, WAITING)) telegram.people.says(line, { userId, dm: true });
  const waiting = async () => (await invoke(gateway.url, "/outbox list waiting")).text.split("\n").length;
  await until(async () => (await waiting()) >= WAITING, "all of them waiting");
  if (state === "is stopped") await gateway.stop();
  team = telegram.people.migrates(team);
  for (const line of lines.slice(WAITING)) telegram.people.says(line, { userId, dm: true });
  if (state === "is stopped") {
    await gateway.start();
    await allOnline(gateway);
  }
  await until(
    () => shown(team).length === lines.length,
    () => `all lines: ${shown(team)}`,
  );
  expect(shown(team)).toEqual(lines);
});
