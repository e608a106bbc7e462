/** The hook point of an external event: `event:<name>`, with the event's body as payload. */
import { z } from "zod";
import { type HookPoint, ownPoint } from "../../hooks/point.js";
import { isOfTypes, type JsonSchema, jsonSchemaOf } from "../../lib/validation/json-schema.js";
import { compileEventSchema } from "../ingest/event-schema.js";
import { exampleOf } from "./json-schema-example.js";

export type EventName = `event:${string}`;
export type EventPoint = HookPoint<EventName, "void", Record<string, unknown>, Record<never, never>>;

export interface EventSpec {
  description?: string | undefined;
  /** A JSON schema of the body. Without it, or when the body may or may not be an object, nothing is known of the fields. */
  schema?: z.core.JSONSchema.JSONSchema | undefined;
}

export function eventName(event: string): EventName {
  return `event:${event}`;
}

export function eventPoint(event: string, { description, schema }: EventSpec): EventPoint {
  return ownPoint({
    name: eventName(event),
    model: "void",
    summary: description ?? `The event ${event}, delivered by signed HTTP.`,
    ...payloadOf(schema),
  });
}

const anyBody = z.record(z.string(), z.unknown());

/**
 * A body that is no object is fired as `{ value }`. An example that is made up may miss a constraint, such as a pattern; its fields are
 * known all the same.
 */
function payloadOf(schema: EventSpec["schema"]): Pick<EventPoint, "payload" | "example"> {
  if (schema === undefined) return { payload: anyBody, example: {} };
  const body = compileEventSchema(schema);
  const json = jsonSchemaOf(body);
  if (isOfTypes(json, json, (type) => type === "object"))
    return { payload: body as EventPoint["payload"], example: exampleOf(schema) as Record<string, unknown> };
  // A reference to the whole schema would be one to the map that holds the body.
  const isKnown = isOfTypes(json, json, (type) => type !== "object") && !JSON.stringify(json).includes('"$ref":"#"');
  if (!isKnown) return { payload: anyBody, example: {} };
  const { $defs, definitions }: JsonSchema = json;
  return {
    payload: z.strictObject({ value: body }).meta({ $defs, definitions }),
    example: { value: exampleOf(schema) },
  };
}
