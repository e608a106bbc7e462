import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { AutomationRun } from "../../src/domain/automation.js";
import { INGESTED_EVENT, LATE_NOTE } from "../../src/domain/pending.js";
import { systemClock } from "../../src/lib/time/clock.js";
import { backupDatabase } from "../../src/store/database-file/backup.js";
import { filesBeside } from "../../src/store/database-file/files.js";
import { restoreDatabase } from "../../src/store/database-file/restore.js";
import { openSqlite } from "../../src/store/driver.js";
import { openStore } from "../../src/store/open.js";
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

/** Runs the job while this user cannot write into the folder. Root could, so it gives its rights away meanwhile. */
async function readOnly<T>(folder: string, others: readonly string[], job: () => Promise<T>): Promise<T> {
  for (const other of others) chmodSync(other, 0o777);
  for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o666);
  chmodSync(folder, 0o555);
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  try {
    return await job();
  } finally {
    if (isRoot) process.seteuid?.(0);
    chmodSync(folder, 0o755);
  }
}

describe("a folder that cannot be written", () => {
  test("is named as the reason when a backup cannot be restored into it", async () => {
    const { backup, file } = await backupOfUnfinished();
    const restoring = readOnly(dirname(file), [], () =>
      restoreDatabase(filesBeside(file), backup, { hold: false, clock: systemClock }),
    );
    await expect(restoring).rejects.toMatchObject({
      code: "STORE_READ_ONLY",
      message: expect.stringContaining(`the database ${file} cannot be written`),
      hint: expect.not.stringContaining("another backup"),
    });
  });

  test("is no obstacle to a backup of a database that was closed", async () => {
    const { file } = await backupOfUnfinished();
    expect(existsSync(`${file}-wal`)).toBe(false);
    const elsewhere = temporaryFolder();
    const target = join(elsewhere, "copy.db");
    const made = readOnly(dirname(file), [elsewhere], () => backupDatabase(file, target, NOW));
    expect(await made).toMatchObject({ messages: 2, deliveries: 1 });
    const other = join(temporaryFolder(), "hookgate.db");
    await restoreDatabase(filesBeside(other), target, { hold: false, clock: systemClock });
    const { inbox } = await openTestStore({ file: other });
    expect(await inbox.counts()).toMatchObject({ waiting: 2 });
  });

  test("gets a hint when the log beside the database is needed", async () => {
    const { file } = await backupOfUnfinished();
    writeFileSync(`${file}-wal`, "");
    const elsewhere = temporaryFolder();
    const backup = readOnly(dirname(file), [elsewhere], () => backupDatabase(file, join(elsewhere, "copy.db"), NOW));
    await expect(backup).rejects.toMatchObject({ hint: expect.stringContaining(`Copy ${file} and ${file}-wal`) });
    expect(readdirSync(elsewhere)).toEqual([]);
  });
});

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
    expect(await outbox.release("d_1", NOW)).toBe(true);
    expect(await outbox.counts()).toMatchObject({ waiting: 1, held: 0 });
  });

  test("with hold, ends runs of hooks and forgets how far platforms were read", async () => {
    const file = join(temporaryFolder(), "hookgate.db");
    const store = await openStore(storeOptions(file));
    const positions = { "session:0": "s", seen: "7", "seen:12": "7", gap: "{}", "owed:12": "{}" };
    for (const [key, value] of Object.entries({ ...positions, bot: "me", "dm:12": "7" }))
      await store.cursors("discord").set(key, value);
    await store.automation.runs.insert(waitingRun("r_1"));
    await store.automation.ingest.accept({ id: "e_1", name: "deploy", payload: {}, receivedAt: NOW }, [
      { id: "w_1", kind: INGESTED_EVENT, key: "deploy", dueAt: 0, payload: { event: "e_1" } },
    ]);
    const { id: rowId } = await store.inbox.accept(messageEvent("1"), LANE, NOW, true);
    const note = { id: "w_2", kind: LATE_NOTE, key: LANE, dueAt: 0, payload: { rowId } };
    await store.inbox.settle(rowId, { outcome: "unrouted", deliveries: [], pending: [note] }, NOW);
    await store.close();
    const backup = join(temporaryFolder(), "backup.db");
    expect(await backupDatabase(file, backup, NOW)).toMatchObject({ runs: 2 });

    await restoreDatabase(filesBeside(file), backup, { hold: false, clock: systemClock });
    const plain = await openStore(storeOptions(file));
    expect(plain.cursors("discord").list("")).toHaveLength(7);
    expect(await plain.automation.runs.get("r_1")).toMatchObject({ status: "queued" });
    expect(await plain.pending.list([LATE_NOTE])).toMatchObject([{ id: "w_2" }]);
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
    expect(await held.pending.list([INGESTED_EVENT, LATE_NOTE])).toEqual([]);
  });

  test.each([
    ["nothing was moved yet", []],
    ["its history was moved", ["hookgate-journal.db"]],
    ["half of the database was moved", ["hookgate-journal.db", "hookgate.db-wal"]],
    ["all was moved", ["hookgate-journal.db", "hookgate.db-wal", "hookgate.db"]],
  ])("whose restore was killed when %s is put in place by the next start", async (_when, moved) => {
    const { backup, file } = await backupOfUnfinished();
    writeFileSync(`${file}-wal`, "log of the earlier database");
    const other = join(temporaryFolder(), "hookgate.db");
    await restoreDatabase(filesBeside(other), backup, { hold: false, clock: systemClock });
    copyFileSync(other, `${file}.restored`);
    utimesSync(`${file}.restored`, NOW / 1000, NOW / 1000);
    writeFileSync(`${file}.restoring`, "half of another copy");
    writeFileSync(`${file}.restoring-journal`, "its rollback journal");
    const folder = dirname(file);
    const aside = (name: string) => join(folder, name.replace(/\.db/, ".db.replaced-20231114T221320Z"));
    for (const name of moved) renameSync(join(folder, name), aside(name));

    const store = await openTestStore({ file });
    expect((await store.inbox.unfinished(0, 9)).map(({ event }) => event.eventId)).toEqual(["1"]);
    expect(store.health().remarks).toEqual([
      expect.stringContaining("a restore was interrupted, and this start finished it"),
    ]);
    const names = readdirSync(folder);
    expect(names).not.toContain("hookgate.db.restored");
    expect(names.filter((name) => name.includes("restoring"))).toEqual([]);
    // The earlier database, with its log and its history, under one name.
    for (const name of ["hookgate.db", "hookgate.db-wal", "hookgate-journal.db"])
      expect(existsSync(aside(name))).toBe(true);
  });

  test("with a missing table or column is refused before anything is replaced", async () => {
    for (const [damage, words] of [
      ["DROP TABLE tasks", "the table tasks is missing"],
      ["DROP TABLE deliveries", "the table deliveries is missing"],
      ["ALTER TABLE pauses DROP COLUMN reason", "the column pauses.reason is missing"],
    ] as const) {
      const { backup, file } = await backupOfUnfinished();
      const before = readFileSync(file);
      const database = openSqlite(backup);
      database.exec(damage);
      database.close();
      const restoring = restoreDatabase(filesBeside(file), backup, { hold: true, clock: systemClock });
      await expect(restoring).rejects.toMatchObject({
        code: "BACKUP_INCOMPLETE",
        message: expect.stringContaining(words),
        hint: expect.stringContaining("The database was not changed"),
      });
      expect(readFileSync(file).equals(before)).toBe(true);
      expect(readdirSync(dirname(file)).filter((name) => name.includes(".restor"))).toEqual([]);
    }
  });

  test("that is an empty file is refused", async () => {
    const { backup, file } = await backupOfUnfinished();
    writeFileSync(backup, "");
    const restoring = restoreDatabase(filesBeside(file), backup, { hold: false, clock: systemClock });
    await expect(restoring).rejects.toThrow(`${backup} is empty`);
  });

  test("that is a copy of an open database is reported as such", async () => {
    const file = join(temporaryFolder(), "hookgate.db");
    await openTestStore({ file });
    const copy = join(temporaryFolder(), "copy.db");
    copyFileSync(file, copy);
    const target = filesBeside(join(temporaryFolder(), "hookgate.db"));
    const options = { hold: false, clock: systemClock };
    expect(await restoreDatabase(target, copy, options)).toMatchObject({ isBareCopy: true });
    const { backup } = await backupOfUnfinished();
    expect(await restoreDatabase(target, backup, options)).toMatchObject({ isBareCopy: false });
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
