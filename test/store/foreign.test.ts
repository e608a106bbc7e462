/** Files that somebody replaced, cut short or overwrote: noticed at the start and while the store is open. */
import {
  copyFileSync,
  existsSync,
  ftruncateSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { checkMachine } from "../../src/cli/doctor/machine.js";
import type { Store } from "../../src/domain/store.js";
import { silentLogger } from "../../src/lib/logger.js";
import { backupDatabase } from "../../src/store/database-file/backup.js";
import { openSqlite } from "../../src/store/driver.js";
import { openStore } from "../../src/store/open.js";
import { runCli } from "../cli/run-cli.js";
import { keep, LANE, messageEvent, openTestStore, storeOptions, temporaryFolder } from "./support/open-test-store.js";

const NOW = 1_700_000_000_000;

async function fill(store: Store, from: number, count = 20): Promise<void> {
  for (let n = from; n < from + count; n++) await store.inbox.accept(messageEvent(String(n)), LANE, NOW, false);
}

/** Closed in good order. */
async function usedDatabase(): Promise<string> {
  const file = join(temporaryFolder(), "hookgate.db");
  const store = await openStore(storeOptions(file));
  await fill(store, 0);
  await store.close();
  return file;
}

/** The files as a gateway that was killed leaves them. */
async function crashedDatabase(): Promise<string> {
  const file = join(temporaryFolder(), "hookgate.db");
  const store = await openTestStore({ file });
  await fill(store, 0);
  const crashed = join(temporaryFolder(), "hookgate.db");
  for (const suffix of ["", "-wal", "-shm"]) copyFileSync(file + suffix, crashed + suffix);
  for (const suffix of ["", "-wal"]) copyFileSync(history(file) + suffix, history(crashed) + suffix);
  return crashed;
}

test("a start that fails leaves the log of a crash as it is, so the next start does not take it for one that was deleted", async () => {
  const file = join(temporaryFolder(), "hookgate.db");
  const store = await openTestStore({ file });
  await fill(store, 0);
  const other = openSqlite(file);
  // As on a full disk: who has the database open cannot be written.
  other.exec("CREATE TRIGGER full BEFORE INSERT ON facts BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END");
  const crashed = join(temporaryFolder(), "hookgate.db");
  for (const suffix of ["", "-wal", "-shm"]) copyFileSync(file + suffix, crashed + suffix);
  for (const suffix of ["", "-wal"]) copyFileSync(history(file) + suffix, history(crashed) + suffix);
  other.close();
  const before = statSync(`${crashed}-wal`).size;
  expect(before).toBeGreaterThan(0);
  await expect(openStore(storeOptions(crashed))).rejects.toThrow("full");
  expect(statSync(`${crashed}-wal`).size).toBe(before);
});

const history = (file: string) => file.replace(".db", "-journal.db");
const findings = (file: string) =>
  checkMachine(`file:${file}`, undefined)
    .filter(({ state }) => state === "bad")
    .map(({ detail }) => detail)
    .join("\n");

function recording() {
  const errors: string[] = [];
  return { errors, logger: { ...silentLogger, error: (_facts: object, message = "") => void errors.push(message) } };
}

describe("a database that was replaced while the gateway was stopped", () => {
  test("by the database of another gateway: refused, in the doctor too, and no file changes", async () => {
    const file = await usedDatabase();
    copyFileSync(await usedDatabase(), file);
    const before = readFileSync(file);
    await expect(openStore(storeOptions(file))).rejects.toMatchObject({
      code: "STORE_FOREIGN",
      message: expect.stringContaining("belong to different gateways"),
      hint: expect.stringContaining(history(file)),
    });
    expect(findings(file)).toContain("belong to different gateways");
    expect(readFileSync(file).equals(before)).toBe(true);
    // What the hint says.
    renameSync(history(file), join(temporaryFolder(), "history.db"));
    keep(await openStore(storeOptions(file)));
  });

  test("by a backup that was copied and not restored: refused", async () => {
    const file = await usedDatabase();
    const backup = join(temporaryFolder(), "backup.db");
    await backupDatabase(file, backup, NOW);
    copyFileSync(backup, file);
    await expect(openStore(storeOptions(file))).rejects.toMatchObject({ code: "STORE_FOREIGN" });
  });

  test("by its history, or the history by the database: refused as what it is, in the doctor too", async () => {
    const exchanged = await usedDatabase();
    copyFileSync(history(exchanged), exchanged);
    const copied = await usedDatabase();
    copyFileSync(copied, history(copied));
    for (const [file, message, hint] of [
      [exchanged, `${exchanged} is the history of a gateway, and not the database of a gateway`, "hookgate restore"],
      [copied, `${history(copied)} is the database of a gateway, and not the history of a gateway`, "move this file"],
    ] as const) {
      await expect(openStore(storeOptions(file))).rejects.toMatchObject({
        code: "STORE_FOREIGN",
        message: expect.stringContaining(message),
        hint: expect.stringContaining(hint),
      });
      expect(findings(file)).toContain(message);
    }
  });

  test.each([
    ["", /is a database, but not one of Hookgate/],
    [
      "CREATE TABLE hookgate_schema (name, version); INSERT INTO hookgate_schema VALUES ('bookmarks', 1)",
      /is the database of another program, and not the history of a gateway/,
    ],
  ])("has a history of another program beside it: refused, and left as it is (%s)", async (sql, why) => {
    const file = await usedDatabase();
    rmSync(history(file));
    const other = openSqlite(history(file));
    other.exec(`CREATE TABLE bookmarks (url); ${sql}`);
    other.close();
    await expect(openStore(storeOptions(file))).rejects.toMatchObject({
      code: "STORE_FOREIGN",
      message: expect.stringMatching(why),
      hint: expect.stringMatching(/move this file|Move it/),
    });
    const after = openSqlite(history(file), { readonly: true });
    expect(after.prepare("SELECT name FROM sqlite_schema WHERE name = 'dispatches'").all()).toEqual([]);
    after.close();
  });

  test("by a database of another program: refused, and left as it is", async () => {
    const file = join(temporaryFolder(), "hookgate.db");
    const other = openSqlite(file);
    other.exec("CREATE TABLE bookmarks (url)");
    other.close();
    const before = readFileSync(file);
    await expect(openStore(storeOptions(file))).rejects.toMatchObject({
      code: "STORE_FOREIGN",
      message: expect.stringContaining("not one of Hookgate"),
    });
    expect(findings(file)).toContain("not one of Hookgate");
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test("after a crash, with the log left in place: refused, and the log is not written into it", async () => {
    const file = await crashedDatabase();
    copyFileSync(await usedDatabase(), file);
    const before = readFileSync(file);
    await expect(openStore(storeOptions(file))).rejects.toMatchObject({
      code: "STORE_FOREIGN",
      message: expect.stringContaining("-wal beside it belongs to another database"),
    });
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test("a database from before there were numbers is taken as it is, and known from then on", async () => {
    const file = await usedDatabase();
    for (const one of [file, history(file)]) {
      const database = openSqlite(one);
      database.pragma("user_version = 0");
      database.close();
    }
    await (await openStore(storeOptions(file))).close();
    copyFileSync(await usedDatabase(), file);
    await expect(openStore(storeOptions(file))).rejects.toMatchObject({ code: "STORE_FOREIGN" });
  });
});

describe("the log that a crash left", () => {
  test("is used without a word when it is whole", async () => {
    const file = await crashedDatabase();
    expect(findings(file)).toBe("");
    const store = await openTestStore({ file: await crashedDatabase() });
    expect(store.health()).toEqual({ problem: undefined, remarks: [] });
    expect(await store.inbox.counts()).toMatchObject({ waiting: 20 });
  });

  test.each<[string, string, (log: string) => void]>([
    ["cut short", "was cut short", (log) => truncateSync(log, 40_000)],
    [
      "damaged in its header",
      "damaged at its start",
      (log) => {
        const bytes = readFileSync(log);
        bytes.fill(0xff, 0, 24);
        writeFileSync(log, bytes);
      },
    ],
  ])("is reported when it was %s, by the start and by the doctor", async (_how, words, damage) => {
    const file = await crashedDatabase();
    const copy = await crashedDatabase();
    for (const one of [file, copy]) damage(`${one}-wal`);
    expect(findings(copy)).toContain(words);
    const store = await openTestStore({ file });
    expect(store.health().remarks).toEqual([expect.stringContaining(`${file}-wal was ${words.replace("was ", "")}`)]);
  });

  test("is not reported as deleted after a start that failed", async () => {
    const file = await usedDatabase();
    const change = (sql: string) => {
      const database = openSqlite(history(file));
      database.exec(sql);
      database.close();
    };
    change("UPDATE hookgate_schema SET version = 999");
    await expect(openStore(storeOptions(file))).rejects.toMatchObject({ code: "STORE_TOO_NEW" });
    change("UPDATE hookgate_schema SET version = 1");
    const store = await openTestStore({ file });
    expect(store.health().remarks).toEqual([]);
  });

  test("is reported when it was emptied", async () => {
    const file = await crashedDatabase();
    truncateSync(`${file}-wal`);
    const store = await openTestStore({ file });
    expect(store.health().remarks).toEqual([expect.stringContaining("-wal was emptied after a crash")]);
  });
});

describe("files of a store that is open", () => {
  test.each<[string, string, (journal: string) => void]>([
    ["emptied in place", "was emptied while the gateway runs", (journal) => truncateSync(journal)],
    ["deleted", "was deleted or replaced while the gateway runs", (journal) => rmSync(journal)],
  ])("the history is %s: a warning, and no problem", async (_what, words, damage) => {
    const file = join(temporaryFolder(), "hookgate.db");
    const store = await openTestStore({ file });
    expect(store.health()).toEqual({ problem: undefined, remarks: [] });
    damage(file.replace(".db", "-journal.db"));
    expect(store.health()).toEqual({ problem: undefined, remarks: [expect.stringContaining(words)] });
  });

  test.each<[string, string, string, (file: string) => Promise<void> | void]>([
    [
      "the database is overwritten with another gateway's",
      "STORE_FOREIGN",
      "was overwritten with another file",
      async (file) => copyFileSync(await usedDatabase(), file),
    ],
    [
      "the database is emptied in place",
      "STORE_FOREIGN",
      "was overwritten with another file",
      (file) => truncateSync(file),
    ],
    [
      "the database is replaced by another file",
      "STORE_GONE",
      "was deleted or replaced",
      async (file) => renameSync(await usedDatabase(), file),
    ],
    [
      "the log is cut short",
      "STORE_CORRUPT",
      "-wal was cut short",
      (file) => ftruncateSync(openSync(`${file}-wal`, "r+"), 40_000),
    ],
    [
      "the log is overwritten",
      "STORE_CORRUPT",
      "-wal was overwritten at its start",
      (file) => writeFileSync(`${file}-wal`, Buffer.alloc(32, "x"), { flag: "r+" }),
    ],
    ["the log is deleted", "STORE_CORRUPT", "-wal was deleted or replaced", (file) => rmSync(`${file}-wal`)],
  ])("%s: noticed, logged once, and the check fails", async (_what, code, words, damage) => {
    const file = join(temporaryFolder(), "hookgate.db");
    const { errors, logger } = recording();
    const store = await openTestStore({ file, logger });
    await fill(store, 0);
    await store.check();
    expect(store.health().problem).toBeUndefined();
    await damage(file);
    expect(store.health().problem).toMatchObject({ code, message: expect.stringContaining(words) });
    await expect(store.check()).rejects.toMatchObject({ code });
    expect(errors).toEqual([expect.stringContaining(words)]);
  });

  test("the log is deleted: the doctor names the files, and not the disk", async () => {
    const file = join(temporaryFolder(), "hookgate.db");
    await fill(await openTestStore({ file }), 0);
    rmSync(`${file}-wal`);
    const env = { DATABASE_URL: `file:${file}`, HOOKGATE_TOKEN: "a-token-for-the-tests-only" };
    const { out } = await runCli(["doctor"], { cwd: temporaryFolder(), env });
    expect(out).toContain(`the database ${file} or its log ${file}-wal was deleted, replaced or cut short`);
    expect(out).not.toContain("Check the disk");
  });

  test("nothing is reported while the log grows, is copied into the file and starts anew", async () => {
    const file = join(temporaryFolder(), "hookgate.db");
    const store = await openTestStore({ file });
    for (let round = 0; round < 6; round++) {
      const events = Array.from({ length: 300 }, (_, i) => messageEvent(`${round}-${i}`, { text: "x".repeat(40_000) }));
      await Promise.all(events.map((event) => store.inbox.accept(event, LANE, NOW, false)));
      expect(store.health().problem).toBeUndefined();
    }
    await store.check();
    expect(existsSync(`${file}-wal`)).toBe(true);
  });

  test("nothing is reported when another program copies the log into the database and empties it", async () => {
    const file = join(temporaryFolder(), "hookgate.db");
    const store = await openTestStore({ file });
    await fill(store, 0);
    await store.check();
    const other = openSqlite(file);
    other.pragma("wal_checkpoint(TRUNCATE)");
    other.close();
    expect(statSync(`${file}-wal`).size).toBe(0);
    await store.check();
    await fill(store, 20);
    await store.check();
    expect(await store.inbox.counts()).toMatchObject({ waiting: 40 });
  });
});
