/**
 * The budget that is left, computed before each request so that no answer goes beyond it: the answer may use the tokens that are left
 * after the request itself. How many tokens a request takes is known only afterwards; until then a text that the model has not counted
 * is taken for one token every two bytes, which is more than any text that people write.
 */
import type { ModelUsage } from "../../domain/automation.js";
import type { BoundName, ModelBounds } from "../../domain/model.js";
import type { ModelConfig } from "./config.js";

/** A bound that leaves no room for another request. */
export class BoundReached extends Error {
  readonly bound: BoundName;
  constructor(bound: BoundName) {
    super(`nothing is left of ${bound}`);
    this.bound = bound;
  }
}

export interface Budget {
  /** How long the answer to this request may be, in tokens. Throws BoundReached when there is no room for one. */
  answerTokens(request: unknown): number;
  /** Subtracts the usage of the request that was asked for; figures that the provider does not report are taken from above. */
  spend(usage: Omit<ModelUsage, "model">): void;
  /** Why the last answer was allowed no more. */
  readonly tightest: BoundName;
}

const BYTES_A_TOKEN = 2;
/** Less than that is no answer. */
const SHORTEST = 16;

export function createBudget({ outputTokens, totalTokens, costUsd }: ModelBounds, price: ModelConfig["price"]): Budget {
  let tokens = 0;
  let cost = 0;
  /** The last request: its bytes, and the tokens that the model counted. */
  let counted = { bytes: 0, tokens: 0 };
  let asked = { bytes: 0, tokens: 0, allowed: 0 };
  let tightest: BoundName = "output_tokens";

  return {
    get tightest() {
      return tightest;
    },
    answerTokens(request) {
      const bytes = Buffer.byteLength(JSON.stringify(request) ?? "");
      const input = counted.tokens + Math.ceil(Math.max(0, bytes - counted.bytes) / BYTES_A_TOKEN);
      const limits: [BoundName, number][] = [
        ["output_tokens", outputTokens],
        ["total_tokens", totalTokens - tokens - input],
        ["cost", affordable(input)],
      ];
      const [bound, allowed] = limits.reduce((least, one) => (one[1] < least[1] ? one : least));
      tightest = bound;
      if (allowed < Math.min(SHORTEST, outputTokens)) throw new BoundReached(bound);
      asked = { bytes, tokens: input, allowed: Math.floor(allowed) };
      return asked.allowed;
    },
    spend({ inputTokens = asked.tokens, outputTokens: out = asked.allowed, costUsd: reportedUsd }) {
      tokens += inputTokens + out;
      cost += reportedUsd ?? costOf(inputTokens, out);
      counted = { bytes: asked.bytes, tokens: inputTokens };
    },
  };

  function affordable(input: number): number {
    if (costUsd === undefined || price === undefined) return Number.POSITIVE_INFINITY;
    const left = costUsd - cost - costOf(input, 0);
    if (left < 0) return 0;
    return price.output === 0 ? Number.POSITIVE_INFINITY : (left * 1_000_000) / price.output;
  }

  function costOf(input: number, output: number): number {
    return price === undefined ? 0 : (input * price.input + output * price.output) / 1_000_000;
  }
}
