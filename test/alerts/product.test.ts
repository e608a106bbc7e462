/** Alerts in the started product: cards in the web chat, buttons by role, the API and the commands, before and after a restart. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AlertSignal } from "../../src/domain/alerts/alert-signal.js";
import { BOB, OWNER, type RunningApp, runApp } from "../http/running-app.js";
import { until } from "../support/until.js";

interface Shown {
  id: number;
  text: string;
  card?: { title: string; footer: string; fields: { name: string; html: string }[] };
  buttons?: { label: string; token: string }[][];
}

let app: RunningApp;
beforeAll(async () => {
  app = await runApp({
    web: {
      rooms: [
        { id: "general", name: "General" },
        { id: "side", name: "Side" },
      ],
    },
    alerts: {
      routes: { default: { to: ["web:web:general"] }, side: { match: ["queue=side"], to: ["web:web:side"] } },
      fallback: ["web:web:general"],
      people: { Owner: ["web:1", "web:2"] },
      maintenance: [
        { match: ["host=window-now"], cron: "* * * * *", for: "1h", comment: "new disks" },
        { match: ["host=window-later"], from: "2090-01-01T00:00", until: "2090-01-02T00:00" },
        { match: ["host=window-past"], from: "2020-01-01T00:00", until: "2020-01-02T00:00" },
      ],
    },
  });
});
afterAll(() => app.close());

const signal = (fingerprint: string, more: Partial<AlertSignal> = {}): AlertSignal => ({
  fingerprint,
  episode: 1,
  state: "firing",
  severity: "high",
  title: `Reply to ${fingerprint}`,
  reason: "100 % of 1 h passed",
  at: Date.now(),
  source: { kind: "sla", id: "c1", policyId: `policy-${fingerprint}` },
  labels: {},
  ...more,
});

const messages = async (token = OWNER): Promise<Shown[]> =>
  (await app.call(token, "GET", "/api/rooms/general/messages?limit=200")).body.messages;
const cardOf = (fingerprint: string, part: RegExp) =>
  until(
    async () =>
      (await messages()).find(({ text, card }) => card?.title.includes(`Reply to ${fingerprint}`) && part.test(text)),
    `${part} on the card of ${fingerprint}`,
  );
const cardId = async (fingerprint: string) =>
  (await app.app.alerts.list({ open: true, limit: 20 })).find((one) => one.fingerprint === fingerprint)?.id ?? "none";
const offering = (label: string) =>
  until(
    async () => (await messages()).find(({ buttons = [] }) => buttons.flat().some((one) => one.label === label)),
    `a message with the button ${label}`,
  );
const press = (token: string, card: Shown, label: string) => {
  const button = card.buttons?.flat().find((one) => one.label === label);
  return app.call(token, "POST", `/api/messages/${card.id}/press`, {
    token: button?.token,
    nonce: randomUUID(),
  });
};
const api = (method: string, path: string, body?: unknown, token = OWNER) =>
  app.call(token, method, `/api/v1/alerts${path}`, body);
const run = async (line: string) => (await app.call(OWNER, "POST", "/api/command", { line })).body;

it("/silence list shows maintenance windows in force and to come, and none that is over", async () => {
  const { text, data } = await run("/silence list");
  expect(text).toMatch(/host=window-now` for (1 h|59 min|60 min).* more: new disks/);
  expect(text).toMatch(/host=window-later` in \d+ d/);
  expect(text).not.toContain("window-past");
  expect(data.maintenance).toMatchObject([
    { matchers: ["host=window-now"], until: expect.any(Number) },
    { matchers: ["host=window-later"], next: expect.any(Number) },
  ]);
});

it("where there is nothing to show, it is said where to look", async () => {
  expect((await run("/digest")).text).toMatch(/nothing is open[\s\S]*\/alerts all[\s\S]*\/sla list/);
  expect((await run("/alerts")).text).toMatch(/No alert is open[\s\S]*\/alerts all/);
  expect((await run("/alerts mine")).text).toMatch(/Nothing is yours[\s\S]*\/alerts assign ID/);
  expect((await run("/silence")).text).toMatch(/No silence was added[\s\S]*\/silence add/);
});

describe("a card in the web chat", () => {
  it("is acknowledged by who has the role, not by a stranger, and works after a restart", async () => {
    await app.app.alerts.raise(signal("ann"));
    const card = await cardOf("ann", /Firing since/);
    expect(card.buttons?.flat().map(({ label }) => label)).toContain("Acknowledge");
    await press(BOB, card, "Acknowledge");
    await until(async () => (await messages(BOB)).some(({ text }) => text.includes("no role")), "the refusal");
    expect((await messages()).some(({ text }) => text.includes("no role"))).toBe(false);
    expect((await cardOf("ann", /Firing since/)).id).toBe(card.id);
    await app.stop();
    await app.start();
    await press(OWNER, await cardOf("ann", /Firing since/), "Acknowledge");
    const acked = await cardOf("ann", /Acknowledged by Owner/);
    expect(acked.id).toBe(card.id);
    expect(acked.buttons?.flat().map(({ label }) => label)).not.toContain("Acknowledge");
    await press(OWNER, acked, "Snooze ▾");
    await press(OWNER, await offering("Snooze 1h"), "Snooze 1h");
    await press(OWNER, await cardOf("ann", /Snoozed until \d\d:\d\d \S+ by \S+\. /), "More…");
    await press(OWNER, await offering("Resolve"), "Resolve");
    expect((await cardOf("ann", /Resolved/)).id).toBe(card.id);
  });
});

describe("/api/v1/alerts", () => {
  it("lists, shows with its history, acknowledges, snoozes and resolves, with the commands' roles", async () => {
    await app.app.alerts.raise(signal("ben"));
    const listed = (await api("GET", "")).body;
    const { id } = listed.alerts.find(({ fingerprint }: { fingerprint: string }) => fingerprint === "ben");
    expect((await api("POST", `/${id}/ack`, {}, BOB)).status).toBe(403);
    expect((await api("POST", `/${id}/ack`, { assign: true })).body).toMatchObject({
      changed: 1,
      alerts: [{ state: "acked" }],
    });
    expect((await api("POST", `/${id}/ack`)).body).toMatchObject({ changed: 0 });
    expect((await api("GET", "?which=mine")).body.alerts).toMatchObject([{ id, assignee: { id: "web:1" } }]);
    expect((await api("POST", `/${id}/snooze`, { for: "soon" })).body.code).toBe("BAD_USAGE");
    expect((await api("POST", `/${id}/snooze`, { for: "2h" })).body).toMatchObject({ alerts: [{ state: "snoozed" }] });
    expect((await api("POST", `/${id}/resolve`, { reason: "by hand" })).body).toMatchObject({
      alerts: [{ state: "resolved" }],
    });
    const shown = (await api("GET", `/${id}`)).body;
    expect(shown.history.map(({ event }: { event: string }) => event)).toEqual([
      "fire",
      "assign",
      "ack",
      "snooze",
      "resolve",
    ]);
    expect((await api("GET", "/al_none")).status).toBe(404);
    await cardOf("ben", /Resolved/);
  });
});

it("an operator's reply to a card is no message of a customer, and says so", async () => {
  await app.app.alerts.raise(signal("zoe"));
  const card = await cardOf("zoe", /Firing since/);
  await app.call(OWNER, "POST", "/api/rooms/general/messages", {
    text: "It ships today",
    nonce: randomUUID(),
    replyToId: card.id,
  });
  await until(
    async () => (await messages()).find(({ text }) => text.includes("Your reply was not sent to anyone")),
    "the answer to the reply",
  );
  expect((await run("/hooks why last")).text).not.toContain("no hook claimed it");
  await app.app.alerts.raise(signal("zoe", { state: "resolved" }));
  await cardOf("zoe", /Resolved/);
});

it("a snooze to tomorrow shows its day, a second /snooze off who woke the alert, and /status how many alerts are open", async () => {
  await app.app.alerts.raise(signal("kim"));
  await cardOf("kim", /Firing since/);
  expect((await run("/status")).text).toMatch(/The gateway is well; 1 alert is open/);
  const id = await cardId("kim");
  await run(`/snooze ${id} tomorrow`);
  await cardOf("kim", /Snoozed until \d+ \w+ \d{4}, 09:00 /);
  await run(`/snooze ${id} off`);
  expect((await run(`/snooze ${id} off`)).text).toMatch(/Nothing to do: Reply to kim was woken by Owner \d+ s ago/);
  await app.app.alerts.raise(signal("kim", { state: "resolved" }));
  await cardOf("kim", /Resolved/);
});

describe("/ack last", () => {
  const say = async (text: string) => {
    const before = (await messages()).at(-1)?.id ?? 0;
    await app.call(OWNER, "POST", "/api/rooms/general/messages", { text, nonce: randomUUID() });
    return until(
      async () =>
        (await messages()).find((one) => one.id > before && /Acknowledged:|Nothing to do|No alert/.test(one.text)),
      `the answer to ${text}`,
    );
  };

  it("takes the alert about work that was posted last in that chat, and names it", async () => {
    await app.app.alerts.raise(signal("eve"));
    await cardOf("eve", /Firing/);
    const own = { source: { kind: "gateway", id: "outbox" }, at: Date.now() + 1 };
    await app.app.alerts.raise(signal("the gateway itself", own));
    await cardOf("the gateway itself", /Firing/);
    await app.app.alerts.raise(signal("another room", { labels: { queue: "side" }, at: Date.now() + 2 }));
    expect((await say("/ack last")).text).toMatch(/Acknowledged: Reply to eve is acknowledged/);
    for (const title of ["eve", "the gateway itself", "another room"]) {
      const { alerts } = (await run("/alerts open limit=100")).data;
      const { id } = alerts.find((one: { title: string }) => one.title === `Reply to ${title}`);
      await run(`/alerts resolve ${id} done`);
    }
    expect((await say("/ack last")).text).toContain("No alert that was posted in this chat is open");
  });
});

describe("/alerts", () => {
  it("is one list, with what fires before what is acknowledged before what is snoozed", async () => {
    const titles = ["snoozed critical", "acknowledged critical", "firing warning of the night shift in Hamburg"];
    for (const title of titles) {
      const severity = title.includes("warning") ? ("warning" as const) : ("critical" as const);
      await app.app.alerts.raise(signal(title, { severity }));
    }
    const { alerts } = (await run("/alerts open limit=100")).data;
    const idOf = (part: string) => alerts.find(({ title }: { title: string }) => title.includes(part)).id;
    const answer = (await run(`/snooze ${idOf("snoozed")} 2h`)).text;
    expect(answer).toMatch(/✓ Snoozed: Reply to snoozed critical is snoozed until \d+ \w+ \d{4}, \d\d:\d\d/);
    await run(`/ack ${idOf("acknowledged")}`);
    const { text } = await run("/alerts open limit=100");
    expect(text).not.toContain("```");
    const ours = text.split("\n").filter((row: string) => titles.some((title) => row.includes(title)));
    expect(
      ours.map((row: string) => /\*\* (firing|acknowledged|snoozed) .*, raised (?:just now|.* ago)$/.exec(row)?.[1]),
    ).toEqual(["firing", "acknowledged", "snoozed"]);
    expect(text).toContain("⚠️ **Reply to firing warning of the night shift in Hamburg** firing");
    for (const title of titles) await run(`/alerts resolve ${idOf(title)} done`);
  });
});

describe("/alerts show with a name", () => {
  it("shows the one alert that has it, also when it has ended; several are listed; an open one comes before those that ended", async () => {
    for (const title of ["Golf in Lisbon", "Golf in Porto"])
      await app.app.alerts.raise(signal(title, { labels: { queue: "side" } }));
    const ids = { lisbon: await cardId("Golf in Lisbon"), porto: await cardId("Golf in Porto") };
    const one = await run("/alerts show reply to golf in lisbon");
    expect(one.data).toMatchObject({ id: ids.lisbon, history: expect.any(Array) });
    const both = await run("/alerts show Golf");
    expect(both.text).toMatch(/2 alerts have the name "Golf"\. Which one\?\n\n1\. .*Golf in .*\n2\. .*Golf in /);
    for (const id of Object.values(ids)) expect(both.text).toContain(id);
    await run(`/alerts resolve ${ids.lisbon} done`);
    expect((await run("/alerts show Golf")).data.id).toBe(ids.porto);
    expect((await run("/alerts show Lisbon")).data).toMatchObject({ id: ids.lisbon, state: "resolved" });
    await run(`/alerts resolve ${ids.porto} done`);
    expect((await run("/alerts show Golf")).text).toContain("2 alerts have the name");
    const none = await run("/alerts show Tennis court");
    expect(none).toMatchObject({ outcome: "failed" });
    expect(none.text).toContain('No alert has the id or the name "Tennis court".');
  });
});

describe("the commands", () => {
  it("list, silence with a comment, expire, digest and who is on call", async () => {
    await app.app.alerts.raise(signal("cid"));
    const entity = {
      type: "conversation" as const,
      id: "c",
      title: "Dora",
      status: "waiting",
      createdAt: 0,
      facts: {},
    };
    const more = { entity, runbook: "https://wiki.example.org/replies" };
    await app.app.alerts.raise(signal("dora", more));
    const taken = await run(`/alerts assign ${await cardId("dora")}`);
    expect(taken.text).toMatch(/Reminders and escalations continue until you acknowledge it: `\/ack al_\w+`\./);
    expect((await run("/alerts mine")).text).toMatch(
      /1\. 🔶 \*\*Reply to dora.* `al_\w+` \(Owner\)[\s\S]*Runbook: https:\/\/wiki/,
    );
    await run(`/alerts resolve ${await cardId("dora")}`);
    for (const which of ["", " open", " all"]) expect((await run(`/alerts${which}`)).text).toContain("Reply to cid");
    expect((await run("/alerts mine")).text).not.toContain("Reply to cid");
    expect((await run('/silence add "policy=policy-cid" 2h moving the queue')).data.silence).toMatchObject({
      matchers: ["policy=policy-cid"],
      comment: "moving the queue",
      inForce: true,
    });
    await cardOf("cid", /Silenced/);
    const { silences } = (await run("/silence list")).data;
    expect((await run(`/silence expire ${silences[0].id}`)).outcome).toBe("done");
    await cardOf("cid", /Firing since/);
    expect((await run("/silence add policy=x 2h")).text).toContain("comment");
    expect((await run("/digest")).text).toMatch(/Alerts: 1 open/);
    expect((await run("/oncall who")).text).toContain("no rota");
    expect((await run("/ack last")).text).toMatch(/Acknowledged: Reply to cid/);
    expect((await run("/snooze last business")).data.alerts[0].state).toBe("snoozed");
    expect((await run("/snooze last off")).data.alerts[0].state).toBe("acked");
    expect((await run("/alerts note last it is the old queue")).outcome).toBe("done");
    expect((await run("/alerts show last")).text).toContain("it is the old queue");
    expect((await run("/alerts escalate last")).outcome).toBe("done");
    expect((await run("/alerts resolve last the queue is moved")).data.alerts[0].state).toBe("resolved");
  });

  it("name the time at which an alert is heard of again, also when a silence lasts longer than a snooze", async () => {
    await app.app.alerts.raise(signal("muted"));
    const id = await cardId("muted");
    await run('/silence add "policy=policy-muted" 2h moving the queue');
    await cardOf("muted", /Silenced/);
    expect((await run(`/snooze ${id} 10m`)).text).toMatch(/is silenced until .*, when its silence ends\./);
    // What is done below the silence holds after it.
    await cardOf("muted", /Silenced/);
    expect((await run(`/snooze ${id} off`)).text).toMatch(/^✓ Awake/);
    expect((await run(`/alerts show ${id}`)).text).not.toContain("snoozed until");
    expect((await run(`/snooze ${id} 3h`)).text).toMatch(/^✓ Snoozed.* until .*\./);
    expect((await run(`/alerts show ${id}`)).text).toMatch(/else snoozed until/);
    for (const { id: silence } of (await run("/silence list")).data.silences) await run(`/silence expire ${silence}`);
    await cardOf("muted", /Snoozed until/);
    await run(`/alerts resolve ${id} done`);
  });
});

describe("a customer's message that the default route copies", () => {
  let desk: RunningApp;
  beforeAll(async () => {
    desk = await runApp({
      web: {
        rooms: [
          { id: "general", name: "General" },
          { id: "desk", name: "Desk" },
        ],
      },
      gateway: { default_route: { forward: "web:web:desk" } },
      sla: {
        after_start: "0s",
        policies: [{ id: "replies", for: "conversation", measure: "first_response", target: "2s" }],
      },
      alerts: { routes: { default: { to: ["web:web:general"], escalate: [{ after: "1s" }] } } },
    });
  });
  afterAll(() => desk.close());
  const inRoom = async (room: string): Promise<(Shown & { buttons?: { label: string; url?: string }[][] })[]> =>
    (await desk.call(OWNER, "GET", `/api/rooms/${room}/messages?limit=200`)).body.messages;

  it("is one press away from the card and from the page: the button leads to the copy, where a reply answers it", async () => {
    await desk.call(BOB, "POST", "/api/rooms/dm-2/messages", { text: "Where is my order?", nonce: randomUUID() });
    const copy = await until(
      async () => (await inRoom("desk")).find(({ text }) => text.includes("Where is my order?")),
      "the copy",
    );
    const opens = async (what: (one: Shown) => boolean, name: string) => {
      const found = await until(async () => (await inRoom("general")).find(what), name);
      return found.buttons?.flat().find(({ label }) => label === "Open copy")?.url ?? JSON.stringify(found);
    };
    expect(await opens(({ card }) => card !== undefined, "the card")).toMatch(new RegExp(`/#desk/${copy.id}$`));
    expect(await opens(({ text }) => text.includes("scalated"), "the page")).toMatch(new RegExp(`/#desk/${copy.id}$`));
    const card = (await inRoom("general")).find((one) => one.card !== undefined);
    expect(card?.text.replaceAll("\\", "")).toContain("Direct message: reply to its copy in Desk on web");
  });

  it("says of what became overdue again after it was extended that it was extended, and of which second something happened", async () => {
    const [alert] = await desk.app.alerts.list({ open: true, limit: 5 });
    const line = async (text: string) => (await desk.call(OWNER, "POST", "/api/command", { line: text })).body;
    const { clocks } = (await line("/sla list overdue")).data;
    expect((await line(`/sla extend ${clocks[0].id} 3s`)).outcome).toBe("done");
    const card = await until(
      async () =>
        (await inRoom("general")).find(
          (one) =>
            one.card !== undefined && one.text.includes("is overdue again") && !one.text.includes(alert?.id ?? ""),
        ),
      "the card of the second episode",
    );
    expect(card.text).toContain("It was overdue before, was given more time once, and is overdue again.");
    expect(card.text).not.toContain("It has happened");
    const id = card.card?.footer ?? "";
    const isNews = ({ card: none, text }: Shown) =>
      none === undefined && text.includes(id) && text.includes("Overdue now");
    await until(async () => (await inRoom("general")).some(isNews), "the message that it is overdue again");
    const details = await line("/alerts show last");
    expect(JSON.stringify(details)).toMatch(/<t:\d+:T>[^<]* overdue|\d\d:\d\d:\d\d[^<]* overdue/);
  });
});

it("each action on an alert that fired again names its new id, and so does /alerts show", async () => {
  await app.app.alerts.raise(signal("lee"));
  const old = await cardId("lee");
  await app.app.alerts.raise(signal("lee", { state: "resolved" }));
  expect((await run(`/ack ${old}`)).text).toMatch(/^Nothing to do: Reply to lee was resolved by/);
  await app.app.alerts.raise(signal("lee", { episode: 2 }));
  const current = await cardId("lee");
  await cardOf("lee", /Firing since/);
  expect(current).not.toBe(old);
  for (const [line, command] of [
    ["/ack OLD", "/ack"],
    ["/ack OLD for=1h assign=true", "/ack"],
    ["/snooze OLD 2h", "/snooze"],
    ["/snooze OLD off", "/alerts show"],
    ["/alerts assign OLD", "/alerts assign"],
    ["/alerts escalate OLD", "/alerts escalate"],
    ["/alerts resolve OLD known", "/alerts resolve"],
  ] as const) {
    const { text, data } = await run(line.replace("OLD", old));
    expect(text).toContain(
      `Nothing was done: this alert has ended. Reply to lee fired again as \`${current}\` and is firing: \`${command} ${current}\``,
    );
    expect(data.changed).toBe(0);
  }
  expect((await run(`/alerts note ${old} it was me`)).text).toMatch(/Noted: .*fired again as/);
  expect((await run(`/alerts show ${old}`)).text).toContain(current);
  expect((await run(`/ack ${current}`)).text).toMatch(/^✓ Acknowledged: /);
  await app.app.alerts.raise(signal("lee", { episode: 2, state: "resolved" }));
  await cardOf("lee", /Resolved/);
});

it("/alerts mine lists what the person took with another of their accounts", async () => {
  await app.app.alerts.raise(signal("max"));
  await app.app.alerts.act(await cardId("max"), { kind: "assign" }, { id: "web:2", name: "Bob", source: "web" });
  expect((await run("/alerts mine")).text).toMatch(/1 alert\*\* of yours[\s\S]*max/);
  await app.app.alerts.raise(signal("max", { state: "resolved" }));
});

it("an alert that was resolved as a warning and fired after that is not resolved, and no answer claims it", async () => {
  await app.app.alerts.raise(signal("lou", { state: "warned" }));
  const lou = await until(async () => {
    const { alerts } = (await run("/alerts open limit=100")).data;
    return alerts.find(({ title }: { title: string }) => title.includes("lou"))?.id;
  }, "the warning");
  await run(`/alerts resolve ${lou} known`);
  await app.app.alerts.raise(signal("lou"));
  await until(async () => (await run(`/alerts show ${lou}`)).text.includes("firing"), "it firing");
  expect((await run(`/snooze ${lou} off`)).text).toMatch(/Nothing to do: Reply to lou is /);
  await run(`/alerts resolve ${lou} done`);
});
