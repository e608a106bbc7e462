/** The tools that a hook's agent can be given. */
export const toolNames = ["list_hooks", "run_history", "send_message", "read_status"] as const;
export type ToolName = (typeof toolNames)[number];
