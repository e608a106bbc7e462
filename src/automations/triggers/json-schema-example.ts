/** A value that a JSON schema describes, for docs and `/fire-hook`: what the schema names as example, default or choice, else by type. */
import type { z } from "zod";
import { isRecord } from "../../lib/record.js";

type JsonSchema = z.core.JSONSchema.JSONSchema;

const MAX_DEPTH = 6;

export function exampleOf(schema: JsonSchema | boolean | undefined, root = schema, depth = 0): unknown {
  if (schema === undefined || typeof schema === "boolean" || depth > MAX_DEPTH) return {};
  const named = [schema.const, schema.default, schema.examples?.[0], schema.enum?.[0]].find((one) => one !== undefined);
  if (named !== undefined) return named;
  const inner = (one: JsonSchema | boolean | undefined) => exampleOf(one, root, depth + 1);
  if (schema.$ref !== undefined) return inner(definitionOf(schema.$ref, root));
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type) {
    case "string":
      return FORMATS[schema.format ?? ""] ?? "text";
    case "number":
    case "integer":
      return numberOf(schema);
    case "boolean":
      return true;
    case "null":
      return null;
    case "array":
      return (schema.minItems ?? 0) > 0 ? [inner(itemOf(schema))] : [];
    default:
      return fieldsOf(schema, inner);
  }
}

const FORMATS: Readonly<Record<string, string>> = {
  "date-time": "2026-01-01T12:00:00Z",
  date: "2026-01-01",
  time: "12:00:00",
  email: "someone@example.org",
  uri: "https://example.org/",
  uuid: "123e4567-e89b-42d3-a456-426614174000",
  ipv4: "192.0.2.1",
};

function numberOf({ minimum, exclusiveMinimum, multipleOf }: JsonSchema): number {
  const least = minimum ?? (typeof exclusiveMinimum === "number" ? exclusiveMinimum + 1 : 1);
  return multipleOf === undefined ? least : Math.ceil(least / multipleOf) * multipleOf;
}

const itemOf = ({ items }: JsonSchema) => (Array.isArray(items) ? items[0] : items) as JsonSchema | boolean | undefined;

/** Its own, with those of all parts and of the first choice. */
function fieldsOf(schema: JsonSchema, inner: (one: JsonSchema | boolean | undefined) => unknown): unknown {
  const parts = [...(schema.allOf ?? []), ...(schema.anyOf ?? schema.oneOf ?? []).slice(0, 1)].map(inner);
  const own = Object.entries(schema.properties ?? {}).map(([key, one]) => [key, inner(one)]);
  const isOfFields = own.length > 0 || parts.every((part) => typeof part === "object" && part !== null);
  return isOfFields ? Object.assign(Object.fromEntries(own), ...parts) : parts[0];
}

function definitionOf(reference: string, root: JsonSchema | boolean | undefined): JsonSchema | boolean | undefined {
  const [, place, name = ""] = /^#\/(\$defs|definitions)\/(.+)$/.exec(reference) ?? [];
  const definitions: unknown = isRecord(root) && place !== undefined ? root[place] : undefined;
  return isRecord(definitions) ? (definitions[name] as JsonSchema | boolean | undefined) : undefined;
}
