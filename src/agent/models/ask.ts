/** Asks one model one question: rounds of answers and tool calls, until it has answered or a bound is reached. */
import { APICallError, generateText, type StepResult, stepCountIs, type ToolSet, wrapLanguageModel } from "ai";
import type { ModelUsage, ToolCallRecord } from "../../domain/automation.js";
import type { ModelAnswer, ModelFacts, ModelRequest } from "../../domain/model.js";
import { errorMessage, HookgateError } from "../../lib/errors.js";
import type { Clock } from "../../lib/time/clock.js";
import { BoundReached, type Budget, createBudget } from "./budget.js";
import type { ModelConfig } from "./config.js";
import { patientFetch, RequestTimedOut } from "./patient-fetch.js";
import { languageModel } from "./provider.js";
import { checkCalls, type RecordedTools, recordedTools } from "./recorded-tools.js";
import { addUsage, usageOf } from "./usage.js";

export interface Asked {
  /** The model's name in the configuration. */
  name: string;
  model: ModelConfig;
  key: string | undefined;
  clock: Clock;
}

export async function askModel({ name, model, key, clock }: Asked, request: ModelRequest): Promise<ModelAnswer> {
  const { bounds, signal } = request;
  // The library writes warnings about settings that a model lacks to the console; ours go nowhere near it.
  globalThis.AI_SDK_LOG_WARNINGS = false;
  const spent: { usage: ModelUsage; rounds: number; text: string } = { usage: { model: name }, rounds: 0, text: "" };
  const recorded = recordedTools(request.tools, signal, clock);
  const budget = createBudget(bounds, model.price);
  const last = new Set(request.tools.filter(({ isLast }) => isLast === true).map(({ name: one }) => one));
  const hasFinished = () => recorded.calls.some(({ tool, error }) => last.has(tool) && error === undefined);
  const facts = (): ModelFacts => ({ usage: spent.usage, rounds: spent.rounds, toolCalls: recorded.calls });
  try {
    const result = await generateText({
      model: wrapLanguageModel({
        model: languageModel(
          model,
          key,
          patientFetch({ clock, timeoutMs: model.timeout, retries: model.retries, signal }),
        ),
        middleware: withinBounds(budget, recorded),
      }),
      system: request.system,
      prompt: request.prompt,
      tools: recorded.tools,
      stopWhen: [stepCountIs(bounds.rounds), () => hasFinished()],
      temperature: request.temperature,
      // Repeating is the transport's: it knows Retry-After, and never runs a tool twice.
      maxRetries: 0,
      abortSignal: signal,
      onStepFinish(step) {
        spent.rounds++;
        const used = usageOf(step.usage, model);
        budget.spend(used);
        spent.usage = addUsage(spent.usage, used);
        if (step.text !== "") spent.text = step.text;
        recordRefused(step, recorded);
      },
    });
    if (hasFinished()) return { kind: "answered", text: spent.text, ...facts() };
    return conclude(result.finishReason, spent.text, budget, facts());
  } catch (error) {
    if (error instanceof BoundReached) return { kind: "bounded", bound: error.bound, text: spent.text, ...facts() };
    return { ...failure(error, signal), ...facts() };
  }
}

type Middleware = Exclude<Parameters<typeof wrapLanguageModel>[0]["middleware"], readonly unknown[]>;

/** Every request is made within the rest of the budget; none is made without a rest. An answer that wants more is not worked through. */
function withinBounds(budget: Budget, recorded: RecordedTools): Middleware {
  return {
    specificationVersion: "v3",
    async wrapGenerate({ doGenerate }) {
      const answer = await doGenerate();
      checkCalls(answer, recorded);
      return answer;
    },
    transformParams: async ({ params }) => ({
      ...params,
      maxOutputTokens: budget.answerTokens([params.prompt, params.tools]),
    }),
  };
}

function conclude(finishReason: string, text: string, budget: Budget, facts: ModelFacts): ModelAnswer {
  switch (finishReason) {
    case "stop":
      return { kind: "answered", text, ...facts };
    case "length":
      return { kind: "bounded", bound: budget.tightest, text, ...facts };
    case "tool-calls":
      // The model wants to see the results of its tools, and may not.
      return { kind: "bounded", bound: "rounds", text, ...facts };
    case "content-filter":
      return { kind: "failed", error: "the provider's content filter ended the answer", isRetryable: false, ...facts };
    default:
      if (text !== "") return { kind: "answered", text, ...facts };
      return { kind: "failed", error: "the model answered nothing", isRetryable: true, ...facts };
  }
}

/** Calls that never reached a tool: an unknown tool, or arguments that the tool does not take. The library reports them to the model. */
function recordRefused({ content }: StepResult<ToolSet>, { calls }: RecordedTools): void {
  for (const part of content)
    if (part.type === "tool-call" && part.dynamic === true && part.invalid === true)
      calls.push({
        tool: part.toolName,
        args: part.input,
        error: errorMessage(part.error),
        latencyMs: 0,
      } satisfies ToolCallRecord);
}

type Failure = Omit<Extract<ModelAnswer, { kind: "failed" }>, keyof ModelFacts>;

function failure(error: unknown, signal: AbortSignal): Failure {
  if (signal.aborted) return { kind: "failed", error: "it took too long", isRetryable: true, timedOut: true };
  const cause = APICallError.isInstance(error) ? error.cause : undefined;
  if (error instanceof RequestTimedOut || cause instanceof RequestTimedOut)
    return { kind: "failed", error: "the model's server did not answer in time", isRetryable: true, timedOut: true };
  if (APICallError.isInstance(error)) {
    const { statusCode } = error;
    const isAnswer = statusCode !== undefined && statusCode >= 200 && statusCode < 300;
    if (isAnswer)
      return { kind: "failed", error: "the model's server answered what cannot be read", isRetryable: true };
    const said = errorMessage(error).slice(0, 500);
    return statusCode === undefined
      ? { kind: "failed", error: `the model's server cannot be reached: ${said}`, isRetryable: error.isRetryable }
      : { kind: "failed", error: `the model's server answered ${statusCode}`, said, isRetryable: error.isRetryable };
  }
  if (error instanceof HookgateError) return { kind: "failed", error: error.message, isRetryable: false };
  const said = errorMessage(error).slice(0, 500);
  return { kind: "failed", error: "the model's answer cannot be used", said, isRetryable: false };
}
