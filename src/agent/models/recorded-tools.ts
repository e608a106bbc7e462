/** Tools in the library's form; every call of them is written down. */
import { type ToolSet, tool, type wrapLanguageModel } from "ai";
import type { ToolCallRecord } from "../../domain/automation.js";
import type { ModelTool } from "../../domain/model.js";
import { errorMessage, HookgateError } from "../../lib/errors.js";
import type { Clock } from "../../lib/time/clock.js";
import { jsonExcess } from "../../lib/validation/json-depth.js";

export interface RecordedTools {
  tools: ToolSet;
  calls: ToolCallRecord[];
}

type Answer = Awaited<ReturnType<ReturnType<typeof wrapLanguageModel>["doGenerate"]>>;

/** In one run: one answer of a hostile server can hold thousands. */
const MAX_CALLS = 200;

/**
 * Refuses an answer with more calls than the run may still make, before anything is done for each of them, and one whose arguments
 * hold too much: they are JSON in texts of the answer, which count as one value each in it.
 */
export function checkCalls({ content }: Answer, { calls }: RecordedTools): void {
  const wanted = content.filter((part) => part.type === "tool-call");
  if (calls.length + wanted.length > MAX_CALLS) {
    const message = `the model asked for ${wanted.length} tool calls in one answer; a run makes ${MAX_CALLS}, and this one had made ${calls.length}`;
    throw new HookgateError({ code: "MODEL_FAILED", message });
  }
  const excess = jsonExcess(...wanted.map(({ input }) => input));
  if (excess === undefined) return;
  throw new HookgateError({
    code: "MODEL_FAILED",
    message: `the JSON of the tool calls in the model's answer ${excess}`,
  });
}

export function recordedTools(given: readonly ModelTool[], signal: AbortSignal, clock: Clock): RecordedTools {
  const calls: ToolCallRecord[] = [];
  // Without a prototype: a model may ask for a tool called "constructor".
  const tools: ToolSet = Object.create(null);
  for (const one of given)
    tools[one.name] = tool({
      description: one.description,
      inputSchema: one.args,
      async execute(args: unknown) {
        const startedAt = clock.monotonic();
        const record: ToolCallRecord = { tool: one.name, args, latencyMs: 0 };
        calls.push(record);
        try {
          record.result = await one.run(args, signal);
          return record.result;
        } catch (error) {
          record.error = errorMessage(error);
          throw error;
        } finally {
          record.latencyMs = clock.monotonic() - startedAt;
        }
      },
    });
  return { tools, calls };
}
