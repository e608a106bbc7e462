import fc from "fast-check";
import { expect, test } from "vitest";
import type { DispatchRecord } from "../../../src/domain/journal.js";
import { Pack } from "../../../src/fast/pack/pack.js";
import { Packer } from "../../../src/fast/pack/packer.js";
import { bareDispatch as dispatch, NOW } from "../../store/support/bare-dispatch.js";

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

/** Of what real records consist: few kinds of objects, again and again, some of them the same object, some with a key more or less. */
const shared = { kind: "message", id: "m1", depth: 0 };
const object = (fields: Record<string, fc.Arbitrary<unknown>>) => fc.record(fields, { requiredKeys: [] });
const word = fc.constantFrom("a", "b", "telegram", "__proto__", "");
const message = object({ platform: word, text: fc.string(), raw: json, at: fc.constantFrom(NOW, NOW + 1, NOW - 9, 7) });
const part = fc.oneof(message, fc.constant(shared), word, fc.integer(), json);
const payload = object({ message, text: word, cause: fc.constant(shared), list: fc.array(part, { maxLength: 4 }) });
const runs = fc.array(
  fc.record(
    {
      hookId: word,
      outcome: fc.constantFrom("passed", "failed", "claimed"),
      latencyMs: fc.constantFrom(0, 0.001, 1.5),
      attempt: fc.constantFrom(1, 2),
      pluginId: word,
      reason: word,
      error: fc.string(),
      diff: fc.oneof(fc.constant(shared), message),
      id: fc.constantFrom("r_1", "r_2"),
    },
    { requiredKeys: ["hookId", "outcome", "latencyMs", "attempt"] },
  ),
  { maxLength: 3 },
);
const record = fc
  .record(
    {
      id: fc.string(),
      point: fc.constantFrom("p", "q"),
      model: fc.constantFrom("void", "claiming"),
      phase: fc.constantFrom("before", "after"),
      at: fc.constantFrom(NOW, NOW + 5, 3),
      payload,
      attempt: fc.constantFrom(1, 2),
      dryRun: fc.boolean(),
      outcome: fc.constantFrom("passed", "claimed"),
      cause: fc.constant(shared),
      conversation: word,
      messageId: word,
      result: fc.oneof(fc.constant(shared), message),
      provenance: fc.dictionary(word, word),
      runs,
    },
    { requiredKeys: ["id", "point", "model", "at", "payload", "attempt", "dryRun", "outcome", "runs"] },
  )
  .map((given) => {
    const named = given.runs.map((run, i) => ({ id: `${given.id}/${i + 1}`, position: i + 1, ...run }));
    return dispatch({ ...given, runs: named } as Partial<DispatchRecord>);
  });

/** What is to be read of it when all its texts, keys among them, were changed. The name that a run has for its place is not stored. */
function expected(given: DispatchRecord, change: (text: string) => string): unknown {
  const changed = (value: unknown): unknown => {
    if (typeof value === "string") return change(value);
    if (Array.isArray(value)) return value.map(changed);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [change(key), changed(inner)]));
  };
  const plain = JSON.parse(JSON.stringify(given)) as DispatchRecord;
  delete (plain.payload as { message?: { raw?: unknown } }).message?.raw;
  const fields = Object.entries(plain).map(([key, value]) => [key, changed(value)]);
  const namedRuns = plain.runs.map((run) => {
    const isNamedByPlace = run.id === `${given.id}/${run.position}`;
    const values = Object.entries(run).map(([key, value]) => [key, changed(value)]);
    return {
      ...Object.fromEntries(values),
      id: isNamedByPlace ? `${change(given.id)}/${run.position}` : change(run.id),
    };
  });
  return { ...Object.fromEntries(fields), runs: namedRuns };
}

test("records that look alike, share objects, or differ by a key come out as they went in, in any order", () => {
  const same = (text: string) => text;
  fc.assert(
    fc.property(
      fc.array(record, { minLength: 1, maxLength: 20 }),
      fc.constantFrom(same, (text: string) => `<${text}>`),
      (given, change) => {
        const pack = packed(...given).withTexts(change);
        for (let i = given.length - 1; i >= 0; i--) {
          expect(pack.dispatch(i)).toEqual(expected(given[i] as DispatchRecord, change));
          expect(pack.header(i)).toMatchObject({ at: given[i]?.at, isDryRun: given[i]?.dryRun });
        }
      },
    ),
    { numRuns: 200 },
  );
});

test("what was packed is packed again as it was", () => {
  fc.assert(
    fc.property(fc.array(record, { minLength: 1, maxLength: 10 }), (given) => {
      const pack = packed(...given);
      const packer = new Packer();
      for (let i = 0; i < pack.length; i++) packer.addAgain(pack.dispatch(i));
      const again = new Pack(packer.take());
      for (let i = 0; i < pack.length; i++) expect(again.dispatch(i)).toEqual(pack.dispatch(i));
    }),
    { numRuns: 50 },
  );
});

test("tables of many keys, and objects of which no two are alike, are read back like any other", () => {
  const table = (from: number, size: number, value: (i: number) => unknown) =>
    Object.fromEntries(Array.from({ length: size }, (_, i) => [`k${from + i}`, value(from + i)]));
  const payloads = [
    table(0, 200, (i) => i),
    table(0, 60, (i) => ({ id: `x${i}`, inner: table(i, 60, (j) => ({ [`at${j}`]: j })) })),
    Array.from({ length: 3000 }, (_, i) => ({ [`k${i}`]: i, text: "t" })),
    Array.from({ length: 3000 }, (_, i) => table(i % 50, 1 + (i % 9), (j) => j)),
    { text: "after" },
  ];
  const pack = packed(...payloads.map((one, i) => dispatch({ id: `x${i}`, payload: one })));
  payloads.forEach((one, i) => {
    expect(JSON.stringify(pack.dispatch(i).payload)).toBe(JSON.stringify(one));
  });
});

test("a cause that the payload carries is read in both places, however the payload is written", () => {
  const cause = { kind: "message" as const, id: "m1", depth: 0 };
  const table = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`k${i}`, i === 3 ? cause : i]));
  const ownJson = { first: cause, toJSON: () => "its own" };
  const payloads = [{ cause }, { text: "x", list: [cause, cause] }, table, ownJson, { ownJson, cause }, "none"];
  const pack = packed(...payloads.map((payload, i) => dispatch({ id: `x${i}`, payload, cause })));
  payloads.forEach((payload, i) => {
    expect(pack.dispatch(i)).toMatchObject({ cause, payload: JSON.parse(JSON.stringify(payload)) });
  });
});

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
  const shorter = "x".repeat(9_000); // cut only beside what is too long
  const cycle: Record<string, unknown> = { new: "text", list: [{ inner: "new" }] };
  cycle.self = cycle;
  const after = { text: shorter, [shorter]: 1, new: "text", list: [{ inner: "new", other: "s" }] };
  const pack = packed(
    dispatch({ payload: { text: shorter, [shorter]: 1, long } }),
    dispatch({ id: "x2", payload: after }),
    dispatch({ id: "x3", payload: cycle }),
    dispatch({ id: "x4", payload: after }),
  );
  expect(JSON.stringify(pack.dispatch(0)).length).toBeLessThan(30_000);
  expect(pack.dispatch(1).payload).toEqual(after);
  expect(pack.dispatch(2).payload).toMatch(/^not recorded: /);
  expect(pack.dispatch(3).payload).toEqual(after);
  expect(pack.bytes.length).toBeLessThan(40_000);
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
