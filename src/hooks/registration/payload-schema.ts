/** The JSON schema of a point's payload, made once: thousands of hooks may ask about the same few points. */
import { type JsonSchema, jsonSchemaOf } from "../../lib/validation/json-schema.js";
import type { HookPoint } from "../point.js";

const schemas = new WeakMap<HookPoint["payload"], JsonSchema>();

export function payloadSchema({ payload }: Pick<HookPoint, "payload">): JsonSchema {
  let schema = schemas.get(payload);
  if (schema === undefined) {
    schema = jsonSchemaOf(payload);
    schemas.set(payload, schema);
  }
  return schema;
}
