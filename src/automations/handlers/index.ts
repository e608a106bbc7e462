/** Every handler that a definition may name under `run:`. */
import type { Handler } from "../handler.js";
import { agentHandler } from "./agent/agent.js";
import { chatHandler } from "./chat/chat.js";
import { httpHandler } from "./http/http.js";
import { missionHandler } from "./mission.js";
import { moduleHandler } from "./module.js";
import { shellHandler } from "./shell.js";

export const handlers = {
  shell: shellHandler,
  http: httpHandler,
  agent: agentHandler,
  chat: chatHandler,
  mission: missionHandler,
  module: moduleHandler,
} as const satisfies Record<string, Handler>;
