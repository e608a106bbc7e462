/** Language models as hooks and agents use them: the answer, the tools, the limits. No provider in here. */
import type { z } from "zod";
import type { ModelUsage, ToolCallRecord } from "./automation.js";

export interface ModelTool<Args = unknown> {
  name: string;
  description: string;
  args: z.ZodType<Args>;
  /** A call of it that succeeds ends the work: the model is not asked again. */
  isLast?: boolean;
  /** The model receives the result as JSON. It receives a thrown error as an error, and may go on. */
  run(args: Args, signal: AbortSignal): Promise<unknown>;
}

/** Asking ends at the first bound that is reached; one round is one request to the model. */
export interface ModelBounds {
  rounds: number;
  /** Tokens of one answer. */
  outputTokens: number;
  /** In and out, over all rounds. No answer is allowed to go beyond it. */
  totalTokens: number;
  /** Over all rounds, likewise; needs a model whose price is known. */
  costUsd?: number;
}

export interface ModelRequest {
  /** A name of `models:`; the default one when absent. */
  model?: string;
  system: string;
  prompt: string;
  tools: readonly ModelTool[];
  bounds: ModelBounds;
  temperature?: number;
  signal: AbortSignal;
}

export type BoundName = "rounds" | "output_tokens" | "total_tokens" | "cost";

export interface ModelFacts {
  usage: ModelUsage;
  rounds: number;
  toolCalls: readonly ToolCallRecord[];
}

export type ModelAnswer =
  | ({ kind: "answered"; text: string } & ModelFacts)
  /** The model would have gone on. `text`: the text that it had written by then. */
  | ({ kind: "bounded"; bound: BoundName; text: string } & ModelFacts)
  /** No answer came, or none that can be read. Usage before the failure is still reported. */
  | ({
      kind: "failed";
      /** The cause of the failure, for everybody. */
      error: string;
      /** The text that the server wrote, which may quote the prompt: it is shown as output, and never as a reason. */
      said?: string;
      isRetryable: boolean;
      retryAfterMs?: number;
      timedOut?: boolean;
    } & ModelFacts)
  /** No such model is configured. */
  | { kind: "unknown"; error: string };

export interface Models {
  readonly names: readonly string[];
  /** Never rejects, not even when `signal` aborts: that is a failure that timed out. */
  ask(request: ModelRequest): Promise<ModelAnswer>;
}
