/** Other names under which points are known in the published hook systems. They hold for points that exist. */
import type { LifecyclePhase } from "../point.js";

export const ALIASES = {
  pre_tool_call: { hook: "before_tool_call" },
  post_tool_call: { hook: "after_tool_call" },
  post_llm_call: { hook: "after_llm_call" },
  "task.completed": { hook: "task:complete", phase: "after" },
  "task.failed": { hook: "task:fail", phase: "after" },
  "task.created": { hook: "task:create", phase: "after" },
} as const satisfies Record<string, { hook: string; phase?: LifecyclePhase }>;

export type Aliases = typeof ALIASES;

/** The canonical name and, for an alias of one phase, that phase. */
export function resolveAlias(name: string): { hook: string; phase?: LifecyclePhase } {
  return Object.hasOwn(ALIASES, name) ? ALIASES[name as keyof Aliases] : { hook: name };
}
