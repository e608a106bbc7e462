/** `- journal:`: the latest runs of hooks, or messages. */
import { z } from "zod";
import { since } from "../queries.js";
import type { Step } from "../step.js";
import { isTemplate } from "../template/is-template.js";
import { askRows, namedChatProblem, namedHookProblem, rowSchema } from "./db-query.js";

const journalOptions = z
  .strictObject({
    of: z.enum(["runs", "messages", "dispatches"]).default("runs").describe("What is looked at."),
    hook: z.string().min(1).optional().describe("Runs and dispatches of this hook only."),
    chat: z.string().min(1).optional().describe("Messages of this chat only."),
    since: z.string().min(1).optional().describe("Not older than this: `1h`, or a time."),
    limit: z.int().min(1).max(200).default(10).describe("How many, newest first."),
  })
  .superRefine(({ of, hook, chat, since: from = "" }, context) => {
    const problem = isTemplate(from) ? undefined : since.safeParse(from || undefined).error?.issues[0]?.message;
    if (problem !== undefined) context.addIssue({ code: "custom", message: problem, path: ["since"] });
    if (hook !== undefined && of === "messages")
      context.addIssue({
        code: "custom",
        message: "messages are of no hook: name a `chat`, or ask for runs",
        path: ["hook"],
      });
    if (chat !== undefined && of !== "messages")
      context.addIssue({ code: "custom", message: "only messages are of a chat", path: ["chat"] });
  });

export const journalStep: Step<z.output<typeof journalOptions>> = {
  name: "journal",
  summary: "Looks at recent runs, messages or dispatches.",
  options: journalOptions,
  verbatim: ["of"],
  fields: { rows: "array", count: "number", truncated: "boolean" },
  itemsOf: ({ of }) => ({ rows: rowSchema(of) }),
  missing: ({ hook, chat }, machine) => [...namedHookProblem(hook, machine), ...namedChatProblem(chat, machine)],
  run: ({ of, ...args }, context) => askRows(of, args, context),
};
