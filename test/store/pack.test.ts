import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { DispatchRecord } from "../../src/domain/journal.js";
import { openJournalDatabase } from "../../src/store/journal/database.js";
import { journal as firstSchema } from "../../src/store/journal/migrations/001-journal.js";
import { Pack } from "../../src/store/journal/pack.js";
import { Packer } from "../../src/store/journal/packer.js";
import { migrate } from "../../src/store/migrate.js";
import { bareDispatch as dispatch, NOW } from "./support/bare-dispatch.js";
import { openTestStore, retentionOf, temporaryFolder } from "./support/open-test-store.js";

function packed(...dispatches: DispatchRecord[]): Pack {
  const packer = new Packer();
  for (const one of dispatches) packer.add(one);
  return new Pack(packer.take());
}

const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.string({ unit: "binary" }),
    fc.string(),
    fc.double(),
    fc.integer(),
    fc.boolean(),
    fc.constantFrom(null, undefined, -0, 2 ** 28, 2 ** 28 - 1, NOW, "\ud83d", "\ude00", "\n"),
    fc.date(),
    fc.array(tie("value"), { maxLength: 5 }),
    fc.dictionary(fc.oneof(fc.string(), fc.constantFrom("__proto__", "toJSON", "0", "raw", "message")), tie("value"), {
      maxKeys: 5,
    }),
  ),
})).value;

test("any value comes out of a pack as it would come out of JSON, in whatever company", () => {
  fc.assert(
    fc.property(fc.array(json, { minLength: 1, maxLength: 5 }), (values) => {
      const pack = packed(...values.map((value, i) => dispatch({ id: `x${i}`, result: { value } })));
      const back = values.map((_, i) => pack.dispatch(i).result);
      expect(JSON.stringify(back)).toBe(JSON.stringify(values.map((value) => ({ value }))));
    }),
    { numRuns: 300 },
  );
});

test("of a value that has no end, and of one that is very deep, the rest of the record is kept", () => {
  const cycle: Record<string, unknown> = {};
  cycle.message = { message: { list: [cycle] } };
  let deep: unknown = 1;
  for (let i = 0; i < 200; i++) deep = { deep };
  const pack = packed(
    dispatch({ payload: cycle }),
    dispatch({ id: "x2", payload: { message: deep } }),
    dispatch({ id: "x3" }),
  );
  expect(pack.dispatch(0).payload).toMatch(/^not recorded: /);
  expect(pack.dispatch(1).payload).toEqual({ message: deep });
  expect(pack.header(2).id).toBe("x3");
  expect(pack.length).toBe(3);
});

test("a record that was begun in vain leaves nothing behind for those after it", () => {
  const long = "y".repeat(300_000);
  const pack = packed(
    dispatch({ payload: { long } }),
    dispatch({ id: "x2", payload: { short: "s", cut: "y".repeat(10) } }),
  );
  expect(JSON.stringify(pack.dispatch(0)).length).toBeLessThan(10_000);
  expect(pack.dispatch(1).payload).toEqual({ short: "s", cut: "y".repeat(10) });
  expect(pack.bytes.length).toBeLessThan(10_000);
});

test("what is no text where one should be, or cannot be written at all, spoils nothing beside it", () => {
  const untyped = (value: unknown) => value as never;
  const packer = new Packer();
  packer.add(dispatch({ conversation: untyped(12_345), payload: { text: "before" } }));
  expect(() => packer.add(dispatch({ id: "x2", cause: untyped({ kind: 1n }), payload: { big: 1n } }))).toThrow();
  packer.add(dispatch({ id: "x3", payload: { text: "after" } }));
  const pack = new Pack(packer.take());
  expect([0, 1].map((i) => pack.dispatch(i))).toMatchObject([
    { id: "x1", conversation: "12345", payload: { text: "before" } },
    { id: "x3", payload: { text: "after" } },
  ]);
  expect(pack.length).toBe(2);
});

test("what repeats itself stands in a pack once", () => {
  const text = "some words that are said again and again ".repeat(20);
  const alone = packed(dispatch({ payload: { text } })).bytes.length;
  const many = packed(...Array.from({ length: 50 }, (_, i) => dispatch({ id: `x${i}`, payload: { text } }))).bytes
    .length;
  expect(many).toBeLessThan(alone * 5);
});

test("a journal of the version before is read, searched, joined and removed from as if it were of this one", async () => {
  const file = join(temporaryFolder(), "hookgate.db");
  const journalFile = file.replace(".db", "-journal.db");
  const lines = [
    `["m1:p","p",${NOW - 5000},"modified",0,"web:web:room","7",[["h",1,"passed",0.5],["g",2,"failed",1,{"id":"r_1","attempt":2,"error":"broke"}]]]\t{"model":"modifying","latencyMs":2,"payload":{"text":"a\\tb"},"cause":{"kind":"message","id":"1","depth":0},"attempt":1,"result":{"text":"x"},"provenance":{"text":"g"}}`,
    `["m2:p","p",${NOW},"passed",1,null,null,[]]\t{"model":"void","latencyMs":1,"payload":{},"attempt":3}`,
  ];
  const before = openJournalDatabase(journalFile, "writer");
  await migrate(before, journalFile, { "001-journal": firstSchema });
  // A filter of ones lets every search through.
  before
    .prepare("INSERT INTO segments (records, first_at, last_at, traits, lines) VALUES (2, ?, ?, ?, ?)")
    .run(NOW - 5000, NOW, Buffer.alloc(8, 255), Buffer.from(lines.join("\n")));
  before.close();

  const retention = retentionOf({ journal_for: 1000 });
  const { journal, sweep } = await openTestStore({ file, retention });
  const first = {
    ...dispatch({ id: "m1:p", at: NOW - 5000, outcome: "modified", model: "modifying", latencyMs: 2 }),
    payload: { text: "a\tb" },
    cause: { kind: "message", id: "1", depth: 0 },
    conversation: "web:web:room",
    messageId: "7",
    result: { text: "x" },
    provenance: { text: "g" },
    runs: [
      { id: "m1:p/1", hookId: "h", position: 1, outcome: "passed", latencyMs: 0.5, attempt: 1 },
      { id: "r_1", hookId: "g", position: 2, outcome: "failed", latencyMs: 1, attempt: 2, error: "broke" },
    ],
  };
  expect(await journal.getByRun("r_1")).toEqual(first);
  expect(await journal.list({ hookId: "g", failed: true, messageId: "7", limit: 9 })).toEqual([first]);
  // So many small ones that all are joined.
  for (let i = 0; i < 40; i++) {
    journal.record(dispatch({ id: `n${i}`, at: NOW }));
    await journal.flush();
  }
  expect(await journal.get("m1:p")).toEqual(first);
  expect(await journal.get("m2:p")).toEqual(dispatch({ id: "m2:p", dryRun: true, attempt: 3 }));
  expect(await sweep(NOW)).toMatchObject({ dispatches: 1 });
  expect(await journal.get("m1:p")).toBeUndefined();
  expect(await journal.list({ limit: 99 })).toHaveLength(41);
});
