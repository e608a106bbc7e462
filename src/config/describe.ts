/** Reads settings out of a zod schema: for docs/configuration.md, hookgate.yaml, .env.example and "did you mean". */
import { z } from "zod";
import { unwrap } from "../lib/validation/schema-keys.js";

export interface Setting {
  /** `discord.access.dms`; `[]` marks the entries of a list, `<name>` those of a record. */
  path: string;
  description: string;
  /** `text`, `number`, `yes/no`, `duration`, `a | b`, `list of …`, `settings`. */
  type: string;
  /** The default as it is written in YAML (JSON form); undefined when there is none. */
  fallback: string | undefined;
}

/** Every setting, depth first, in the order of the schema. */
export function describeSettings(schema: z.core.$ZodType, path = ""): Setting[] {
  const { inner } = unwrap(schema);
  const at = (key: string) => (path ? `${path}.${key}` : key);
  if (inner instanceof z.ZodObject)
    return Object.entries(inner.shape).flatMap(([key, child]) => [
      settingOf(at(key), child),
      ...describeSettings(child, at(key)),
    ]);
  if (inner instanceof z.ZodArray) return describeSettings(inner.def.element, `${path}[]`);
  if (inner instanceof z.ZodRecord) return describeSettings(inner.def.valueType, at("<name>"));
  if (inner instanceof z.ZodUnion) {
    const objects = inner.def.options.filter((option) => unwrap(option).inner instanceof z.ZodObject);
    return objects.flatMap((option) => describeSettings(option, path));
  }
  return [];
}

function settingOf(path: string, schema: z.core.$ZodType): Setting {
  const { description, fallback } = unwrap(schema);
  return {
    path,
    description: description ?? "",
    type: typeName(schema),
    fallback: fallback === undefined ? undefined : JSON.stringify(fallback),
  };
}

function typeName(schema: z.core.$ZodType): string {
  const { inner, transformed } = unwrap(schema);
  if (inner instanceof z.ZodString || inner instanceof z.ZodStringFormat)
    return transformed && isDuration(schema) ? "duration" : "text";
  if (inner instanceof z.ZodNumber) return "number";
  if (inner instanceof z.ZodBoolean) return "yes/no";
  if (inner instanceof z.ZodEnum) return inner.options.join(" \\| ");
  if (inner instanceof z.ZodLiteral) return [...inner.values].map(String).join(" \\| ");
  if (inner instanceof z.ZodArray) return `list of ${typeName(inner.def.element)}`;
  if (inner instanceof z.ZodRecord) return `settings by name`;
  if (inner instanceof z.ZodUnion) return [...new Set(inner.def.options.map(typeName))].join(" or ");
  if (inner instanceof z.ZodObject) return "settings";
  return "any";
}

/** Whether it takes a duration and nothing else; asked of the schema itself, since a transform does not show its kind. */
function isDuration(schema: z.core.$ZodType): boolean {
  return z.safeParse(schema, "5s").data === 5000 && !z.safeParse(schema, "web:web:lobby").success;
}
