/**
 * The problems of a value that a JSON schema refuses: the place in the value, and words for its sender. Ajv's own words are never shown.
 */
import type { ErrorObject } from "ajv";
import { isRecord } from "../../lib/record.js";
import { PLAIN, shown, typeName } from "../../lib/validation/plain-issues.js";
import { suggestion } from "../../lib/validation/schema-issues.js";

export interface SchemaProblem {
  path: string[];
  message: string;
}

const MAX_PROBLEMS = 20;
const MAX_FORMS = 3;

/** Misspelt fields come first: they explain those that are missing. */
export function schemaProblems(errors: readonly ErrorObject[]): SchemaProblem[] {
  const found = withoutInner(errors);
  const unknown = found.filter(isUnknownField);
  return [...unknown, ...found.filter((error) => !isUnknownField(error))].slice(0, MAX_PROBLEMS).map(problemOf);
}

const isUnknownField = ({ keyword }: ErrorObject) =>
  keyword === "additionalProperties" || keyword === "unevaluatedProperties";

/** An error with those of the forms that did not fit. */
interface Found extends ErrorObject {
  inner?: ErrorObject[];
}

/** Keywords whose schemas need not fit; the errors of these schemas come before the keyword's own error. */
const CHOICES = new Set(["anyOf", "oneOf", "contains", "propertyNames"]);

function withoutInner(errors: readonly ErrorObject[]): Found[] {
  const kept: Found[] = [];
  for (const error of errors) {
    // The schema that holds then has its own errors.
    if (error.keyword === "if") continue;
    const inner: ErrorObject[] = [];
    if (CHOICES.has(error.keyword))
      for (let last = kept.at(-1); last !== undefined && isWithin(last, error); last = kept.at(-1)) {
        inner.unshift(last);
        kept.pop();
      }
    kept.push({ ...error, inner });
  }
  return kept;
}

/** An error of a schema that a choice names by `$ref` has the path of that schema. */
function isWithin(inner: ErrorObject, choice: ErrorObject): boolean {
  if (!`${inner.instancePath}/`.startsWith(`${choice.instancePath}/`)) return false;
  if (inner.schemaPath.startsWith(`${choice.schemaPath}/`)) return true;
  const holder = choice.schemaPath.replace(/[^/]*$/, "");
  return (
    /^#\/(\$defs|definitions)\//.test(inner.schemaPath) && (holder === "#/" || !inner.schemaPath.startsWith(holder))
  );
}

function problemOf(error: Found): SchemaProblem {
  const path = error.instancePath.split("/").slice(1).map(stepOf);
  const { missingProperty, property } = error.params as { missingProperty?: string; property?: string };
  if (missingProperty === undefined) return { path, message: messageOf(error) };
  const { properties } = error.parentSchema ?? {};
  const field = isRecord(properties) ? properties[missingProperty] : undefined;
  const message = property === undefined ? missing(field) : `it is missing: it goes with "${property}"`;
  return { path: [...path, missingProperty], message };
}

const stepOf = (step: string) => step.replaceAll("~1", "/").replaceAll("~0", "~");

function missing(field: unknown): string {
  const { type, enum: values } = isRecord(field) ? field : {};
  if (Array.isArray(values)) return ofValues(values, undefined);
  return type === undefined ? "it is missing" : `it is missing: expected ${typesText(type)}`;
}

function messageOf(error: Found): string {
  const { keyword, schema, data, params, parentSchema = {} } = error;
  const got = `, got ${shown(data)}`;
  switch (keyword) {
    case "type":
      return `expected ${typesText(schema)}${got}`;
    case "enum":
      return ofValues(schema as unknown[], data);
    case "const":
      return ofValues([schema], data);
    case "minLength":
    case "minItems":
      return PLAIN.error({ code: "too_small", origin: originOf(data), minimum: schema as number, input: data });
    case "maxLength":
    case "maxItems":
      return PLAIN.error({ code: "too_big", origin: originOf(data), maximum: schema as number, input: data });
    case "minimum":
      return `expected at least ${schema}${got}`;
    case "maximum":
      return `expected at most ${schema}${got}`;
    case "exclusiveMinimum":
      return `expected more than ${schema}${got}`;
    case "exclusiveMaximum":
      return `expected less than ${schema}${got}`;
    case "multipleOf":
      return `expected a multiple of ${schema}${got}`;
    case "pattern":
      return `expected text that matches ${schema}`;
    case "format":
      return `expected the format ${schema}${got}`;
    case "uniqueItems":
      return "two of its entries are the same";
    case "items":
    case "additionalItems":
    case "unevaluatedItems":
      return PLAIN.error({ code: "too_big", origin: "array", maximum: params.limit ?? params.len, input: data });
    case "minProperties":
      return `expected at least ${fields(Number(schema))}, got ${Object.keys(data as object).length}`;
    case "maxProperties":
      return `expected at most ${fields(Number(schema))}, got ${Object.keys(data as object).length}`;
    case "additionalProperties":
    case "unevaluatedProperties": {
      const name = String(params.additionalProperty ?? params.unevaluatedProperty).slice(0, 100);
      return `unknown field "${name}"${suggestion(name, Object.keys(parentSchema.properties ?? {}))}`;
    }
    default:
      return choiceMessage(error);
  }
}

function choiceMessage({ keyword, params, data, instancePath, inner = [] }: Found): string {
  switch (keyword) {
    case "anyOf":
    case "oneOf": {
      if (params.passingSchemas) return `${shown(data)} fits more than one of the forms, and only one is allowed`;
      const texts = inner.slice(0, MAX_FORMS).map((form) => {
        const { path, message } = problemOf({ ...form, instancePath: form.instancePath.slice(instancePath.length) });
        return path.length === 0 ? message : `${path.join(".")}: ${message}`;
      });
      return `it has none of the forms that are expected: ${[...new Set(texts)].join(", or ")}`;
    }
    case "contains": {
      const { minContains, maxContains } = params as { minContains: number; maxContains?: number };
      const most = maxContains === undefined ? "" : ` and at most ${maxContains}`;
      return `expected at least ${minContains}${most} of the entries that the schema describes under "contains"`;
    }
    case "propertyNames":
      return `the name "${String(params.propertyName).slice(0, 100)}" of a field does not fit`;
    case "not":
    case "false schema":
      return `${shown(data)} is not allowed here`;
    default:
      return `${shown(data)} does not fit "${keyword}" of the schema`;
  }
}

const fields = (count: number) => (count === 1 ? "1 field" : `${count} fields`);
const originOf = (data: unknown) => (Array.isArray(data) ? "array" : "string");

const ofValues = (values: readonly unknown[], input: unknown) =>
  PLAIN.error({ code: "invalid_value", values: values as string[], input });

function typesText(types: unknown): string {
  const names = Array.isArray(types) ? types : [types];
  return names
    .map((name) => (name === "object" ? "an object" : name === "integer" ? "a whole number" : typeName(name)))
    .join(" or ");
}
