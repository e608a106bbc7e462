/** What the queues' pages and indexes are, cost and find, asked of SQLite itself. */
import { join } from "node:path";
import type Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openSqlite } from "../../src/store/driver.js";
import { IS_EXCEPTION, IS_OPEN } from "../../src/store/messages/delivery-rows.js";
import { openStore } from "../../src/store/open.js";
import { storeOptions, temporaryFolder } from "./support/open-test-store.js";

describe("pages", () => {
  const pageSize = (file: string) => {
    const database = openSqlite(file, { readonly: true });
    const size = database.pragma("page_size", { simple: true });
    database.close();
    return size;
  };

  test("of a new file are as large as commits want them; a file of before keeps its own, and works", async () => {
    const [file, old] = [join(temporaryFolder(), "hookgate.db"), join(temporaryFolder(), "old.db")];
    const before = openSqlite(old);
    before.exec("PRAGMA page_size = 4096; CREATE TABLE anything (a); DROP TABLE anything");
    before.close();
    for (const each of [file, old]) {
      const store = await openStore(storeOptions(each));
      await store.check();
      await store.close();
    }
    expect([pageSize(file), pageSize(old)]).toEqual([8192, 4096]);
  });
});

describe("indexes of the queues", () => {
  const file = join(temporaryFolder(), "hookgate.db");
  let database: Database.Database;
  beforeAll(async () => {
    await (await openStore(storeOptions(file))).close();
    database = openSqlite(file, { readonly: true });
  });
  afterAll(() => database.close());

  const detail = (sql: string) =>
    database
      .prepare<[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map((step) => step.detail)
      .join("; ");

  test("are found by the conditions that stand in their queries", () => {
    expect(detail(`SELECT status, count(*) FROM deliveries WHERE ${IS_OPEN} GROUP BY status`)).toContain(
      "deliveries_open",
    );
    expect(detail(`SELECT * FROM deliveries WHERE status = 'dead' AND ${IS_EXCEPTION} ORDER BY seq DESC`)).toContain(
      "SEARCH deliveries USING INDEX deliveries_exceptions (status=?)",
    );
  });

  test.each([
    "INSERT INTO deliveries (id, conversation, status, created_at, due_at, data) VALUES ('d', 'c', 'waiting', 1, 1, '{}')",
    "UPDATE deliveries SET status = 'sent', settled_at = 1 WHERE seq = 1",
    "UPDATE inbox SET status = 'done', settled_at = 1 WHERE id = 1",
  ])("have no condition for which SQLite fills a table at every row: %s", (sql) => {
    const opcodes = database.prepare<[], { opcode: string }>(`EXPLAIN ${sql}`).all();
    expect(opcodes.map(({ opcode }) => opcode)).not.toContain("OpenEphemeral");
  });
});
