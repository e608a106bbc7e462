/**
 * What people do with alerts from their cards, on all three chats through their real clients: more time, later, a note, a muted
 * policy, each asked for in the platform's own way; and what is answered to those who may not, come too late, or do it twice.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSqlite } from "../../src/store/driver.js";
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
            id: "threads",
            for: "conversation",
            measure: "first_response",
            match: "has(entity.facts.thread)",
            target: "15s",
            warn_at: ["5%"],
          },
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
        // More alerts than a chat shows alone in a minute.
        destinations: Object.fromEntries(
          Object.entries(destinations(around)).map(([name, to]) => [
            to,
            name === "telegram" ? { per_minute: 100, timezone: "Europe/Berlin" } : { per_minute: 100 },
          ]),
        ),
      },
    }),
  });
}, 120_000);
afterAll(() => stack.stop());

const { platform, room, run, cardOf, everywhere, press, fill } = alertCards(() => stack);

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
    found = await everywhere(title, /Overdue since/);
    alertId = idIn(found.web);
  });

  it("says how late what is, whose, what comes next, and its id; and when it was due as each chat shows times", () => {
    const since = {
      web: /Overdue since \d{1,2} \w+ \d{4}, \d\d:\d\d UTC/,
      discord: /Overdue since <t:\d+:f>/,
      telegram: /Overdue since \d{1,2} \w+ \d{4},? (at )?\d\d:\d\d (CET|CEST|GMT\+[12])/,
    };
    for (const name of NAMES) {
      const text = shown(found[name]);
      for (const part of [/Empty the bins: \d+ s overdue/, /Owner: Olga\b/, /Next: .*step 1 of 1/, since[name]])
        expect(text, name).toMatch(part);
      expect(text, name).toContain(alertId);
      const buttons = ["Acknowledge", "Snooze ▾", "More…"];
      expect(found[name].buttons.filter((label) => label !== "Open")).toEqual(buttons);
    }
  });

  it("shows the rest, and every button, to the person who asks for more", async () => {
    for (const name of NAMES) {
      await platform(name).press(room(name), "owner", found[name].id, "More…");
      const details = await until(
        async () =>
          (await platform(name).seen(room(name), "owner")).find(
            (one) => one.text.includes(alertId) && shown(one).includes("Severity"),
          ),
        `the details in ${name}`,
      );
      for (const part of [
        /Severity\W+high/,
        /Policy\W+dates/,
        /Clock\W+deadline/,
        /Used\W+.* of 2 s \(\d+ %\)/,
        /History/,
      ])
        expect(shown(details), name).toMatch(part);
      expect(shown(details), name).not.toMatch(/Next\W+Next/);
      expect(details.buttons, name).toEqual([
        ...["Acknowledge", "Assign to me", "Escalate", "Note"],
        ...["Snooze 15m", "Snooze 1h", "Snooze 4h", "Next business hour", "Snooze…"],
        ...["Extend 2h", "Extend…", "Mute policy 1h", "Mute policy…"],
      ]);
    }
  });

  it("is escalated and put off to the next business hour by its buttons, and ends with its task alone", async () => {
    await press("discord", found.discord.id, "Escalate");
    const isCall = ({ text }: Seen) => text.includes("Escalated: step 1 of 1") && text.includes(alertId);
    for (const name of NAMES) {
      const call = await until(
        async () => (await platform(name).seen(room(name))).find(isCall),
        `the escalation in ${name}`,
      );
      expect(shown(call)).toMatch(/Empty the bins: .* overdue/);
      expect(call.buttons).toEqual(expect.arrayContaining(["Acknowledge", "Snooze ▾", "More…"]));
    }
    expect(await lastOf(alertId, "escalate")).toMatchObject({ actor: { source: "discord" } });
    await everywhere(title, /Next: .*no further escalation/);
    await press("web", found.web.id, "Next business hour");
    await everywhere(title, /Snoozed until/);
    const snoozed = await lastOf(alertId, "snooze");
    expect(snoozed).toMatchObject({ actor: { id: "web:1", source: "web" } });
    expect(snoozed?.reason).toMatch(/until .*T0[78]:00:00/); // nine in Berlin
    const refused = await run(`/alerts resolve ${alertId}`);
    expect(refused.text).toMatch(/"Empty the bins" is not done, so its alert cannot be resolved[\s\S]*\/task done/);
    expect((await run(`/alerts show ${alertId}`)).data).toMatchObject({ state: "snoozed" });
    const { entity } = (await run(`/alerts show ${alertId}`)).data as { entity: { id: string } };
    await run(`/task done ${entity.id}`);
    for (const card of Object.values(await everywhere(title, /Resolved/))) expect(card.buttons).toEqual([]);
  });
});

describe("more time", () => {
  it("by a button moves the task's own deadline, the clock is reckoned from it, and who did so is in its history", async () => {
    const id = await taskDue("1h", "Send the offer");
    const before = Number(new Date((await deadlineOf(id)) as string));
    const { discord } = await everywhere("Send the offer", /Due soon/);
    await press("discord", discord.id, "Extend 2h");
    await until(
      async () => Number(new Date((await deadlineOf(id)) as string)) === before + 7_200_000,
      "the new deadline",
    );
    const alertId = idIn(discord);
    const event = await until(() => lastOf(alertId, "extend"), "the history of the alert");
    expect(event.actor).toMatchObject({ id: expect.stringMatching(/^discord:/), source: "discord" });
    expect(event.reason).toContain(new Date(before + 7_200_000).toISOString());
    expect((await run(`/alerts show ${alertId}`)).text).toMatch(/given more time by/);
  });

  it("is shown beside the target; by a card that shows what is old it changes nothing, and says who was quicker", async () => {
    const id = await taskDue("1h", "Call back");
    const alertId = idIn((await everywhere("Call back", /Due soon/)).web);
    // So late that the alert, which starts one second after the task, stays open with two seconds more.
    const { id: clock } = await until(async () => {
      const { clocks } = (await run(`/sla show ${id}`)).data as { clocks: { id: string; usedMs: number }[] };
      return clocks.find(({ usedMs }) => usedMs > 4_000);
    }, "four seconds being used");
    await run(`/sla extend ${clock} 1s`);
    await run(`/sla extend ${clock} 1s`);
    const given = /(1 h|59 min 59 s) \+ 2 s given by Owner/;
    expect((await run(`/sla show ${id}`)).text).toMatch(given);
    expect((await run(`/alerts show ${alertId}`)).text).toMatch(given);
    const was = Number(new Date((await deadlineOf(id)) as string));
    expect((await run(`/sla extend ${clock} expected=${was} 2h waiting for the bank`)).outcome).toBe("done");
    const late = await run(`/sla extend ${clock} expected=${was} 2h`);
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
    const { web } = await everywhere("Go to the fair", /Due soon/);
    await press("web", web.id, "Extend 2h");
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
    const { telegram } = await everywhere("Sign the lease", /Overdue since/);
    await fill("telegram", telegram.id, "Extend…", { by: "tomorrow 17:00" });
    await until(async () => Number(new Date((await deadlineOf(id)) as string)) > Date.now(), "the new deadline");
    const { data } = await run(`/sla show ${id}`);
    const [clock] = (data as { clocks: { episode: number; dueAt: number; state: string }[] }).clocks;
    expect(clock).toMatchObject({ episode: 2, state: "running" });
    expect(new Date(clock?.dueAt ?? 0).toISOString().slice(14)).toBe("00:00.000Z");
    const event = await until(() => lastOf(idIn(telegram), "extend"), "the history of the alert");
    expect(event).toMatchObject({ actor: { source: "telegram" } });
  });

  it("for a conversation is working time on its clock; asked for by a form of the web chat", async () => {
    const [, desk] = platform("web").places;
    await platform("web").say(desk, "guest", "Anybody there?");
    const { web } = await everywhere(["Grace", "on web"], /Due soon/);
    await fill("web", web.id, "Extend…", { by: "3h" });
    const event = await until(() => lastOf(idIn(web), "extend"), "the history of the alert");
    expect(event.actor).toMatchObject({ id: "web:1", source: "web" });
    const { data } = await run("/sla list replies");
    expect((data as { clocks: { extendedMs: number }[] }).clocks[0]?.extendedMs).toBe(10_800_000);
    await everywhere(["Grace", "on web"], /Postponed .*the customer still waited: due /);
    expect((await run("/alerts all")).text).toMatch(/\d+ resolved, [1-9]\d* postponed\./);
  });

  it("leaves the target of the policy in the title of a card, which says until when it is extended", async () => {
    // A chat of its own: in the desk of the web chat a conversation is still open.
    const [, desk] = platform("discord").places;
    await platform("discord").say(desk, "stranger", "Do you open on Sundays?");
    const { web } = await everywhere("Do you open on Sundays?", /Due soon/);
    const { entity } = (await run(`/alerts show ${idIn(web)}`)).data as { entity: { id: string } };
    // So late that the warning holds for the longer target as well.
    const clock = await until(async () => {
      const { clocks } = (await run(`/sla show "${entity.id}"`)).data as { clocks: { id: string; usedMs: number }[] };
      return clocks.find(({ usedMs }) => usedMs > 3_000);
    }, "three seconds being used");
    await run(`/sla extend ${clock.id} 1s`);
    const found = await everywhere("Do you open on Sundays?", /Extended to .+: 1 h \+ 1 s given by Owner/);
    for (const name of NAMES) expect(shown(found[name]), name).toContain("(target 1 h, extended by 1 s)");
    await run(`/sla close "${entity.id}" told by phone`);
    await everywhere([idIn(web)], /Resolved/);
  });
});

describe("an alert about a customer who waits", () => {
  it("is resolved as a warning while the clock runs on to the breach; once overdue, only with its conversation", async () => {
    await platform("telegram").say(platform("telegram").thread, "guest", "Is the refund on its way?");
    const alertId = idIn((await everywhere(["on telegram", "Is the refund"], /Due soon/)).web);
    const resolved = await run(`/alerts resolve ${alertId} I look at it`);
    expect(shown(resolved)).toMatch(
      /Resolved: Grace .*The customer still waits: the clock runs on, and the alert fires again when it is overdue at /,
    );
    expect(shown((await everywhere([alertId], /Resolved/)).web)).toMatch(
      /by Owner: I look at it; the customer still waited, due \d/,
    );
    expect((await run("/sla list threads")).data).toMatchObject({ clocks: [{ state: "running" }] });

    await everywhere([alertId], /Overdue since/);
    const refused = await run(`/alerts resolve ${alertId}`);
    expect(refused.text).toMatch(/still waits for an answer[\s\S]*Resolving the alert ends the conversation/);
    expect((await run(`/alerts show ${alertId}`)).data).toMatchObject({ state: "firing" });
    expect((await run(`/alerts resolve ${alertId} called back`)).text).toContain(
      "The conversation is closed without an answer, with all its clocks.",
    );
    const ended = await everywhere([alertId], /Resolved/);
    expect(shown(ended.web)).toMatch(/by Owner: called back; the conversation is closed without an answer/);
    expect((await run("/sla list threads")).data).toMatchObject({ clocks: [] });
  });

  it("ends with its conversation by a button that says what it ends", async () => {
    const [, desk] = platform("telegram").places;
    await platform("telegram").say(desk, "guest", "Is my parcel lost?");
    const { web, discord } = await everywhere(["on telegram", "Is my parcel lost?"], /Due soon/);
    expect(shown(web)).toMatch(/Grace in .+ on telegram waits .* for a first response/);
    const alertId = idIn(web);
    await fill("discord", discord.id, "End conversation…", { reason: "called back by phone" });
    const found = await everywhere([alertId], /Resolved/);
    expect(shown(found.web)).toContain("called back by phone");
    expect((await run("/sla list replies")).text).not.toContain("Is my parcel");
    const { entity } = (await run(`/alerts show ${alertId}`)).data as { entity: { id: string } };
    const { clocks } = (await run(`/sla show "${entity.id}"`)).data as { clocks: { state: string }[] };
    expect(clocks.every(({ state }) => state === "ended")).toBe(true);
    expect((await run("/digest")).text).not.toContain(alertId);
  });

  it("is named by its customer in /sla close, as the list shows it", async () => {
    const [, desk] = platform("telegram").places;
    await platform("telegram").say(desk, "guest", "One more thing");
    const { web } = await everywhere(["on telegram", "One more thing"], /Due soon/);
    const { entity } = (await run(`/alerts show ${idIn(web)}`)).data as { entity: { title: string } };
    expect((await run(`/sla close "${entity.title}"`)).text).toMatch(/still waits for an answer[\s\S]*give the reason/);
    expect((await run(`/sla close "${entity.title}" went home`)).text).toMatch(
      /conversation with Grace in .* on telegram is closed without an answer/,
    );
    expect((await run("/sla list ended")).text).toContain("closed without an answer");
    await everywhere([idIn(web)], /Resolved/);
  });
});

describe("later, and in words", () => {
  const title = "Book the room";
  let alertId: string;
  beforeAll(async () => {
    await taskDue("1h", title);
    alertId = idIn((await everywhere(title, /Due soon/)).web);
  });

  it.each(NAMES)("a note is asked for on %s, in its own way", async (name) => {
    const card = await cardOf(name, title, /Due soon/);
    await fill(name, card.id, "Note", { text: `seen on ${name}` });
    await everywhere(title, new RegExp(`seen on ${name}`));
    expect(await lastOf(alertId, "note")).toMatchObject({ actor: { source: name }, reason: `seen on ${name}` });
  });

  it("a question on Telegram outlives a kill, hears nobody but who pressed, and is gone when it is answered", async () => {
    const card = await cardOf("telegram", title, /Due soon/);
    const questions = async () =>
      (await platform("telegram").seen(room("telegram"))).filter(({ text }) => text.includes("Reply to this message"));
    await until(async () => (await questions()).length === 0, "the questions of before being gone");
    await press("telegram", card.id, "Snooze…");
    const [question] = await until(
      async () => ((await questions()).length === 1 ? questions() : undefined),
      "the question",
    );
    // Killed before it knows the id of what it posted, the gateway cannot know what is replied to.
    const isKnown = ({ payload }: Noted) => payload.messageId === question?.id;
    await until(() => stack.noted("message_sent").some(isKnown), "the question being known as sent");
    await stack.gateway.kill();
    await stack.gateway.start();
    await allOnline(stack.gateway);
    const replyToId = question?.id ?? "none";
    await platform("telegram").say(room("telegram"), "stranger", "2h", { replyToId });
    await platform("telegram").say(room("telegram"), "owner", "soon", { replyToId });
    const said = await until(
      async () =>
        (await platform("telegram").seen(room("telegram"))).find(({ text }) => text.includes('"soon" is no time')),
      () => `what was wrong with the answer to ${replyToId}; the log ends: ${stack.gateway.output().slice(-3_000)}`,
    );
    expect(said.text).toContain("tomorrow 9:30");
    expect(await lastOf(alertId, "snooze")).toBeUndefined();
    const again = await until(
      async () => (await questions()).find(({ id }) => id !== replyToId),
      "the question being asked again",
    );
    const isAgainKnown = ({ payload }: Noted) => payload.messageId === again.id;
    await until(() => stack.noted("message_sent").some(isAgainKnown), "the new question being known as sent");
    await platform("telegram").say(room("telegram"), "owner", "2h", { replyToId: again.id });
    await everywhere(title, /Snoozed until/);
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
    expect(again.text).toMatch(/was acknowledged by Owner \d+ s ago; it is acknowledged until .+\./);
    expect((again.data as { changed: number }).changed).toBe(0);
    expect((await history(alertId)).filter(({ event }) => event === "ack")).toHaveLength(1);
    const taken = await run(`/ack ${alertId} for=15m`);
    expect(taken.text).toMatch(/^✓ Acknowledged: .* is acknowledged until .+\./);
    expect(await lastOf(alertId, "ack")).toMatchObject({ reason: expect.stringMatching(/^until 20/) });
  });
});

describe("a policy", () => {
  it("is muted from a card on Telegram, which says by whom and until when, as /sla policies does; and is heard again", async () => {
    await taskDue("1h", "Water the plants");
    const { telegram } = await everywhere("Water the plants", /Due soon/);
    await fill("telegram", telegram.id, "Mute policy…", {
      by: "3h",
      reason: "on holiday",
    });
    const found = await everywhere("Water the plants", /Policy muted until .* by .*: on holiday/);
    expect((await run("/sla policies")).text).toMatch(/muted until .* by .*: on holiday/);
    expect((await run("/sla mute dates 1h")).text).toMatch(/is muted already until .* by /);
    await press("discord", found.discord.id, "Unmute policy");
    const heard = await everywhere("Water the plants", /Due soon/);
    expect(shown(heard.web)).not.toContain("Policy muted");
    expect((await run("/sla policies")).text).not.toContain("muted");
  });

  it("says which buttons its cards have", async () => {
    await taskDue("1h", "Read the paper", "priority=9");
    const found = await everywhere("Read the paper", /Due soon/);
    for (const name of NAMES)
      expect(found[name].buttons, name).toEqual(expect.arrayContaining(["Acknowledge", "More…"]));
    for (const name of NAMES) expect(found[name].buttons, name).not.toContain("Snooze ▾");
  });
});

describe("who takes an alert", () => {
  it("takes the conversation", async () => {
    const [, desk] = platform("discord").places;
    await platform("discord").say(desk, "guest", "Is anybody there?");
    const { telegram } = await everywhere(["grace", "on discord"], /Due soon/);
    await press("telegram", telegram.id, "Assign to me");
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
    const { discord } = await everywhere("Paint the fence", /Due soon/);
    await press("discord", discord.id, "Assign to me");
    const said = await until(
      async () => (await platform("discord").whispers(room("discord"), "owner")).find((text) => text.includes(id)),
      "what is said of the task",
    );
    expect(said).toContain(`/task assign ${id} me`);
    expect(((await run(`/task show ${id}`)).data as { assignTo: string }).assignTo).toBe("person:web:1");
  });

  it("takes a task that somebody was asked for and has not begun", async () => {
    const id = await taskDue("1h", "Order paper");
    const { discord } = await everywhere("Order paper", /Due soon/);
    await press("discord", discord.id, "Assign to me");
    await until(
      async () =>
        ((await run(`/task show ${id}`)).data as { assignTo: string }).assignTo ===
        platform("discord").ownerRef.replace(/^/, "person:"),
      "the task's assignee",
    );
    const { data } = await run(`/alerts show ${idIn(discord)}`);
    const { assignee } = data as { assignee: { id: string; name: string } };
    expect(assignee.id).toBe(platform("discord").ownerRef);
    await everywhere("Order paper", new RegExp(`Owner: ${assignee.name}\\b`));
  });
});

describe("a press that is refused", () => {
  const title = "Pay the bill";

  it("is told to nobody but who pressed, on each chat", async () => {
    await taskDue("1h", title);
    const found = await everywhere(title, /Due soon/);
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
    const found = await everywhere(title, /Due soon/);
    await stack.gateway.kill();
    const database = openSqlite(join(stack.gateway.folder, "data/hookgate.db"));
    database.prepare("UPDATE action_tokens SET expires_at = ?").run(Date.now() - 1_000);
    database.close();
    await stack.gateway.start();
    await allOnline(stack.gateway);
    for (const name of NAMES) {
      await press(name, found[name].id, "Acknowledge");
      const said = await until(
        async () => (await platform(name).whispers(room(name), "owner")).find((text) => text.includes("has expired")),
        `the word about the old button in ${name}`,
      );
      expect(said.replaceAll("`", ""), name).toContain(
        `This button has expired. Type /ack ${idIn(found[name])} instead.`,
      );
    }
    expect(shown(await cardOf("web", title, /Due soon/))).toContain("Due soon");
  });
});

describe("a command that lacks something", () => {
  it.each([
    ["/snooze last", /Missing: how long[\s\S]*\/snooze al_\w+ 2h/],
    ["/snooze last soonish", /no time and no length[\s\S]*tomorrow 9:30/],
    ["/ack al_nothing", /No alert has the id "al_nothing"[\s\S]*Which one\?[\s\S]*al_/],
    ["/silence add nonsense 2h because", /such as severity=critical[\s\S]*Labels/],
    ["/silence add policy=dates soonish because", /no time and no length/],
    ["/silence add policy=dates 2h", /comment with the reason/],
    ["/silence add policy=dats 2h because", /Silenced[\s\S]*no policy dats,[\s\S]*Did you mean dates/],
    ["/silence add policy=~dats.* 2h because", /Silenced[\s\S]*No alert so far matches policy=~dats/],
    ["/silence add policy=dates 91d because", /Alerts can be silenced for 90 days at most/],
    ["/silence add queue=nosuch 2h because", /Silenced[\s\S]*No alert so far has the label queue[\s\S]*Labels/],
    ["/silence add polcy=dates 2h because", /Silenced[\s\S]*No alert so far has the label polcy. Did you mean policy/],
    ["/silence add severity!=critical id=none tomorrow 9:00 why", /✓ Silenced for .*: severity!=critical id=none/],
    ["/silence add severity!=critical", /Missing: for how long[\s\S]*\/silence add severity!=critical 2h why/],
    ["/snooze last 2020-01-01T10:00Z", /^✗ 1 Jan 2020, \d\d:00 \S+ is in the past/],
    ["/silence add severity=critical 1m because", /^(?![\s\S]*⚠)[\s\S]*Silenced/],
    ["/sla show nope", /no clock "nope"[\s\S]*\/sla list/],
    ["/sla extend nope 2h", /no open clock "nope"[\s\S]*\/sla list/],
    ["/sla list ended page=99", /page \d+ of \d+ \(there is no page 99\)[\s\S]*c_\w+/],
    ["/sla extend b 2h", /"b" is the name of \d+ open clocks: give the id of one\.\n- .+, deadline c_\w+/],
    ["/sla report 30 replies", /about all policies; "replies" is more than it takes[\s\S]*\/sla list POLICY/],
    ["/ack nope", /Which one\?(?![\s\S]*· (acked|warned|firing))[\s\S]*· (due soon|overdue|acknowledged)/],
    ["/sla extend", /Missing: which clock[\s\S]*Which one\?/],
    ["/sla mute", /Missing: which policy[\s\S]*quiet-dates/],
    ["/sla mute dats 1h", /no policy "dats". Did you mean "dates"/],
    ["/sla mute dates 91d", /Alerts can be silenced for 90 days at most/],
    ["/sla unmute dates", /is not muted/],
    ["/oncall who", /no rota[\s\S]*alerts.rotas/],
    ["/oncall who nope", /no rota "nope"[\s\S]*alerts.rotas/],
    ["/oncall nope", /no rota "nope"[\s\S]*alerts.rotas/],
  ])("%s says what to do", async (line, part) => {
    expect((await run(line)).text.replaceAll("`", "")).toMatch(part);
  });
});
