import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { silentLogger } from "../../src/lib/logger.js";
import { watchForDamage } from "../../src/store/database-file/damage.js";
import { filesBeside } from "../../src/store/database-file/files.js";
import { chooseDriver, openSqlite } from "../../src/store/driver.js";
import { openStore } from "../../src/store/open.js";
import { GATEWAY_SCHEMA, HISTORY_SCHEMA } from "../../src/store/schema.js";
import { keep, LANE, messageEvent, openTestStore, storeOptions, temporaryFolder } from "./support/open-test-store.js";

/** A file with a schema and a hundred rows. */
async function filledFile(): Promise<string> {
  const file = join(temporaryFolder(), "hookgate.db");
  const store = await openStore(storeOptions(file));
  const events = Array.from({ length: 100 }, (_, i) => messageEvent(String(i), { text: "x".repeat(500) }));
  await Promise.all(events.map((event) => store.inbox.accept(event, LANE, 1000, false)));
  await store.close();
  return file;
}

describe("errors of the store", () => {
  test("a lock that is never let go of: STORE_LOCKED, worth trying again", async () => {
    const file = join(temporaryFolder(), "hookgate.db");
    const { inbox, check } = await openTestStore({ file, lockWaitMs: 100 });
    const other = openSqlite(file);
    other.exec("BEGIN IMMEDIATE");
    const writes = await Promise.allSettled([inbox.accept(messageEvent("1"), LANE, 1000, true), check()]);
    for (const write of writes)
      expect(write).toMatchObject({
        status: "rejected",
        reason: {
          code: "STORE_LOCKED",
          retryable: true,
          message: expect.stringContaining(file),
          hint: expect.any(String),
        },
      });
    other.exec("ROLLBACK");
    other.close();
    expect(await inbox.accept(messageEvent("1"), LANE, 1000, true)).toMatchObject({ duplicate: false });
  });

  test("a lock held by another process while the store is opened: STORE_LOCKED", async () => {
    const file = await filledFile();
    const script = `
      import { createRequire } from "node:module";
      const Database = createRequire(process.cwd() + "/")("${chooseDriver(process.versions)}");
      const database = new Database(process.argv[1]);
      database.pragma("locking_mode = EXCLUSIVE");
      database.exec("BEGIN EXCLUSIVE; CREATE TABLE hold (x)");
      process.stdout.write("held");
      // In use, so that a garbage collection does not close the file.
      setInterval(() => database.open, 1000);`;
    const holder = spawn(process.execPath, ["--input-type=module", "-e", script, file], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      await once(holder.stdout, "data");
      await expect(openStore(storeOptions(file))).rejects.toMatchObject({ code: "STORE_LOCKED", retryable: true });
    } finally {
      holder.kill("SIGKILL");
      await once(holder, "exit");
    }
    keep(await openStore(storeOptions(file)));
  });

  test("a store that may only be looked at refuses every write: STORE_READ_ONLY", async () => {
    const file = await filledFile();
    const store = keep(await openStore(storeOptions(file, { exclusive: false })));
    expect(await store.inbox.counts()).toMatchObject({ waiting: 100 });
    await expect(store.inbox.accept(messageEvent("new"), LANE, 1000, true)).rejects.toMatchObject({
      code: "STORE_READ_ONLY",
      message: expect.stringContaining(file),
    });
    await expect(store.check()).rejects.toMatchObject({ code: "STORE_READ_ONLY" });
  });

  test("a disk without room: STORE_FULL, what was there is readable, and writing goes on when there is room again", async () => {
    const file = join(temporaryFolder(), "hookgate.db");
    const { inbox, check, limitPages } = await openLimited(file);
    await inbox.accept(messageEvent("1"), LANE, 1000, true);
    limitPages("now");
    const big = messageEvent("2", { text: "x".repeat(100_000) });
    const full = { code: "STORE_FULL", retryable: true, hint: expect.stringContaining("retention") };
    await expect(inbox.accept(big, LANE, 1000, true)).rejects.toMatchObject(full);
    await expect(check()).rejects.toMatchObject(full);
    expect(await inbox.unfinished(0, 9)).toHaveLength(1);
    limitPages("none");
    expect(await inbox.accept(big, LANE, 1000, true)).toMatchObject({ duplicate: false });
    await check();
  });

  test("of a group, only the writes that found no room reject", async () => {
    const { inbox, limitPages } = await openLimited(join(temporaryFolder(), "hookgate.db"));
    limitPages("now");
    const results = await Promise.allSettled([
      inbox.accept(messageEvent("small"), LANE, 1000, true),
      inbox.accept(messageEvent("big", { text: "x".repeat(500_000) }), LANE, 1000, true),
      inbox.accept(messageEvent("small too"), LANE, 1000, true),
    ]);
    expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect((await inbox.unfinished(0, 9)).map((row) => row.event.eventId)).toEqual(["small", "small too"]);
  });

  test("a file that is no database: STORE_CORRUPT when it is opened, and the file is left as it is", async () => {
    const file = join(temporaryFolder(), "hookgate.db");
    writeFileSync(file, "these are my holiday notes, ".repeat(500));
    const before = readFileSync(file);
    await expect(openStore(storeOptions(file))).rejects.toMatchObject({
      code: "STORE_CORRUPT",
      message: expect.stringContaining(file),
      hint: expect.stringContaining("backup"),
    });
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test("a database with damaged pages: STORE_CORRUPT when they are met, and other writes are not silently lost", async () => {
    const file = await filledFile();
    damageAfterFirstPages(file);
    const outcome = await openStore(storeOptions(file)).then(
      async (store) => {
        keep(store);
        return store.inbox.unfinished(0, 100).then(
          () => "read",
          (error) => error.code,
        );
      },
      (error) => error.code,
    );
    expect(outcome).toBe("STORE_CORRUPT");
  });

  test("damage that is met while the store is open is remembered, reported once, and fails the check", async () => {
    const file = join(temporaryFolder(), "hookgate.db");
    const first = await openStore(storeOptions(file));
    // More than SQLite keeps in memory.
    const events = Array.from({ length: 400 }, (_, i) => messageEvent(String(i), { text: "x".repeat(40_000) }));
    await Promise.all(events.map((event) => first.inbox.accept(event, LANE, 1000, false)));
    await first.close();
    const logged: string[] = [];
    const logger = { ...silentLogger, error: (_facts: object, message = "") => void logged.push(message) };
    const store = await openTestStore({ file, logger });
    await store.check();
    expect(store.health()).toEqual({ problem: undefined, remarks: [] });
    damageAfterFirstPages(file);
    await expect(store.inbox.unfinished(0, 400)).rejects.toMatchObject({ code: "STORE_CORRUPT" });
    await expect(store.inbox.unfinished(0, 400)).rejects.toMatchObject({ code: "STORE_CORRUPT" });
    expect(store.health().problem).toMatchObject({ code: "STORE_CORRUPT", hint: expect.stringContaining("restore") });
    await expect(store.check()).rejects.toMatchObject({ code: "STORE_CORRUPT" });
    expect(logged).toEqual([expect.stringContaining(file)]);
  });

  test("what looks like damage while the disk fails is over when a check finds the file sound, and lasts when it does not", async () => {
    const file = join(temporaryFolder(), "hookgate.db");
    const first = await openStore(storeOptions(file));
    const events = Array.from({ length: 400 }, (_, i) => messageEvent(String(i), { text: "x".repeat(40_000) }));
    await Promise.all(events.map((event) => first.inbox.accept(event, LANE, 1000, false)));
    await first.close();
    const sound = readFileSync(file);
    const store = await openTestStore({ file });
    damageAfterFirstPages(file);
    await expect(store.inbox.unfinished(0, 400)).rejects.toMatchObject({ code: "STORE_CORRUPT" });
    expect(store.health().problem).toMatchObject({ hint: expect.stringContaining("A disk that fails for a moment") });
    const damaged = readFileSync(file);
    const disk = openSync(file, "r+");
    writeSync(disk, sound, 0, sound.length, 0);
    await store.verify(Date.now());
    expect(store.health().problem).toBeUndefined();
    writeSync(disk, damaged, 0, damaged.length, 0);
    closeSync(disk);
    await expect(store.inbox.unfinished(0, 400)).rejects.toMatchObject({ code: "STORE_CORRUPT" });
    await store.verify(Date.now());
    expect(store.health().problem).toMatchObject({ hint: expect.stringContaining("restore a backup") });
    expect(store.health().problem?.hint).not.toContain("for a moment");
  });

  test("the daily check finds damage that no message has met", async () => {
    const file = await filledFile();
    const store = await openTestStore({ file });
    const day = 86_400_000;
    const now = Date.now();
    damageAfterFirstPages(file);
    await store.verify(now + day / 2);
    expect(store.health().problem).toBeUndefined();
    await store.verify(now + 2 * day);
    expect(store.health().problem).toMatchObject({ code: "STORE_CORRUPT", message: expect.stringContaining(file) });
  });

  test("a damaged journal is moved aside, reported, and does not keep the store from opening", async () => {
    const file = await filledFile();
    const journal = file.replace(".db", "-journal.db");
    writeFileSync(journal, "garbage ".repeat(1000));
    const store = await openTestStore({ file });
    expect(await store.inbox.counts()).toMatchObject({ waiting: 100 });
    expect(await store.journal.list({ limit: 10 })).toEqual([]);
    const [remark = ""] = store.health().remarks;
    expect(remark).toContain(journal);
    const aside = readdirSync(dirname(file)).filter((name) => /-journal\.db\.damaged-[^-]+$/.test(name));
    expect(aside).toHaveLength(1);
    expect(readFileSync(join(dirname(file), aside[0] ?? ""), "utf8")).toContain("garbage");
  });

  test.each<[string, (path: string) => void]>([
    ["a file", (path) => writeFileSync(path, "x")],
    ["a link that leads nowhere", (path) => symlinkSync("nowhere", path)],
  ])("uploads that are %s instead of a folder: a clear error at the start", async (what, put) => {
    const file = await filledFile();
    put(join(dirname(file), "uploads"));
    await expect(openStore(storeOptions(file))).rejects.toMatchObject({
      code: "UPLOADS_NO_FOLDER",
      message: expect.stringContaining(`uploads is ${what}`),
      hint: expect.stringContaining("Move or delete it"),
    });
  });

  test("a path that cannot be: STORE_FAILED that names it", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "file"), "");
    const file = join(folder, "file", "hookgate.db");
    await expect(openStore(storeOptions(file))).rejects.toMatchObject({
      code: "STORE_FAILED",
      message: expect.stringContaining(`${join(folder, "file")} is a file, but the folder of the database`),
    });
    await expect(openStore(storeOptions("x", { url: "postgres://x" }))).rejects.toMatchObject({ code: "STORE_FAILED" });
  });

  test("a folder that this user may not write into: STORE_READ_ONLY", async () => {
    const folder = temporaryFolder();
    chmodSync(folder, 0o555);
    // Root may write everywhere.
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) process.seteuid?.(65_534);
    try {
      for (const file of [join(folder, "hookgate.db"), join(folder, "data", "hookgate.db")])
        await expect(openStore(storeOptions(file))).rejects.toMatchObject({
          code: "STORE_READ_ONLY",
          message: expect.stringContaining(file),
          hint: expect.stringContaining("permission"),
        });
    } finally {
      if (isRoot) process.seteuid?.(0);
      chmodSync(folder, 0o755);
    }
  });

  test("missing folders are made", async () => {
    const file = join(temporaryFolder(), "a", "b", "hookgate.db");
    const store = keep(await openStore(storeOptions(file)));
    await store.check();
  });

  test("looking at a database that does not exist makes no file", async () => {
    const file = join(temporaryFolder(), "none.db");
    await expect(openStore(storeOptions(file, { exclusive: false }))).rejects.toMatchObject({ code: "STORE_FAILED" });
    expect(() => readFileSync(file)).toThrow("ENOENT");
  });

  test("a folder in place of the file: STORE_FAILED", async () => {
    const file = join(temporaryFolder(), "hookgate.db");
    mkdirSync(file);
    await expect(openStore(storeOptions(file))).rejects.toMatchObject({ code: "STORE_FAILED" });
  });
});

describe("one gateway per database", () => {
  test("a second one is refused, and told who is there", async () => {
    const file = join(temporaryFolder(), "hookgate.db");
    await openTestStore({ file });
    await expect(openStore(storeOptions(file))).rejects.toMatchObject({
      code: "STORE_IN_USE",
      message: expect.stringContaining(`process ${process.pid}`),
    });
  });

  test("one that was closed, or never opened, leaves no lock behind", async () => {
    const file = join(temporaryFolder(), "hookgate.db");
    writeFileSync(file, "garbage ".repeat(1000));
    await expect(openStore(storeOptions(file))).rejects.toMatchObject({ code: "STORE_CORRUPT" });
    writeFileSync(file, "");
    const store = await openStore(storeOptions(file));
    await store.close();
    keep(await openStore(storeOptions(file)));
  });
});

describe("the schema", () => {
  test.each([
    [GATEWAY_SCHEMA, 7, "8f574da0cd0bf9a8"],
    [HISTORY_SCHEMA, 1, "b704ea287a9b3031"],
  ])("$name: a change of its file comes with a new version", (schema, version, sum) => {
    const text = readFileSync(resolve(import.meta.dirname, "../../src/store", schema.file));
    expect(text.toString()).toContain(`VALUES ('${schema.name}', ${schema.version})`);
    expect([schema.version, createHash("sha256").update(text).digest("hex").slice(0, 16)]).toEqual([version, sum]);
  });

  test("a database of a newer Hookgate is refused and left alone", async () => {
    const file = await filledFile();
    const database = openSqlite(file);
    database.prepare("UPDATE hookgate_schema SET version = 999").run();
    database.close();
    await expect(openStore(storeOptions(file))).rejects.toMatchObject({
      code: "STORE_TOO_NEW",
      message: expect.stringContaining("its schema is version 999"),
      hint: expect.stringContaining("Update Hookgate"),
    });
  });

  test("a database with tables of an earlier version is refused and left alone", async () => {
    const file = await filledFile();
    const before = openSqlite(file);
    before.exec("UPDATE hookgate_schema SET version = version - 1; DROP TABLE pending");
    before.close();
    await expect(openStore(storeOptions(file))).rejects.toMatchObject({
      code: "STORE_TOO_OLD",
      hint: expect.stringContaining("Move the database"),
    });
    const after = openSqlite(file, { readonly: true });
    expect(after.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'pending'").all()).toEqual([]);
    after.close();
  });

  test("a database from before the first release is refused and left alone", async () => {
    const file = join(temporaryFolder(), "hookgate.db");
    const before = openSqlite(file);
    before.exec("CREATE TABLE inbox (id); CREATE TABLE kysely_migration (name); PRAGMA user_version = 7");
    before.close();
    await expect(openStore(storeOptions(file))).rejects.toMatchObject({
      code: "STORE_TOO_OLD",
      hint: expect.stringContaining("Move the database"),
    });
    const after = openSqlite(file, { readonly: true });
    expect(after.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE type = 'table'").get()).toEqual({ n: 2 });
    after.close();
  });

  test("opening again keeps everything", async () => {
    const file = await filledFile();
    const copy = join(temporaryFolder(), "copy.db");
    copyFileSync(file, copy);
    const store = keep(await openStore(storeOptions(copy)));
    expect(await store.inbox.counts()).toMatchObject({ waiting: 100 });
  });
});

/** A store whose file cannot grow while it is told so: SQLite then answers as it does on a full disk. */
async function openLimited(file: string) {
  const { connect, openDatabase } = await import("../../src/store/connection.js");
  const { createInbox } = await import("../../src/store/messages/inbox.js");
  const { createInboxSeen } = await import("../../src/store/messages/inbox-seen.js");
  const { createCheck } = await import("../../src/store/database-file/check.js");
  const { systemClock } = await import("../../src/lib/time/clock.js");
  await (await openStore(storeOptions(file))).close();
  const database = openDatabase(file, { durability: "normal", readonly: false });
  const connection = connect(file, database, { clock: systemClock, lockWaitMs: 100 });
  const limitPages = (limit: "now" | "none") => {
    const pages = Number(database.pragma("page_count", { simple: true }));
    database.pragma(`max_page_count = ${limit === "now" ? pages : 1_000_000}`);
  };
  return {
    inbox: createInbox(
      connection,
      createInboxSeen(connection),
      () => 0,
      async () => {},
      () => {},
    ),
    check: createCheck(connection, watchForDamage(filesBeside(file), silentLogger)),
    limitPages,
  };
}

function damageAfterFirstPages(file: string): void {
  const size = readFileSync(file).length;
  const handle = openSync(file, "r+");
  // The first pages hold the schema; without them it would not open at all.
  for (let at = 4096 * 4; at < size; at += 4096) writeSync(handle, Buffer.alloc(4096, "garbage"), 0, 4096, at);
  closeSync(handle);
}
