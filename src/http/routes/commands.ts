/** Operator commands: the table, completion, and running one for a program or the command line. */
import { z } from "zod";
import type { OptionValue } from "../../domain/chat/command.js";
import type { OutboundMessage } from "../../domain/chat/message.js";
import { HookgateError } from "../../lib/errors.js";
import { tokensInWords } from "../../lib/markdown/tokens.js";
import { readJson } from "../../lib/validation/json-depth.js";
import { operatorOf } from "../operator.js";
import { needWeb, personRoute } from "../route.js";

const invocation = z
  .strictObject({
    line: z.string().min(1).max(100_000).optional(),
    name: z.string().min(1).max(64).optional(),
    options: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
    source: z.enum(["api", "cli"]).optional(),
  })
  .refine(
    ({ line, name }) => (line === undefined) !== (name === undefined),
    "expected either line, or name and options",
  );

/** The other options of the line, as JSON: which list fits may hang on them. */
const given = z
  .string()
  .max(4_000)
  .transform((text, context): Record<string, OptionValue> => {
    const read = otherOptions.safeParse(readJson(text));
    if (read.success) return read.data;
    context.addIssue({ code: "custom", message: "expected a JSON object of the other options" });
    return z.NEVER;
  });
const otherOptions = z.record(z.string().max(64), z.union([z.string(), z.number(), z.boolean()]));

export const commandRoutes = [
  personRoute({
    method: "POST",
    path: "/api/command",
    summary: "`{ line }` or `{ name, options }`: runs an operator command; answers `{ outcome, text, message, data }`.",
    counts: "commands",
    isLong: true,
    body: invocation,
    async handle({ gateway, causeOf }, { person, body, request }) {
      const givenBy = await causeOf(request);
      const { line, name, options, source = "api" } = body;
      const {
        message,
        data,
        outcome = "done",
      } = await gateway.invoke({
        line,
        name,
        options: name === undefined ? undefined : (options ?? {}),
        source,
        operator: operatorOf(person, gateway),
        givenBy,
      });
      return { outcome, text: writtenOut(message), message, data: data ?? null };
    },
  }),
  personRoute({
    method: "GET",
    path: "/api/commands",
    summary:
      "The operator commands that the current user may use; `/task` without a role only for people who were given a task.",
    async handle(parts, { person }) {
      const commands = needWeb(parts).commands();
      return { commands: await parts.offeredTo(operatorOf(person, parts.gateway), commands) };
    },
  }),
  personRoute({
    method: "GET",
    path: "/api/complete",
    summary: "`?command=&option=&typed=&given=`: values that an option may take.",
    isLong: true,
    query: z.object({
      command: z.string().max(64),
      option: z.string().max(64),
      typed: z.string().max(500).default(""),
      given: given.optional(),
    }),
    async handle(parts, { person, query }) {
      return { choices: await needWeb(parts).complete(person, query) };
    },
  }),
];

/** The answer as one text, its card included, for terminals. */
function writtenOut({ text, card }: OutboundMessage): string {
  const fields = card?.fields?.map(({ name, value }) => `${name}: ${value}`) ?? [];
  const parts = [text, card?.title, card?.text, fields.join("\n"), card?.footer];
  const whole = parts.filter((part) => part !== undefined && part !== "").join("\n\n");
  if (whole === "") throw new HookgateError({ code: "INTERNAL", message: "the command answered nothing" });
  return tokensInWords(whole);
}
