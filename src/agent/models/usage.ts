/** Tokens and cost: as the provider reports them, or reckoned from the configured price. */
import type { LanguageModelUsage } from "ai";
import type { ModelUsage } from "../../domain/automation.js";
import type { ModelConfig } from "./config.js";

type Spent = Omit<ModelUsage, "model">;

/** Of one round. What is not known stays absent: no figure is made up. */
export function usageOf({ inputTokens, outputTokens, raw }: LanguageModelUsage, { price }: ModelConfig): Spent {
  const reported = typeof raw?.cost === "number" ? raw.cost : undefined;
  const isCounted = inputTokens !== undefined && outputTokens !== undefined;
  const reckoned =
    price && isCounted ? (inputTokens * price.input + outputTokens * price.output) / 1_000_000 : undefined;
  const costUsd = reported ?? reckoned;
  return {
    ...(inputTokens === undefined ? {} : { inputTokens }),
    ...(outputTokens === undefined ? {} : { outputTokens }),
    ...(costUsd === undefined ? {} : { costUsd }),
  };
}

export function addUsage({ model, ...sum }: ModelUsage, one: Spent): ModelUsage {
  const inputTokens = added(sum.inputTokens, one.inputTokens);
  const outputTokens = added(sum.outputTokens, one.outputTokens);
  const costUsd = added(sum.costUsd, one.costUsd);
  return {
    model,
    ...(inputTokens === undefined ? {} : { inputTokens }),
    ...(outputTokens === undefined ? {} : { outputTokens }),
    ...(costUsd === undefined ? {} : { costUsd }),
  };
}

function added(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : b === undefined ? a : a + b;
}
