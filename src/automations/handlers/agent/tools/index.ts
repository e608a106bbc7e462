/** The tools by name, made for one run. */
import type { ModelTool } from "../../../../domain/model.js";
import type { RunContext } from "../../../run-context.js";
import type { AgentOptions } from "../options.js";
import { listHooks } from "./list-hooks.js";
import { type ToolName, toolNames } from "./names.js";
import { readStatus } from "./read-status.js";
import { runHistory } from "./run-history.js";
import { sendMessage } from "./send-message.js";

type MakeTool = (options: AgentOptions, context: RunContext) => ModelTool;

const makers: Record<ToolName, MakeTool> = {
  list_hooks: listHooks,
  run_history: runHistory,
  send_message: sendMessage,
  read_status: readStatus,
};

export function toolsNamed(names: readonly string[], options: AgentOptions, context: RunContext): ModelTool[] {
  return toolNames.filter((name) => names.includes(name)).map((name) => makers[name](options, context));
}
