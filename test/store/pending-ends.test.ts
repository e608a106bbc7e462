/** Pending notifications of hooks, as rows: few, gone when they should be, and found again by the next process. */
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Store } from "../../src/domain/store.js";
import { openSqlite } from "../../src/store/driver.js";
import { openTestStore, partsOf, reply, temporaryFolder } from "./support/open-test-store.js";

async function setUp() {
  const file = join(temporaryFolder(), "hookgate.db");
  const open = () => openTestStore({ file });
  const rows = () => {
    const outside = openSqlite(file, { readonly: true });
    const found = outside.prepare<[], { deliveries: string }>("SELECT deliveries FROM owed_ends ORDER BY id").all();
    outside.close();
    return found.map(({ deliveries }): unknown => JSON.parse(deliveries));
  };
  return { file, open, rows, store: await open() };
}

/** All in one transaction. */
async function sendAll({ outbox }: Store, ids: readonly string[]): Promise<void> {
  await outbox.enqueue(
    ids.map((id) => reply({ id })),
    1,
  );
  await Promise.all(ids.map((id) => outbox.freeze(id, { text: id }, partsOf(id), [])));
  await Promise.all(ids.map((id) => outbox.partSent(id, 0, `p-${id}`, 2, false, true)));
}

const pendingIds = async ({ outbox }: Store) => (await outbox.pendingEnds()).map(({ id }) => id);

describe("pending ends of deliveries", () => {
  test("one row says it of all that ended in one transaction, and goes when hooks have been told of all of them", async () => {
    const { store, rows } = await setUp();
    await sendAll(store, ["a", "b", "c"]);
    await sendAll(store, ["d"]);
    expect(rows()).toEqual([["a", "b", "c"], ["d"]]);
    await Promise.all([store.outbox.told(["a"]), store.outbox.told(["c", "d"])]);
    expect([rows(), await pendingIds(store)]).toEqual([[["b"]], ["b"]]);
    await store.outbox.told(["b"]);
    expect([rows(), await pendingIds(store)]).toEqual([[], []]);
  });

  test("a row that follows another is not taken for it", async () => {
    const { store, rows } = await setUp();
    await sendAll(store, ["a"]);
    await Promise.all([store.outbox.told(["a"]), store.outbox.told(["a"]), sendAll(store, ["b"])]);
    await store.outbox.told(["a"]);
    expect([rows(), await pendingIds(store)]).toEqual([[["b"]], ["b"]]);
  });

  test("the next process knows what is left of it", async () => {
    const { store, rows, open } = await setUp();
    await sendAll(store, ["a", "b"]);
    await store.outbox.told(["a"]);
    await store.close();
    const next = await open();
    expect(await pendingIds(next)).toEqual(["b"]);
    await next.outbox.told(["b"]);
    expect(rows()).toEqual([]);
  });

  test("a delivery that ends twice before hooks are notified is pending once", async () => {
    const { store, rows } = await setUp();
    await store.outbox.enqueue([reply({ id: "a" })], 1);
    await store.outbox.finish("a", "dead", "no such chat", 2, true);
    await store.outbox.release("a", 3);
    await store.outbox.finish("a", "dead", "no such chat", 4, true);
    expect(rows()).toEqual([["a"]]);
    await store.outbox.told(["a"]);
    expect(rows()).toEqual([]);
  });

  test("a delivery that was purged before hooks were notified is no longer pending", async () => {
    const { store, rows } = await setUp();
    await sendAll(store, ["a", "b"]);
    await store.outbox.purge({ ids: ["a"] });
    expect([await pendingIds(store), rows()]).toEqual([["b"], [["b"]]]);
  });
});
