/** A run whose owner is gone: run again when it may happen twice, else ended, with the reason. Nothing stays running. */
import type { AutomationRunStore, TakenRun } from "../../domain/automation.js";
import type { Clock } from "../../lib/clock.js";
import type { Definition } from "../definition/definition.js";
import type { RunOutcome } from "../run/outcome.js";

/** For background hooks of plugins, which say only that they may run twice. */
const MAX_ATTEMPTS = 5;

interface Parts {
  runs: AutomationRunStore;
  owner: string;
  clock: Clock;
}

/** How it ends here; undefined when it is to be run. A run that is taken again has its attempt counted on disk first. */
export async function recoverTaken(
  { run, isTakenOver }: TakenRun,
  definition: Definition | undefined,
  { runs, owner, clock }: Parts,
): Promise<RunOutcome | undefined> {
  if (!isTakenOver) return undefined;
  const reason = "the gateway ended while it ran";
  if (!run.isRepeatable || run.pendingPayload === undefined)
    return { status: "interrupted", reason: `${reason}, and it may not run twice` };
  const most = definition?.retry?.attempts ?? MAX_ATTEMPTS;
  if (run.attempt >= most) return { status: "interrupted", reason: `${reason}, for the ${run.attempt}. time` };
  run.attempt++;
  run.attempts = run.attempts.map((attempt) =>
    attempt.endedAt === undefined
      ? { ...attempt, endedAt: clock.now(), status: "interrupted", error: reason }
      : attempt,
  );
  const isHeld = await runs.update(run, owner);
  return isHeld ? undefined : { status: "interrupted", reason: "another process took it over" };
}
