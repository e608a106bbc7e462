/** Tokens and cost: as the provider reports them, or computed from the configured price. */
import type { LanguageModelUsage } from "ai";
import type { ModelUsage } from "../../domain/automation.js";
import type { ModelConfig } from "./config.js";

type Spent = Omit<ModelUsage, "model">;

/** The usage of one round. A figure that is not known, or cannot be true, stays absent: no figure is made up or negative. */
export function usageOf({ raw, ...reported }: LanguageModelUsage, { price }: ModelConfig): Spent {
  const inputTokens = amount(reported.inputTokens);
  const outputTokens = amount(reported.outputTokens);
  const reportedUsd = amount(raw?.cost);
  const isCounted = inputTokens !== undefined && outputTokens !== undefined;
  const computedUsd =
    price && isCounted ? (inputTokens * price.input + outputTokens * price.output) / 1_000_000 : undefined;
  const costUsd = reportedUsd ?? computedUsd;
  return {
    inputTokens,
    outputTokens,
    costUsd,
  };
}

const amount = (value: unknown) =>
  typeof value === "number" && value >= 0 && Number.isFinite(value) ? value : undefined;

export function addUsage({ model, ...sum }: ModelUsage, one: Spent): ModelUsage {
  const inputTokens = added(sum.inputTokens, one.inputTokens);
  const outputTokens = added(sum.outputTokens, one.outputTokens);
  const costUsd = added(sum.costUsd, one.costUsd);
  return {
    model,
    inputTokens,
    outputTokens,
    costUsd,
  };
}

function added(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : b === undefined ? a : a + b;
}
