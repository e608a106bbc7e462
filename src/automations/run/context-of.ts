/** The context of the steps and handlers of a run. */
import type { Cause } from "../../domain/journal.js";
import type { RunContext } from "../run-context.js";
import type { RunDeps, RunStart } from "./deps.js";
import type { OpenRun } from "./open-run.js";

export function contextOf(start: RunStart, { row }: OpenRun, deps: RunDeps, lastRunAt: number | undefined): RunContext {
  const { definition, payload, trigger, dryRun, signal, cutOff } = start;
  return {
    hookId: definition.id,
    runId: row.id,
    attempt: row.attempt,
    firedAt: row.createdAt,
    lastRunAt,
    trigger,
    eventName: definition.point,
    event: (typeof payload === "object" && payload !== null ? payload : { value: payload }) as RunContext["event"],
    cause: ownCause(start.cause, row.id),
    dryRun,
    folder: definition.folder,
    signal,
    cutOff,
    leftRunning(names) {
      const last = row.attempts.at(-1);
      if (last !== undefined) last.leftRunning = [...(last.leftRunning ?? []), ...names];
    },
    clock: deps.clock,
    logger: deps.logger.child({ hook: definition.id, run: row.id }),
    reach: deps.reachOf(definition),
  };
}

/** The cause of everything that the run itself triggers. */
export function ownCause(cause: Cause | undefined, runId: string): Cause {
  return { kind: "hook", id: runId, depth: (cause?.depth ?? 0) + 1 };
}
