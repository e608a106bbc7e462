/** The hook point of an external event: `event:<name>`, with the event's body as payload. */
import { z } from "zod";
import { type HookPoint, ownPoint } from "../../hooks/point.js";
import { isOfObjects, jsonSchemaOf } from "../../lib/json-schema.js";
import { compileEventSchema } from "../ingest/event-schema.js";
import { exampleOf } from "./json-schema-example.js";

export type EventName = `event:${string}`;
export type EventPoint = HookPoint<EventName, "void", Record<string, unknown>, Record<never, never>>;

export interface EventSpec {
  description?: string | undefined;
  /** A JSON schema of the body. Without it, or when it is of no object, nothing is known of the fields. */
  schema?: z.core.JSONSchema.JSONSchema | undefined;
}

export function eventName(event: string): EventName {
  return `event:${event}`;
}

export function eventPoint(event: string, { description, schema }: EventSpec): EventPoint {
  const payload = bodyOf(schema);
  return ownPoint({
    name: eventName(event),
    model: "void",
    summary: description ?? `The event ${event}, delivered by signed HTTP.`,
    payload,
    // What is made up may miss a constraint, such as a pattern; the fields are known all the same.
    example: payload === anyBody ? {} : (exampleOf(schema) as Record<string, unknown>),
  });
}

const anyBody = z.record(z.string(), z.unknown());

/** A body that is no object is fired as `{ value }`. */
function bodyOf(schema: EventSpec["schema"]): z.ZodType<Record<string, unknown>> {
  if (schema === undefined) return anyBody;
  const body = compileEventSchema(schema);
  const json = jsonSchemaOf(body);
  return isOfObjects(json, json) ? (body as z.ZodType<Record<string, unknown>>) : anyBody;
}
