/** Tools in the library's form; every call of them is written down. */
import { type ToolSet, tool } from "ai";
import type { ToolCallRecord } from "../../domain/automation.js";
import type { ModelTool } from "../../domain/model.js";
import { errorMessage, HookgateError } from "../../lib/errors.js";
import type { Clock } from "../../lib/time/clock.js";

export interface RecordedTools {
  tools: ToolSet;
  calls: ToolCallRecord[];
}

/** In one run: one answer of a hostile server can hold thousands. */
const MAX_CALLS = 200;

/** Refuses an answer with more calls than the run may still make, before anything is done for each of them. */
export function checkCalls(answer: readonly { type: string }[], { calls }: RecordedTools): void {
  const wanted = answer.filter(({ type }) => type === "tool-call").length;
  if (calls.length + wanted <= MAX_CALLS) return;
  const message = `the model asked for ${wanted} tool calls in one answer; a run makes ${MAX_CALLS}, and this one had made ${calls.length}`;
  throw new HookgateError({ code: "MODEL_FAILED", message });
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
