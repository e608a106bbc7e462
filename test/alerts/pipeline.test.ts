/** From a signal to a card and back: one card an alert and destination, edited in place, whatever changes it. */
import { describe, expect, it } from "vitest";
import { ADMINS, ANN, HOUR, MINUTE, OPS, ROOM, START, signal, watch } from "./watch.js";

const TO_ROOM = { routes: { default: { to: [ROOM] } } };

describe("an alert", () => {
  it("is one card, edited in place from warned to firing, acknowledged and resolved", async () => {
    const on = await watch(TO_ROOM);
    await on.raise({ state: "warned", reason: "80 % of 1 h passed" });
    expect(on.posted()).toHaveLength(1);
    expect(on.posted()[0]?.text).toMatch(/Reply to Bob[\s\S]*Warning since[\s\S]*80 %/);
    const { id } = await on.raise({ state: "firing" });
    await on.advance(2_000);
    expect(on.posted()[0]?.text).toContain("Firing since");
    const done = await on.alerts.act(id, { kind: "ack" }, ANN);
    expect(done).toMatchObject({ changed: 1, alerts: [{ state: "acked" }] });
    await on.advance(2_000);
    expect(on.posted()[0]?.text).toContain("Acknowledged by Ann");
    await on.raise({ state: "resolved", reason: "answered" });
    await on.advance(2_000);
    // The breach is a message of its own, because an edit notifies no one.
    expect(on.posted()).toHaveLength(2);
    expect(on.posted()[0]?.text).toMatch(/Reply to Bob[\s\S]*Resolved[\s\S]*answered/);
    expect(on.posted()[0]?.body.buttons).toBeUndefined();
    const events = (await on.alerts.history(id)).map(({ event, from, to, actor }) => [event, from, to, actor.id]);
    expect(events).toEqual([
      ["warn", undefined, "warned", "clock1"],
      ["fire", "warned", "firing", "clock1"],
      ["ack", "firing", "acked", "loop:1"],
      ["resolve", "acked", "resolved", "clock1"],
    ]);
  });

  it("without any configuration is told to admins", async () => {
    const on = await watch();
    await on.raise();
    expect(on.posted(ADMINS)).toHaveLength(1);
  });

  it("changes nothing when the same is said again, by its source or by a person", async () => {
    const on = await watch(TO_ROOM);
    const { id, signal } = await on.raise();
    await on.alerts.raise(signal);
    await on.alerts.act(id, { kind: "ack" }, ANN);
    expect(await on.alerts.act(id, { kind: "ack" }, { ...ANN, name: "Ben" })).toMatchObject({ changed: 0 });
    await on.alerts.raise({ ...signal, episode: 0 });
    await on.advance(5_000);
    expect((await on.alerts.history(id)).map(({ event }) => event)).toEqual(["fire", "ack"]);
    expect((await on.alerts.get(id))?.ack?.by).toBe("Ann");
    expect(on.platform.requests).toHaveLength(2);
  });

  it("begins anew with a higher episode; soon after the last one on the same card", async () => {
    const on = await watch(TO_ROOM);
    await on.raise();
    await on.raise({ state: "resolved", reason: "answered" });
    await on.advance(5 * MINUTE);
    await on.raise({ episode: 2 });
    await on.advance(5_000);
    expect(on.posted()).toHaveLength(1);
    expect(on.posted()[0]?.text).toMatch(/Firing[\s\S]*2 times/);
    await on.raise({ episode: 2, state: "resolved", reason: "answered" });
    await on.advance(HOUR);
    await on.raise({ episode: 3 });
    expect(on.posted()).toHaveLength(2);
  });

  it("that somebody resolved while it was only a warning fires all the same when it breaks; what its source ended stays over", async () => {
    const on = await watch(TO_ROOM);
    const { id } = await on.raise({ state: "warned" });
    await on.alerts.act(id, { kind: "resolve", reason: "looks fine" }, ANN);
    await on.raise({ state: "warned", reason: "90 % of 1 h passed" });
    await on.advance(2_000);
    expect(on.posted()[0]?.text).toContain("Resolved");
    await on.raise();
    await on.advance(2_000);
    expect(on.posted()).toHaveLength(2);
    expect(on.posted()[0]?.text).toMatch(/Firing since/);
    expect((await on.alerts.history(id)).map(({ event, to }) => `${event} ${to}`)).toEqual([
      "warn warned",
      "resolve resolved",
      "reopen firing",
    ]);
    await on.raise({ state: "resolved", reason: "answered" });
    expect((await on.raise()).state).toBe("resolved");
  });

  it("is not told when it ends within its hold-down", async () => {
    const on = await watch({ routes: { default: { to: [ROOM], hold: "2m" } } });
    await on.raise();
    await on.advance(MINUTE);
    await on.raise({ state: "resolved", reason: "back" });
    await on.advance(5 * MINUTE);
    expect(on.posted()).toEqual([]);
    await on.raise({ episode: 2 });
    await on.advance(3 * MINUTE);
    expect(on.posted()).toHaveLength(1);
  });

  it("goes where its source says, where matchers say, else to the default", async () => {
    const on = await watch({
      routes: { default: { to: [ROOM] }, ops: { to: [OPS] }, critical: { match: ["severity=critical"], to: [ADMINS] } },
    });
    await on.raise({ fingerprint: "a", routes: ["ops"] });
    await on.raise({ fingerprint: "b", severity: "critical" });
    await on.raise({ fingerprint: "c" });
    expect([ROOM, OPS, ADMINS].map((one) => on.posted(one).length)).toEqual([1, 1, 1]);
  });

  it("is posted anew when its card was deleted on the platform", async () => {
    const on = await watch(TO_ROOM);
    const { id } = await on.raise();
    (on.posted()[0] as { isDeleted: boolean }).isDeleted = true;
    await on.alerts.act(id, { kind: "ack" }, ANN);
    await on.advance(3_000);
    expect(on.posted()).toHaveLength(1);
    expect(on.posted()[0]?.text).toContain("Acknowledged by Ann");
    await on.raise({ state: "resolved", reason: "answered" });
    await on.advance(3_000);
    expect(on.posted()).toHaveLength(1);
    expect(on.posted()[0]?.text).toContain("Resolved");
  });
});

describe("what keeps an alert quiet", () => {
  it("a silence: until it is over, with the reason in the history", async () => {
    const on = await watch(TO_ROOM);
    await on.alerts.silences.add(["policy=replies"], HOUR, "moving the queue", ANN);
    const { id, state } = await on.raise();
    expect(state).toBe("silenced");
    expect(on.posted()).toEqual([]);
    await on.advance(HOUR + MINUTE);
    expect(on.posted()).toHaveLength(1);
    expect((await on.alerts.history(id)).map(({ event, reason }) => [event, reason?.replace(/si_\w+/, "ID")])).toEqual([
      ["fire", "100 % of 1 h passed"],
      ["silence", "ID: moving the queue (Ann)"],
      ["unsilence", "the silence ended"],
    ]);
  });

  it("a silence that is ended by hand, at once; and alerts that are open when one is added", async () => {
    const on = await watch(TO_ROOM);
    const { id } = await on.raise();
    const silence = await on.alerts.silences.add(["queue=~sup.*", "severity!=critical"], HOUR, "known", ANN);
    await on.advance(3_000);
    expect((await on.alerts.get(id))?.state).toBe("silenced");
    expect(on.posted()[0]?.text).toContain("Silenced");
    await on.alerts.silences.expire(silence.id);
    await on.advance(3_000);
    expect((await on.alerts.get(id))?.state).toBe("firing");
    // Its card is only edited, which notifies no one.
    expect(on.posted()).toHaveLength(2);
    expect(on.posted()[1]?.text).toContain("The silence ended. It fires now.");
  });

  it("a maintenance window, which lets what is resolved through", async () => {
    const on = await watch({
      ...TO_ROOM,
      maintenance: [
        { match: ["queue=support"], from: "2026-01-01T11:00Z", until: "2026-01-01T12:00Z", comment: "new racks" },
      ],
    });
    await on.raise({ fingerprint: "before" });
    await on.advance(HOUR + MINUTE);
    await on.raise({ fingerprint: "within" });
    await on.advance(3_000);
    expect(on.posted()).toHaveLength(1);
    expect(on.posted()[0]?.text).toContain("maintenance:1");
    await on.raise({ fingerprint: "before", state: "resolved", reason: "answered" });
    await on.advance(3_000);
    expect(on.posted()[0]?.text).toContain("Resolved");
    await on.advance(HOUR);
    expect(on.posted()).toHaveLength(2);
  });

  it("an outage that explains it, for the same host only, until that is over", async () => {
    const on = await watch({
      ...TO_ROOM,
      inhibit: [{ by: ["kind=outage"], mutes: ["kind=slow"], equal: ["host"] }],
    });
    const slow = (host: string) => ({ fingerprint: `slow:${host}`, labels: { kind: "slow", host } });
    await on.raise(slow("a"));
    await on.raise({ fingerprint: "outage:a", labels: { kind: "outage", host: "a" } });
    await on.advance(3_000);
    const inhibited = await on.raise({ ...slow("a"), reason: "slower" });
    expect(inhibited.state).toBe("inhibited");
    expect((await on.raise(slow("b"))).state).toBe("firing");
    await on.crash();
    await on.raise({ fingerprint: "outage:a", labels: { kind: "outage", host: "a" }, state: "resolved", reason: "up" });
    await on.advance(3_000);
    expect((await on.alerts.get(inhibited.id))?.state).toBe("firing");
  });

  it("a snooze: then it is told again by its state", async () => {
    const on = await watch(TO_ROOM);
    const { id } = await on.raise();
    await on.alerts.act(id, { kind: "snooze", until: on.clock.now() + HOUR }, ANN);
    await on.advance(3_000);
    expect(on.posted()[0]?.text).toContain("Snoozed until");
    await on.advance(HOUR);
    expect((await on.alerts.get(id))?.state).toBe("firing");
    expect(on.posted()[0]?.text).toContain("Firing since");
  });

  it("quiet hours of a chat, unless it is severe; then one message tells what came", async () => {
    const on = await watch({
      ...TO_ROOM,
      destinations: { [ROOM]: { quiet: { from: "09:00", to: "12:00", timezone: "UTC" } } },
    });
    for (const fingerprint of ["a", "b", "c"]) await on.raise({ fingerprint, title: `Reply to ${fingerprint}` });
    await on.raise({ fingerprint: "a", title: "Reply to a", state: "resolved", reason: "answered" });
    expect(on.posted()).toEqual([]);
    await on.raise({ fingerprint: "d", severity: "critical" });
    expect(on.posted()).toHaveLength(1);
    await on.advance(2 * HOUR + MINUTE);
    const catchUp = on.posted().filter(({ text }) => text.includes("While it was quiet"));
    expect(catchUp).toHaveLength(1);
    expect(catchUp[0]?.text).toMatch(/3 alerts, 2 open[\s\S]*Reply to b[\s\S]*Reply to a/);
  });
});

describe("an open card", () => {
  const clock = { name: "first response", dueAt: START, targetMs: HOUR, elapsedMs: HOUR, percentUsed: 1 };

  it("is drawn again as time passes, also after a crash, and not any more when it is over", async () => {
    const on = await watch(TO_ROOM);
    await on.raise({ clock });
    await on.advance(9 * MINUTE);
    const early = on.posted()[0]?.edits ?? 0;
    expect(on.posted()[0]?.text).toMatch(/waits 1 h [789] min for a first response/);
    expect(early).toBeGreaterThan(3);
    await on.crash();
    await on.advance(HOUR);
    // A tenth of how late it is, five minutes at most: 22 at the exact times, fewer when the clock jumps over some of them.
    const later = (on.posted()[0]?.edits ?? 0) - early;
    expect(later).toBeGreaterThan(8);
    expect(later).toBeLessThan(25);
    await on.raise({ clock, state: "resolved", reason: "answered" });
    await on.advance(2_000);
    const over = on.posted()[0]?.edits;
    await on.advance(2 * HOUR);
    expect(on.posted()[0]?.edits).toBe(over);
  });

  it("that somebody deleted, which the platform tells nobody, comes back within minutes by itself", async () => {
    const on = await watch(TO_ROOM);
    await on.raise();
    const [card] = on.posted();
    if (card) card.isDeleted = true;
    await on.advance(6 * MINUTE);
    expect(on.posted()).toHaveLength(1);
    expect(on.posted()[0]?.id).not.toBe(card?.id);
    expect(on.posted()[0]?.text).toContain("Reply to Bob");
  });

  it("of many in one chat is not drawn so often that the chat is flooded", async () => {
    const on = await watch({
      routes: { default: { to: [ROOM], alone: 100, remind: { times: 0 } } },
      destinations: { [ROOM]: { per_minute: 100 } },
    });
    for (let n = 0; n < 60; n++) await on.alerts.raise(signal({ fingerprint: `f${n}`, at: on.clock.now(), clock }));
    await on.settle();
    const before = on.platform.requests.length;
    for (let minute = 0; minute < 3; minute++) {
      await on.clock.advance(MINUTE);
      await on.settle();
    }
    // Each by itself would be drawn every minute.
    expect(on.platform.requests.length - before).toBeLessThan(110);
  });
});

it("a digest lists what no operator has before what one has, that before what is silenced", async () => {
  const on = await watch({});
  const ids: string[] = [];
  for (const name of ["silenced", "acked", "firing"])
    ids.push((await on.raise({ fingerprint: name, title: `Reply to ${name}`, labels: { name } })).id);
  await on.alerts.silences.add(["name=silenced"], HOUR, "known", ANN);
  await on.alerts.act(ids[1] ?? "", { kind: "ack" }, ANN);
  await on.settle();
  const { message, open } = await on.alerts.digest();
  expect(open.map(({ state }) => state)).toEqual(["firing", "acked", "silenced"]);
  expect(message.card?.text).toMatch(/Reply to firing[\s\S]*Reply to acked[\s\S]*Reply to silenced/);
});
