/**
 * The JSON schema of an event's body. Its patterns are RE2: one of JavaScript can take for ever on a short text, and the gateway with it.
 * Everything else is zod's. A pattern where this file does not look (in `anyOf`, as a name of properties) is refused at load.
 */
import { RE2JS } from "re2js";
import { z } from "zod";
import { errorMessage } from "../../lib/errors.js";
import { isRecord } from "../../lib/record.js";

type JsonObject = Readonly<Record<string, unknown>>;
type Path = (string | number)[];
type Report = (path: Path, pattern: string) => void;

/** Schemas under names. */
const MAPS = ["properties", "$defs", "definitions"];
/** Schemas that hold for the same value, or for each part of it. */
const PARTS = ["items", "prefixItems", "additionalProperties", "allOf"];
/** Schemas that may hold or not. */
const CHOICES = ["anyOf", "oneOf", "not", "contains", "propertyNames", "additionalItems", "dependencies"];
const MAX_REFERENCES = 100;

/** Throws an Error that says what cannot be used. */
export function compileEventSchema(schema: JsonObject): z.ZodType {
  const patterns = new Map<string, RE2JS>();
  const plain = withoutPatterns(schema, { root: schema, patterns, seen: new Set() }, true);
  const body = z.fromJSONSchema(plain as z.core.JSONSchema.JSONSchema);
  if (patterns.size === 0) return body;
  return body.superRefine((value, context) => {
    checkPatterns(schema, value, { root: schema, patterns, references: 0 }, [], (path, pattern) =>
      context.addIssue({ code: "custom", path, message: `expected text that matches ${pattern}` }),
    );
  });
}

interface Reading {
  root: JsonObject;
  patterns: Map<string, RE2JS>;
  /** References that were followed, by whether patterns may stand there. */
  seen: Set<string>;
}

function withoutPatterns(schema: unknown, reading: Reading, isChecked: boolean): unknown {
  if (Array.isArray(schema)) return schema.map((one) => withoutPatterns(one, reading, isChecked));
  if (!isRecord(schema)) return schema;
  if (schema.patternProperties !== undefined)
    throw new Error("patternProperties cannot be used; name the properties, or leave them open");
  followReference(schema, reading, isChecked);
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema))
    if (key === "pattern" && typeof value === "string") notePattern(value, reading, isChecked);
    else if (MAPS.includes(key) && isRecord(value))
      kept[key] = Object.fromEntries(
        // What is only defined is read again where it is used.
        Object.entries(value).map(([name, one]) => [
          name,
          withoutPatterns(one, reading, isChecked || key !== "properties"),
        ]),
      );
    else if (PARTS.includes(key)) kept[key] = withoutPatterns(value, reading, isChecked);
    else if (CHOICES.includes(key)) kept[key] = withoutPatterns(value, reading, false);
    else kept[key] = value;
  return kept;
}

function notePattern(pattern: string, { patterns }: Reading, isChecked: boolean): void {
  if (!isChecked)
    throw new Error(
      `the pattern ${pattern} is used under ${CHOICES.slice(0, 4).join(", ")} or the like; move it out of there`,
    );
  try {
    patterns.set(pattern, RE2JS.compile(pattern));
  } catch (error) {
    throw new Error(`the pattern ${pattern} is no RE2 expression: ${errorMessage(error)}`);
  }
}

/** A pattern in a definition is checked only where all references on the way are. */
function followReference({ $ref }: JsonObject, reading: Reading, isChecked: boolean): void {
  if (typeof $ref !== "string" || reading.seen.has(`${isChecked} ${$ref}`)) return;
  reading.seen.add(`${isChecked} ${$ref}`);
  withoutPatterns(resolve($ref, reading.root), reading, isChecked);
}

interface Checking {
  root: JsonObject;
  patterns: ReadonlyMap<string, RE2JS>;
  references: number;
}

function checkPatterns(schema: unknown, value: unknown, checking: Checking, path: Path, report: Report): void {
  if (!isRecord(schema)) return;
  const check = (other: unknown, part: unknown, at: Path) =>
    checkPatterns(other, part, { ...checking, references: 0 }, at, report);
  if (typeof schema.$ref === "string") {
    const references = checking.references + 1;
    if (references <= MAX_REFERENCES)
      checkPatterns(resolve(schema.$ref, checking.root), value, { ...checking, references }, path, report);
    return;
  }
  if (typeof value === "string" && typeof schema.pattern === "string") {
    if (checking.patterns.get(schema.pattern)?.matcher(value).find() === false) report(path, schema.pattern);
  }
  if (Array.isArray(schema.allOf)) for (const one of schema.allOf) checkPatterns(one, value, checking, path, report);
  if (Array.isArray(value)) {
    const first = Array.isArray(schema.prefixItems) ? schema.prefixItems : schema.items;
    for (const [index, item] of value.entries()) check(itemSchema(first, schema.items, index), item, [...path, index]);
  } else if (isRecord(value)) {
    const known = isRecord(schema.properties) ? schema.properties : {};
    for (const [name, field] of Object.entries(value))
      check(Object.hasOwn(known, name) ? known[name] : schema.additionalProperties, field, [...path, name]);
  }
}

function itemSchema(first: unknown, rest: unknown, index: number): unknown {
  if (!Array.isArray(first)) return rest;
  return index < first.length ? first[index] : Array.isArray(rest) ? undefined : rest;
}

function resolve(reference: string, root: JsonObject): unknown {
  if (reference === "#") return root;
  const [, place, name] = /^#\/(\$defs|definitions)\/(.+)$/.exec(reference) ?? [];
  const definitions = place === undefined ? undefined : root[place];
  return isRecord(definitions) && name !== undefined
    ? definitions[name.replaceAll("~1", "/").replaceAll("~0", "~")]
    : undefined;
}
