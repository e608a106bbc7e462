/** The hook point of an external event: `event:<name>`, with the event's body as payload. */
import { z } from "zod";
import { definePoint, type HookPoint } from "../../hooks/point.js";
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
  const spec = {
    name: eventName(event),
    model: "void" as const,
    summary: description ?? `The event ${event}, delivered by signed HTTP.`,
  };
  const payload = bodyOf(schema);
  const example = payload.safeParse(exampleOf(schema));
  // What was made up may miss a constraint (a pattern, a range); then it is no example, and the fields stay unknown.
  if (example.success) return definePoint({ ...spec, payload, example: example.data });
  return definePoint({ ...spec, payload: anyBody, example: {} });
}

const anyBody = z.record(z.string(), z.unknown());

function bodyOf(schema: EventSpec["schema"]): z.ZodType<Record<string, unknown>> {
  const body = schema === undefined ? anyBody : compileEventSchema(schema);
  return body instanceof z.ZodObject ? body : anyBody;
}
