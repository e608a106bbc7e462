/** Options of the `agent` handler. */
import { z } from "zod";
import { isBlank } from "../../../lib/markdown/clean.js";
import { nearest } from "../../../lib/validation/nearest.js";
import { chatAddress } from "../../outgoing/chat-address.js";
import { toolNames } from "./tools/names.js";

const toolName = z.string().superRefine((name, context) => {
  if (toolNames.some((known) => known === name)) return;
  const near = nearest(name, toolNames);
  const guess = near === undefined ? "" : ` (did you mean "${near}"?)`;
  context.addIssue({
    code: "custom",
    message: `there is no tool "${name}"${guess}; expected one of ${toolNames.join(", ")}`,
  });
});

export const agentOptions = z.strictObject({
  prompt: z
    .string()
    .refine((text) => !isBlank(text), "the prompt is empty: write what the agent shall do")
    .describe("What it shall do. Values that templates put in are fenced as data."),
  system: z.string().optional().describe("Who it is, before the rules that every hook's agent gets."),
  model: z.string().min(1).optional().describe("The model, a name of `models:`; the default model when absent."),
  tools: z
    .array(toolName)
    .default([])
    .describe(`What it may do: ${toolNames.join(", ")}.`),
  send_to: z
    .array(chatAddress)
    .default([])
    .describe("Where send_message may go; by default only to the conversation that the event is about."),
  max_messages: z.int().min(1).max(100).default(5).describe("How many messages send_message may send in one run."),
  decides: z.boolean().default(false).describe("Gives it the tool `decide`: pass, block, modify or claim."),
  max_rounds: z.int().min(1).max(50).default(8).describe("Requests to the model in one run."),
  max_output_tokens: z.int().min(1).max(200_000).default(4096).describe("The most output tokens of one answer."),
  max_tokens: z.int().min(1).max(10_000_000).default(100_000).describe("In and out, in one run."),
  max_cost_usd: z.number().positive().optional().describe("In one run; needs a model whose price is known."),
  temperature: z
    .number()
    .min(0)
    .max(2)
    .optional()
    .describe("As the provider understands it; its own default when absent."),
});
export type AgentOptions = z.output<typeof agentOptions>;
