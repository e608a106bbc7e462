/** Settings of language models: `models:` in hookgate.yaml. */
import { z } from "zod";
import { variableName } from "../../lib/process/program-fields.js";
import { deadline } from "../../lib/validation/config-fields.js";

const modelConfig = z.strictObject({
  provider: z
    .enum(["openai-compatible", "anthropic"])
    .describe("The wire format: OpenAI's chat completions, which most servers speak, or Anthropic's messages."),
  url: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe("The API's address, version included. Default: that of OpenAI or Anthropic."),
  key_env: variableName.optional().describe("The environment variable with the key; none for a server without keys."),
  model: z.string().min(1).describe("The model's name, as the provider writes it."),
  price: z
    .strictObject({
      input: z.number().nonnegative().describe("The price of a million input tokens, in US dollars."),
      output: z.number().nonnegative().describe("The price of a million output tokens, in US dollars."),
    })
    .optional()
    .describe("Used to compute the cost when the provider does not report it."),
  timeout: deadline("2m").describe("The longest time of one request to the model."),
  retries: z
    .number()
    .int()
    .min(0)
    .max(10)
    .default(2)
    .describe("How often a request that met 429, 5xx or no answer is repeated, with back-off and Retry-After."),
});
export type ModelConfig = z.output<typeof modelConfig>;

export const modelsConfig = z.strictObject({
  default: z.string().optional().describe("The model that is asked when none is named. Default: the only one."),
  available: z
    .record(z.string().regex(/^[\w.-]{1,64}$/), modelConfig)
    .default({})
    .describe("Models by name; hooks, runners and assessments use the name."),
});
export type ModelsConfig = z.output<typeof modelsConfig>;
