/** Events that come in from outside: `events:` in hookgate.yaml. */
import { z } from "zod";
import { errorMessage } from "../../lib/errors.js";
import { variableName } from "../../lib/process/program-fields.js";
import { compileEventSchema } from "./event-schema.js";

const jsonSchema = z.record(z.string(), z.json()).superRefine((schema, context) => {
  try {
    compileEventSchema(schema);
  } catch (error) {
    context.addIssue({ code: "custom", message: `this JSON schema cannot be used: ${errorMessage(error)}` });
  }
});

const eventConfig = z.strictObject({
  description: z.string().optional().describe("What the event reports, for people."),
  secret_env: z
    .union([variableName, z.array(variableName).min(1).max(2)])
    .describe("The environment variable with the secret that signs the event; two while the secret is changed."),
  schema: jsonSchema
    .optional()
    .describe(
      "A JSON schema (draft 2020-12; most of earlier drafts works) that the body of the event must match. With `properties` or `required` at its root, the body is an object; a field is one only with `type: object`. Its patterns are RE2 (no look-around, no back-references). A body that is no object reaches hooks as `{ value: <body> }`.",
    ),
  max_bytes: z
    .number()
    .int()
    .min(1)
    .max(4_000_000)
    .default(262_144)
    .describe("The largest body of an event that is accepted, in bytes."),
  max_waiting: z
    .int()
    .min(1)
    .default(1_000)
    .describe(
      "How many of these events may wait: not handled yet, or with a run in a queue. Further ones get 429 with Retry-After and are not stored; /status shows it.",
    ),
});
export type EventConfig = z.output<typeof eventConfig>;

export const eventsConfig = z
  .record(z.string().regex(/^[a-z0-9][a-z0-9_.-]{0,63}$/i, "expected a name such as deploy-finished"), eventConfig)
  .default({});
export type EventsConfig = z.output<typeof eventsConfig>;
