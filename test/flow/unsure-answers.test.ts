/** The alert about a customer who waits names an answer that was written and did not arrive for certain: the next person writes no second one. */
import { expect, it } from "vitest";
import { afterTest } from "../support/clean-up.js";
import { until } from "../support/until.js";
import { invoke, startStack } from "./stack.js";

const REFUSED = {
  kind: "refuse",
  status: 400,
  description: "Bad Request: not enough rights to send text messages",
} as const;

it.each([
  [
    "is in doubt",
    { kind: "drop-after" },
    /Ada Lovelace's answer of .* may have arrived: look in the chat, then \W*\/outbox release (d_\w+)/,
  ],
  ["was refused", REFUSED, /Ada Lovelace's answer of .* did not arrive: \W*\/outbox show (d_\w+)\W* shows why/],
] as const)("an answer that %s is on the card and on each page", async (_, action, named) => {
  const stack = await startStack({
    withFlow: false,
    config: ({ discord }) => ({
      gateway: { default_route: { forward: `discord::${discord.channelId}` }, outbox_attempts: 1 },
      sla: { policies: [{ id: "first", for: "conversation", measure: "first_response", target: "4s", warn_at: [] }] },
      alerts: {
        routes: {
          default: {
            to: [`discord::${discord.channelId}`],
            remind: { times: 0 },
            escalate: [{ after: "1s", mention: [`discord:${discord.userId}`] }],
          },
        },
      },
    }),
  });
  afterTest(() => stack.stop());
  const { gateway, platforms, discord, telegram } = stack;
  const desk = { chatId: discord.channelId };
  const [, customers] = platforms.telegram.places;
  const posted = async (part: RegExp) => (await platforms.discord.seen(desk)).filter(({ text }) => part.test(text));

  await platforms.telegram.say(customers, "guest", "Where is my parcel?");
  const copy = await until(async () => (await posted(/Where is my parcel/))[0], "the copy");
  telegram.fail({ method: "sendMessage", action });
  await platforms.discord.say(desk, "owner", "On its way", { replyToId: copy.id });
  await until(
    async () => (await invoke(gateway.url, "/outbox")).text.match(/1 (held|given up|dead)/),
    "the answer ending",
  );

  const [card, page] = await until(async () => {
    const [shown] = await posted(/waits .* for a first response[\s\S]*parcel[\s\S]*No owner/);
    const [called] = await posted(/parcel[\s\S]*Escalated: step 1 of 1/);
    return shown && called && [shown, called];
  }, "the card and the page");
  for (const { text } of [card, page]) expect(text).toMatch(named);
  const id = named.exec(card.text)?.[1] as string;
  const details = await invoke(gateway.url, `/alerts show ${/al_\w+/.exec(card.text)?.[0]}`);
  expect(JSON.stringify(details)).toContain(id);
  if (action === REFUSED) await invoke(gateway.url, `/outbox retry ${id}`);
  else await invoke(gateway.url, `/outbox release ${id} confirmed=true`);
  await until(async () => (await posted(/parcel[\s\S]*Resolved[\s\S]*answered/))[0], "the alert ending");
});
