import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { AutomationRun } from "../../src/domain/automation.js";
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
  expect(await backupDatabase(file, backup, NOW)).toMatchObject({ messages: 1, deliveries: 1 });
  await store.inbox.accept(messageEvent("2"), LANE, NOW, false);
  await store.close();
  return { backup, file };
}

/** A run that waits. */
function waitingRun(id: string): AutomationRun {
  return {
    ...{ id, hookId: "report", trigger: "cron", reason: "cron 0 9 * * *", status: "queued", payload: {} },
    ...{ isRepeatable: true, attempt: 0, attempts: [], createdAt: NOW, dueAt: NOW, pendingPayload: {} },
  };
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

  test("with hold, ends runs of hooks and forgets how far platforms were read", async () => {
    const file = join(temporaryFolder(), "hookgate.db");
    const store = await openStore(storeOptions(file));
    const positions = { "session:0": "s", seen: "7", "seen:12": "7", gap: "{}", "owed:12": "{}" };
    for (const [key, value] of Object.entries({ ...positions, bot: "me", "dm:12": "7" }))
      await store.cursors("discord").set(key, value);
    await store.automation.runs.insert(waitingRun("r_1"));
    await store.automation.ingest.accept({ id: "e_1", name: "deploy", payload: {}, receivedAt: NOW });
    await store.close();
    const backup = join(temporaryFolder(), "backup.db");
    expect(await backupDatabase(file, backup, NOW)).toMatchObject({ runs: 2 });

    await restoreDatabase(filesBeside(file), backup, { hold: false, clock: systemClock });
    const plain = await openStore(storeOptions(file));
    expect(plain.cursors("discord").list("")).toHaveLength(7);
    expect(await plain.automation.runs.get("r_1")).toMatchObject({ status: "queued" });
    await plain.close();

    await restoreDatabase(filesBeside(file), backup, { hold: true, clock: systemClock });
    const held = await openTestStore({ file });
    expect(held.cursors("discord").list("")).toEqual([
      { key: "bot", value: "me" },
      { key: "dm:12", value: "7" },
    ]);
    expect(await held.automation.runs.get("r_1")).toMatchObject({
      status: "interrupted",
      statusReason: expect.stringContaining("unfinished in the backup"),
    });
    expect(await held.automation.runs.nextDue()).toBeUndefined();
    expect(await held.automation.ingest.unhandled(9)).toEqual([]);
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
