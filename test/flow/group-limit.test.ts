/** More messages than a Telegram group takes in a minute: what is shown of those that wait. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { until } from "../support/until.js";
import { invoke, type Stack, startStack } from "./stack.js";

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    withFlow: false,
    config: ({ telegram }) => ({
      gateway: { default_route: { forward: `telegram::${telegram.chatId}` } },
      telegram: {
        access: { chats: [String(telegram.chatId)] },
        limits: { per_second: 1000, per_chat_per_second: 1000, per_group_per_minute: 2 },
      },
    }),
  });
}, 120_000);
afterAll(() => stack.stop());

const run = async (line: string) => (await invoke(stack.gateway.url, line)).text.replace(/[\\`*]/g, "");

it("each command names the setting that copies wait for, and when the next one goes", async () => {
  const { web } = stack.platforms;
  const first = await web.say(web.places[1], "guest", "one");
  for (const text of ["two", "three", "four"]) await web.say(web.places[1], "guest", text);
  const waiting = await until(async () => {
    const listed = await run("/outbox list waiting");
    const [, open, handled] = /outbox: (\d) waiting, 2 sent\ninbox: (\d) done/.exec(listed) ?? [];
    return Number(handled) >= 4 && Number(open) === Number(handled) - 2 ? listed : undefined;
  }, "all but two copies waiting");
  const limit = "at most 2 messages a minute go to a group (telegram.limits.per_group_per_minute)";
  expect(waiting).toMatch(/paused until \d\d:\d\d:\d\d UTC: at most 2 messages a minute go to a group/);
  const ids = waiting.match(/d_m\d+f/g) ?? [];
  const [last, head] = [ids[0] as string, ids.at(-1) as string];
  for (const id of [head, last]) {
    expect(await run(`/outbox show ${id}`)).toMatch(
      /is paused until \d\d:\d\d:\d\d UTC \(.* more\): at most 2 messages/,
    );
    const why = await run(`/hooks why ${id}`);
    expect(why).toContain(limit);
    expect(why).toMatch(/is paused until \d\d:\d\d:\d\d \(in /);
  }
  expect(await run(`/hooks why ${last}`)).toMatch(/waits behind d_m\d+f/);
  expect(await run("/pauses")).toMatch(
    /^1 pause\n\n- .* for .* more of 1 min.*: at most 2 messages a minute go to a group/,
  );
  expect(await run("/status")).toMatch(/0 sent to \(1 waiting\)[\s\S]*pauses: .* \(\/pauses\)/);
  const chat = `telegram:${stack.platforms.telegram.botId()}:${stack.telegram.chatId}`;
  expect(await run(`/pauses lift ${chat}`)).toContain("a limit of the settings, which ends by itself");
  const all = await run("/pauses lift all");
  expect(all).toContain("waits for a limit of the settings, which ends by itself. /pauses names the setting.");
  expect(all).not.toContain("Nothing is paused");
  // A deletion needs no place in the minute.
  stack.telegram.fail({ method: "deleteMessage", times: 1_000, action: { kind: "drop-before" } });
  await web.remove?.(web.places[1], "guest", first);
  const deletion = await until(async () => /d_m\d+x0/.exec(await run("/outbox list waiting"))?.[0], "the deletion");
  expect(await run(`/outbox show ${deletion}`)).not.toContain("is paused until");
  expect(await run(`/outbox show ${last}`)).toContain("is paused until");
});
