import { describe, expect, test } from "vitest";
import { CHAT, LANE, messageEvent, openTestStore, reply } from "./support/open-test-store.js";

describe("inbox", () => {
  test("an event is stored once, and the second hand-over gives the first row's id", async () => {
    const { inbox } = await openTestStore();
    const first = await inbox.accept(messageEvent("1"), LANE, 1000, false);
    expect(first).toEqual({ id: expect.any(Number), duplicate: false });
    expect(await inbox.accept(messageEvent("1"), LANE, 2000, false)).toEqual({ id: first.id, duplicate: true });
    expect(await inbox.unfinished(0, 10)).toHaveLength(1);
    // The second hand-over uses up no id.
    expect(await inbox.accept(messageEvent("2"), LANE, 3000, false)).toEqual({ id: first.id + 1, duplicate: false });
  });

  test("the same event handed over twice in one turn of the loop is stored once", async () => {
    const { inbox } = await openTestStore();
    const answers = await Promise.all([1, 2, 3].map(() => inbox.accept(messageEvent("1"), LANE, 1000, true)));
    expect(answers.map((answer) => answer.duplicate)).toEqual([false, true, true]);
    expect(new Set(answers.map((answer) => answer.id)).size).toBe(1);
  });

  test("the same message id in two chats is two events", async () => {
    const { inbox } = await openTestStore();
    const here = await inbox.accept(messageEvent("1"), LANE, 1000, false);
    const there = await inbox.accept(messageEvent("1", { chatId: "other" }), "web:web:other", 1000, false);
    expect(there.duplicate).toBe(false);
    expect(there.id).not.toBe(here.id);
  });

  test("a row carries the event as it came, and its id, lane and times", async () => {
    const { inbox } = await openTestStore();
    const event = messageEvent("1", { text: 'quotes " and \u{1f600} and {"json": true}' });
    const { id } = await inbox.accept(event, LANE, 1234, false);
    expect(await inbox.get(id)).toEqual({
      id,
      lane: LANE,
      event,
      status: "waiting",
      attempts: 0,
      deferrals: 0,
      round: 1,
      dueAt: 1234,
      receivedAt: 1234,
    });
    expect((await inbox.find(CHAT, "1"))?.id).toBe(id);
    expect(await inbox.find({ ...CHAT, chatId: "other" }, "1")).toBeUndefined();
  });

  test("an event that is handled at once is stored as running, with its first attempt counted", async () => {
    const { inbox } = await openTestStore();
    const { id } = await inbox.accept(messageEvent("1"), LANE, 1000, true);
    expect(await inbox.get(id)).toMatchObject({ status: "running", attempts: 1 });
    expect(await inbox.start(id)).toBe(2);
  });

  test("unfinished rows come in order of id, page by page, whatever their lane", async () => {
    const { inbox } = await openTestStore();
    const ids: number[] = [];
    for (let i = 0; i < 7; i++) {
      const { id } = await inbox.accept(messageEvent(String(i), { chatId: `c${i % 3}` }), `lane${i % 3}`, 1000, false);
      ids.push(id);
    }
    await inbox.settle(ids[2] as number, { outcome: "unrouted", deliveries: [] }, 2000);
    const open = ids.filter((_, i) => i !== 2);
    const pages = [await inbox.unfinished(0, 4), await inbox.unfinished(open[3] as number, 4)];
    expect(pages.map((page) => page.map((row) => row.id))).toEqual([open.slice(0, 4), open.slice(4)]);
    expect((await inbox.lane("lane0", 0, 10)).map((row) => row.id)).toEqual([ids[0], ids[3], ids[6]]);
    expect((await inbox.lane("lane0", ids[0] as number, 1)).map((row) => row.id)).toEqual([ids[3]]);
  });

  test("settling writes the outcome and the replies together", async () => {
    const { inbox, outbox } = await openTestStore();
    const { id } = await inbox.accept(messageEvent("1"), LANE, 1000, true);
    const deliveries = [reply({ id: "d_1" }), reply({ id: "d_2" })];
    expect(await inbox.settle(id, { outcome: "claimed", claimedBy: "greeter", deliveries }, 2000)).toEqual([1, 2]);
    expect(await inbox.get(id)).toMatchObject({
      status: "done",
      outcome: "claimed",
      claimedBy: "greeter",
      settledAt: 2000,
    });
    expect((await outbox.list({ limit: 9 })).map((delivery) => delivery.id)).toEqual(["d_2", "d_1"]);
    expect(await inbox.unfinished(0, 10)).toEqual([]);
  });

  test("a second settlement of the same row writes nothing", async () => {
    const { inbox, outbox } = await openTestStore();
    const { id } = await inbox.accept(messageEvent("1"), LANE, 1000, true);
    const settle = (delivery: string, outcome: string) =>
      inbox.settle(id, { outcome, deliveries: [reply({ id: delivery })] }, 2000);
    expect(await Promise.all([settle("d_1", "claimed"), settle("d_2", "command")])).toEqual([[1], undefined]);
    expect(await settle("d_3", "command")).toBeUndefined();
    expect((await outbox.list({ limit: 9 })).map((delivery) => delivery.id)).toEqual(["d_1"]);
    expect(await inbox.get(id)).toMatchObject({ outcome: "claimed" });
  });

  test("a settlement that cannot be written leaves the row unsettled", async () => {
    const { inbox, outbox } = await openTestStore();
    const { id } = await inbox.accept(messageEvent("1"), LANE, 1000, true);
    // An id that no column takes stands for any failure half way through.
    const broken = { ...reply(), id: {} };
    // @ts-expect-error an id is text
    const settling = inbox.settle(id, { outcome: "claimed", deliveries: [reply({ id: "d_1" }), broken] }, 2000);
    await expect(settling).rejects.toMatchObject({ code: "STORE_FAILED" });
    expect(await inbox.get(id)).toMatchObject({ status: "running" });
    expect(await outbox.list({ limit: 9 })).toEqual([]);
  });

  test("putting off keeps the row at its place: a hook's request counts a deferral, a failure keeps its error", async () => {
    const { inbox } = await openTestStore();
    const { id } = await inbox.accept(messageEvent("1"), LANE, 1000, true);
    await inbox.defer(id, 5000);
    expect(await inbox.get(id)).toMatchObject({ status: "deferred", dueAt: 5000, deferrals: 1 });
    await inbox.defer(id, 6000, "it broke");
    expect(await inbox.get(id)).toMatchObject({ status: "deferred", dueAt: 6000, deferrals: 1, error: "it broke" });
    expect((await inbox.lane(LANE, 0, 9)).map((row) => row.id)).toEqual([id]);
    expect(await inbox.start(id)).toBe(2);
  });

  test("a dead row leaves its lane, shows among the dead, and can be revived with fresh attempts", async () => {
    const { inbox } = await openTestStore();
    const { id } = await inbox.accept(messageEvent("1"), LANE, 1000, true);
    expect(await inbox.revive(id, 1500)).toBe(false);
    await inbox.dead(id, "kept failing", 2000);
    expect(await inbox.lane(LANE, 0, 9)).toEqual([]);
    expect(await inbox.list({ status: "dead", limit: 9 })).toMatchObject([
      { id, error: "kept failing", settledAt: 2000 },
    ]);
    expect(await inbox.settle(id, { outcome: "late", deliveries: [reply()] }, 2500)).toBeUndefined();
    expect(await inbox.revive(id, 3000)).toBe(true);
    expect(await inbox.get(id)).toMatchObject({ status: "waiting", attempts: 0, dueAt: 3000 });
    expect((await inbox.get(id))?.settledAt).toBeUndefined();
  });

  test("rows are counted and listed by status, newest first", async () => {
    const { inbox } = await openTestStore();
    const ids: number[] = [];
    for (let i = 0; i < 6; i++) ids.push((await inbox.accept(messageEvent(String(i)), LANE, 1000, i % 2 === 0)).id);
    await inbox.settle(ids[0] as number, { outcome: "unrouted", deliveries: [] }, 2000);
    await inbox.dead(ids[2] as number, "broken", 2000);
    await inbox.defer(ids[4] as number, 9000);
    expect(await inbox.counts()).toEqual({ waiting: 3, running: 0, deferred: 1, done: 1, dead: 1 });
    expect((await inbox.list({ status: "waiting", limit: 2 })).map((row) => row.id)).toEqual([ids[5], ids[3]]);
    expect((await inbox.list({ status: "done", limit: 9 })).map((row) => row.id)).toEqual([ids[0]]);
    expect((await inbox.list({ limit: 3 })).map((row) => row.id)).toEqual([ids[5], ids[4], ids[3]]);
  });

  test("rows of one lane are listed newest first, settled ones too, however many other lanes have", async () => {
    const { inbox } = await openTestStore();
    const { id: quiet } = await inbox.accept(messageEvent("quiet"), "web:web:quiet", 1000, true);
    await inbox.settle(quiet, { outcome: "unrouted", deliveries: [] }, 2000);
    const { id: newer } = await inbox.accept(messageEvent("newer"), "web:web:quiet", 1000, false);
    for (let i = 0; i < 600; i++) await inbox.accept(messageEvent(String(i)), LANE, 1000, false);
    const lane = "web:web:quiet";
    expect((await inbox.list({ lane, limit: 9 })).map((row) => row.id)).toEqual([newer, quiet]);
    expect((await inbox.list({ lane, before: newer, limit: 9 })).map((row) => row.id)).toEqual([quiet]);
  });

  test("starting a settled row is an error, not a silent restart", async () => {
    const { inbox } = await openTestStore();
    const { id } = await inbox.accept(messageEvent("1"), LANE, 1000, true);
    await inbox.settle(id, { outcome: "unrouted", deliveries: [] }, 2000);
    await expect(inbox.start(id)).rejects.toMatchObject({ code: "STORE_FAILED" });
    expect(await inbox.get(id)).toMatchObject({ status: "done", attempts: 1 });
  });
});
