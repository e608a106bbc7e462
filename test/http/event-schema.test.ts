/** Keywords of JSON Schema in `events.X.schema`, each with a body that fits and one that does not, over real HTTP. */
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RunningApp, runApp } from "./running-app.js";

const SECRET = `whsec_${Buffer.from("the secret of the events here").toString("base64")}`;

/** The field `a` by its schema. */
const a = (schema: object | boolean) => ({ properties: { a: schema } });
const draft7 = "http://json-schema.org/draft-07/schema#";

/** Keyword, schema, a body that fits, one that does not, what its sender reads. */
const KEYWORDS: [string, object, unknown, unknown, string][] = [
  ["properties without type", a({ type: "string" }), { a: "x" }, { a: 1 }, "a: expected text, got 1"],
  ["properties of no list", a({}), {}, [{ a: 1 }], 'expected an object, got [{"a":1}]'],
  ["required without properties", { required: ["a"] }, { a: 1 }, { b: 1 }, "a: it is missing"],
  [
    "required of an inherited name",
    { required: ["constructor"] },
    { constructor: 1 },
    {},
    "constructor: it is missing",
  ],
  ["required beside other properties", { required: ["z"], ...a({}) }, { z: 1 }, { a: 1 }, "z: it is missing"],
  [
    "required of a type",
    { required: ["a"], ...a({ type: ["string", "null"] }) },
    { a: null },
    {},
    "a: it is missing: expected text or null",
  ],
  ["required of a nested object", a({ required: ["b"] }), { a: { b: 1 } }, { a: { c: 1 } }, "a.b: it is missing"],
  ["minLength without type", a({ minLength: 2 }), { a: "xx" }, { a: "x" }, "a: expected at least 2 characters, got 1"],
  ["maxLength", a({ maxLength: 2 }), { a: "xx" }, { a: "xxx" }, "a: expected at most 2 characters, got 3"],
  ["pattern", a({ pattern: "(?i)^b" }), { a: "B" }, { a: "c" }, "a: expected text that matches (?i)^b"],
  [
    "two patterns",
    { properties: { a: { pattern: "^a" }, b: { pattern: "^b" } } },
    { a: "a", b: "b" },
    { a: "a", b: "a" },
    "b: expected text that matches ^b",
  ],
  [
    "format",
    a({ format: "date-time" }),
    { a: "2026-01-01T00:00:00+02:00" },
    { a: "c" },
    'a: expected the format date-time, got "c"',
  ],
  [
    "format of numbers",
    a({ type: ["integer", "null"], format: "int32" }),
    { a: 2147483647 },
    { a: 2147483648 },
    "a: expected the format int32, got 2147483648",
  ],
  ["format of text, and a number", a({ format: "date" }), { a: 1 }, { a: "1" }, 'a: expected the format date, got "1"'],
  ["minimum", a({ minimum: 2 }), { a: 2 }, { a: 1 }, "a: expected at least 2, got 1"],
  ["exclusiveMaximum", a({ exclusiveMaximum: 2 }), { a: 1 }, { a: 2 }, "a: expected less than 2, got 2"],
  ["multipleOf", a({ multipleOf: 0.1 }), { a: 0.3 }, { a: 0.35 }, "a: expected a multiple of 0.1, got 0.35"],
  ["integer", a({ type: "integer" }), { a: 1.0 }, { a: 1.5 }, "a: expected a whole number, got 1.5"],
  [
    "minItems without items",
    a({ type: "array", minItems: 2 }),
    { a: [1, 2] },
    { a: [1] },
    "a: expected at least 2 entries, got 1",
  ],
  [
    "uniqueItems",
    a({ uniqueItems: true }),
    { a: [{ b: 1, c: 2 }, { b: 1 }] },
    {
      a: [
        { b: 1, c: 2 },
        { c: 2, b: 1 },
      ],
    },
    "a: two of its entries are the same",
  ],
  [
    "contains",
    a({ contains: { const: "z" } }),
    { a: ["y", "z"] },
    { a: ["y"] },
    "a: expected at least 1 of the entries",
  ],
  [
    "prefixItems",
    a({ prefixItems: [{ type: "string" }], items: false }),
    { a: ["z"] },
    { a: ["z", 1] },
    "a: expected at most 1 entry, got 2",
  ],
  [
    "items of an earlier draft",
    { $schema: draft7, ...a({ items: [{ type: "string" }], additionalItems: false }) },
    { a: ["z"] },
    { a: [1] },
    "a.0: expected text, got 1",
  ],
  ["minProperties", a({ minProperties: 1 }), { a: { b: 1 } }, { a: {} }, "a: expected at least 1 field, got 0"],
  [
    "propertyNames",
    a({ propertyNames: { pattern: "^x" } }),
    { a: { x: 1 } },
    { a: { y: 1 } },
    'a: the name "y" of a field does not fit',
  ],
  [
    "patternProperties",
    { patternProperties: { "^x-": { type: "number" } } },
    { "x-a": 1 },
    { "x-a": "b" },
    'x-a: expected a number, got "b"',
  ],
  [
    "additionalProperties",
    { ...a({}), additionalProperties: false },
    { a: 1 },
    { aa: 1 },
    'unknown field "aa" (did you mean "a"?)',
  ],
  ["unevaluatedProperties", { allOf: [a({})], unevaluatedProperties: false }, { a: 1 }, { b: 1 }, 'unknown field "b"'],
  [
    "dependentRequired",
    { dependentRequired: { a: ["b"] } },
    { a: 1, b: 1 },
    { a: 1 },
    'b: it is missing: it goes with "a"',
  ],
  ["dependencies", { dependencies: { a: ["b"] } }, { b: 1 }, { a: 1 }, 'b: it is missing: it goes with "a"'],
  [
    "enum",
    a({ enum: ["prod", 1, null] }),
    { a: null },
    { a: "prd" },
    'a: "prd" is not known here (did you mean "prod"?)',
  ],
  [
    "enum of objects",
    a({ enum: [{ x: 1 }, [1]] }),
    { a: { x: 1 } },
    { a: { x: 2 } },
    'a: expected one of {"x":1}, [1], got {"x":2}',
  ],
  ["enum of text and numbers", a({ enum: [1, "prod"] }), { a: 1 }, { a: "1" }, 'a: expected one of 1, prod, got "1"'],
  ["const", a({ const: "a" }), { a: "a" }, { a: "b" }, 'a: expected a, got "b"'],
  [
    "oneOf of consts",
    a({ oneOf: [{ const: "a" }, { const: "b" }] }),
    { a: "a" },
    { a: "c" },
    'a: it has none of the forms that are expected: expected a, got "c", or expected b, got "c"',
  ],
  ["const of an object", a({ const: { x: 1 } }), { a: { x: 1 } }, { a: {} }, 'a: expected {"x":1}, got {}'],
  ["allOf", { allOf: [{ required: ["a"] }, a({ type: "string" })] }, { a: "x" }, { a: 2 }, "a: expected text, got 2"],
  [
    "anyOf",
    { anyOf: [{ required: ["a"] }, { required: ["b"] }] },
    { b: 1 },
    { c: 1 },
    "expected: a: it is missing, or b: it is missing",
  ],
  [
    "anyOf of references",
    { ...a({ anyOf: [{ $ref: "#/$defs/n" }, { type: "null" }] }), $defs: { n: { type: "object", required: ["b"] } } },
    { a: null },
    { a: 1 },
    "a: it has none of the forms that are expected: expected an object, got 1, or expected null, got 1",
  ],
  [
    "oneOf",
    { oneOf: [{ required: ["a"] }, { required: ["b"] }] },
    { a: 1 },
    { a: 1, b: 2 },
    "fits more than one of the forms",
  ],
  ["not", a({ not: { type: "null" } }), { a: 1 }, { a: null }, "a: null is not allowed here"],
  ["false", a(false), {}, { a: 1 }, "a: 1 is not allowed here"],
  [
    "if",
    JSON.parse('{"if":{"properties":{"a":{"const":1}}},"then":{"required":["b"]}}'),
    { a: 1, b: 1 },
    { a: 1 },
    "b: it is missing",
  ],
  [
    "keywords beside $ref",
    { ...a({ $ref: "#/$defs/s", minLength: 3 }), $defs: { s: { type: "string" } } },
    { a: "xxx" },
    { a: "x" },
    "a: expected at least 3 characters, got 1",
  ],
  [
    "definitions",
    { ...a({ $ref: "#/definitions/s" }), definitions: { s: { type: "string" } } },
    { a: "x" },
    { a: 1 },
    "a: expected text, got 1",
  ],
  [
    "a reference to a field",
    { properties: { a: { type: "string" }, b: { $ref: "#/properties/a" } } },
    { b: "x" },
    { b: 1 },
    "b: expected text, got 1",
  ],
  ["a reference to itself", a({ $ref: "#" }), { a: { a: {} } }, { a: { a: 1 } }, "a.a: expected an object, got 1"],
  [
    "notes",
    { type: "object", title: "An order", "x-owner": "jo", $comment: "ours" },
    {},
    1,
    "expected an object, got 1",
  ],
];

const nameOf = (keyword: string) => keyword.replaceAll(/\W/g, "-");
const events = Object.fromEntries(
  KEYWORDS.map(([keyword, schema]) => [nameOf(keyword), { secret_env: "EVENT_SECRET", schema }]),
);

let app: RunningApp;
beforeAll(async () => {
  app = await runApp({ events }, { EVENT_SECRET: SECRET });
});
afterAll(() => app.close());

async function send(name: string, id: string, payload: unknown) {
  const body = JSON.stringify(payload);
  const at = new Date();
  const headers = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": new Webhook(SECRET).sign(id, at, body),
  };
  const response = await fetch(`${app.url}/ingest/${name}`, { method: "POST", headers, body });
  return { status: response.status, body: await response.json() };
}

it.each(KEYWORDS)(
  "%s: a body that fits is taken, another is refused in plain words",
  async (keyword, _, good, bad, words) => {
    const name = nameOf(keyword);
    expect(await send(name, "good", good)).toMatchObject({ status: 202 });
    const refused = await send(name, "bad", bad);
    expect(refused).toMatchObject({ status: 422, body: { code: "PAYLOAD_INVALID" } });
    expect((refused.body as { detail: string }).detail).toContain(words);
  },
);

it("compares the entries of a long list in a moment", async () => {
  const list = Array.from({ length: 9_000 }, (_, n) => ({ n }));
  expect(await send("uniqueItems", "long", { a: list })).toMatchObject({ status: 202 });
});
