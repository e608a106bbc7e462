/** A schema that takes no fields but its own, at any depth. */
import { z } from "zod";

/** Results are checked with the same few schemas again and again. */
const made = new WeakMap<z.ZodType, z.ZodType>();

/** A copy of the schema, in which every object that names its fields is strict; checks and types stay. */
export function strictly<Schema extends z.ZodType>(schema: Schema): Schema {
  return strict(schema) as Schema;
}

function strict(schema: z.ZodType): z.ZodType {
  const known = made.get(schema);
  if (known !== undefined) return known;
  // For a schema that holds itself.
  made.set(
    schema,
    z.lazy(() => strict(schema)),
  );
  const result = strictForm(schema);
  made.set(schema, result);
  return result;
}

const inner = (schema: unknown) => strict(schema as z.ZodType);

function strictForm(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional) return inner(schema.unwrap()).optional();
  if (schema instanceof z.ZodNullable) return inner(schema.unwrap()).nullable();
  if (schema instanceof z.ZodDefault) return schema.clone({ ...schema.def, innerType: inner(schema.def.innerType) });
  if (schema instanceof z.ZodLazy) return z.lazy(() => inner(schema.unwrap()));
  if (schema instanceof z.ZodArray) return schema.clone({ ...schema.def, element: inner(schema.element) });
  if (schema instanceof z.ZodRecord) return schema.clone({ ...schema.def, valueType: inner(schema.valueType) });
  if (schema instanceof z.ZodUnion) return schema.clone({ ...schema.def, options: schema.options.map(inner) });
  if (!(schema instanceof z.ZodObject)) return schema;
  const { catchall } = schema.def;
  const shape = Object.entries(schema.shape).map(([key, field]) => [key, inner(field)]);
  const same = schema.clone({ ...schema.def, shape: Object.fromEntries(shape) });
  return catchall === undefined || catchall instanceof z.ZodNever ? same.strict() : same;
}
