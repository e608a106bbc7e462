/** Rows that somebody edited by hand: each steps aside with a report, and those behind it go on. */
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { silentLogger } from "../../src/lib/logger.js";
import { openSqlite } from "../../src/store/driver.js";
import { openStore } from "../../src/store/open.js";
import { LANE, messageEvent, openTestStore, reply, storeOptions, temporaryFolder } from "./support/open-test-store.js";

const NOW = 1_700_000_000_000;

/** Three messages and three deliveries in one conversation. */
async function filled(): Promise<string> {
  const file = join(temporaryFolder(), "hookgate.db");
  const store = await openStore(storeOptions(file));
  for (const n of [1, 2, 3]) {
    await store.inbox.accept(messageEvent(`e${n}`), LANE, NOW, false);
    await store.outbox.enqueue([reply({ id: `d_${n}` })], NOW);
  }
  await store.close();
  return file;
}

function edit(file: string, sql: string, ...values: (string | null)[]): void {
  const database = openSqlite(file);
  expect(database.prepare(sql).run(...values).changes).toBe(1);
  database.close();
}

function recording() {
  const errors: string[] = [];
  const logger = {
    ...silentLogger,
    error: (facts: object, message = "") => void errors.push(`${message} ${JSON.stringify(facts)}`),
  };
  return { errors, logger };
}

const EVENTS = [
  "{",
  "null",
  "[]",
  "{}",
  '{"kind":"message","eventId":"e1"}',
  '{"kind":"deleted","eventId":"e1","address":{}}',
];
const COLUMNS: [column: string, value: string | null][] = [
  ["data", "{"],
  ["data", "[]"],
  ["data", '{"operation":"send"}'],
  ["message", "5"],
  ["message", '{"text":7}'],
  ["message", null],
  ["parts", "{}"],
  ["parts", '["x"]'],
  ["frozen", "[]"],
  ["conversation", "nowhere"],
];

describe("a message whose row cannot be read", () => {
  test.each(EVENTS)("%s: given up at the start, shown, and deleted by an operator", async (event) => {
    const file = await filled();
    edit(file, "UPDATE inbox SET event = ? WHERE id = 1", event);
    const { errors, logger } = recording();
    const { inbox } = await openTestStore({ file, logger });
    expect(errors).toEqual([expect.stringMatching(/an inbox message was given up.*outbox purge m1/)]);
    expect((await inbox.lane(LANE, 0, 9)).map(({ event: { eventId } }) => eventId)).toEqual(["e2", "e3"]);
    expect(await inbox.list({ status: "dead", limit: 9 })).toMatchObject([
      { id: 1, lane: LANE, error: expect.stringContaining("damaged"), event: { eventId: "e1" } },
    ]);
    expect(await inbox.get(1)).toMatchObject({ status: "dead" });
    expect(await inbox.discard([1])).toEqual([1]);
    expect(await inbox.get(1)).toBeUndefined();
  });

  test("is given up when it is met while the gateway runs, and again after a retry", async () => {
    const file = await filled();
    const { errors, logger } = recording();
    const { inbox } = await openTestStore({ file, logger });
    edit(file, "UPDATE inbox SET event = '{}' WHERE id = 2");
    expect((await inbox.lane(LANE, 0, 2)).map(({ id }) => id)).toEqual([1, 3]);
    expect(await inbox.counts()).toMatchObject({ waiting: 2, dead: 1 });
    expect(await inbox.revive(2, NOW)).toBe(true);
    expect((await inbox.unfinished(0, 9)).map(({ id }) => id)).toEqual([1, 3]);
    expect(errors).toHaveLength(2);
  });
});

describe("a delivery whose row cannot be read", () => {
  test.each(COLUMNS)("%s = %s: given up at the start, shown, and deleted by an operator", async (column, value) => {
    const file = await filled();
    edit(file, `UPDATE deliveries SET ${column} = ? WHERE id = 'd_1'`, value);
    const { errors, logger } = recording();
    const { outbox } = await openTestStore({ file, logger });
    expect(errors).toEqual([expect.stringMatching(/a delivery was given up.*outbox purge d_1/)]);
    expect(await outbox.next(LANE)).toMatchObject({ id: "d_2" });
    expect(await outbox.get("d_1")).toMatchObject({ status: "dead", reason: expect.stringContaining("damaged") });
    expect(await outbox.list({ status: "dead", limit: 9 })).toHaveLength(1);
    expect(await outbox.purge({ ids: ["d_1"] })).toBe(1);
    expect(await outbox.get("d_1")).toBeUndefined();
  });

  test.each(COLUMNS.filter(([column]) => column !== "conversation"))(
    "%s = %s: given up when it is met while the gateway runs",
    async (column, value) => {
      const file = await filled();
      const { errors, logger } = recording();
      const { outbox } = await openTestStore({ file, logger });
      edit(file, `UPDATE deliveries SET ${column} = ? WHERE id = 'd_1'`, value);
      expect((await outbox.pending()).map(({ queue }) => queue)).toEqual([LANE]);
      expect(await outbox.next(LANE)).toMatchObject({ id: "d_2" });
      expect(await outbox.counts()).toMatchObject({ waiting: 2, dead: 1 });
      expect(errors).toHaveLength(1);
    },
  );
});

describe("a delivery with a status that does not exist", () => {
  const REASON = (status: string) =>
    `its row in the database is damaged: its status is "${status}", which does not exist`;

  test.each(["sleeping", "", "Waiting"])(
    "%j: held at the start, because it may have been sent, shown, and sent after a release",
    async (status) => {
      const file = await filled();
      edit(file, "UPDATE deliveries SET status = ? WHERE id = 'd_1'", status);
      const { errors, logger } = recording();
      const { outbox } = await openTestStore({ file, logger });
      expect(errors).toEqual([expect.stringMatching(/a delivery is held.*outbox release d_1/)]);
      expect(await outbox.letters(["held"], {})).toMatchObject([{ id: "d_1", isAmbiguous: true }]);
      expect(await outbox.list({ status: "held", limit: 9 })).toMatchObject([
        { id: "d_1", reason: expect.stringContaining(REASON(status)) },
      ]);
      expect(await outbox.release("d_1", NOW)).toBe(true);
      expect(await outbox.next(LANE)).toMatchObject({ id: "d_1" });
    },
  );

  test("is held when its status is seen while the gateway runs", async () => {
    const file = await filled();
    const { errors, logger } = recording();
    const { outbox } = await openTestStore({ file, logger });
    edit(file, "UPDATE deliveries SET status = 'sleeping' WHERE id = 'd_2'");
    expect(await outbox.counts()).toEqual({
      waiting: 2,
      sending: 0,
      held: 1,
      sent: 0,
      suppressed: 0,
      cancelled: 0,
      superseded: 0,
      dead: 0,
    });
    expect(await outbox.get("d_2")).toMatchObject({
      status: "held",
      reason: expect.stringContaining(REASON("sleeping")),
    });
    expect(await outbox.purge({ ids: ["d_2"] })).toBe(1);
    expect(errors).toHaveLength(1);
  });
});

test("a row of another table that cannot be read is moved aside at the start, with a warning", async () => {
  const file = await filled();
  edit(
    file,
    "INSERT INTO pending (id, kind, key, due_at, attempts, payload) VALUES ('p_1', 'delivery ends', '', 0, 1, 'oops')",
  );
  edit(
    file,
    `INSERT INTO tasks (id, version, status, priority, assign_to, due_at, data) VALUES ('t_1', 1, 'pending', 1, 'me', 1, '{}')`,
  );
  edit(
    file,
    `INSERT INTO sla_announcements (id, clock_id, episode, at, status, due_at, signal) VALUES ('a_1', 'c', 1, 1, 'pending', 1, '[]')`,
  );
  const store = await openTestStore({ file });
  expect(store.health().remarks).toEqual([
    expect.stringContaining("the row p_1 of the table pending is damaged"),
    expect.stringContaining("the row t_1 of the table tasks is damaged"),
    expect.stringContaining("the row a_1 of the table sla_announcements is damaged"),
  ]);
  expect(await store.tasks.list({ limit: 9 })).toEqual([]);
  expect(await store.sla.nextAnnouncement()).toBeUndefined();
  await store.close();
  const again = await openStore(storeOptions(file));
  expect(again.health().remarks).toEqual([]);
  await again.close();
  const database = openSqlite(file);
  expect(database.prepare("SELECT name, content FROM unreadable_rows WHERE \"table\" = 'tasks'").get()).toEqual({
    name: "t_1",
    content: "{}",
  });
  database.close();
});
