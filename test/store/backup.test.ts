import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/lib/clock.js";
import { backupDatabase } from "../../src/store/backup.js";
import { filesBeside } from "../../src/store/files.js";
import { openStore } from "../../src/store/open.js";
import { restoreDatabase } from "../../src/store/restore.js";
import { LANE, messageEvent, openTestStore, reply, storeOptions, temporaryFolder } from "./support/open-test-store.js";

const NOW = 1_700_000_000_000;

/** A backup of a store that is open, with one message to handle and one delivery to send in it. */
async function backupOfUnfinished(): Promise<{ backup: string; file: string }> {
  const folder = temporaryFolder();
  const file = join(folder, "hookgate.db");
  const store = await openStore(storeOptions(file));
  await store.inbox.accept(messageEvent("1"), LANE, NOW, false);
  await store.outbox.enqueue([reply({ id: "d_1" })], NOW);
  const backup = join(folder, "backup.db");
  expect(backupDatabase(file, backup, NOW)).toMatchObject({ messages: 1, deliveries: 1 });
  await store.inbox.accept(messageEvent("2"), LANE, NOW, false);
  await store.close();
  return { backup, file };
}

describe("a restored backup", () => {
  test("continues what was unfinished when it was made, and knows nothing of what came later", async () => {
    const { backup, file } = await backupOfUnfinished();
    const restored = await restoreDatabase(filesBeside(file), backup, { hold: false, clock: systemClock });
    expect(restored).toMatchObject({ messages: 1, deliveries: 1, madeAt: new Date(NOW).toISOString() });
    const store = await openTestStore({ file });
    expect((await store.inbox.unfinished(0, 9)).map(({ event }) => event.eventId)).toEqual(["1"]);
    expect(await store.outbox.counts()).toMatchObject({ waiting: 1, held: 0 });
    expect(store.health()).toEqual({ problem: undefined, remarks: [] });
  });

  test("with hold, leaves everything that was unfinished to an operator", async () => {
    const { backup, file } = await backupOfUnfinished();
    await restoreDatabase(filesBeside(file), backup, { hold: true, clock: systemClock });
    const { inbox, outbox } = await openTestStore({ file });
    expect(await inbox.counts()).toMatchObject({ waiting: 0, dead: 1 });
    expect(await outbox.counts()).toMatchObject({ waiting: 0, held: 1 });
    expect(await outbox.release("d_1", NOW, false)).toBe(true);
    expect(await outbox.counts()).toMatchObject({ waiting: 1, held: 0 });
  });

  test("of a database that is not Hookgate's is refused, and nothing changes", async () => {
    const { file } = await backupOfUnfinished();
    const journal = filesBeside(file).journal;
    const restoring = restoreDatabase(filesBeside(file), journal, { hold: false, clock: systemClock });
    await expect(restoring).rejects.toThrow("not one of Hookgate");
    expect(existsSync(`${file}.restoring`)).toBe(false);
    const { inbox } = await openTestStore({ file });
    expect(await inbox.counts()).toMatchObject({ waiting: 2 });
  });
});
