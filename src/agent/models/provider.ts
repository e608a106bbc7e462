/** A configured model as the client library knows it. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { wrapLanguageModel } from "ai";
import type { ModelConfig } from "./config.js";

const OPENAI = "https://api.openai.com/v1";
const ANTHROPIC = "https://api.anthropic.com/v1";

export function languageModel(
  { provider, url, model }: ModelConfig,
  key: string | undefined,
  fetch: typeof globalThis.fetch,
): Parameters<typeof wrapLanguageModel>[0]["model"] {
  switch (provider) {
    case "openai-compatible":
      return createOpenAICompatible({
        name: "model",
        baseURL: url ?? OPENAI,
        apiKey: key,
        fetch,
      }).chatModel(model);
    case "anthropic":
      // Never left out: it would be looked for in the environment.
      return createAnthropic({ baseURL: url ?? ANTHROPIC, apiKey: key ?? "none", fetch }).languageModel(model);
  }
}
