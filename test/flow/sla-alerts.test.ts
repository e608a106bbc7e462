/**
 * A promise to a customer, from their message to the end of the alert: on all three chats through their real clients, with a gateway
 * that is a process of its own and is killed on the way. A hook keeps the violation back until the warning was seen everywhere, so
 * the order of things hangs on no machine's speed.
 */
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSqlite } from "../../src/store/driver.js";
import { jsonLines } from "../support/lines.js";
import { until } from "../support/until.js";
import { alertCards, destinations, idIn, NAMES, type Name, shown } from "./alert-cards.js";
import type { Seen } from "./platform.js";
import { allOnline, type Stack, startStack } from "./stack.js";

const PLUGIN = resolve(import.meta.dirname, "../fixtures/plugins/alert-flow.mjs");
/** Of a server on Discord. */
const ROLE = "424242424242424242";
const WORDS = "Where is my order? Write to ann@example.com or call +49 170 1234567.";

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    // Relative to the folder that the gateway runs in.
    plugins: [{ module: PLUGIN, config: { log: "alerts.jsonl", mayViolate: "may-violate" } }],
    config: (around) => ({
      sla: {
        policies: [
          {
            id: "topic-replies",
            for: "conversation",
            measure: "first_response",
            match: "has(entity.facts.thread)",
            target: "15s",
            warn_at: ["20%"],
            severity: { warning: "warning", violated: "critical" },
            runbook: "https://example.com/runbooks/replies",
          },
          // Warned of after two seconds, and never broken in the time of a test.
          {
            id: "replies",
            for: "conversation",
            measure: "first_response",
            match: 'entity.facts.chat != "general"',
            target: "1h",
            warn_at: ["3598s before"],
          },
          {
            id: "solutions",
            for: "conversation",
            measure: "resolution",
            match: 'entity.facts.chat != "general" && entity.facts.platform == "discord"',
            target: "2h",
            warn_at: ["7198s before"],
          },
        ],
        after_start: "1s",
      },
      alerts: {
        routes: {
          default: {
            to: Object.values(destinations(around)),
            remind: { times: 0 },
            escalate: [{ after: "1s", mention: ["oncall:first", `discord:role:${ROLE}`] }],
          },
        },
        rotas: { first: { rotate: { people: ["Olga"], from: "2020-01-06T09:00", every: "7d" } } },
        people: { Olga: ["web:1", `discord:${around.discord.userId}`, `telegram:${around.telegram.userId}`] },
      },
    }),
  });
}, 120_000);
afterAll(() => stack.stop());

const { platform, room, run, cards, press, ...seen } = alertCards(() => stack);

/** The only card of an alert in each room, once all show this. */
async function everywhere(title: string | readonly string[], part: RegExp): Promise<Record<Name, Seen>> {
  const found = await seen.everywhere(title, part);
  for (const name of NAMES) expect(await cards(name, title), `cards in ${name}`).toHaveLength(1);
  return found;
}

/** An escalation has the buttons of the card. */
const isCall = ({ text }: Seen) => text.includes("Escalated") && text.includes("al_");

const idsOf = (found: Record<Name, Seen>) => NAMES.map((name) => found[name].id);

interface Logged {
  hook: string;
  mark?: string;
  news?: { entityId: string; status: string; policyId: string; percentUsed: number };
}
const logged = (): Logged[] => jsonLines(join(stack.gateway.folder, "alerts.jsonl"));
const announced = (part: string) =>
  logged().flatMap(({ news }) => (news?.entityId.includes(part) ? [news.status] : []));

/** Somebody who may deletes it, and the gateway is not told: Telegram never tells, the others may be away. */
function vanish(name: Name, messageId: string): void {
  if (name === "discord") stack.discord.world.channels.get(room(name).chatId)?.messages.delete(messageId);
  if (name === "telegram")
    stack.telegram.world.chats.get(Number(room(name).chatId))?.messages.delete(Number(messageId));
  if (name === "web") {
    const database = openSqlite(join(stack.gateway.folder, "data/hookgate.db"));
    database.prepare("UPDATE web_messages SET deleted_at = ? WHERE id = ?").run(Date.now(), Number(messageId));
    database.close();
  }
}

describe("a reply that is late", () => {
  const title = ["Grace", "on telegram"];
  let posted: string[];
  let alertId: string;

  it("is warned of by one card in each chat, which says all that somebody needs to act", async () => {
    await platform("telegram").say(platform("telegram").thread, "guest", WORDS);
    const found = await everywhere(title, /Due soon/);
    posted = idsOf(found);
    alertId = idIn(found.web);
    for (const name of NAMES) {
      const text = shown(found[name]);
      expect(text, name).toContain(alertId);
      expect(text, name).toMatch(/Grace in The forum on telegram waits \d+ s for a first response \(target 15 s\)/);
      expect(text, name).toContain("No owner.");
      expect(text, name).toContain("https://example.com/runbooks/replies");
      expect(text, name).not.toContain(`telegram:${platform("telegram").botId()}`);
      expect(text, name).toContain("Where is my order? Write to [address] or call [number].");
      expect(text, name).not.toContain("ann@example.com");
      expect(found[name].buttons, name).toEqual(expect.arrayContaining(["Acknowledge", "Snooze ▾", "More…"]));
    }
  });

  it("is broken on the same cards, and escalated by new messages that mention who is on call", async () => {
    writeFileSync(join(stack.gateway.folder, "may-violate"), "");
    const found = await everywhere(title, /Overdue since/);
    expect(idsOf(found)).toEqual(posted);
    for (const name of NAMES) expect(shown(found[name]), name).toMatch(/waits .* for a first response/);
    const calls = await Promise.all(
      NAMES.map((name) =>
        until(async () => (await platform(name).seen(room(name))).find(isCall), `the escalation in ${name}`),
      ),
    );
    for (const [at, call] of calls.entries()) expect(posted[at]).not.toBe(call.id);
    expect(calls.map(shown).join("\n")).toContain(alertId);
    const escalation = stack.discord.calls.find(({ body }) => JSON.stringify(body ?? {}).includes("Escalated: step"));
    expect(escalation?.body).toMatchObject({ allowed_mentions: { users: [stack.discord.userId], roles: [ROLE] } });
    expect(JSON.stringify(escalation?.body)).toContain(`<@&${ROLE}>`);
    const told = stack.telegram.world.chats.get(stack.telegram.forumId)?.messages.get(Number(calls[2]?.id));
    expect(told?.entities).toEqual(
      expect.arrayContaining([expect.objectContaining({ type: "text_mention", user: expect.anything() })]),
    );
    expect(shown(calls[0] as Seen)).toContain("Olga");
  });

  it.each(NAMES)("is not acknowledged by a stranger on %s, who alone is told so", async (name) => {
    const before = (await platform(name).seen(room(name), "owner")).map(({ id }) => id);
    const refusals = () =>
      stack
        .noted("command_invoked")
        .filter(({ payload }) => payload.operator.platform === name && payload.outcome === "refused");
    const card = (await everywhere(title, /Overdue since/))[name];
    const earlier = refusals().length;
    await platform(name).press(room(name), "stranger", card.id, "Acknowledge");
    await until(() => refusals().length > earlier, "the refusal");
    expect(refusals().at(-1)?.payload).toMatchObject({ command: "ack" });
    expect((await platform(name).seen(room(name), "owner")).map(({ id }) => id)).toEqual(before);
    expect(shown((await cards(name, title))[0] as Seen)).toContain("Overdue since");
  });

  async function takenBy(id: string): Promise<string> {
    const { name } = await until(async () => {
      const { data } = await run(`/alerts show ${id}`);
      return (data as { assignee?: { id: string; name: string } }).assignee;
    }, "the alert being taken");
    return name;
  }

  it("is acknowledged after a kill and a start, taken and put off by presses on three chats, on all cards at once", async () => {
    await stack.gateway.kill();
    await stack.gateway.start();
    await allOnline(stack.gateway);
    const steps = [
      ["discord", "Acknowledge", /Acknowledged by .+/],
      ["telegram", "Assign to me", undefined],
      ["web", "Snooze 1h", /Snoozed until/],
      ["telegram", "Wake", /Acknowledged by/],
    ] as const;
    for (const [name, label, part] of steps) {
      const [card] = await cards(name, title);
      await press(name, card?.id ?? "none", label);
      const found = await everywhere(title, part ?? new RegExp(`Owner: ${await takenBy(alertId)}\\b`));
      expect(idsOf(found), `after ${label}`).toEqual(posted);
    }
  });

  it("is posted anew where its card was deleted, and the new one can be pressed", async () => {
    for (const [at, name] of NAMES.entries()) vanish(name, posted[at] as string);
    for (const name of NAMES) expect(await cards(name, title), name).toHaveLength(0);
    await run(`/alerts note ${alertId} the parcel is on its way`);
    const found = await everywhere(title, /the parcel is on its way/);
    for (const [at, id] of idsOf(found).entries()) expect(id).not.toBe(posted[at]);
    posted = idsOf(found);
    await press("discord", found.discord.id, "Snooze 4h");
    expect(idsOf(await everywhere(title, /Snoozed until/))).toEqual(posted);
  });

  it("is over when one of us answers the customer: on the same cards, without buttons", async () => {
    await platform("telegram").say(platform("telegram").thread, "owner", "It is on its way, sorry for the wait.");
    const found = await everywhere(title, /Resolved/);
    expect(idsOf(found)).toEqual(posted);
    for (const name of NAMES) expect(found[name].buttons, name).toEqual([]);
    const { data } = await run(`/alerts show ${alertId}`);
    const events = (data as { history: { event: string }[] }).history.map(({ event }) => event);
    expect(events).toEqual([
      "warn",
      "fire",
      "escalate",
      "ack",
      "assign",
      "snooze",
      "wake",
      "note",
      "snooze",
      "resolve",
    ]);
    expect(announced("telegram:")).toEqual(["warning", "violated"]);
    // What called people was changed to how it ended.
    await until(
      async () => (await platform("telegram").seen(room("telegram"))).every((one) => !isCall(one)),
      "the escalation showing the end",
    );
  });
});

describe.each(NAMES)("a reply in time on %s", (name) => {
  it("ends the warning on all three chats", async () => {
    const [, desk] = platform(name).places;
    const title = ["Grace", `on ${name}`, "first response", `A question on ${name}`];
    await platform(name).say(desk, "guest", `A question on ${name}`);
    const warned = idsOf(await everywhere(title, /Due soon/));
    await platform(name).say(desk, "owner", "An answer");
    expect(idsOf(await everywhere(title, /Resolved/))).toEqual(warned);
    await until(() => announced(`${name}:`).includes("met"), "met being told");
  });
});

describe("a matter that waits for the customer", () => {
  const title = ["Grace", "on discord", "resolution"];

  it("stands still on its cards, with who answered as its owner, and ends by a reaction of ours", async () => {
    const { discord } = await everywhere(title, /Due soon/);
    const { guildId } = stack.discord.world;
    expect(discord.buttons).toContain("Open chat");
    const place = `https://discord.com/channels/${guildId}/${platform("discord").places[1].chatId}/`;
    expect(
      JSON.stringify([...(stack.discord.world.channels.get(room("discord").chatId)?.messages.values() ?? [])]),
    ).toContain(place);
    const alertId = idIn(discord);
    await run(`/alerts note ${alertId} we have asked back`);
    for (const card of Object.values(await everywhere(title, /we have asked back/))) {
      expect(shown(card)).toContain("resolution, paused (pending customer)");
      expect(shown(card)).toContain("Due soon since ");
      expect(shown(card)).not.toContain("due <t:");
      expect(shown(card)).not.toContain("No owner");
    }
    const [, desk] = platform("discord").places;
    const [asked] = [...(stack.discord.world.channels.get(desk.chatId)?.messages.values() ?? [])];
    await platform("discord").react(desk, "owner", asked?.id ?? "none", "✅");
    const found = await everywhere(title, /Resolved/);
    for (const name of NAMES) expect(found[name].buttons, name).toEqual([]);
  });
});

describe("a matter that its customer puts otherwise and takes back", () => {
  it("goes on with the new words, and is over when the message is deleted", async () => {
    const [, desk] = platform("discord").places;
    const first = ["Grace", "on discord", "first response"];
    const id = await platform("discord").say(desk, "guest", "A sceond thing");
    const { discord } = await everywhere([...first, "A sceond thing"], /Due soon/);
    const alertId = idIn(discord);
    await platform("discord").edit(desk, "guest", id, "A second thing");
    await until(async () => {
      await run(`/alerts note ${alertId} seen`);
      return (await cards("discord", [...first, "A second thing"])).length === 1;
    }, "the new words on the card");
    expect((await run(`/alerts show ${alertId}`)).text).toContain("due soon");
    await platform("discord").remove?.(desk, "guest", id);
    const found = await everywhere([alertId], /Resolved/);
    expect(shown(found.discord)).toContain("the message was deleted");
  });
});

describe("all that was said about alerts", () => {
  it("went through message_sending, card by card and edit by edit, on every platform", async () => {
    const dispatched = new Set(logged().flatMap(({ mark }) => mark ?? []));
    for (const name of NAMES) {
      const calls = (await platform(name).contentCalls()).filter(({ text }) => text.includes("al_"));
      expect(calls.length, name).toBeGreaterThan(name === "web" ? 4 : 12);
      const sent = new Set(
        stack.noted("message_sending").map(({ payload }) => (payload.deliveryId as string).replaceAll("_", "-")),
      );
      for (const { text } of calls) {
        const mark = /‹(d-[\w-]+)›/.exec(text.replaceAll("\\", ""))?.[0];
        expect(mark, text).toBeDefined();
        expect(dispatched.has(mark as string) || sent.has((mark as string).slice(1, -1)), text).toBe(true);
      }
    }
  });
});
