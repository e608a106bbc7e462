/** Whether a stranger's message led to a run: people to whom the gateway does not listen write anything, as often as they like. */
import { isOfStranger } from "../../domain/access.js";
import type { AutomationRunStore } from "../../domain/automation.js";
import type { Cause } from "../../domain/journal.js";

/** Chains of hooks are cut before they are this long: see the loop guard. */
const MAX_CAUSES = 16;

/**
 * The run itself, or a run that caused it, over any number of hooks. Stored payloads do not have the reason of a denial, so a hook that is
 * started by runs for messages in a listed room that do not mention the gateway counts as a stranger's, too.
 */
export async function comesOfStranger(
  { point, payload, cause }: { point: string; payload: unknown; cause: Cause | undefined },
  runs: Pick<AutomationRunStore, "get">,
): Promise<boolean> {
  if (isOfStranger(point, payload)) return true;
  for (let at = cause, steps = 0; at?.kind === "hook" && steps < MAX_CAUSES; steps++) {
    const run = await runs.get(at.id);
    if (run === undefined) return false;
    if (isDenied(run.payload)) return true;
    at = run.cause;
  }
  return false;
}

const isDenied = (payload: unknown) =>
  typeof payload === "object" && payload !== null && "access" in payload && payload.access === "denied";
