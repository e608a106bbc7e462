/** The loop guard: a run caused by a run caused by a run … and a hook that its own output starts. */
import type { AutomationRunStore } from "../../domain/automation.js";
import { type Cause, MAX_HOOK_DEPTH } from "../../domain/journal.js";
import type { Logger } from "../../lib/logger.js";

export interface LoopRefusal {
  kind: "refused";
  gate: "loop";
  /** Why the chain of causes is cut here. */
  reason: string;
}

/** Undefined when the chain of causes may go on. */
export async function cutLoop(
  hookId: string,
  cause: Cause | undefined,
  { runs, logger }: { runs: Pick<AutomationRunStore, "get">; logger: Pick<Logger, "warn"> },
): Promise<LoopRefusal | undefined> {
  const reason = await findLoop(hookId, cause, runs);
  if (reason === undefined) return undefined;
  logger.warn({ hook: hookId, cause }, `a loop of hooks was cut: ${reason}`);
  return { kind: "refused", gate: "loop", reason };
}

async function findLoop(
  hookId: string,
  cause: Cause | undefined,
  runs: Pick<AutomationRunStore, "get">,
): Promise<string | undefined> {
  if (cause === undefined) return undefined;
  if (cause.depth > MAX_HOOK_DEPTH) return `${cause.depth} hooks deep: they start each other`;
  const via: string[] = [];
  for (let at: Cause | undefined = cause, steps = 0; at?.kind === "hook" && steps <= MAX_HOOK_DEPTH; steps++) {
    const run = await runs.get(at.id);
    if (run === undefined) return undefined;
    if (run.hookId === hookId)
      return via.length === 0
        ? "its own output started it"
        : `its own output started it, through ${via.reverse().join(", ")}`;
    via.push(run.hookId);
    at = run.cause;
  }
  return undefined;
}
