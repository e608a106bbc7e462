/** A run whose owner is gone: run again when it may happen twice, else ended, with the reason. Nothing stays running. */
import type { AutomationRunStore, TakenRun } from "../../domain/automation.js";
import type { Definition } from "../definition/definition.js";
import type { RunOutcome } from "../run/outcome.js";
import { stopsOf } from "./settle.js";

/** For background hooks of plugins, which say only that they may run twice. */
const MAX_ATTEMPTS = 5;

interface Deps {
  runs: AutomationRunStore;
  owner: string;
}

/** How it ends here; undefined when it is to be run. A run that is taken again has its attempt counted on disk first. */
export async function recoverTaken(
  { run, isTakenOver }: TakenRun,
  definition: Definition | undefined,
  { runs, owner }: Deps,
): Promise<RunOutcome | undefined> {
  if (!isTakenOver) return undefined;
  const reason = "the gateway ended while it ran";
  // When the process died is not known: such an attempt has no end, and so no duration.
  run.attempts = run.attempts.map((attempt) =>
    attempt.status === "running" ? { ...attempt, status: "interrupted", error: reason } : attempt,
  );
  if (!run.isRepeatable || run.pendingPayload === undefined)
    return { status: "interrupted", reason: `${reason}, and it may not run twice` };
  const most = definition?.retry?.attempts ?? MAX_ATTEMPTS;
  if (run.attempt - stopsOf(run) >= most)
    return { status: "interrupted", reason: `${reason}, for the ${run.attempt}. time` };
  run.attempt++;
  const isHeld = await runs.update(run, owner);
  return isHeld ? undefined : { status: "interrupted", reason: "its row was ended, changed or deleted meanwhile" };
}
