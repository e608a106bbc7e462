/** A schema that takes no fields but its own, at any depth. */
import { z } from "zod";

/** The same schema, with every object in it strict; checks and types stay. */
export function strictly<Schema extends z.ZodType>(schema: Schema): Schema {
  return strict(schema) as Schema;
}

function strict(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional) return strict(schema.unwrap() as z.ZodType).optional();
  if (schema instanceof z.ZodArray)
    return schema.clone({ ...schema.def, element: strict(schema.element as z.ZodType) });
  if (schema instanceof z.ZodUnion)
    return schema.clone({ ...schema.def, options: schema.options.map((option) => strict(option as z.ZodType)) });
  if (!(schema instanceof z.ZodObject)) return schema;
  const shape = Object.entries(schema.shape).map(([key, field]) => [key, strict(field as z.ZodType)]);
  return schema.clone({ ...schema.def, shape: Object.fromEntries(shape) }).strict();
}
