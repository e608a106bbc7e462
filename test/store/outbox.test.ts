import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openSqlite } from "../../src/store/driver.js";
import { CHAT, LANE, openTestStore, partsOf, reply, temporaryFolder } from "./support/open-test-store.js";

const OTHER = { ...CHAT, chatId: "other" };

describe("outbox", () => {
  test("deliveries of a conversation come in the order they were put in", async () => {
    const { outbox } = await openTestStore();
    await outbox.enqueue([reply({ id: "d_b" }), reply({ id: "d_a" })], 1000);
    await outbox.enqueue([reply({ id: "d_0" })], 1001);
    const order: (string | undefined)[] = [];
    for (let i = 0; i < 4; i++) {
      const next = await outbox.next(LANE);
      order.push(next?.id);
      if (next) await outbox.finish(next.id, "suppressed", "test", 2000);
    }
    expect(order).toEqual(["d_b", "d_a", "d_0", undefined]);
  });

  test("enqueuing an id that exists is a no-op", async () => {
    const { outbox } = await openTestStore();
    await outbox.enqueue([reply({ id: "d_1", message: { text: "first" } })], 1000);
    await outbox.enqueue([reply({ id: "d_1", message: { text: "second" } })], 2000);
    expect(await outbox.get("d_1")).toMatchObject({ message: { text: "first" }, createdAt: 1000 });
    expect(await outbox.list({ limit: 9 })).toHaveLength(1);
  });

  test("a delivery comes back with everything that was put in", async () => {
    const { outbox } = await openTestStore();
    const delivery = reply({
      operation: "edit",
      targetId: "d_0",
      address: { ...CHAT, threadId: "t1" },
      expiresAt: 9000,
      interaction: { id: "i", token: "tok", expiresAt: 5000, isPrivate: true },
      visibleTo: "7",
      mirrors: { address: OTHER, messageId: "55" },
    });
    await outbox.enqueue([delivery], 1000);
    expect(await outbox.get(delivery.id)).toEqual({
      ...delivery,
      seq: expect.any(Number),
      conversation: "web:web:room:t1",
      status: "waiting",
      attempts: 0,
      waits: 0,
      round: 1,
      asked: 0,
      createdAt: 1000,
      dueAt: 1000,
      parts: [],
    });
  });

  test("an address is written once, whatever stands in it; of one that a version of before wrote twice the conversation counts", async () => {
    const file = join(temporaryFolder(), "hookgate.db");
    const { outbox } = await openTestStore({ file });
    const odd = { platform: "x:y", botId: "", chatId: "100%25:%", threadId: "ß 7" };
    await outbox.enqueue([reply({ id: "d_odd", address: odd }), reply({ id: "d_old" })], 1000);
    const outside = openSqlite(file);
    const data = () => outside.prepare("SELECT data ->> '$.address.chatId' FROM deliveries ORDER BY seq").pluck().all();
    expect(data()).toEqual([null, null]);
    outside
      .prepare("UPDATE deliveries SET data = json_set(data, '$.address', json(?)) WHERE id = 'd_old'")
      .run(JSON.stringify({ ...CHAT, chatId: "where it was before it moved" }));
    expect(data()).toEqual([null, "where it was before it moved"]);
    outside.close();
    expect(await outbox.get("d_odd")).toMatchObject({ address: odd });
    expect(await outbox.get("d_old")).toMatchObject({ address: CHAT });
  });

  test("the frozen decision and its parts survive, and the message before the hooks stays beside it", async () => {
    const { outbox } = await openTestStore();
    await outbox.enqueue([reply({ id: "d_1", message: { text: "before" } }), reply({ id: "d_2" })], 1000);
    await outbox.freeze("d_1", { text: "after" }, partsOf("af", "ter"), []);
    await outbox.freeze("d_2", { text: "an answer" }, partsOf("an answer"), []);
    expect(await outbox.get("d_1")).toMatchObject({
      status: "sending",
      message: { text: "before" },
      frozen: { text: "after" },
      parts: partsOf("af", "ter"),
    });
    expect(await outbox.get("d_2")).toMatchObject({ message: { text: "an answer" }, frozen: { text: "an answer" } });
  });

  test("what is decided on in the transaction that adds it stands as decided, and only if it is added", async () => {
    const { outbox } = await openTestStore();
    await outbox.enqueue([reply({ id: "d_0", message: { text: "first" } })], 1);
    const added = outbox.enqueue(
      ["d_1", "d_2", "d_0", "d_3"].map((id) => reply({ id, message: { text: "before" } })),
      1000,
    );
    const frozen = outbox.freeze("d_1", { text: "after" }, partsOf("after"), []);
    const same = outbox.freeze("d_2", { text: "before" }, partsOf("before"), []);
    const again = outbox.freeze("d_0", { text: "changed" }, partsOf("changed"), []);
    const unknown = outbox.freeze("d_9", { text: "x" }, partsOf("x"), []);
    await expect(unknown).rejects.toMatchObject({ code: "STORE_FAILED" });
    await Promise.all([added, frozen, same, again]);
    expect(await outbox.get("d_1")).toMatchObject({
      status: "sending",
      message: { text: "before" },
      frozen: { text: "after" },
      parts: partsOf("after"),
    });
    expect(await outbox.get("d_2")).toMatchObject({ frozen: { text: "before" }, createdAt: 1000 });
    expect(await outbox.get("d_0")).toMatchObject({ message: { text: "first" }, frozen: { text: "changed" } });
    expect(await outbox.get("d_3")).toMatchObject({ status: "waiting", parts: [] });
    await outbox.partSent("d_1", 0, "100", 2000);
    expect(await outbox.findByMessage(CHAT, "100")).toMatchObject({ id: "d_1", status: "sent" });
  });

  test("a confirmed part puts the next one on the wire, and the last one finishes the delivery", async () => {
    const { outbox } = await openTestStore();
    await outbox.enqueue([reply({ id: "d_1" })], 1000);
    await outbox.freeze("d_1", { text: "x" }, partsOf("a", "b", "c"), []);
    await outbox.partSent("d_1", 0, "100", 2000);
    expect((await outbox.get("d_1"))?.parts).toMatchObject([
      { status: "sent", messageId: "100" },
      { status: "sending", attempts: 1 },
      { status: "waiting", attempts: 0 },
    ]);
    await outbox.partSent("d_1", 1, "101", 2001, { nextWaits: true });
    expect((await outbox.get("d_1"))?.parts[2]).toMatchObject({ status: "waiting", attempts: 0 });
    await outbox.partSending("d_1", 2);
    expect((await outbox.get("d_1"))?.parts[2]).toMatchObject({ status: "sending", attempts: 1 });
    await outbox.partSent("d_1", 2, "102", 2002);
    expect(await outbox.get("d_1")).toMatchObject({ status: "sent", settledAt: 2002 });
    expect(await outbox.next(LANE)).toBeUndefined();
    for (const id of ["100", "101", "102"]) expect((await outbox.findByMessage(CHAT, id))?.id).toBe("d_1");
    expect(await outbox.findByMessage(OTHER, "100")).toBeUndefined();
  });

  test("a message is found by the delivery that posted it, not by one that edited it", async () => {
    const { outbox } = await openTestStore();
    await outbox.enqueue([reply({ id: "d_1" }), reply({ id: "d_2", operation: "edit", targetId: "d_1" })], 1000);
    await outbox.freeze("d_1", { text: "x" }, partsOf("x"), []);
    await outbox.partSent("d_1", 0, "100", 2000);
    const edit = partsOf("y").map((part) => ({ ...part, operation: "edit" as const, messageId: "100" }));
    await outbox.freeze("d_2", { text: "y" }, edit, []);
    await outbox.partSent("d_2", 0, "100", 2001);
    expect((await outbox.findByMessage(CHAT, "100"))?.id).toBe("d_1");
    expect((await outbox.list({ targetId: "d_1", limit: 9 })).map((delivery) => delivery.id)).toEqual(["d_2"]);
    expect(await outbox.list({ targetId: "d_1", status: "dead", limit: 9 })).toEqual([]);
  });

  test("a retry keeps its place, counts, and its part no longer looks as if it were on the wire", async () => {
    const { outbox } = await openTestStore();
    await outbox.enqueue([reply({ id: "d_1" }), reply({ id: "d_2" })], 1000);
    await outbox.freeze("d_1", { text: "x" }, partsOf("x"), []);
    await outbox.retryAt("d_1", 60_000, "429");
    expect(await outbox.next(LANE)).toMatchObject({
      id: "d_1",
      dueAt: 60_000,
      attempts: 1,
      reason: "429",
      status: "sending",
    });
    expect((await outbox.get("d_1"))?.parts).toMatchObject([{ status: "waiting", attempts: 1 }]);
    expect(await outbox.pending()).toEqual([{ queue: LANE, dueAt: 60_000 }]);
  });

  test("held deliveries are stepped over", async () => {
    const { outbox } = await openTestStore();
    await outbox.enqueue([reply({ id: "d_1" }), reply({ id: "d_2" })], 1000);
    await outbox.finish("d_1", "held", "ambiguous", 2000);
    expect((await outbox.next(LANE))?.id).toBe("d_2");
    expect(await outbox.list({ status: "held", limit: 9 })).toMatchObject([{ id: "d_1", reason: "ambiguous" }]);
  });

  test("an operator releases a held delivery: its frozen decision is sent, an ambiguous part again", async () => {
    const { outbox } = await openTestStore();
    await outbox.enqueue([reply({ id: "d_1", expiresAt: 1500 })], 1000);
    await outbox.freeze("d_1", { text: "x" }, partsOf("a", "b"), []);
    await outbox.finish("d_1", "held", "ambiguous", 2000);
    expect(await outbox.release("d_1", 3000)).toBe(true);
    const released = await outbox.get("d_1");
    expect(released).toMatchObject({
      status: "sending",
      dueAt: 3000,
      parts: [{ status: "waiting" }, { status: "waiting" }],
    });
    expect(released?.expiresAt).toBeUndefined();
    expect(released?.settledAt).toBeUndefined();
    expect(await outbox.release("d_1", 3000)).toBe(false);
  });

  test("an operator confirms an ambiguous part: only the rest is sent, or nothing when it was the last", async () => {
    const { outbox } = await openTestStore();
    await outbox.enqueue([reply({ id: "d_1" }), reply({ id: "d_2" })], 1000);
    await outbox.freeze("d_1", { text: "x" }, partsOf("a", "b"), []);
    await outbox.freeze("d_2", { text: "x" }, partsOf("a"), []);
    for (const id of ["d_1", "d_2"]) await outbox.finish(id, "held", "ambiguous", 2000);
    for (const id of ["d_1", "d_2"]) expect(await outbox.release(id, 3000, { confirmed: true })).toBe(true);
    expect(await outbox.get("d_1")).toMatchObject({
      status: "sending",
      parts: [{ status: "sent" }, { status: "waiting" }],
    });
    expect(await outbox.get("d_2")).toMatchObject({ status: "sent", settledAt: 3000 });
  });

  test("a held delivery that was never decided goes through the hooks when it is released", async () => {
    const { outbox } = await openTestStore();
    await outbox.enqueue([reply({ id: "d_1" })], 1000);
    await outbox.finish("d_1", "held", "a fail-closed hook failed", 2000);
    await outbox.release("d_1", 3000);
    expect(await outbox.next(LANE)).toMatchObject({ id: "d_1", status: "waiting" });
  });

  test("encoding again replaces what is not sent, and a moved chat takes the delivery to its new conversation", async () => {
    const { outbox } = await openTestStore();
    const interaction = { id: "i", token: "t", expiresAt: 9, isPrivate: false };
    await outbox.enqueue([reply({ id: "d_1", interaction })], 1000);
    await outbox.freeze("d_1", { text: "x" }, partsOf("a", "b"), []);
    await outbox.partSent("d_1", 0, "100", 2000);
    const plain = partsOf("a", "plain b", "plain c").slice(1);
    await outbox.reencode("d_1", plain, { address: OTHER, withoutInteraction: true });
    const delivery = await outbox.get("d_1");
    expect(delivery?.interaction).toBeUndefined();
    expect(delivery?.parts.map((part) => [part.status, part.part?.text])).toEqual([
      ["sent", undefined],
      ["waiting", "plain b"],
      ["waiting", "plain c"],
    ]);
    expect(await outbox.next("web:web:other")).toMatchObject({ id: "d_1", address: OTHER });
    expect(await outbox.next(LANE)).toBeUndefined();
    await outbox.partSent("d_1", 1, "101", 2001);
    expect((await outbox.findByMessage(OTHER, "101"))?.id).toBe("d_1");
    expect((await outbox.findByMessage(CHAT, "100"))?.id).toBe("d_1");
  });

  test("freezing stores what the buttons do, in the same transaction", async () => {
    const { outbox, actions } = await openTestStore();
    await outbox.enqueue([reply({ id: "d_1" })], 1000);
    const token = { token: "tok", deliveryId: "d_1", action: { kind: "say" as const, text: "yes" }, expiresAt: 9000 };
    await outbox.freeze("d_1", { text: "x" }, partsOf("x"), [token]);
    expect(await actions.get("tok")).toEqual(token);
    expect(await actions.get("other")).toBeUndefined();
  });

  test("a settled delivery cannot be frozen or finished again", async () => {
    const { outbox } = await openTestStore();
    await outbox.enqueue([reply({ id: "d_1" })], 1000);
    await outbox.finish("d_1", "cancelled", "a hook said no", 2000);
    await expect(outbox.freeze("d_1", { text: "x" }, partsOf("x"), [])).rejects.toMatchObject({ code: "STORE_FAILED" });
    await outbox.finish("d_1", "sent", "", 3000);
    expect(await outbox.get("d_1")).toMatchObject({ status: "cancelled", reason: "a hook said no", settledAt: 2000 });
  });

  test("a sent mirror is linked, and found from both sides", async () => {
    const { outbox, links } = await openTestStore();
    const origin = { address: { ...OTHER, threadId: "t" }, messageId: "55" };
    await outbox.enqueue([reply({ id: "d_1", mirrors: origin })], 1000);
    await outbox.freeze("d_1", { text: "x" }, partsOf("a", "b"), []);
    await outbox.partSent("d_1", 0, "100", 2000);
    expect(await links.find(CHAT, "100")).toEqual([]);
    await outbox.partSent("d_1", 1, "101", 2000);
    for (const id of ["100", "101"])
      expect(await links.find(CHAT, id)).toEqual([{ ...origin, deliveryId: "d_1", isOrigin: true }]);
    expect(await links.find(OTHER, "55")).toEqual([
      { address: CHAT, messageId: "100", deliveryId: "d_1", isOrigin: false },
      { address: CHAT, messageId: "101", deliveryId: "d_1", isOrigin: false },
    ]);
  });

  test("a deleted delivery is not found by its platform messages any more, and leaves nothing behind", async () => {
    const { outbox } = await openTestStore();
    await outbox.enqueue([reply({ id: "d_1" }), reply({ id: "d_2", address: OTHER })], 1);
    await outbox.freeze("d_1", { text: "x" }, partsOf("a", "b"), []);
    await outbox.partSent("d_1", 0, "100", 2);
    await outbox.partSent("d_1", 1, "101", 2);
    await outbox.freeze("d_2", { text: "x" }, partsOf("a"), []);
    await outbox.partSent("d_2", 0, "102", 2);
    expect((await outbox.findByMessage(CHAT, "101"))?.id).toBe("d_1");
    expect(await outbox.purge({ ids: ["d_1"] })).toBe(1);
    expect(await outbox.findByMessage(CHAT, "100")).toBeUndefined();
    expect(await outbox.findByMessage(CHAT, "101")).toBeUndefined();
    expect((await outbox.findByMessage(OTHER, "102"))?.id).toBe("d_2");
  });

  test("an operator's purge takes settled deliveries, held ones only when named, and never unfinished ones", async () => {
    const { outbox } = await openTestStore();
    await outbox.enqueue(
      ["d_1", "d_2", "d_3", "d_4", "d_5"].map((id) => reply({ id })),
      1000,
    );
    await outbox.finish("d_1", "dead", "x", 2000);
    await outbox.finish("d_2", "held", "x", 2000);
    await outbox.freeze("d_3", { text: "x" }, partsOf("x"), []);
    await outbox.finish("d_4", "cancelled", "x", 2000);
    expect(await outbox.purge({ status: "waiting" })).toBe(0);
    expect(await outbox.purge({ ids: ["d_3", "d_5", "d_4"] })).toBe(1);
    expect(await outbox.purge({})).toBe(1);
    expect(await outbox.purge({ status: "held" })).toBe(1);
    expect(await outbox.counts()).toEqual({
      waiting: 1,
      sending: 1,
      held: 0,
      sent: 0,
      suppressed: 0,
      cancelled: 0,
      superseded: 0,
      dead: 0,
    });
  });

  test("deliveries are listed by status and by conversation, newest first", async () => {
    const { outbox } = await openTestStore();
    await outbox.enqueue([reply({ id: "d_1" }), reply({ id: "d_2", address: OTHER }), reply({ id: "d_3" })], 1000);
    await outbox.finish("d_1", "superseded", "x", 2000);
    const ids = async (filter: Parameters<typeof outbox.list>[0]) => (await outbox.list(filter)).map(({ id }) => id);
    expect(await ids({ conversation: LANE, limit: 9 })).toEqual(["d_3", "d_1"]);
    expect(await ids({ conversation: LANE, status: "waiting", limit: 9 })).toEqual(["d_3"]);
    expect(await ids({ status: "waiting", limit: 9 })).toEqual(["d_3", "d_2"]);
    expect(await ids({ status: "superseded", limit: 9 })).toEqual(["d_1"]);
    expect(await ids({ limit: 2 })).toEqual(["d_3", "d_2"]);
    expect((await outbox.pending()).map(({ queue }) => queue).sort()).toEqual(["web:web:other", LANE]);
  });
});
