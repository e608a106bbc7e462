/** Every handler that a definition may name under `run:`. */
import type { Handler } from "../handler.js";
import { agentHandler } from "./agent/agent.js";
import { chatHandler } from "./chat/chat.js";
import { httpHandler } from "./http/http.js";

export const handlers = { http: httpHandler, agent: agentHandler, chat: chatHandler } as const satisfies Record<
  string,
  Handler
>;
