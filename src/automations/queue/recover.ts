/** A run whose owner is gone: run again when it may happen twice, else ended, with the reason. Nothing stays running. */
import type { AutomationRunStore, TakenRun } from "../../domain/automation.js";
import { stopped } from "../../hooks/run.js";
import type { OrdinaryStops } from "../../pending/ordinary-stops.js";
import type { Definition } from "../definition/definition.js";
import type { RunOutcome } from "../run/outcome.js";
import { countedAttempt, withStop } from "./settle.js";

/** For background hooks of plugins, which say only that they may run twice. */
const MAX_ATTEMPTS = 5;

interface Deps {
  runs: AutomationRunStore;
  stops: Pick<OrdinaryStops, "stoppedAt">;
  owner: string;
  /** It is a run of a dispatch, which runs it again when it fires again. */
  runsAgain(definition: Definition): boolean;
  /** The hook is not in force, and may come back. */
  isAwaited(hookId: string): boolean;
}

/** Names the run where its starts are counted, beside messages and deliveries. */
export const startOf = (id: string) => `run ${id}`;

/** How it ends here; undefined when it is to be run. A run that is taken again has its attempt counted on disk first. */
export async function recoverTaken(
  { run, isTakenOver }: TakenRun,
  definition: Definition | undefined,
  { runs, stops, owner, runsAgain, isAwaited }: Deps,
): Promise<RunOutcome | undefined> {
  if (!isTakenOver) return undefined;
  const endedAt = stops.stoppedAt(startOf(run.id), run.attempt);
  const reason = endedAt === undefined ? "the gateway ended while it ran" : stopped().message;
  // A plugin's run has no record of the attempt yet.
  if (run.attempts.at(-1)?.status !== "running")
    run.attempts = withStop(run, reason, run.startedAt ?? endedAt ?? run.createdAt, endedAt).attempts;
  // When a crash was is not known: such an attempt has no end, and so no duration.
  run.attempts = run.attempts.map((attempt) =>
    attempt.status === "running" ? { ...attempt, endedAt, status: "interrupted", error: reason } : attempt,
  );
  // What a dispatch waits for has no payload of its own: the dispatch has it.
  if (run.pendingPayload === undefined && definition !== undefined && runsAgain(definition))
    return { status: "interrupted", reason };
  if (!run.isRepeatable || run.pendingPayload === undefined)
    return { status: "interrupted", reason: `${reason}, and it may not run twice` };
  const most = definition?.retry?.attempts ?? MAX_ATTEMPTS;
  const made = countedAttempt(run);
  if (made >= most)
    return { status: "interrupted", reason: `${reason}: attempt ${made} of ${most}. It is not tried again` };
  if (isAwaited(run.hookId)) return { status: "queued", dueAt: run.dueAt, reason };
  run.attempt++;
  const isHeld = await runs.update(run, owner);
  return isHeld ? undefined : { status: "interrupted", reason: "its row was ended, changed or deleted meanwhile" };
}
