import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { connect, openDatabase } from "../../src/store/connection.js";
import { createWalSync, type Disk } from "../../src/store/database-file/wal-sync.js";
import { openSqlite } from "../../src/store/driver.js";
import { ManualClock } from "../support/manual-clock.js";
import { LANE, messageEvent, openTestStore, temporaryFolder } from "./support/open-test-store.js";

/** A database on a disk that takes `syncMs`; on a slow one a sync ends when `finish` says so. */
function setUp(syncMs: number) {
  const clock = new ManualClock();
  const file = join(temporaryFolder(), "t.db");
  const database = openDatabase(file, { durability: "full", readonly: false });
  database.exec("CREATE TABLE words (word TEXT NOT NULL)");
  const later: ((error: NodeJS.ErrnoException | null) => void)[] = [];
  let monotonic = 0;
  let syncs = 0;
  const disk: Disk = {
    syncNow: () => {
      syncs++;
      monotonic += syncMs;
    },
    syncLater: (_log, done) => {
      syncs++;
      later.push(done);
    },
  };
  const finish = async (error: NodeJS.ErrnoException | null = null) => {
    monotonic += syncMs;
    later.shift()?.(error);
    await clock.advance(0);
  };
  const walSync = createWalSync(file, { monotonic: () => monotonic }, disk);
  const connection = connect(file, database, { clock, lockWaitMs: 100, walSync });
  const insert = database.prepare<[string]>("INSERT INTO words VALUES (?)");
  const done: string[] = [];
  const add = async (word: string) => {
    await connection.write(() => void insert.run(word));
    done.push(word);
  };
  /** Waits for its commit only. */
  const commit = async (word: string) => {
    await connection.commit(() => void insert.run(word));
    done.push(word);
  };
  /** One in each turn, after a first one that teaches that the disk is slow. */
  const addInTurns = async () => {
    await add("first");
    const added: Promise<void>[] = [];
    for (const word of ["a", "b", "c"]) {
      added.push(add(word));
      await clock.advance(0);
    }
    return added;
  };
  const visible = () => {
    const outside = openSqlite(file, { readonly: true });
    const words = outside.prepare<[], { word: string }>("SELECT word FROM words").all();
    outside.close();
    return words.map(({ word }) => word);
  };
  return {
    clock,
    connection,
    add,
    addInTurns,
    commit,
    done,
    visible,
    finish,
    syncs: () => syncs,
    waiting: () => later.length,
  };
}

describe("durability full", () => {
  test("on a quick disk every group is synced at once, before its writes are acknowledged", async () => {
    const { add, done, syncs } = setUp(0.05);
    await Promise.all([add("a"), add("b")]);
    await add("c");
    expect([syncs(), done]).toEqual([2, ["a", "b", "c"]]);
  });

  test("on a slow disk a write is acknowledged when the sync after its commit is through, not before", async () => {
    const { add, done, clock, finish, visible } = setUp(5);
    await add("slow one, which teaches that the disk is slow");
    const writes = [add("a"), add("b")];
    await clock.advance(0);
    expect(visible()).toContain("b");
    expect(done).not.toContain("a");
    await finish();
    await Promise.all(writes);
    expect(done).toContain("a");
  });

  test("what is committed while a sync is under way waits for the next one, all together", async () => {
    const { addInTurns, done, finish, waiting, syncs } = setUp(5);
    const [a, b, c] = await addInTurns();
    expect([waiting(), syncs()]).toEqual([1, 2]);
    await finish();
    await a;
    expect(done).toEqual(["first", "a"]);
    await finish();
    await Promise.all([b, c]);
    expect([done, syncs()]).toEqual([["first", "a", "b", "c"], 3]);
  });

  test("nothing is committed beside a sync, so that all who wait for the next one share a commit, too", async () => {
    const { addInTurns, clock, finish, visible } = setUp(5);
    const [a, b, c] = await addInTurns();
    expect(visible()).toEqual(["first", "a"]);
    await finish();
    await a;
    await clock.advance(0);
    expect(visible()).toEqual(["first", "a", "b", "c"]);
    await finish();
    await Promise.all([b, c]);
  });

  test("who asks for a commit only does not wait for the sync, and can wait for it afterwards", async () => {
    const { add, commit, connection, done, clock, finish } = setUp(5);
    await add("first");
    await connection.durable(); // nothing is owed to the disk
    const written = add("written");
    await commit("committed");
    expect(done).toEqual(["first", "committed"]);
    const durable = connection.durable().then(() => done.push("durable"));
    await clock.advance(0);
    expect(done).toEqual(["first", "committed"]);
    await finish();
    await Promise.all([durable, written]);
    expect([...done].sort()).toEqual(["committed", "durable", "first", "written"]);
  });

  test("what is committed beside a sync is durable after the next one", async () => {
    const { add, commit, connection, done, clock, finish } = setUp(5);
    await add("first");
    const a = add("a");
    await clock.advance(0);
    await Promise.all(Array.from({ length: 500 }, (_, i) => commit(String(i))));
    const durable = connection.durable().then(() => done.push("durable"));
    await finish();
    await a;
    expect(done).not.toContain("durable");
    await finish();
    await durable;
  });

  test("a flood is committed beside a sync, however long that takes", async () => {
    const { add, clock, finish, visible } = setUp(5);
    await add("first");
    const a = add("a");
    await clock.advance(0);
    const flood = Array.from({ length: 500 }, (_, i) => add(String(i)));
    await clock.advance(0);
    expect(visible()).toHaveLength(502);
    await finish();
    await finish();
    await Promise.all([a, ...flood]);
  });

  test("a disk that does not keep what was written: nothing is acknowledged any more, until a restart", async () => {
    const { add, clock, finish, connection } = setUp(5);
    await add("first");
    const lost = Promise.allSettled([add("a")]);
    await clock.advance(0);
    const waiting = Promise.allSettled([add("b"), connection.durable()]);
    await clock.advance(0);
    await finish(Object.assign(new Error("i/o error"), { code: "EIO" }));
    const broken = {
      status: "rejected",
      reason: { code: "STORE_FAILED", hint: expect.stringContaining("start the gateway again") },
    };
    expect([...(await lost), ...(await waiting)]).toMatchObject([broken, broken, broken]);
    await expect(connection.durable()).rejects.toMatchObject({ code: "STORE_FAILED" });
    await expect(add("c")).rejects.toMatchObject({ code: "STORE_FAILED" });
    await connection.close();
  });

  test("closing waits for the sync that is under way", async () => {
    const { add, done, clock, finish, connection } = setUp(5);
    await add("first");
    const a = add("a");
    await clock.advance(0);
    const closing = connection.close();
    await finish();
    await Promise.all([a, closing]);
    expect(done).toEqual(["first", "a"]);
  });

  test("a store opened so works on the real disk", async () => {
    const { inbox, check } = await openTestStore({ durability: "full" });
    await Promise.all(Array.from({ length: 300 }, (_, i) => inbox.accept(messageEvent(String(i)), LANE, 1, false)));
    await check();
    expect(await inbox.counts()).toMatchObject({ waiting: 300 });
  });
});
