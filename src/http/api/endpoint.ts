/**
 * An endpoint of /api/v1: an operator command under an address of its own, with everything it takes and answers declared. The command
 * does the work and checks roles, audit and masking, so that no entrance allows an action that another refuses.
 */
import { createHash } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { z } from "zod";
import type { OptionValue } from "../../domain/chat/command.js";
import type { CommandAnswer } from "../../gateway/commands.js";
import { HookgateError } from "../../lib/errors.js";
import { operatorOf } from "../operator.js";
import { personRoute, type Route } from "../route.js";

export const API_ROOT = "/api/v1";

export interface Endpoint extends Route {
  /** Further facts for the OpenAPI document. */
  readonly id: string;
  readonly schemas: {
    readonly headers?: z.ZodType;
    readonly params?: z.ZodType;
    readonly query?: z.ZodType;
    readonly body?: z.ZodType;
    readonly answer: z.ZodType;
  };
}

export interface Given<P, Q, B> {
  params: P;
  query: Q;
  body: B;
}

interface Declaration<P, Q, B, A> {
  method: "GET" | "POST";
  /** Below the root: `/hooks/:id`. */
  path: string;
  /** The name of the operation in generated clients. */
  id: string;
  summary: string;
  params?: z.ZodType<P>;
  query?: z.ZodType<Q>;
  body?: z.ZodType<B>;
  /** The answer takes long to make, as that of each GET may: one person may have few of them under way. */
  isLong?: true;
  /** The request creates something: sent twice with the same Idempotency-Key, it creates it once. */
  creates?: true;
  /** The schema of the command's data; fields that the schema does not name are left out. */
  answer: z.ZodType<A>;
  command(given: Given<P, Q, B>): { name: string; options: Record<string, OptionValue | undefined> };
}

const KEY = "idempotency-key";
const creating = z.object({
  [KEY]: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe(
      "A key of the sender's choice for one request. The same request with the same key creates nothing twice, and answers what the first one created. Another request with this key is refused (422), for 90 days at least.",
    ),
});

export function endpoint<P = unknown, Q = unknown, B = unknown, A = unknown>(
  declaration: Declaration<P, Q, B, A>,
): Endpoint {
  const { id, answer, command, creates, ...rest } = declaration;
  const { params, query, body } = declaration;
  const route = personRoute<P, Q, B>({
    ...rest,
    counts: "commands",
    isLong: declaration.method === "GET" || declaration.isLong === true,
    path: `${API_ROOT}${declaration.path}`,
    async handle({ gateway, causeOf, idempotencyKeys }, { person, request, params, query, body }) {
      // Looking at something sets nothing off.
      const givenBy = declaration.method === "GET" ? undefined : await causeOf(request);
      const { name, options } = command({ params, query, body });
      const once = creates && onceOf(request, `${id}:${person.id}`);
      const act = async () =>
        dataOf(
          await gateway.invoke({
            name,
            options: givenOptions(options),
            operator: operatorOf(person, gateway),
            givenBy,
            once: once === undefined ? undefined : `i_${once}`,
          }),
        );
      return answer.parse(
        await (once === undefined ? act() : idempotencyKeys.once(once, { params, query, body }, act)),
      );
    },
  });
  const schemas = {
    headers: creates ? creating : undefined,
    params,
    query,
    body,
    answer,
  };
  return { ...route, id, schemas };
}

/** A key is its sender's own, and for one endpoint. */
function onceOf({ headers }: FastifyRequest, whose: string): string | undefined {
  const read = creating.safeParse(headers);
  if (!read.success)
    throw new HookgateError({
      code: "BODY_INVALID",
      message: "Idempotency-Key is not as expected: 1 to 200 characters",
    });
  const key = read.data[KEY];
  if (key === undefined) return undefined;
  return createHash("sha256").update(`${whose}:${key}`).digest("hex").slice(0, 24);
}

function givenOptions(options: Record<string, OptionValue | undefined>): Record<string, OptionValue> {
  const given: Record<string, OptionValue> = {};
  for (const [name, value] of Object.entries(options)) if (value !== undefined) given[name] = value;
  return given;
}

/** A hook that failed is an answer; a command that could not do its work is an error. */
function dataOf({ message, data, outcome }: CommandAnswer): unknown {
  if (outcome === "refused") throw new HookgateError({ code: "FORBIDDEN", message: message.text });
  const error = errorIn(data);
  if (error) throw new HookgateError(error);
  return data;
}

function errorIn(data: unknown): { code: string; message: string; hint?: string } | undefined {
  if (typeof data !== "object" || data === null || !("error" in data)) return undefined;
  const { error } = data;
  if (typeof error !== "object" || error === null || !("code" in error) || !("message" in error)) return undefined;
  const hint = "hint" in error && typeof error.hint === "string" ? { hint: error.hint } : {};
  return { code: String(error.code), message: String(error.message), ...hint };
}
