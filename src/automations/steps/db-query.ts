/** `- db_query:`: a named, read-only query over the stored data. */
import { z } from "zod";
import { HookgateError } from "../../lib/errors.js";
import { type JsonSchema, jsonSchemaOf } from "../../lib/validation/json-schema.js";
import { nearest } from "../../lib/validation/nearest.js";
import { PLAIN_MANY } from "../../lib/validation/plain-issues.js";
import { issuesOf, suggestion } from "../../lib/validation/schema-issues.js";
import { valueProblem } from "../../lib/validation/value-problem.js";
import { rows } from "../answers/rows.js";
import type { Machine } from "../handler.js";
import { type QueryName, queries } from "../queries.js";
import type { Step, StepContext, StepResult } from "../step.js";
import { isTemplate } from "../template/is-template.js";

const NAMES = Object.keys(queries);

const dbQueryOptions = z
  .strictObject({
    query: z.string().describe(`What is asked: ${NAMES.join(", ")}.`),
    args: z
      .record(z.string(), z.union([z.string(), z.number()]))
      .default({})
      .describe("Its arguments, with templates."),
  })
  .superRefine(({ query, args }, context) => {
    const problem = queryProblem(query);
    if (problem !== undefined) return context.addIssue({ code: "custom", message: problem, path: ["query"] });
    const { args: schema } = queries[query as keyof typeof queries];
    const known = Object.keys(schema.shape);
    for (const name of Object.keys(args))
      if (!known.includes(name))
        context.addIssue({
          code: "custom",
          message: `${query} takes ${known.join(", ") || "no arguments"}${suggest(name, known)}`,
          path: ["args", name],
        });
    const literal = Object.entries(args).filter(([name, value]) => known.includes(name) && !isTemplate(String(value)));
    const { error } = schema.safeParse(Object.fromEntries(literal), PLAIN_MANY);
    for (const { path, message } of error === undefined ? [] : issuesOf(error, ["args"]))
      context.addIssue({ code: "custom", message, path: [...path] });
  });

export const dbQueryStep: Step<z.output<typeof dbQueryOptions>> = {
  name: "db_query",
  summary: "Asks what Hookgate keeps: runs, messages, deliveries, dispatches, tasks, missions, alerts, hooks.",
  options: dbQueryOptions,
  verbatim: ["query"],
  fields: { rows: "array", count: "number", truncated: "boolean" },
  itemsOf: ({ query }) => ({ rows: rowSchema(query) }),
  missing: ({ args: { hook, chat, assign_to, plan } }, machine) => [
    ...namedHookProblem(hook, machine),
    ...namedChatProblem(chat, machine),
    ...unlessKnown(assign_to, machine.agentProblem),
    ...unlessKnown(plan, (id) =>
      machine.plans === undefined || machine.plans.includes(id)
        ? undefined
        : `there is no plan "${id}"${suggestion(id, machine.plans)}`,
    ),
  ],
  run: ({ query, args }, context) => askRows(query, args, context),
};

/** The schema of the rows of a query. */
export function rowSchema(query: string): JsonSchema {
  return jsonSchemaOf(rows[query as QueryName]);
}

/** Why no row can be about the hook that a step names. */
export const namedHookProblem = (hook: Argument, { hookProblem }: Machine) => unlessKnown(hook, hookProblem);

/** Why no row can be of the chat that a step names. */
export const namedChatProblem = (chat: Argument, { chatIdProblem }: Machine) => unlessKnown(chat, chatIdProblem);

type Argument = string | number | undefined;

function unlessKnown(name: Argument, problemOf: (name: string) => string | undefined): string[] {
  if (name === undefined || isTemplate(String(name))) return [];
  const problem = problemOf(String(name));
  return problem === undefined ? [] : [`${problem}, so no row matches`];
}

/** Rows within the step's bytes; the newest come first, so the oldest are left out. */
export async function askRows(
  query: string,
  args: Readonly<Record<string, unknown>>,
  context: StepContext,
): Promise<StepResult> {
  const schema = queries[query as keyof typeof queries].args;
  const checked = schema.safeParse(args);
  if (!checked.success)
    throw new HookgateError({
      code: "QUERY_ARGUMENTS",
      message: valueProblem(schema, args) ?? "",
    });
  const found = await context.reach.query(query, checked.data);
  const kept: Record<string, unknown>[] = [];
  let bytes = 2;
  for (const row of found) {
    bytes += Buffer.byteLength(JSON.stringify(row)) + 1;
    if (bytes > context.maxBytes) break;
    kept.push(row);
  }
  return {
    value: { rows: kept, count: found.length, truncated: kept.length < found.length },
    text: JSON.stringify(kept),
    isEmpty: found.length === 0,
  };
}

function queryProblem(query: string): string | undefined {
  if (NAMES.includes(query)) return undefined;
  return `there is no query "${query}": there are ${NAMES.join(", ")}${suggest(query, NAMES)}`;
}

function suggest(name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  return near === undefined ? "" : `; did you mean "${near}"?`;
}
