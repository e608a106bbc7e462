/** A page is an escalation, as the person who is called reads it: it goes first, it is true, and it says how to act. */
import { expect, it } from "vitest";
import type { PersonAction } from "../../src/alerts/act.js";
import type { ClockStanding } from "../../src/domain/alerts/alert-signal.js";
import { LoopbackPlatform } from "../gateway/loopback-adapter.js";
import { until } from "../support/until.js";
import { ADMINS, ANN, HOUR, MINUTE, ROOM, START, signal, watch } from "./watch.js";

const entity = {
  type: "conversation" as const,
  id: "c1",
  title: "Bob in a direct message on loop",
  status: "waiting",
  createdAt: START,
  lastWords: "Where is it?",
  link: "loop://person/9",
  facts: { platform: "loop", is_dm: true },
};
const clock = { name: "first response", dueAt: START, targetMs: HOUR, elapsedMs: HOUR, percentUsed: 1 };

it("goes before the changes of cards that wait for a free place in its chat", async () => {
  // The chat takes a message each ten seconds.
  const limits = { perSecond: 1_000, perChatPerSecond: 0.1 };
  const platform = new LoopbackPlatform("loop", { idempotentCreate: true, limits });
  const escalate = [{ after: "1h", mention: ["loop:7"] }];
  const on = await watch({ routes: { default: { to: [ROOM], alone: 20, remind: { times: 0 }, escalate } } }, platform);
  const pump = (isDone: () => boolean, what: string) =>
    until(async () => {
      await on.clock.advance(500);
      return isDone();
    }, what);
  for (let n = 0; n < 6; n++)
    await on.alerts.raise(signal({ fingerprint: `f${n}`, title: `Card ${n}`, at: on.clock.now() }));
  await pump(() => on.posted().length === 6, "the cards");
  const ids = (await on.alerts.list({ open: true, limit: 10 })).map(({ id }) => id);
  const before = platform.requests.length;
  const since = () => platform.requests.slice(before);
  for (const id of ids) await on.alerts.act(id, { kind: "note", text: "seen" }, ANN);
  await pump(() => since().length > 0, "the first change");
  await on.alerts.act(ids[0] ?? "", { kind: "escalate" }, ANN);
  await pump(() => since().length > 5, "the others");
  const kinds = since().map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === "create")).toHaveLength(1);
  expect(kinds.indexOf("create")).toBeLessThan(3);
});

it("and its card and reminders go before copies that wait for a free place in its chat", async () => {
  const limits = { perSecond: 1_000, perChatPerSecond: 0.1 };
  const platform = new LoopbackPlatform("loop", { idempotentCreate: true, limits });
  const escalate = [{ after: "5s", mention: ["loop:7"] }];
  const on = await watch(
    { routes: { default: { to: [ROOM], remind: { every: "8s", times: 1 }, escalate } } },
    platform,
  );
  const cause = { kind: "reply" as const, id: "m1", depth: 0 };
  const at = { platform: "loop", botId: "bot", chatId: "room" };
  for (let n = 0; n < 20; n++) await on.rig.gateway.send(at, { text: `copy ${n}` }, { cause });
  await on.alerts.raise(signal({ fingerprint: "f", title: "Reply to Bob", at: on.clock.now() }));
  await until(async () => {
    await on.clock.advance(500);
    return on.posted().some(({ text }) => text.includes("reminder 1 of 1"));
  }, "the reminder");
  const texts = on.posted().map(({ text }) => text);
  expect(texts.filter((text) => text.startsWith("copy")).length).toBeLessThan(5);
  const words = ["Reply to Bob", "Escalated", "reminder 1 of 1"].map((some) =>
    texts.findIndex((text) => text.includes(some)),
  );
  expect(words).toEqual([...words].sort((one, other) => one - other));
});

it("goes at once in a group whose cards change more often than the group takes, and so does a new card", async () => {
  const limits = { perSecond: 1_000, perGroupPerMinute: 6 };
  const platform = new LoopbackPlatform("loop", { idempotentCreate: true, limits, isGroup: () => true });
  const escalate = [{ after: "1h", mention: ["loop:7"] }];
  const on = await watch({ routes: { default: { to: [ROOM], alone: 20, remind: { times: 0 }, escalate } } }, platform);
  for (let n = 0; n < 6; n++) await on.raise({ fingerprint: `f${n}`, title: `Card ${n}` });
  await on.advance(2 * MINUTE);
  const ids = (await on.alerts.list({ open: true, limit: 10 })).map(({ id }) => id);
  const before = platform.requests.length;
  const sent = (kind: string) => platform.requests.slice(before).filter((one) => one.kind === kind).length;
  for (const id of ids) await on.alerts.act(id, { kind: "note", text: "seen" }, ANN);
  const pump = (isDone: () => boolean, what: string) =>
    until(async () => {
      await on.clock.advance(250);
      return isDone();
    }, what);
  await pump(() => sent("edit") >= 3, "the first changes");
  await on.alerts.act(ids[0] ?? "", { kind: "escalate" }, ANN);
  await on.alerts.raise(signal({ fingerprint: "new", title: "New", at: on.clock.now() }));
  await pump(() => sent("create") === 2, "the page and the new card");
  // The three that the minute has for changes.
  expect(sent("edit")).toBe(3);
  await pump(() => sent("edit") >= 6, "the other changes");
});

/** A group that takes six messages a minute; more changes of its cards wait than that. */
async function withWaitingChanges(isSnoozed: boolean) {
  const limits = { perSecond: 1_000, perGroupPerMinute: 6 };
  const platform = new LoopbackPlatform("loop", { idempotentCreate: true, limits, isGroup: () => true });
  const routes = { default: { to: [ROOM], alone: 30, remind: { times: 0 } } };
  const on = await watch({ routes, fallback_after: "20s" }, platform);
  for (let n = 0; n < 6; n++) await on.raise({ fingerprint: `f${n}`, title: `Card ${n}` });
  const ids = (await on.alerts.list({ open: true, limit: 10 })).map(({ id }) => id);
  const edits = () => platform.requests.filter(({ kind }) => kind === "edit").length;
  if (isSnoozed)
    for (const id of ids) {
      await on.alerts.act(id, { kind: "snooze", until: on.clock.now() + HOUR }, ANN);
      for (let step = 0; step < 60; step++) await on.clock.advance(1_000);
    }
  await on.advance(2 * MINUTE);
  const before = edits();
  for (const id of ids) await on.alerts.act(id, { kind: "note", text: "seen" }, ANN);
  return { on, changed: () => edits() - before };
}

it("a group that takes new messages is reached, although changes of its cards wait longer than the fallback", async () => {
  const { on, changed } = await withWaitingChanges(false);
  const end = on.clock.now() + 50_000;
  for (let n = 0; on.clock.now() < end; n++) {
    await on.alerts.raise(signal({ fingerprint: `new${n}`, title: `New ${n}`, at: on.clock.now() }));
    await until(async () => {
      await on.clock.advance(250);
      return on.posted().some(({ text }) => text.includes(`New ${n}`));
    }, "the new card");
    for (let step = 0; step < 15; step++) await on.clock.advance(1_000);
  }
  expect(changed()).toBeLessThan(6);
  expect(on.posted(ADMINS)).toEqual([]);
});

it("the card of an alert that an operator has is not posted elsewhere because a change of it waits", async () => {
  const { on, changed } = await withWaitingChanges(true);
  await until(async () => {
    await on.clock.advance(1_000);
    return on.posted(ADMINS).length > 0;
  }, "the alert about the group");
  expect(changed()).toBeLessThan(6);
  for (let step = 0; step < 30; step++) await on.clock.advance(1_000);
  expect(on.posted(ADMINS).map(({ text }) => /Card \d|do not reach/.exec(text)?.[0])).toEqual(["do not reach"]);
});

it("about a direct message links to the person, and its card says how to answer", async () => {
  const escalate = [{ after: "5m", mention: ["loop:7"] }];
  const standing = async () => undefined;
  const on = await watch({ routes: { default: { to: [ROOM], remind: { times: 0 }, escalate } } }, { standing });
  await on.raise({ entity, clock });
  await on.advance(6 * MINUTE);
  const [card, page] = on.posted();
  expect(card?.text).toMatch(/\[Open chat\]\(loop:\/\/person\/9\)[\s\S]*Direct message: reply to its forwarded copy/);
  expect(page?.text).toMatch(
    /Bob in a direct message.* waits[\s\S]*\[Open chat\]\(loop:\/\/person\/9\)\nEscalated: step 1/,
  );
});

it("about a direct message that was copied nowhere sends no one to a copy", async () => {
  const waiting = { ...entity, status: "waiting" };
  const standing = async () => ({ ...clock, entity: waiting, leftMs: clock.targetMs - clock.elapsedMs, given: 0 });
  const on = await watch({ routes: { default: { to: [ROOM], remind: { times: 0 } } } }, { standing });
  await on.raise({ entity: waiting, clock });
  expect(on.posted()[0]?.text).toContain("Direct message without a copy: write to the person yourself");
});

it("and its card quote nothing once the customer has removed the words from what waits", async () => {
  const { lastWords, ...file } = entity;
  const standing = async () => ({ ...clock, entity: file, leftMs: 0, given: 0 });
  const escalate = [{ mention: ["loop:7"] }];
  const on = await watch({ routes: { default: { to: [ROOM], remind: { times: 0 }, escalate } } }, { standing });
  await on.raise({ entity, clock });
  const texts = on.posted().map(({ text }) => text);
  expect(texts).toHaveLength(2);
  expect(texts.join()).not.toContain(lastWords);
});

it("says since when its alert is overdue after a snooze has ended, and not when that ended", async () => {
  const on = await watch({ routes: { default: { to: [ROOM], remind: { every: "10m", times: 1 } } } });
  const { id } = await on.raise({ entity, clock });
  await on.advance(11 * MINUTE);
  await on.alerts.act(id, { kind: "snooze", until: on.clock.now() + 5 * MINUTE }, ANN);
  await on.advance(7 * MINUTE);
  expect(on.posted()[1]?.text).toContain(`Needs an operator again. Overdue since <t:${START / 1_000}:f>`);
});

it("is not overdue any more when more time was given, until the alert has ended", async () => {
  let standing: ClockStanding | undefined;
  const on = await watch(
    { routes: { default: { to: [ROOM], remind: { times: 0 } } } },
    { standing: async () => standing },
  );
  const task = { ...entity, type: "task" as const, title: "Empty the bins" };
  const { id } = await on.raise({
    entity: task,
    clock: { ...clock, name: "deadline" },
    title: "Empty the bins: overdue",
  });
  expect(on.posted()[0]?.text).toMatch(/Empty the bins: .* overdue[\s\S]*Overdue since/);
  const dueAt = on.clock.now() + 2 * HOUR;
  standing = {
    entity: task,
    elapsedMs: HOUR,
    leftMs: 2 * HOUR,
    targetMs: 3 * HOUR,
    percentUsed: 0.3,
    dueAt,
    given: dueAt,
    addedMs: 2 * HOUR,
  };
  await on.alerts.extended(signal().fingerprint, ANN, "waiting for the bank");
  await on.advance(6_000);
  const text = on.posted()[0]?.text ?? "";
  expect(text).toMatch(/Empty the bins: due in 2 h[\s\S]*Due <t:\d+:f>, because it was extended/);
  expect(text).not.toContain("Overdue since");
  expect((await on.alerts.get(id))?.state).toBe("firing");
});

it("that ends because more time was given is postponed, and not shown as done", async () => {
  const on = await watch({ routes: { default: { to: [ROOM], remind: { times: 0 } } } });
  await on.raise({ entity, clock });
  const dueAt = on.clock.now() + HOUR;
  const reason = `more time: due ${new Date(dueAt).toISOString()}`;
  await on.raise({ entity, state: "resolved", reason, clock: { ...clock, dueAt, isPostponed: true } });
  await on.advance(6_000);
  const text = on.posted()[0]?.text ?? "";
  expect(text).toMatch(
    /⏳ Reply to Bob[\s\S]*Postponed <t:\d+:f> when it was overdue, the customer still waited: due <t:\d+:f>/,
  );
  expect(text).not.toContain("Resolved");
});

it("that got more time is postponed in totals: it is not among what is resolved or has ended", async () => {
  const on = await watch({ routes: { default: { to: [ROOM], alone: 0, remind: { times: 0 } } } });
  for (const fingerprint of ["a", "b"]) await on.raise({ fingerprint, entity, clock });
  const after = { state: "resolved" as const, reason: "more time", clock: { ...clock, isPostponed: true as const } };
  await on.raise({ fingerprint: "a", entity, ...after });
  await on.raise({ fingerprint: "b", entity, state: "resolved", reason: "answered" });
  await on.advance(6_000);
  expect(await on.alerts.counts({})).toEqual({ postponed: 1, resolved: 1 });
  expect(on.posted()[0]?.text).toMatch(/🗂 2 alerts, none open[\s\S]*1 resolved · 1 postponed/);
  expect((await on.alerts.digest()).message.card?.text).toContain("2 raised, 1 ended, 1 postponed");
});

it("a message that said that it is overdue shows that it was postponed, also when the next warning comes at once", async () => {
  const on = await watch({ routes: { default: { to: [ROOM], remind: { times: 0 } } } });
  await on.raise({ entity, clock, state: "warned" });
  await on.advance(10_000);
  await on.raise({ entity, clock });
  await on.advance(10_000);
  expect(on.posted()[1]?.text).toContain("Overdue now");
  const dueAt = on.clock.now() + HOUR;
  const reason = `more time: due ${new Date(dueAt).toISOString()}`;
  await on.alerts.raise({
    ...signal({ entity, state: "resolved", reason, at: on.clock.now(), clock: { ...clock, dueAt, isPostponed: true } }),
  });
  await on.alerts.raise({
    ...signal({
      entity,
      episode: 2,
      state: "warned",
      reason: "half of the time has passed",
      at: on.clock.now(),
      clock: { ...clock, dueAt },
    }),
  });
  await on.advance(20_000);
  expect(on.posted()[1]?.text).toContain("Postponed");
});

it("leaves the next place to the card that a person acknowledges, in its present state", async () => {
  const limits = { perSecond: 1_000, perGroupPerMinute: 6 };
  const platform = new LoopbackPlatform("loop", { idempotentCreate: true, limits, isGroup: () => true });
  const on = await watch({ routes: { default: { to: [ROOM], alone: 20, remind: { times: 0 } } } }, platform);
  for (let n = 0; n < 6; n++) await on.raise({ fingerprint: `f${n}`, title: `Card ${n}` });
  await on.advance(2 * MINUTE);
  const alerts = await on.alerts.list({ open: true, limit: 10 });
  const before = platform.requests.length;
  const edits = () => platform.requests.slice(before).map((one) => JSON.stringify(one));
  for (const { id } of alerts) await on.alerts.act(id, { kind: "note", text: "seen" }, ANN);
  const pump = (isDone: () => boolean, what: string) =>
    until(async () => {
      await on.clock.advance(250);
      return isDone();
    }, what);
  await pump(() => edits().length >= 3, "the changes that the minute takes");
  for (const { id } of alerts) await on.alerts.act(id, { kind: "note", text: "seen again" }, ANN);
  await on.alerts.act(alerts[4]?.id ?? "", { kind: "ack" }, ANN);
  await pump(() => edits().length >= 4, "the next change");
  expect(edits()[3]).toMatch(new RegExp(`${alerts[4]?.signal.title}.*cknowledged`));
  await pump(() => edits().length >= 7, "the others");
  // What waited says what is so when its turn comes.
  expect(edits()[6]).toContain("seen again");
});

it("a reminder that had to wait counts up to when it is posted, and shows the runbook", async () => {
  const on = await watch({
    routes: { default: { to: [ROOM], remind: { every: "10s", times: 1 } } },
    destinations: { [ROOM]: { per_minute: 1 } },
  });
  // The card has the place of this minute.
  await on.raise({ entity, clock, runbook: "https://wiki.example/refunds" });
  await on.advance(2 * MINUTE);
  const text = on.posted()[1]?.text ?? "";
  expect(text).toMatch(/Not acknowledged for 1 min[^(]* \(reminder 1 of 1\)/);
  expect(text).toContain("Runbook: https://wiki.example/refunds");
});

it("that an operator asks for after an acknowledgement stays a call until a person who is called acknowledges", async () => {
  const escalate = [{ after: "1h", mention: ["loop:7"] }, { after: "2h", mention: ["loop:8"] }, { after: "3h" }];
  const on = await watch({ routes: { default: { to: [ROOM], remind: { times: 0 }, escalate } } });
  const { id } = await on.raise();
  const act = async (action: PersonAction, by = ANN) => {
    await on.alerts.act(id, action, by);
    await on.advance(5_000);
  };
  await act({ kind: "escalate" });
  await act({ kind: "ack" });
  const texts = () => on.posted().map(({ text }) => text);
  expect(texts()[1]).toContain("Acknowledged by Ann");
  await act({ kind: "escalate" });
  await act({ kind: "note", text: "I cannot reach the database, please help" });
  await act({ kind: "escalate" });
  await act({ kind: "note", text: "Still not" });
  const [card, , ...called] = texts();
  expect(card).toMatch(/Acknowledged by Ann .*, escalated by Ann /);
  expect(called.map((text) => /step \d of 3.*/.exec(text)?.[0])).toEqual([
    expect.stringMatching(/^step 2 of 3 \(loop:8\)\. Ann asked for this escalation/),
    expect.stringMatching(/^step 3 of 3\. Ann asked for this escalation\. This was the last step/),
  ]);
  for (const { body } of [...on.posted().slice(2), ...on.posted().slice(0, 1)])
    expect(JSON.stringify(body.buttons)).toContain(`/ack ${id}`);
  await act({ kind: "ack" }, { id: "loop:8", name: "Ben", source: "loop" });
  for (const text of texts()) expect(text).toMatch(/Acknowledged by Ben <t:\d+:f>\./);
  expect(JSON.stringify(on.posted().map(({ body }) => body.buttons))).not.toContain(`/ack ${id}`);
  await act({ kind: "ack" });
  expect((await on.alerts.get(id))?.ack?.by).toBe("Ben");
});
