/** A breach is announced by a message that notifies: after quiet hours, and when a clock is overdue again on its former card. */
import { describe, expect, it } from "vitest";
import type { AlertSignal } from "../../src/domain/alerts/alert-signal.js";
import { ANN, HOUR, MINUTE, OPS, ROOM, START, type Watch, watch } from "./watch.js";

const clock = { name: "first response", dueAt: START, targetMs: HOUR, elapsedMs: HOUR, percentUsed: 1 };
const wait = (name: string, changes: Partial<AlertSignal> = {}): Partial<AlertSignal> => ({
  fingerprint: `replies:${name}`,
  title: `Reply to ${name}`,
  clock,
  ...changes,
});
const warned = { state: "warned", severity: "warning" } as const;
const isCard = (text: string) => text.includes("Firing") || text.includes("Overdue since") || text.includes("No owner");
const news = (on: Watch, at = ROOM) => on.posted(at).filter(({ text }) => !isCard(text) && !text.includes("🌙"));
const overdue = (on: Watch, at = ROOM) => on.posted(at).filter(({ text }) => text.includes("Overdue now"));
const silent = (more: Record<string, unknown> = {}) => ({ to: [ROOM], remind: { times: 0 }, ...more });

describe("in quiet hours", () => {
  const quiet = { quiet: { from: "10:05", to: "12:00", timezone: "UTC" } };
  const start = (more: Record<string, unknown> = {}) =>
    watch({ routes: { default: silent(more) }, destinations: { [ROOM]: quiet } });

  it("is announced when they end, once, also after a crash; the catch-up names it", async () => {
    const on = await start();
    for (const name of ["Late", "Answered", "Taken"]) await on.raise(wait(name, warned));
    await on.advance(10 * MINUTE);
    const { id } = await on.raise(wait("Late"));
    await on.raise(wait("Answered"));
    const taken = await on.raise(wait("Taken"));
    await on.raise(wait("Other"));
    await on.raise(wait("Answered", { state: "resolved", reason: "answered" }));
    await on.alerts.act(taken.id, { kind: "ack" }, ANN);
    await on.advance(MINUTE);
    expect(on.posted()).toHaveLength(3);
    await on.crash(HOUR);
    await on.advance(HOUR);
    expect(overdue(on).map(({ text }) => /Reply to \w+/.exec(text)?.[0])).toEqual(["Reply to Late"]);
    expect(overdue(on)[0]?.text).toContain("Overdue now. It waited because of quiet hours.");
    expect(overdue(on)[0]?.body.replyToId).toBe(on.posted()[0]?.id);
    const catchUp = on.posted().filter(({ text }) => text.includes("🌙"));
    expect(catchUp).toHaveLength(1);
    expect(catchUp[0]?.text).toMatch(
      /Reply to Other[\s\S]*Separate messages follow about alerts that already have a card: Reply to Late\.$/m,
    );
    const history = await on.alerts.history(id);
    expect(history.find(({ event }) => event === "posted")?.reason).toBe(
      `"Overdue now" in ${ROOM}: it was due ${new Date(START + 10 * MINUTE).toISOString()}`,
    );
    // What has left the chat is followed by nothing there.
    await on.reload({ routes: { default: { ...silent(), to: [OPS] } }, destinations: { [ROOM]: quiet } });
    await on.advance(10_000);
    const [left] = on.posted().filter(({ text }) => text.includes("🌙"));
    expect(left?.text).toContain(`Moved to ${OPS}`);
    expect(left?.text).not.toContain("Separate messages");
  });

  it("is in the page that waited as long, and in no message of its own", async () => {
    const on = await start({ escalate: [{ after: "5m", mention: ["loop:7"] }] });
    await on.raise(wait("Late", warned));
    await on.advance(10 * MINUTE);
    await on.raise(wait("Late"));
    await on.advance(2 * HOUR);
    expect(news(on).map(({ text }) => /Overdue now|Escalated: step 1/.exec(text)?.[0])).toEqual(["Escalated: step 1"]);
  });

  it("so is a snooze that ends: who snoozed it is notified when they end", async () => {
    const on = await start();
    const { id } = await on.raise(wait("Late"));
    await on.alerts.act(id, { kind: "snooze", until: START + 20 * MINUTE }, ANN);
    await on.advance(HOUR);
    expect(news(on)).toEqual([]);
    await on.advance(HOUR + MINUTE);
    expect(news(on).map(({ text }) => text)).toEqual([
      expect.stringMatching(/<@1\|Ann>[\s\S]*The snooze ended \(Ann snoozed it\)\. It waited because of quiet hours/),
    ]);
  });

  it("is announced at once in a chat without them", async () => {
    const on = await watch({ routes: { default: silent({ to: [ROOM, OPS] }) }, destinations: { [ROOM]: quiet } });
    await on.raise(wait("Late", warned));
    await on.advance(10 * MINUTE);
    await on.raise(wait("Late"));
    expect([overdue(on), overdue(on, OPS)].map(({ length }) => length)).toEqual([0, 1]);
  });
});

describe("kept quiet while a person escalated it", () => {
  const until = { from: "2026-01-01T10:00Z", until: "2026-01-01T11:00Z", comment: "moving" };
  it.each([
    ["a silence", {}, "The silence ended"],
    ["a maintenance window", { maintenance: [{ match: ["queue=support"], ...until }] }, "The silence ended"],
    [
      "another alert",
      { inhibit: [{ by: ["name=outage"], mutes: ["queue=support"] }] },
      "The alert that explained it ended",
    ],
  ])("by %s: at its end a new message, once", async (by, settings, why) => {
    const on = await watch({
      routes: { default: silent({ escalate: [{ after: "5h", mention: ["loop:7"] }] }) },
      ...settings,
    });
    const outage = { fingerprint: "outage", labels: { name: "outage" } };
    if (by === "a silence") await on.alerts.silences.add(["queue=support"], HOUR, "moving", ANN);
    if (by === "another alert") await on.raise(outage);
    const { id, state } = await on.raise(wait("Late"));
    expect(["silenced", "inhibited"]).toContain(state);
    await on.alerts.act(id, { kind: "escalate" }, ANN);
    await on.advance(30 * MINUTE);
    const before = on.posted().length;
    expect(
      on
        .posted()
        .filter(({ text }) => text.includes("Escalated: step 1") && !isCard(text))
        .map(({ text }) => /🔇|🔶/.exec(text)?.[0]),
    ).toEqual(["🔶"]);
    if (by === "another alert") await on.raise({ ...outage, state: "resolved", reason: "back" });
    await on.crash();
    await on.advance(HOUR);
    expect(overdue(on).map(({ text }) => text)).toEqual([expect.stringContaining(`${why}. Overdue now.`)]);
    expect(on.posted()).toHaveLength(before + 1);
  });
});

describe("again, soon after it ended", () => {
  const start = (more: Record<string, unknown> = {}) => watch({ routes: { default: silent(more) } });
  const more = { ...clock, dueAt: START + 5 * MINUTE, isPostponed: true as const };

  it("is announced, once, also after a crash, and on a card of many", async () => {
    for (const alone of [3, 0]) {
      const on = await start({ alone });
      await on.raise(wait("Other"));
      await on.raise(wait("Late"));
      await on.advance(10_000);
      await on.raise(wait("Late", { state: "resolved", reason: "more time", clock: more }));
      await on.advance(5 * MINUTE);
      const before = on.posted();
      on.cut(/Overdue now/);
      await on.raise(wait("Late", { episode: 2 }));
      await on.crash(10_000);
      await on.advance(MINUTE);
      expect(on.posted()).toHaveLength(before.length + 1);
      expect(on.posted().at(-1)?.text).toMatch(/Reply to Late[\s\S]*Overdue now/);
    }
  });

  it("is announced by the new card alone when it has one, and by the page of a step that is taken at once", async () => {
    const late = await start({ reopen_within: "1m" });
    const paged = await start({ escalate: [{ mention: ["loop:7"] }] });
    for (const on of [late, paged]) {
      await on.raise(wait("Late"));
      await on.raise(wait("Late", { state: "resolved", reason: "more time", clock: more }));
      await on.advance(5 * MINUTE);
      const before = on.posted().length;
      await on.raise(wait("Late", { episode: 2 }));
      await on.advance(MINUTE);
      expect(on.posted()).toHaveLength(before + 1);
      expect(overdue(on)).toEqual([]);
    }
  });

  it("is an edit without a clock, as flapping is", async () => {
    const on = await start();
    const flapping = { fingerprint: "disk", title: "Disk full" };
    await on.raise(flapping);
    await on.raise({ ...flapping, state: "resolved", reason: "back" });
    await on.raise({ ...flapping, episode: 2 });
    await on.advance(MINUTE);
    expect(on.posted()).toHaveLength(1);
  });
});
