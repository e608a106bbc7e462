/** A Telegram group that becomes a supergroup while copies of a customer's messages wait for it: the whole product. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
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
      gateway: { default_route: { forward: `telegram::${GROUP}` }, inbox_attempts: 2 },
      hooks: [
        {
          ...{ id: "guard", on: "inbound_claim", on_failure: "closed" },
          run: { shell: { sh: "if grep -q unguarded && [ -e guard-fails ]; then exit 1; fi" } },
        },
      ],
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

it("passes on what answers a copy of the chat before, after a restart and out of the dead letters", async () => {
  const { telegram, gateway } = stack;
  const { people, world } = telegram;
  const bob = world.addUser({ firstName: "Bob" }).id;
  const olga = world.addUser({ firstName: "Olga" }).id;
  people.says("Where is my order?", { userId: bob, dm: true });
  const messagesOf = (chatId: number) => [...(world.chats.get(chatId)?.messages.values() ?? [])];
  const copy = await until(
    () => messagesOf(team).find(({ text }) => text?.includes("Where is my order?")),
    "the copy in the group",
  );
  const answer = (text: string) => people.says(text, { userId: olga, chatId: team, replyTo: copy.message_id });
  writeFileSync(join(gateway.folder, "guard-fails"), "");
  answer("an unguarded answer");
  await until(async () => (await invoke(gateway.url, "/outbox list dead")).text.includes("guard"), "the dead letter");
  await gateway.stop();
  answer("an answer while it was stopped");
  team = people.migrates(team);
  await gateway.start();
  await allOnline(gateway);
  const reaches = (text: string) =>
    until(
      () => messagesOf(bob).some((message) => message.text?.includes(text)),
      () => `"${text}" where Bob is: ${JSON.stringify(messagesOf(team).map((message) => message.text))}`,
    );
  await reaches("an answer while it was stopped");
  rmSync(join(gateway.folder, "guard-fails"));
  await invoke(gateway.url, "/outbox retry all");
  await reaches("an unguarded answer");
});
