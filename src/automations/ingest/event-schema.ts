/**
 * The JSON schema of an event's body. Ajv checks the body as JSON Schema defines it; a part that checks nothing is refused at load. The
 * patterns are RE2: one of JavaScript can take for ever on a short text, and the gateway with it.
 */
import type { Options, ValidateFunction } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import { fullFormats } from "ajv-formats/dist/formats.js";
import { RE2JS } from "re2js";
import { z } from "zod";
import { once } from "../../lib/concurrency/on-first-use.js";
import { errorMessage } from "../../lib/errors.js";
import { jsonInOrder } from "../../lib/json-in-order.js";
import { nearest } from "../../lib/validation/nearest.js";
import { suggestion } from "../../lib/validation/schema-issues.js";
import { valueProblems } from "../../lib/validation/value-problem.js";
import { schemaProblems } from "./schema-problems.js";

type JsonObject = Readonly<Record<string, unknown>>;
type Draft = typeof Ajv2019 | typeof Ajv2020;

const OF_DRAFTS = /^https?:\/\/json-schema\.org\/(draft-0[4-7]|draft\/20(19-09|20-12))\/schema#?$/;
/** Lists of one schema for each item, as drafts before 2020 write them. */
const OF_OLD_LISTS = /"additionalItems":|"items":\[/;

/** Throws an Error that names the part that cannot be used. */
export function compileEventSchema({ $schema, ...schema }: JsonObject): z.ZodType {
  if ($schema !== undefined && !OF_DRAFTS.test(String($schema)))
    throw new Error(
      "$schema: expected https://json-schema.org/draft/2020-12/schema or the address of an earlier draft, from draft-04 on; or remove the line",
    );
  // A schema that names fields means an object. JSON Schema would let every list and text pass.
  const isOfFields = schema.properties !== undefined || schema.required !== undefined;
  const meant = isOfFields ? { type: "object", ...schema } : schema;
  const draft = OF_OLD_LISTS.test(JSON.stringify(schema)) ? Ajv2019 : Ajv2020;
  const problems = valueProblems(asZod(rulesOf(draft)), meant);
  if (problems.length > 0) throw new Error(problems.slice(0, 3).join("; "));
  return asZod(compile(draft, meant)).meta(meant);
}

function asZod(validate: ValidateFunction): z.ZodType {
  return z.unknown().check(({ value, issues }) => {
    if (validate(value)) return;
    for (const problem of schemaProblems(validate.errors ?? []))
      issues.push({ code: "custom", input: value, ...problem });
  });
}

const RULES = {
  allErrors: true,
  verbose: true,
  // A field that every object inherits, such as "constructor", is none of the body's.
  ownProperties: true,
} satisfies Options;

/** Ajv has others that check nothing, such as password; its pattern for url takes seconds for a long text, and `uri` is the standard's. */
const FORMATS = Object.fromEntries(
  Object.entries(fullFormats).filter(([name, format]) => format !== true && name !== "url"),
);

const metaSchemas = new WeakMap<Draft, ValidateFunction>();

/** The rules that schemas of this draft have to match. */
function rulesOf(draft: Draft): ValidateFunction {
  let rules = metaSchemas.get(draft);
  if (rules === undefined) {
    // The format that it has for patterns is JavaScript's.
    const ajv = new draft({ ...RULES, validateFormats: false });
    rules = ajv.getSchema(String(ajv.defaultMeta())) as ValidateFunction;
    metaSchemas.set(draft, rules);
  }
  return rules;
}

/** An instance for each schema: it keeps the schemas that it compiled, and the ids in them. */
function compile(draft: Draft, schema: JsonObject): ValidateFunction {
  const ignored = new Set<string>();
  const ajv = new draft({
    ...RULES,
    meta: false,
    validateSchema: false,
    strictSchema: "log",
    strictTypes: false,
    strictTuples: false,
    allowMatchingProperties: true,
    code: { regExp: Object.assign((pattern: string) => patternOf(pattern), { code: "patternOf" }) },
    logger: { log: () => {}, error: () => {}, warn: (why: string) => ignored.add(why.replace("strict mode: ", "")) },
  });
  for (const keyword of UNUSED) ajv.removeKeyword(keyword);
  ajv.addKeyword({ keyword: "multipleOf", type: "number", schemaType: "number", validate: isMultiple });
  ajv.addKeyword({ keyword: "format", type: ["string", "number"], schemaType: "string", compile: formatCheck });
  ajv.addKeyword({
    keyword: "uniqueItems",
    type: "array",
    schemaType: "boolean",
    validate: (isOn: boolean, list: unknown[]) => !isOn || isUnique(list),
  });
  try {
    const check = ajv.compile(schema);
    const problems = [...ignored].flatMap((why) => ignoredProblem(why, Object.keys(ajv.RULES.keywords)));
    if (problems.length > 0) throw new Error(problems.join("; "));
    // A schema that leads back to itself runs out of stack.
    for (const value of [{}, [], "", 0, true, null]) check(value);
    return check;
  } catch (error) {
    throw new Error(plainProblem(error));
  }
}

/**
 * Ajv has the first three, too: it accepts a format of numbers beside `type: string`, compares each item with all others, and rounds
 * 0.3 / 0.1 to no whole number. Of the others, some check nothing, `$async` would check later, and JSON Schema has no `nullable`.
 */
const UNUSED = [
  "format",
  "uniqueItems",
  "multipleOf",
  "contentEncoding",
  "contentMediaType",
  "contentSchema",
  "nullable",
  "$async",
];

const formats = once(() => new Ajv2020({ formats: FORMATS, strictTypes: false }));

/** A format checks text or numbers, and takes all else: beside another type it would check nothing. */
function formatCheck(name: string, { type }: JsonObject): (value: unknown) => boolean {
  const check = formats().getSchema(name) ?? formats().compile({ $id: name, format: name });
  const isOfNumbers = (FORMATS[name] as { type?: string }).type === "number";
  const types = type === undefined ? [] : [type].flat();
  const isSeen = isOfNumbers
    ? types.length > 0 && types.every((one) => one === "number" || one === "integer" || one === "null")
    : types.length === 0 || types.includes("string");
  if (isSeen) return (value) => check(value) === true;
  throw new Error(
    isOfNumbers
      ? `format: "${name}" checks numbers only: write type: integer or type: number beside it, or check text with a pattern`
      : `format: "${name}" checks text only: write type: string beside it`,
  );
}

function isUnique(list: readonly unknown[]): boolean {
  return new Set(list.map(jsonInOrder)).size === list.length;
}

function isMultiple(step: number, value: number): boolean {
  if (Number.isInteger(step) && Number.isInteger(value)) return value % step === 0;
  const times = value / step;
  return Math.abs(times - Math.round(times)) <= Number.EPSILON * Math.abs(times);
}

function patternOf(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    throw new Error(`the pattern ${pattern} is no RE2 expression: ${errorMessage(error)}`);
  }
}

/** Ajv's words for parts that it would not check. A keyword with a name such as `x-owner` is a note. */
function ignoredProblem(why: string, known: readonly string[]): string[] {
  const keyword = /^unknown keyword: "(.*)"$/.exec(why)?.[1];
  if (keyword === undefined) return [why];
  if (keyword.startsWith("x-")) return [];
  if (keyword === "nullable") return ['nullable: write type: [string, "null"]'];
  const near = nearest(keyword, known);
  const advice =
    near === undefined ? `remove it, or write "x-${keyword}" when it is a note` : `did you mean "${near}"?`;
  return [`nothing checks the keyword "${keyword}": ${advice}`];
}

function plainProblem(error: unknown): string {
  const message = errorMessage(error);
  if (error instanceof RangeError) return "$ref: it leads back to itself without going into a field";
  if (error instanceof Ajv2020.MissingRefError)
    return `$ref: this schema has no "${error.missingRef}": write it under $defs, and "#/$defs/NAME" here`;
  const format = /^unknown format "(.*)" ignored/.exec(message)?.[1];
  if (format !== undefined) return `format: nothing checks "${format}"${suggestion(format, Object.keys(FORMATS))}`;
  if (message.startsWith('NOT SUPPORTED: keyword "id"')) return 'id: write "$id", or remove the line';
  return message.replace("strict mode: ", "");
}
