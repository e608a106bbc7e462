/**
 * What people do with alerts from their cards, on all three chats through their real clients: more time, later, a note, a muted
 * policy, each asked for in the platform's own way; and what is answered to those who may not, come too late, or do it twice.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCli } from "../cli/run-cli.js";
import { TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import { alertCards, destinations, idIn, NAMES, type Name, shown } from "./alert-cards.js";
import type { Seen } from "./platform.js";
import { allOnline, type Noted, type Stack, startStack } from "./stack.js";

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    config: (around) => ({
      sla: {
        policies: [
          // Warned of after a second.
          { id: "dates", for: "task", match: "entity.facts.priority != 9", warn_at: ["3599s before"] },
          {
            id: "quiet-dates",
            for: "task",
            match: "entity.facts.priority == 9",
            warn_at: ["3599s before"],
            buttons: ["ack", "note"],
          },
          { id: "missions", for: "mission", warn_at: ["3599s before"] },
          {
            id: "replies",
            for: "conversation",
            measure: "first_response",
            match: 'entity.facts.chat != "general"',
            target: "1h",
            warn_at: ["3599s before"],
          },
        ],
        after_start: "1s",
      },
      alerts: {
        routes: {
          default: {
            to: Object.values(destinations(around)),
            alone: 50,
            remind: { times: 0 },
            escalate: [{ after: "1h", mention: ["Olga"] }],
            extend: ["2h"],
            mute: ["1h"],
          },
        },
        business_hours: { timezone: "Europe/Berlin" },
        people: { Olga: ["web:1", `discord:${around.discord.userId}`, `telegram:${around.telegram.userId}`] },
        destinations: { [destinations(around).telegram]: { timezone: "Europe/Berlin" } },
      },
    }),
  });
}, 60_000);
afterAll(() => stack.stop());

const { platform, room, run, cardOf, everywhere } = alertCards(() => stack);

interface Event {
  event: string;
  actor: { id: string; name: string; source: string };
  reason?: string;
}
async function history(alertId: string): Promise<Event[]> {
  return ((await run(`/alerts show ${alertId}`)).data as { history: Event[] }).history;
}
const lastOf = async (alertId: string, event: string) =>
  (await history(alertId)).findLast((one) => one.event === event);

async function taskDue(due: string, title: string, more = ""): Promise<string> {
  const { data } = await run(`/task add person:web:1 due=${due} ${more} ${title}`);
  return (data as { id: string }).id;
}
const deadlineOf = async (id: string) =>
  ((await run(`/task show ${id}`)).data as { deadline?: number | string }).deadline;

describe("a card of what is late", () => {
  const title = "Empty the bins";
  let found: Record<Name, Seen>;
  let alertId: string;
  beforeAll(async () => {
    await taskDue("2s", title);
    found = await everywhere(title, /firing since/);
    alertId = idIn(found.web);
  });

  it("says what, why, since when, whose, what comes next, and its id; and when it was due as each chat tells times", () => {
    const due = {
      web: /Due\n(<p>)?<time datetime="\d{4}-\d\d-\d\dT/,
      discord: /Due\W+<t:\d+:f>/,
      telegram: /Due\W+\d{1,2} \w+ \d{4},? (at )?\d\d:\d\d (CET|CEST|GMT\+[12])/,
    };
    for (const name of NAMES) {
      const text = shown(found[name]);
      for (const part of [
        /Severity\W+high/,
        /State\W+firing since/,
        /What\W+Empty the bins/,
        /Clock\W+deadline · dates/,
        /Target\W+2 s/,
        /Elapsed\W+.* \(\d+ %\)/,
        /Overdue by\W+\d/,
        /Owner\W+Olga\b/,
        /the deadline has passed/,
        /Next\W+.*step 1 of 1/,
        due[name],
      ])
        expect(text, name).toMatch(part);
      expect(text, name).toContain(alertId);
      expect(found[name].buttons, name).toEqual([
        ...["Acknowledge", "Assign to me", "Escalate", "Resolve", "Note"],
        ...["Snooze 15m", "Snooze 1h", "Snooze 4h", "Next business hour", "Snooze…"],
        ...["Extend 2h", "Extend…", "Mute policy 1h", "Mute policy…"],
      ]);
    }
  });

  it("is escalated, put off to the next business hour and resolved by its buttons, with who did it and where", async () => {
    await platform("discord").press(room("discord"), "owner", found.discord.id, "Escalate");
    const isCall = ({ text }: Seen) => text.includes("Escalated: step 1 of 1") && text.includes(alertId);
    for (const name of NAMES)
      await until(async () => (await platform(name).seen(room(name))).find(isCall), `the escalation in ${name}`);
    expect(await lastOf(alertId, "escalate")).toMatchObject({ actor: { source: "discord" } });
    expect((await everywhere(title, /Next\W+.*nobody else will be told/)).web.buttons).not.toContain("Escalate");
    await platform("web").press(room("web"), "owner", found.web.id, "Next business hour");
    await everywhere(title, /snoozed until/);
    const snoozed = await lastOf(alertId, "snooze");
    expect(snoozed).toMatchObject({ actor: { id: "web:1", source: "web" } });
    expect(snoozed?.reason).toMatch(/until .*T0[78]:00:00/); // nine in Berlin
    await platform("telegram").press(room("telegram"), "owner", found.telegram.id, "Resolve");
    for (const card of Object.values(await everywhere(title, /resolved/))) expect(card.buttons).toEqual([]);
    expect(await lastOf(alertId, "resolve")).toMatchObject({
      actor: { source: "telegram" },
      reason: expect.stringMatching(/^resolved by /),
    });
  });
});

describe("more time", () => {
  it("by a button moves the task's own deadline, the clock is reckoned from it, and who did so is in its history", async () => {
    const id = await taskDue("1h", "Send the offer");
    const before = Number(new Date((await deadlineOf(id)) as string));
    const { discord } = await everywhere("Send the offer", /warning since/);
    expect(discord.buttons).toEqual(expect.arrayContaining(["Extend 2h", "Extend…"]));
    await platform("discord").press(room("discord"), "owner", discord.id, "Extend 2h");
    await until(
      async () => Number(new Date((await deadlineOf(id)) as string)) === before + 7_200_000,
      "the new deadline",
    );
    const alertId = idIn(discord);
    const event = await until(() => lastOf(alertId, "extend"), "the history of the alert");
    expect(event.actor).toMatchObject({ id: expect.stringMatching(/^discord:/), source: "discord" });
    expect(event.reason).toContain(new Date(before + 7_200_000).toISOString());
    await everywhere("Send the offer", /given more time by/);
  });

  it("by a card that shows what is old changes nothing, and says who was quicker", async () => {
    const id = await taskDue("1h", "Call back");
    const alertId = idIn((await everywhere("Call back", /warning since/)).web);
    const clock = ((await run(`/sla show ${id}`)).data as { clocks: { id: string }[] }).clocks[0]?.id;
    const was = Number(new Date((await deadlineOf(id)) as string));
    expect((await run(`/sla extend ${clock} was=${was} 2h waiting for the bank`)).outcome).toBe("done");
    const late = await run(`/sla extend ${clock} was=${was} 2h`);
    expect(late.text).toMatch(/moved already by Owner .* ago: it is due /);
    expect(Number(new Date((await deadlineOf(id)) as string))).toBe(was + 7_200_000);
    expect(await lastOf(alertId, "extend")).toMatchObject({
      actor: { source: "api" },
      reason: expect.stringMatching(/: waiting for the bank$/),
    });
  });

  it("for a mission moves the mission's own date", async () => {
    const plan = {
      title: "Go to the fair",
      deadline: "1h",
      groups: [{ name: "all", tasks: [{ id: "pack", title: "Pack the boxes", assignTo: "person:web:1" }] }],
    };
    mkdirSync(join(stack.gateway.folder, "missions"), { recursive: true });
    writeFileSync(join(stack.gateway.folder, "missions/fair.yaml"), JSON.stringify(plan));
    const { data } = await run("/mission run fair");
    const { web } = await everywhere("Go to the fair", /warning since/);
    await platform("web").press(room("web"), "owner", web.id, "Extend 2h");
    const { id } = data as { id: string };
    const due = await until(async () => {
      const { deadline } = (await run(`/mission show ${id}`)).data as { deadline: number };
      return deadline > Date.now() + 7_200_000 && deadline;
    }, "the mission's new date");
    const event = await until(() => lastOf(idIn(web), "extend"), "the history of the alert");
    expect(event.reason).toContain(new Date(due).toISOString());
  });

  it("after a violation ends that alert and begins another episode; asked for by a question on Telegram", async () => {
    const id = await taskDue("2s", "Sign the lease");
    const { telegram } = await everywhere("Sign the lease", /firing since/);
    await platform("telegram").fill(room("telegram"), "owner", telegram.id, "Extend…", { by: "tomorrow 17:00" });
    await until(async () => Number(new Date((await deadlineOf(id)) as string)) > Date.now(), "the new deadline");
    const { data } = await run(`/sla show ${id}`);
    const [clock] = (data as { clocks: { episode: number; dueAt: number; state: string }[] }).clocks;
    expect(clock).toMatchObject({ episode: 2, state: "running" });
    expect(new Date(clock?.dueAt ?? 0).toISOString().slice(14)).toBe("00:00.000Z");
    expect(await lastOf(idIn(telegram), "extend")).toMatchObject({ actor: { source: "telegram" } });
  });

  it("for a conversation is working time on its clock; asked for by a form of the web chat", async () => {
    const [, desk] = platform("web").places;
    await platform("web").say(desk, "guest", "Anybody there?");
    const { web } = await everywhere("Grace on web", /warning since/);
    await platform("web").fill(room("web"), "owner", web.id, "Extend…", { by: "3h" });
    const event = await until(() => lastOf(idIn(web), "extend"), "the history of the alert");
    expect(event.actor).toMatchObject({ id: "web:1", source: "web" });
    const { data } = await run("/sla list replies");
    expect((data as { clocks: { extendedMs: number }[] }).clocks[0]?.extendedMs).toBe(10_800_000);
    await everywhere("Grace on web", /resolved/);
  });
});

describe("later, and in words", () => {
  const title = "Book the room";
  let alertId: string;
  beforeAll(async () => {
    await taskDue("1h", title);
    alertId = idIn((await everywhere(title, /warning since/)).web);
  });

  it.each(NAMES)("a note is asked for on %s, in its own way", async (name) => {
    const card = await cardOf(name, title, /warning since/);
    await platform(name).fill(room(name), "owner", card.id, "Note", { text: `seen on ${name}` });
    await everywhere(title, new RegExp(`seen on ${name}`));
    expect(await lastOf(alertId, "note")).toMatchObject({ actor: { source: name }, reason: `seen on ${name}` });
  });

  it("a question on Telegram outlives a kill, hears nobody but who pressed, and is gone when it is answered", async () => {
    const card = await cardOf("telegram", title, /warning since/);
    const questions = async () =>
      (await platform("telegram").seen(room("telegram"))).filter(({ text }) => text.includes("Reply to this message"));
    await until(async () => (await questions()).length === 0, "the questions of before being gone");
    await platform("telegram").press(room("telegram"), "owner", card.id, "Snooze…");
    const [question] = await until(
      async () => ((await questions()).length === 1 ? questions() : undefined),
      "the question",
    );
    // Killed before it knows the id of what it posted, the gateway cannot know what is replied to.
    const isKnown = ({ payload }: Noted) => payload.messageId === question?.id;
    await until(() => stack.noted("message_sent").some(isKnown), "the question being known as sent");
    await stack.gateway.kill();
    await stack.gateway.start();
    await allOnline(stack.gateway.url);
    const replyToId = question?.id ?? "none";
    await platform("telegram").say(room("telegram"), "stranger", "2h", { replyToId });
    await platform("telegram").say(room("telegram"), "owner", "soon", { replyToId });
    const said = await until(
      async () =>
        (await platform("telegram").seen(room("telegram"))).find(({ text }) => text.includes('"soon" is no time')),
      "what was wrong with the answer",
    );
    expect(said.text).toContain("tomorrow 9:30");
    expect(await lastOf(alertId, "snooze")).toBeUndefined();
    await platform("telegram").say(room("telegram"), "owner", "2h", { replyToId });
    await everywhere(title, /snoozed until/);
    await until(async () => (await questions()).length === 0, "the question being gone");
    expect(await lastOf(alertId, "snooze")).toMatchObject({ actor: { source: "telegram" } });
    const claimed = stack.noted("inbound_claim").map(({ text }) => text);
    expect(claimed).not.toContain("2h");
  });

  it("a second press says who was quicker and when", async () => {
    const { folder: cwd, url } = stack.gateway;
    const env = { HOOKGATE_PORT: new URL(url).port, HOOKGATE_TOKEN: TOKEN };
    expect(await runCli(["do", "ack", alertId], { cwd, env })).toMatchObject({ code: 0 });
    expect(await lastOf(alertId, "ack")).toMatchObject({ actor: { name: "Owner", source: "cli" } });
    const again = await run(`/ack ${alertId}`);
    expect(again.text).toMatch(/was acknowledged by Owner \d+ s ago; it is acked/);
    expect((again.data as { changed: number }).changed).toBe(0);
    expect((await history(alertId)).filter(({ event }) => event === "ack")).toHaveLength(1);
  });
});

describe("a policy", () => {
  it("is muted from a card on Telegram, which says by whom and until when, as /sla policies does; and is heard again", async () => {
    await taskDue("1h", "Water the plants");
    const { telegram } = await everywhere("Water the plants", /warning since/);
    await platform("telegram").fill(room("telegram"), "owner", telegram.id, "Mute policy…", {
      by: "3h",
      reason: "on holiday",
    });
    const found = await everywhere("Water the plants", /Policy muted\W+until .* by .*: on holiday/);
    expect(found.discord.buttons).toContain("Unmute policy");
    expect(found.discord.buttons).not.toContain("Mute policy 1h");
    expect((await run("/sla policies")).text).toMatch(/muted until .* by .*: on holiday/);
    expect((await run("/sla mute dates 1h")).text).toMatch(/is muted already until .* by /);
    await platform("discord").press(room("discord"), "owner", found.discord.id, "Unmute policy");
    const heard = await everywhere("Water the plants", /warning since/);
    expect(heard.web.buttons).toContain("Mute policy 1h");
    expect((await run("/sla policies")).text).not.toContain("muted");
  });

  it("says which buttons its cards have", async () => {
    await taskDue("1h", "Read the paper", "priority=9");
    const found = await everywhere("Read the paper", /warning since/);
    for (const name of NAMES) expect(found[name].buttons, name).toEqual(["Acknowledge", "Note"]);
  });
});

describe("who takes an alert", () => {
  it("takes the conversation", async () => {
    const [, desk] = platform("discord").places;
    await platform("discord").say(desk, "guest", "Is anybody there?");
    const { telegram } = await everywhere("grace on discord", /warning since/);
    await platform("telegram").press(room("telegram"), "owner", telegram.id, "Assign to me");
    const alert = await until(async () => {
      const { data } = await run(`/alerts show ${idIn(telegram)}`);
      const { assignee, entity } = data as { assignee?: { name: string }; entity: { id: string } };
      return assignee && { assignee, entity };
    }, "the alert being taken");
    await until(
      async () => (await run(`/sla show "${alert.entity.id}"`)).text.includes(alert.assignee.name),
      "the owner of the conversation",
    );
  });

  it("leaves a task with whoever works on it, and is told how to take it over", async () => {
    const id = await taskDue("1h", "Paint the fence");
    await run(`/task start ${id}`);
    const { discord } = await everywhere("Paint the fence", /warning since/);
    await platform("discord").press(room("discord"), "owner", discord.id, "Assign to me");
    const said = await until(
      async () => (await platform("discord").whispers(room("discord"), "owner")).find((text) => text.includes(id)),
      "what is said of the task",
    );
    expect(said).toContain(`/task assign ${id} person:${platform("discord").ownerRef}`);
    expect(((await run(`/task show ${id}`)).data as { assignTo: string }).assignTo).toBe("person:web:1");
  });

  it("takes a task that somebody was asked for and has not begun", async () => {
    const id = await taskDue("1h", "Order paper");
    const { discord } = await everywhere("Order paper", /warning since/);
    await platform("discord").press(room("discord"), "owner", discord.id, "Assign to me");
    await until(
      async () =>
        ((await run(`/task show ${id}`)).data as { assignTo: string }).assignTo ===
        platform("discord").ownerRef.replace(/^/, "person:"),
      "the task's assignee",
    );
    const { data } = await run(`/alerts show ${idIn(discord)}`);
    const { assignee } = data as { assignee: { id: string; name: string } };
    expect(assignee.id).toBe(platform("discord").ownerRef);
    await everywhere("Order paper", new RegExp(`Owner\\W+${assignee.name}\\b`));
  });
});

describe("a press that is refused", () => {
  const title = "Pay the bill";

  it("is told to nobody but who pressed, on each chat", async () => {
    await taskDue("1h", title);
    const found = await everywhere(title, /warning since/);
    for (const name of NAMES) {
      const before = (await platform(name).seen(room(name), "owner")).map(({ id }) => id);
      await platform(name).press(room(name), "stranger", found[name].id, "Acknowledge");
      await until(
        async () =>
          (await platform(name).whispers(room(name), "stranger")).some((text) =>
            text.includes("You have no role here"),
          ),
        `the refusal in ${name}`,
      );
      expect(
        (await platform(name).seen(room(name), "owner")).map(({ id }) => id),
        name,
      ).toEqual(before);
    }
  });

  it("of an old button says so after a restart, with what to type, to nobody else", async () => {
    const found = await everywhere(title, /warning since/);
    await stack.gateway.kill();
    const database = new Database(join(stack.gateway.folder, "data/hookgate.db"));
    database.prepare("UPDATE action_tokens SET expires_at = ?").run(Date.now() - 1_000);
    database.close();
    await stack.gateway.start();
    await allOnline(stack.gateway.url);
    for (const name of NAMES) {
      await platform(name).press(room(name), "owner", found[name].id, "Acknowledge");
      const said = await until(
        async () => (await platform(name).whispers(room(name), "owner")).find((text) => text.includes("has expired")),
        `the word about the old button in ${name}`,
      );
      expect(said.replaceAll("`", ""), name).toContain(
        `This button has expired. Type /ack ${idIn(found[name])} instead.`,
      );
    }
    expect(shown(await cardOf("web", title, /warning since/))).toContain("warning since");
  });
});

describe("a command that lacks something", () => {
  it.each([
    ["/snooze last", /Missing: how long[\s\S]*\/snooze al_\w+ 2h/],
    ["/snooze last soonish", /no time and no length[\s\S]*tomorrow 9:30/],
    ["/ack al_nothing", /no alert "al_nothing"[\s\S]*Which one\?[\s\S]*al_/],
    ["/silence add nonsense 2h because", /such as severity=critical[\s\S]*Labels/],
    ["/silence add policy=dates soonish because", /no time and no length/],
    ["/silence add policy=dates 2h", /comment that says why/],
    ["/sla show nope", /no clock "nope"[\s\S]*\/sla list/],
    ["/sla extend nope 2h", /no open clock "nope"[\s\S]*\/sla list/],
    ["/sla extend", /Missing: which clock[\s\S]*Which one\?/],
    ["/sla mute", /Missing: which policy[\s\S]*quiet-dates/],
    ["/sla mute dats 1h", /no policy "dats". Did you mean "dates"/],
    ["/sla unmute dates", /is not muted/],
    ["/oncall who", /no rota[\s\S]*alerts.rotas/],
    ["/oncall who nope", /no rota "nope"[\s\S]*alerts.rotas/],
  ])("%s says what to do", async (line, part) => {
    expect((await run(line)).text).toMatch(part);
  });
});
