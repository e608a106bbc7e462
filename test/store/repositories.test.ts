import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openStore } from "../../src/store/open.js";
import { openTestStore, storeOptions, temporaryFolder } from "./support/open-test-store.js";

describe("cursors", () => {
  test("are read from memory, belong to their scope, and are there after a restart", async () => {
    const file = join(temporaryFolder(), "hookgate.db");
    const first = await openStore(storeOptions(file));
    const cursors = first.cursors("telegram");
    await Promise.all([cursors.set("offset", "1"), cursors.set("offset", "2"), cursors.set("seen:5", "x")]);
    await first.cursors("discord").set("offset", "99");
    expect(cursors.get("offset")).toBe("2");
    await cursors.set("gone", "x");
    await cursors.set("gone", undefined);
    await first.close();

    const again = (await openTestStore({ file })).cursors("telegram");
    expect(again.get("offset")).toBe("2");
    expect(again.get("gone")).toBeUndefined();
    expect(again.list("")).toEqual([
      { key: "offset", value: "2" },
      { key: "seen:5", value: "x" },
    ]);
    expect(again.list("seen:")).toEqual([{ key: "seen:5", value: "x" }]);
  });

  test("a cursor that could not be written keeps its value", async () => {
    const file = join(temporaryFolder(), "hookgate.db");
    const writer = await openTestStore({ file });
    await writer.cursors("a").set("k", "1");
    const reader = await openTestStore({ file, exclusive: false });
    const cursors = reader.cursors("a");
    await expect(cursors.set("k", "2")).rejects.toMatchObject({ code: "STORE_READ_ONLY" });
    expect(cursors.get("k")).toBe("1");
  });
});

describe("own secrets", () => {
  test("are made once, differ by name, and are the same ever after", async () => {
    const file = join(temporaryFolder(), "hookgate.db");
    const first = await openStore(storeOptions(file));
    const [one, two] = await Promise.all([first.ownSecret("signing"), first.ownSecret("signing")]);
    expect(one).toBe(two);
    expect(one.length).toBeGreaterThanOrEqual(40);
    expect(await first.ownSecret("login")).not.toBe(one);
    await first.close();
    expect(await (await openTestStore({ file })).ownSecret("signing")).toBe(one);
  });
});

describe("hook switches", () => {
  test("the last word counts", async () => {
    const { hookState } = await openTestStore();
    await hookState.set({ hookId: "b", enabled: true, by: "web:1", at: 1 });
    await hookState.set({ hookId: "a", enabled: true, by: "web:1", at: 1 });
    await hookState.set({ hookId: "a", enabled: false, by: "web:2", at: 2 });
    await hookState.remove({ hookId: "a", at: 1 });
    expect(await hookState.list()).toEqual([
      { hookId: "a", enabled: false, by: "web:2", at: 2 },
      { hookId: "b", enabled: true, by: "web:1", at: 1 },
    ]);
  });
});

describe("key-value pairs of plugins", () => {
  test("keep JSON values by scope", async () => {
    const { keyValue } = await openTestStore();
    const value = { list: [1, null, "x"], nested: { deep: true } };
    await keyValue.set("a", "k", value);
    await keyValue.set("b", "k", "other");
    expect(await keyValue.get("a", "k")).toEqual(value);
    await keyValue.set("a", "k", 0);
    expect(await keyValue.get("a", "k")).toBe(0);
    await keyValue.set("a", "nothing", null);
    expect(await keyValue.get("a", "nothing")).toBeNull();
    await keyValue.delete("a", "k");
    expect(await keyValue.get("a", "k")).toBeUndefined();
    expect(await keyValue.get("b", "k")).toBe("other");
  });

  test("are listed by prefix, in which no character is special", async () => {
    const { keyValue } = await openTestStore();
    for (const key of ["a%b", "a%c", "aXb", "a_", "b", "a\u{10ffff}z"]) await keyValue.set("s", key, key);
    const keys = async (prefix: string) => (await keyValue.list("s", prefix)).map(({ key }) => key);
    expect(await keys("a%")).toEqual(["a%b", "a%c"]);
    expect(await keys("a_")).toEqual(["a_"]);
    expect(await keys("a")).toEqual(["a%b", "a%c", "aXb", "a_", "a\u{10ffff}z"]);
    expect(await keys("")).toHaveLength(6);
  });
});

describe("audit", () => {
  test("lists what was done, newest first, page by page", async () => {
    const { audit } = await openTestStore();
    const operator = { platform: "discord", userId: "1", role: "owner" as const };
    await audit.record({
      at: 1,
      operator,
      action: "command",
      target: "/hooks",
      details: { line: "/hooks" },
      outcome: "done",
    });
    await audit.record({ at: 2, operator: { platform: "web", userId: "2" }, action: "reveal", outcome: "refused" });
    const [newest] = await audit.list({ limit: 1 });
    expect(newest).toEqual({
      id: 2,
      at: 2,
      operator: { platform: "web", userId: "2" },
      action: "reveal",
      outcome: "refused",
    });
    expect(await audit.list({ limit: 9, before: newest?.id as number })).toEqual([
      { id: 1, at: 1, operator, action: "command", target: "/hooks", details: { line: "/hooks" }, outcome: "done" },
    ]);
  });
});

describe("web chat", () => {
  const post = { roomId: "r", userId: "1", userName: "Ann", text: "hello", at: 1000 };

  test("posts once per nonce", async () => {
    const { web } = await openTestStore();
    const [first, second] = await Promise.all([web.post(post, "n1"), web.post({ ...post, text: "again" }, "n1")]);
    expect(second).toEqual(first);
    expect(first).toEqual({ seq: 1, message: { id: 1, ...post } });
    expect((await web.history("r", { limit: 9 })).messages).toHaveLength(1);
    expect(await web.lastSeq()).toBe(1);
  });

  test("every change has a number, and following the numbers is following the chat", async () => {
    const { web } = await openTestStore();
    const { message } = await web.post(
      { ...post, threadId: "t", replyToId: 7, visibleTo: "2", body: { html: "<b>" } },
      "n1",
    );
    await web.post({ ...post, roomId: "other" }, "n2");
    expect(await web.edit(message.id, { text: "edited", at: 2000 })).toMatchObject({
      seq: 3,
      message: { editedAt: 2000 },
    });
    expect(await web.edit(message.id, { text: "edited", body: { likes: 1 } })).toMatchObject({
      seq: 4,
      message: { editedAt: 2000, body: { likes: 1 } },
    });
    expect(await web.remove(message.id, 3000)).toMatchObject({ seq: 5, message: { text: "", deletedAt: 3000 } });
    const following = await web.changesAfter(1, { limit: 2 });
    expect([following.changes.map((change) => change.seq), following.more]).toEqual([[2, 3], true]);
    const last = await web.changesAfter(4, { limit: 9 });
    expect(last).toMatchObject({ changes: [{ seq: 5, message: { deletedAt: 3000 } }], more: false });
    expect(await web.edit(message.id, { text: "too late", at: 4000 })).toBeUndefined();
    expect(await web.remove(message.id, 4000)).toBeUndefined();
    expect(await web.edit(999, { text: "x", at: 4000 })).toBeUndefined();
  });

  test("history is the newest before an id, oldest first, without what was deleted", async () => {
    const { web } = await openTestStore();
    for (let i = 1; i <= 6; i++) await web.post({ ...post, text: `t${i}`, roomId: i === 3 ? "other" : "r" }, `n${i}`);
    await web.remove(5, 2000);
    const texts = async (from: Parameters<typeof web.history>[1]) =>
      (await web.history("r", from)).messages.map((message) => message.text);
    expect(await texts({ limit: 3 })).toEqual(["t2", "t4", "t6"]);
    expect(await texts({ beforeId: 4, limit: 9 })).toEqual(["t1", "t2"]);
    expect(await web.get(5)).toMatchObject({ deletedAt: 2000 });
  });

  test("history and changes end before they have more bytes than asked for, and have one message at least", async () => {
    const { web } = await openTestStore();
    for (let i = 1; i <= 4; i++)
      await web.post({ ...post, text: "é".repeat(50), body: { html: "x".repeat(80) } }, `n${i}`);
    const pages: [number[], boolean][] = [];
    for (let beforeId: number | undefined; pages.at(-1)?.[1] !== false; beforeId = pages.at(-1)?.[0][0]) {
      const { messages, more } = await web.history("r", { beforeId, limit: 9, maxBytes: 600 });
      pages.push([messages.map(({ id }) => id), more]);
    }
    expect(pages).toEqual([
      [[2, 3, 4], true],
      [[1], false],
    ]);
    expect(await web.history("r", { limit: 9, maxBytes: 1 })).toMatchObject({ messages: [{ id: 4 }], more: true });
    expect(await web.changesAfter(1, { limit: 9, maxBytes: 400 })).toMatchObject({
      changes: [{ seq: 2 }, { seq: 3 }],
      more: true,
    });
  });

  test("history is what its reader may see, and so is the newest of a room", async () => {
    const { web } = await openTestStore();
    await web.post(post, "n1");
    await web.post({ ...post, visibleTo: "2" }, "n2");
    const idsFor = async (readerId: string) =>
      (await web.history("r", { readerId, limit: 9 })).messages.map(({ id }) => id);
    expect([await idsFor("1"), await idsFor("2")]).toEqual([[1], [1, 2]]);
    expect([await web.newestId("r", "1"), await web.newestId("r", "2")]).toEqual([1, 2]);
    expect(await web.newestId("empty", "1")).toBeUndefined();
  });

  test("rooms are saved and renamed", async () => {
    const { web } = await openTestStore();
    await web.saveRoom({ id: "dm", name: "Ann", isDm: true, ownerId: "1" });
    await web.saveRoom({ id: "r", name: "lobby", isDm: false });
    await web.saveRoom({ id: "r", name: "hall", isDm: false });
    expect(await web.rooms()).toEqual([
      { id: "r", name: "hall", isDm: false },
      { id: "dm", name: "Ann", isDm: true, ownerId: "1" },
    ]);
  });
});

describe("a temporary store", () => {
  test("works like any other and leaves nothing behind", async () => {
    const store = await openStore(storeOptions("", { url: ":memory:" }));
    await store.check();
    await store.cursors("a").set("k", "v");
    await store.close();
    const again = await openStore(storeOptions("", { url: ":memory:" }));
    expect(again.cursors("a").get("k")).toBeUndefined();
    await again.close();
  });
});
