/** Keys of swept events, inside the transactions that write and ask for them. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../src/lib/time/clock.js";
import { connect, openDatabase } from "../../src/store/connection.js";
import { createInboxSeen } from "../../src/store/messages/inbox-seen.js";
import { openStore } from "../../src/store/open.js";
import { LANE, messageEvent, storeOptions, temporaryFolder } from "./support/open-test-store.js";

test("a key is known in the very transaction that remembered it, and after it", async () => {
  const file = join(temporaryFolder(), "hookgate.db");
  const store = await openStore(storeOptions(file));
  const event = messageEvent("swept");
  const { id } = await store.inbox.accept(event, LANE, 1000, true);
  await store.close();

  const database = openDatabase(file, { durability: "none", readonly: false });
  const connection = connect(file, database, { clock: systemClock, lockWaitMs: 1000 });
  const seen = createInboxSeen(connection);
  const found = await Promise.all([
    connection.write(() => seen.find(event)),
    connection.write(() => seen.remember(id, 1000)),
    connection.write(() => seen.find(event)),
  ]);
  expect(found).toEqual([undefined, undefined, id]);
  expect(await connection.write(() => seen.find(event))).toBe(id);
  expect(await connection.write(() => seen.find(messageEvent("another")))).toBeUndefined();
  await connection.close();
});
