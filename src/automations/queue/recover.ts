/** A run whose owner is gone: run again when it may happen twice, else ended, with the reason. Nothing stays running. */
import type { AutomationRun, AutomationRunStore } from "../../domain/automation.js";
import { type Rule, ruleOfSuspect } from "../../gateway/inbound/suspects.js";
import { stopped } from "../../hooks/run.js";
import type { Logger } from "../../lib/logger.js";
import type { OrdinaryStops } from "../../pending/ordinary-stops.js";
import type { Definition } from "../definition/definition.js";
import type { RunOutcome } from "../run/outcome.js";
import { countedAttempt, withStop } from "./settle.js";

/** For a run that may happen twice, of a hook that is not there any more. */
const MAX_ATTEMPTS = 5;

interface Deps {
  stops: Pick<OrdinaryStops, "stoppedAt">;
  /** The run belongs to a dispatch, which runs it again when it fires again. */
  runsAgain(definition: Definition): boolean;
  /** The hook is not in force, and may come back. */
  isAwaited(hookId: string): boolean;
  /** How often a run of the hook may start. Undefined where the hook is not there, or has no `retry`. */
  attemptsOf(hookId: string): number | undefined;
  logger: Logger;
}

/** The run ends here or goes back to the waiting runs, or it runs again by this rule. */
export type Recovery = { over: RunOutcome } | { rule: Rule };

/** Names the run where its starts are counted, beside messages and deliveries. */
export const startOf = (id: string) => `run ${id}`;

/** Decides about a run that was under way when an earlier process ended. */
export function recover(
  run: AutomationRun,
  definition: Definition | undefined,
  { stops, runsAgain, isAwaited, attemptsOf, logger }: Deps,
): Recovery {
  const endedAt = stops.stoppedAt(startOf(run.id), run.attempt);
  const reason = endedAt === undefined ? "the gateway ended while it ran" : stopped().message;
  // A plugin's run has no record of the attempt yet.
  if (run.attempts.at(-1)?.status !== "running")
    run.attempts = withStop(run, reason, run.startedAt ?? endedAt ?? run.createdAt, endedAt).attempts;
  // The time of a crash is not known: such an attempt has no end, and so no duration.
  run.attempts = run.attempts.map((attempt) =>
    attempt.status === "running" ? { ...attempt, endedAt, status: "interrupted", error: reason } : attempt,
  );
  // A run that a dispatch waits for has no payload of its own: the dispatch has it.
  if (run.pendingPayload === undefined && definition !== undefined && runsAgain(definition))
    return { over: { status: "interrupted", reason } };
  if (!run.isRepeatable || run.pendingPayload === undefined)
    return { over: { status: "interrupted", reason: `${reason}, and it may not run twice` } };
  const most = attemptsOf(run.hookId) ?? MAX_ATTEMPTS;
  const made = countedAttempt(run);
  if (made < most && isAwaited(run.hookId)) return { over: { status: "queued", dueAt: run.dueAt, reason } };
  if (made < most) return { rule: endedAt === undefined ? ruleOfSuspect(made, most) : "shared" };
  const lost: RunOutcome = {
    status: "interrupted",
    reason: `${reason}: attempt ${made} of ${most}. It is not tried again`,
  };
  logger.warn(
    { hook: run.hookId, run: run.id, attempts: made },
    `a run of the hook "${run.hookId}" was interrupted: ${lost.reason}. \`/runs interrupted\` lists it`,
  );
  return { over: lost };
}

/** Counts the run's next attempt on disk, when its turn has come. Gives its outcome when it ends here; undefined when it is to be run. */
export async function countAgain(
  run: AutomationRun,
  runs: Pick<AutomationRunStore, "update">,
  owner: string,
): Promise<RunOutcome | undefined> {
  run.attempt++;
  const isHeld = await runs.update(run, owner);
  return isHeld ? undefined : { status: "interrupted", reason: "its row was ended, changed or deleted meanwhile" };
}
