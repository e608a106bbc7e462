/** A value that a JSON schema describes, for docs and `/fire-hook`: what the schema names as example, default or choice, else by type. */
import type { z } from "zod";

type JsonSchema = z.core.JSONSchema.JSONSchema;

const MAX_DEPTH = 6;

export function exampleOf(schema: JsonSchema | boolean | undefined, depth = 0): unknown {
  if (schema === undefined || typeof schema === "boolean" || depth > MAX_DEPTH) return {};
  const named = [schema.const, schema.default, schema.examples?.[0], schema.enum?.[0]].find((one) => one !== undefined);
  if (named !== undefined) return named;
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type) {
    case "string":
      return "text";
    case "number":
    case "integer":
      return schema.minimum ?? 1;
    case "boolean":
      return true;
    case "null":
      return null;
    case "array":
      return [];
    default:
      return Object.fromEntries(
        Object.entries(schema.properties ?? {}).map(([key, one]) => [key, exampleOf(one, depth + 1)]),
      );
  }
}
