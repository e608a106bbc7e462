import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/lib/time/clock.js";
import { connect, openDatabase } from "../../src/store/connection.js";
import { openSqlite } from "../../src/store/driver.js";
import { temporaryFolder } from "../store/support/open-test-store.js";

function setUp() {
  const file = join(temporaryFolder(), "t.db");
  const database = openDatabase(file, { durability: "normal", readonly: false });
  database.exec("CREATE TABLE words (word TEXT UNIQUE NOT NULL)");
  const statements: string[] = [];
  const connection = connect(file, database, { clock: systemClock, lockWaitMs: 2000 });
  const insert = database.prepare<[string]>("INSERT INTO words VALUES (?)");
  const add = (word: string) => connection.write(() => void insert.run(word));
  const outside = openSqlite(file, { readonly: true });
  const visible = () =>
    outside
      .prepare<[], { word: string }>("SELECT word FROM words ORDER BY rowid")
      .all()
      .map((row) => row.word);
  /** Changes with every commit of another connection: https://www.sqlite.org/pragma.html#pragma_data_version */
  const commits = () => outside.pragma("data_version", { simple: true });
  return { file, database, connection, add, visible, commits, statements };
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("group commit", () => {
  test("a write is on disk, for every other connection, when its promise resolves", async () => {
    const { add, visible } = setUp();
    await add("a");
    expect(visible()).toEqual(["a"]);
  });

  test("writes of one turn of the loop share one transaction, in order", async () => {
    const { add, visible, connection, database } = setUp();
    const inOne: boolean[] = [];
    const writes = Array.from({ length: 50 }, (_, i) =>
      connection.write(() => {
        inOne.push(database.inTransaction);
        database.prepare("INSERT INTO words VALUES (?)").run(`w${i}`);
        return visible().length;
      }),
    );
    // None of them is visible from outside while the group is being written, so they are one transaction.
    expect(await Promise.all(writes)).toEqual(Array(50).fill(0));
    expect(inOne).toEqual(Array(50).fill(true));
    await add("last");
    expect(visible()).toEqual([...Array.from({ length: 50 }, (_, i) => `w${i}`), "last"]);
  });

  test("a group gathers on while each turn of the loop brings more; a lone write waits for four turns at most", async () => {
    const { add, visible, connection, database } = setUp();
    const insert = database.prepare<[string]>("INSERT INTO words VALUES (?)");
    const seen: Promise<number>[] = [];
    for (let turn = 0; turn < 7; turn++) {
      const insertAndLook = () => {
        insert.run(`w${turn}`);
        return visible().length;
      };
      seen.push(connection.write(insertAndLook));
      await nextTurn();
    }
    expect(await Promise.all(seen)).toEqual(Array(7).fill(0));
    let isDone = false;
    const lone = add("lone").then(() => {
      isDone = true;
    });
    for (let turn = 0; turn < 4; turn++) await nextTurn();
    expect(isDone).toBe(true);
    await lone;
  });

  test("only the write that failed rejects; the others of its group are committed, each once and in order", async () => {
    const { add, visible } = setUp();
    await add("b");
    const results = await Promise.allSettled(["a", "b", "c"].map(add));
    expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(results[1]).toMatchObject({ reason: { code: "STORE_FAILED", message: expect.stringContaining("UNIQUE") } });
    expect(visible()).toEqual(["b", "a", "c"]);
  });

  test("a write that fails half way leaves nothing of itself", async () => {
    const { connection, database, visible } = setUp();
    const failing = connection.write(() => {
      database.prepare("INSERT INTO words VALUES ('half')").run();
      throw new Error("then it broke");
    });
    await expect(failing).rejects.toMatchObject({
      code: "STORE_FAILED",
      message: expect.stringContaining("then it broke"),
    });
    expect(visible()).toEqual([]);
    expect(database.inTransaction).toBe(false);
  });

  test("a flood is cut into several transactions, all of them committed", async () => {
    const { add, visible, commits } = setUp();
    const before = commits();
    await Promise.all(Array.from({ length: 2000 }, (_, i) => add(`w${i}`)));
    expect(visible()).toHaveLength(2000);
    expect(commits()).not.toBe(before);
  });

  test("reads between writes see what is committed, and nothing else", async () => {
    const { connection, database, add } = setUp();
    const count = database.prepare<[], { rows: number }>("SELECT count(*) AS rows FROM words");
    const writing = add("a");
    expect(await connection.read(() => count.get()?.rows)).toBe(0);
    await writing;
    expect(await connection.read(() => count.get()?.rows)).toBe(1);
  });

  test("a lock that another program lets go of in time is waited for, without blocking the event loop", async () => {
    const { file, add, visible } = setUp();
    const other = openSqlite(file);
    other.exec("BEGIN IMMEDIATE");
    let turns = 0;
    const ticking = setInterval(() => turns++, 1);
    const writing = Promise.all([add("a"), add("b")]);
    await new Promise((resolve) => setTimeout(resolve, 150));
    other.exec("COMMIT");
    await writing;
    clearInterval(ticking);
    expect(visible()).toEqual(["a", "b"]);
    expect(turns).toBeGreaterThan(2);
    other.close();
  });

  test("closing waits for what was asked for, and refuses what comes after", async () => {
    const { connection, add, visible } = setUp();
    const writing = add("a");
    const closing = connection.close();
    await expect(add("b")).rejects.toMatchObject({ code: "STORE_FAILED" });
    await Promise.all([writing, closing]);
    expect(visible()).toEqual(["a"]);
  });
});
