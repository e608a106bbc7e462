import { describe, expect, test } from "vitest";
import { CHAT, LANE, messageEvent, openTestStore, partsOf, reply, retentionOf } from "./support/open-test-store.js";

const DAY = 86_400_000;
const NOW = 1000 * DAY;

describe("retention", () => {
  test("handled messages go when they are too old; unfinished ones and dead ones, which wait for an operator, never", async () => {
    const { inbox, sweep } = await openTestStore({ url: ":memory:", retention: retentionOf({ inbox_for: 10 * DAY }) });
    const accept = async (id: string, at: number) => (await inbox.accept(messageEvent(id), LANE, at, true)).id;
    const old = await accept("old", NOW - 20 * DAY);
    const oldOpen = await accept("old and open", NOW - 20 * DAY);
    const oldLate = await accept("old, settled late", NOW - 20 * DAY);
    const oldDead = await accept("old and dead", NOW - 20 * DAY);
    const young = await accept("young", NOW - DAY);
    await inbox.settle(old, { outcome: "unrouted", deliveries: [] }, NOW - 20 * DAY);
    await inbox.settle(oldLate, { outcome: "unrouted", deliveries: [] }, NOW - DAY);
    await inbox.dead(oldDead, "broken", NOW - 20 * DAY);
    await inbox.settle(young, { outcome: "unrouted", deliveries: [] }, NOW - DAY);
    expect(await sweep(NOW)).toMatchObject({ inbox: 1 });
    const left = await inbox.list({ limit: 9 });
    expect(left.map((row) => row.id).sort()).toEqual([oldOpen, oldLate, oldDead, young]);
    expect(await sweep(NOW)).toMatchObject({ inbox: 0 });
  });

  test("of handled messages no more are kept than allowed, the newest", async () => {
    const { inbox, sweep } = await openTestStore({ url: ":memory:", retention: retentionOf({ inbox_rows: 700 }) });
    const accepted = await Promise.all(
      Array.from({ length: 2000 }, (_, i) => inbox.accept(messageEvent(String(i)), LANE, NOW - 1000, true)),
    );
    const settle = ({ id }: { id: number }) => inbox.settle(id, { outcome: "unrouted", deliveries: [] }, NOW - 500);
    // The first stays open: it is older than all that may be deleted.
    await Promise.all(accepted.slice(1).map(settle));
    expect(await sweep(NOW)).toMatchObject({ inbox: 1300 });
    expect(await inbox.counts()).toMatchObject({ running: 1, done: 699 });
    expect((await inbox.unfinished(0, 9)).map((row) => row.id)).toEqual([accepted[0]?.id]);
    expect((await inbox.list({ limit: 1 }))[0]?.id).toBe(accepted.at(-1)?.id);
  });

  test("a dead message stays however many were handled after it", async () => {
    const { inbox, sweep } = await openTestStore({ url: ":memory:", retention: retentionOf({ inbox_rows: 100 }) });
    const dead = await inbox.accept(messageEvent("dead"), LANE, NOW - 2000, true);
    await inbox.dead(dead.id, "the guard is out of order", NOW - 1900);
    for (let i = 0; i < 130; i++) {
      const { id } = await inbox.accept(messageEvent(String(i)), LANE, NOW - 1000, true);
      await inbox.settle(id, { outcome: "unrouted", deliveries: [] }, NOW - 500);
    }
    expect(await sweep(NOW)).toMatchObject({ inbox: 31 });
    expect(await inbox.get(dead.id)).toMatchObject({ status: "dead", error: "the guard is out of order" });
    expect(await inbox.revive(dead.id, NOW)).toBe(true);
  });

  test("an event that is handed over again is known for as long as it has to be, although its row went long ago", async () => {
    const { inbox, sweep } = await openTestStore({
      url: ":memory:",
      retention: retentionOf({ inbox_rows: 1, dedup_for: 2 * DAY }),
    });
    const first = await inbox.accept(messageEvent("1"), LANE, NOW - DAY, true);
    await inbox.settle(first.id, { outcome: "unrouted", deliveries: [] }, NOW - DAY);
    await inbox.accept(messageEvent("2"), LANE, NOW, true);
    expect(await sweep(NOW)).toMatchObject({ inbox: 1 });
    expect(await inbox.get(first.id)).toBeUndefined();
    expect(await inbox.accept(messageEvent("1"), LANE, NOW, true)).toEqual({ id: first.id, duplicate: true });
    expect(await inbox.find(CHAT, "1")).toBeUndefined();
    expect(await sweep(NOW + 1.5 * DAY)).toMatchObject({ inbox_seen: 1 });
    expect(await inbox.accept(messageEvent("1"), LANE, NOW + 2 * DAY, true)).toMatchObject({ duplicate: false });
  });

  test("settled deliveries go with their parts; waiting and sending ones, and held and dead ones, which wait for an operator, stay however old", async () => {
    const { outbox, sweep } = await openTestStore({ url: ":memory:", retention: retentionOf({ outbox_for: DAY }) });
    const ids = ["d_sent", "d_waiting", "d_sending", "d_held", "d_dead"];
    await outbox.enqueue(
      ids.map((id) => reply({ id, mirrors: { address: CHAT, messageId: "5" } })),
      NOW - 9 * DAY,
    );
    for (const id of ["d_sent", "d_sending"]) await outbox.freeze(id, { text: "x" }, partsOf("x"), []);
    await outbox.partSent("d_sent", 0, "100", NOW - 9 * DAY);
    await outbox.finish("d_held", "held", "x", NOW - 9 * DAY);
    await outbox.finish("d_dead", "dead", "x", NOW - 9 * DAY);
    expect(await sweep(NOW)).toMatchObject({ deliveries: 1, links: 1 });
    expect((await outbox.list({ limit: 9 })).map(({ id }) => id).sort()).toEqual([
      "d_dead",
      "d_held",
      "d_sending",
      "d_waiting",
    ]);
    expect(await outbox.release("d_dead", NOW)).toBe(true);
    expect(await outbox.findByMessage(CHAT, "100")).toBeUndefined();
  });

  test("action tokens go a week after they expired, pauses at once; live ones stay", async () => {
    const { outbox, actions, pauses, sweep } = await openTestStore({ url: ":memory:" });
    await outbox.enqueue([reply({ id: "d_1" })], NOW);
    const token = (name: string, expiresAt: number) => ({
      token: name,
      deliveryId: "d_1",
      action: { kind: "say" as const, text: "x" },
      expiresAt,
    });
    await outbox.freeze("d_1", { text: "x" }, partsOf("x"), [token("old", NOW - 7 * DAY - 1), token("late", NOW - 1)]);
    await pauses.set({ key: "discord:1", until: NOW - 1, askedMs: 1_000, reason: "429" });
    await pauses.set({ key: "telegram:1", until: NOW + 60_000, askedMs: 60_000, reason: "429" });
    expect(await sweep(NOW)).toMatchObject({ action_tokens: 1, pauses: 1 });
    expect(await actions.get("old")).toBeUndefined();
    expect(await actions.get("late")).toBeDefined();
    expect(await pauses.list()).toEqual([{ key: "telegram:1", until: NOW + 60_000, askedMs: 60_000, reason: "429" }]);
  });

  test("the audit log and the web chat are kept by age and number", async () => {
    const { audit, web, sweep } = await openTestStore({
      url: ":memory:",
      retention: retentionOf({ audit_rows: 3, web_chat_for: DAY }),
    });
    for (let i = 0; i < 5; i++) {
      await audit.record({ at: NOW, operator: { platform: "web", userId: "1" }, action: `a${i}`, outcome: "done" });
      await web.post({ roomId: "r", text: `t${i}`, at: NOW - i * DAY }, `nonce${i}`);
    }
    expect(await sweep(NOW)).toMatchObject({ audit: 2 });
    expect((await audit.list({ limit: 9 })).map((entry) => entry.action)).toEqual(["a4", "a3", "a2"]);
    const seq = await web.lastSeq();
    expect(seq).toBe(5);
    expect((await web.post({ roomId: "r", text: "next", at: NOW }, "next")).seq).toBe(6);
  });

  test("messages are taken in while a large sweep is under way", async () => {
    const { inbox, sweep } = await openTestStore({ url: ":memory:", retention: retentionOf({ inbox_rows: 1 }) });
    const accepted = await Promise.all(
      Array.from({ length: 3000 }, (_, i) => inbox.accept(messageEvent(String(i)), LANE, NOW, true)),
    );
    await Promise.all(accepted.map(({ id }) => inbox.settle(id, { outcome: "unrouted", deliveries: [] }, NOW)));
    let isSwept = false;
    const sweeping = sweep(NOW).then(() => {
      isSwept = true;
    });
    let taken = 0;
    for (; !isSwept && taken < 100; taken++) await inbox.accept(messageEvent(`new${taken}`), LANE, NOW, true);
    await sweeping;
    expect(taken).toBeGreaterThan(2);
    expect(await inbox.counts()).toMatchObject({ running: taken });
  });
});
