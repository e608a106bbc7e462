/** The OpenAPI document of /api/v1, made from the endpoints' own schemas. */
import { z } from "zod";
import type { Endpoint } from "./endpoint.js";
import { PROBLEM_TYPE, problem } from "./problem.js";

export function openApiDocument(endpoints: readonly Endpoint[]): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const one of endpoints) {
    const path = one.path.replace(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [one.method.toLowerCase()]: operationOf(one) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Hookgate",
      version: "1",
      description: "Hooks and their runs. The role of the token's person decides, as in chat; every call is audited.",
    },
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      schemas: { Problem: schemaOf(problem, "output") },
    },
  };
}

function operationOf({ id, summary, schemas }: Endpoint): Record<string, unknown> {
  return {
    operationId: id,
    summary,
    parameters: [
      ...parametersOf(schemas.params, "path"),
      ...parametersOf(schemas.query, "query"),
      ...parametersOf(schemas.headers, "header"),
    ],
    requestBody: schemas.body && {
      content: { "application/json": { schema: schemaOf(schemas.body, "input") } },
    },
    responses: {
      200: { description: "Done.", content: { "application/json": { schema: schemaOf(schemas.answer, "output") } } },
      default: {
        description: "What went wrong.",
        content: { [PROBLEM_TYPE]: { schema: { $ref: "#/components/schemas/Problem" } } },
      },
    },
  };
}

function parametersOf(schema: z.ZodType | undefined, place: "path" | "query" | "header"): Record<string, unknown>[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = schemaOf(schema, "input");
  return Object.entries(properties).map(([name, one]) => {
    const { description, ...rest } = typeof one === "object" ? one : {};
    return {
      name,
      in: place,
      required: place === "path" || required.includes(name),
      description: description || undefined,
      schema: rest,
    };
  });
}

function schemaOf(schema: z.ZodType, io: "input" | "output") {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return rest;
}
