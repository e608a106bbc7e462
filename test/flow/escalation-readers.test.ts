/**
 * An escalation notifies people who can read the chat. A platform shows a mention of anybody else and notifies no one, so whoever is on
 * call and is not in the server, or has left the group, counts as not notified: the next person of the rota is.
 */
import { afterEach, expect, it } from "vitest";
import { until } from "../support/until.js";
import { alertCards, destinations } from "./alert-cards.js";
import { type Around, type Stack, startStack } from "./stack.js";

let stack: Stack;
afterEach(() => stack?.stop());
const { platform, room, run } = alertCards(() => stack);

/** The first is on call. */
const rota = (people: string[]) => ({
  timezone: "UTC",
  rotate: { people, from: new Date(Date.now() - 24 * 60 * 60_000).toISOString().slice(0, 16), every: "7d" },
});

async function start(name: "web" | "discord" | "telegram", settings: (around: Around) => Record<string, unknown>) {
  stack = await startStack({
    // Nothing answers the customer.
    withFlow: false,
    config: (around) => ({
      sla: {
        policies: [{ id: "replies", for: "conversation", measure: "first_response", target: "2s" }],
        after_start: "1s",
      },
      alerts: {
        routes: {
          default: {
            to: [destinations(around)[name]],
            remind: { times: 0 },
            escalate: [{ after: "1s", mention: ["oncall:nights"] }],
          },
        },
        fallback: ["web:web:general"],
        ...settings(around),
      },
    }),
  });
}

async function escalated(name: "web" | "discord" | "telegram") {
  await platform("web").say(platform("web").places[1], "guest", "Where is my order?");
  const seen = async () => (await platform(name).seen(room(name))).find(({ text }) => text.includes("Escalated: step"));
  return (await until(seen, "the escalation")).text.replaceAll("\\", "");
}

it("Discord: an account outside the server is not notified, and the next person on the rota is", async () => {
  let outside = "";
  await start("discord", ({ discord }) => {
    outside = discord.world.addUser({ username: "cara", isOutside: true }).id;
    return {
      rotas: { nights: rota(["Cara", "Dan"]) },
      people: { Cara: [`discord:${outside}`], Dan: [`discord:${discord.userId}`] },
    };
  });
  expect((await run("/oncall who nights")).text).toMatch(/Escalations notify Dan as well \(default, step 1\)/);
  const text = await escalated("discord");
  expect(text).toContain(
    "Cara cannot read #general (discord) and is notified in a private chat; Dan is on call after that and is mentioned as well",
  );
  const call = stack.discord.calls.find(({ body }) => JSON.stringify(body ?? {}).includes("Escalated: step"));
  expect(call?.body).toMatchObject({ allowed_mentions: { users: expect.arrayContaining([stack.discord.userId]) } });
});

it("Telegram: whoever has left the group is not notified, and what their private chat refuses is told at the fallback", async () => {
  await start("telegram", ({ telegram }) => {
    const left = telegram.world.addUser({ firstName: "Cara" });
    const group = telegram.world.chats.get(telegram.forumId);
    if (group) group.left = [left.id];
    // She never wrote to the bot.
    const own = telegram.world.dmWith(left.id);
    own.isBlocked = true;
    return { rotas: { nights: rota(["Cara"]) }, people: { Cara: [`telegram:${left.id}`] } };
  });
  const text = await escalated("telegram");
  expect(text).toContain("Cara cannot read The forum (telegram) and is notified in a private chat");
  const copy = async () =>
    (await platform("web").seen(room("web"))).find((one) => one.text.includes("Escalated: step"));
  expect((await until(copy, "the copy at the fallback")).text).toContain("The private message to Cara did not arrive");
});

it("Web: an account that is not in `web.people` is not notified, and the next person on the rota is", async () => {
  await start("web", () => ({
    rotas: { nights: rota(["Cara", "Dan"]) },
    people: { Cara: ["web:999"], Dan: ["web:1"] },
  }));
  expect((await run("/oncall who nights")).text).toMatch(/Escalations notify Dan instead/);
  expect(await escalated("web")).toContain(
    "Cara cannot read General (web); Dan is the next person who can be notified, and is mentioned",
  );
});

it("Web: the other account of a person is used when the one in the web chat was removed", async () => {
  await start("web", ({ discord }) => ({
    rotas: { nights: rota(["Cara"]) },
    people: { Cara: ["web:999", `discord:${discord.userId}`] },
  }));
  expect(await escalated("web")).toContain("Cara cannot read General (web) and is notified in a private chat");
  await until(
    () => stack.discord.calls.some(({ body }) => JSON.stringify(body ?? {}).includes("Escalated: step")),
    "the private message",
  );
});

it("Discord in trouble: the person on call is mentioned as if nothing had been asked", async () => {
  await start("discord", ({ discord }) => {
    discord.faults.add({ times: 1_000, path: "/members/", action: { kind: "status", status: 500, body: {} } });
    return { rotas: { nights: rota(["Dan"]) }, people: { Dan: [`discord:${discord.userId}`] } };
  });
  expect(await escalated("discord")).not.toContain("cannot read");
});
