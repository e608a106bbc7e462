/** `run: agent`: asks a language model, fresh for every run, with a named set of tools. */
import type { Handler } from "../../handler.js";
import { type AgentOptions, agentOptions } from "./options.js";

export const agentHandler: Handler<AgentOptions> = {
  name: "agent",
  summary: "Asks a language model, with tools.",
  options: agentOptions,
  forModel: ["prompt", "system"],
  model: ({ model }) => model,
  async run() {
    return { kind: "failed", error: "not yet", isRetryable: false };
  },
};
