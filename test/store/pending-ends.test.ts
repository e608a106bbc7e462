/** The ends of deliveries, as pending work: few rows, and each is done with when hooks have been notified of all in it. */
import { describe, expect, test } from "vitest";
import { DELIVERY_ENDS } from "../../src/domain/pending.js";
import type { Store } from "../../src/domain/store.js";
import { openTestStore, partsOf, reply } from "./support/open-test-store.js";

/** All in one transaction. */
async function sendAll({ outbox }: Store, ids: readonly string[]): Promise<void> {
  await outbox.enqueue(
    ids.map((id) => reply({ id })),
    1,
  );
  await Promise.all(ids.map((id) => outbox.freeze(id, { text: id }, partsOf(id), [])));
  await Promise.all(ids.map((id) => outbox.partSent(id, 0, `p-${id}`, 2, { hasHooks: true })));
}

const work = ({ pending }: Store) => pending.list([DELIVERY_ENDS]);
const deliveries = async (store: Store) =>
  (await work(store)).map(({ payload }) => (payload as { deliveries: string[] }).deliveries);

describe("pending ends of deliveries", () => {
  test("one row has all that ended in one transaction, and is done with when hooks have been notified of all of them", async () => {
    const store = await openTestStore();
    await sendAll(store, ["a", "b", "c"]);
    await sendAll(store, ["d"]);
    const [first, second] = await work(store);
    expect(await deliveries(store)).toEqual([["a", "b", "c"], ["d"]]);
    expect(["a", "c", "d"].map((id) => store.outbox.endNotified(id))).toEqual([undefined, undefined, second?.id]);
    expect(["a", "b", "d"].map((id) => store.outbox.isEndPending(id))).toEqual([false, true, false]);
    expect(["b", "b"].map((id) => store.outbox.endNotified(id))).toEqual([first?.id, undefined]);
  });

  test("a delivery that ends twice before hooks are notified is pending once", async () => {
    const store = await openTestStore();
    await store.outbox.enqueue([reply({ id: "a" })], 1);
    await store.outbox.finish("a", "dead", "no such chat", 2, true);
    await store.outbox.release("a", 3);
    await store.outbox.finish("a", "dead", "no such chat", 4, true);
    const [only] = await work(store);
    expect(await deliveries(store)).toEqual([["a"]]);
    expect(store.outbox.endNotified("a")).toBe(only?.id);
  });

  test("a delivery that ends again after hooks were notified is pending again, before the first row is deleted, too", async () => {
    const store = await openTestStore();
    await store.outbox.enqueue([reply({ id: "a" })], 1);
    await store.outbox.finish("a", "dead", "no such chat", 2, true);
    const first = store.outbox.endNotified("a");
    await store.outbox.release("a", 3);
    await store.outbox.finish("a", "dead", "no such chat", 4, true);
    await store.pending.done([first ?? ""]);
    expect(await deliveries(store)).toEqual([["a"]]);
    expect(store.outbox.isEndPending("a")).toBe(true);
  });
});
