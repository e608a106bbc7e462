/** The row of `/runs` for a dispatch. */
import type { DispatchRecord } from "../../src/domain/journal.js";
import { insteadIn } from "../automations/effect.js";
import type { CommandDeps } from "../deps.js";
import type { Target } from "../resolve.js";
import { code, count } from "../show/text.js";
import { isByHand } from "./payload.js";
import { NOBODY, type RunRow, whoseIt } from "./run-row.js";
import { dispatchOutcome, failedRun, hasFailed, runOutcomeText } from "./show-dispatch.js";

export async function dispatchRow(
  deps: CommandDeps,
  dispatch: DispatchRecord,
  asked: string,
  target: Target | undefined,
): Promise<RunRow> {
  const { id, at, runs, dryRun, outcome } = dispatch;
  const hookId = target?.kind === "hook" ? target.hook.id : undefined;
  const own = hookId === undefined ? undefined : runs.find((run) => run.hookId === hookId);
  // Some of its hooks failed, and it went on.
  const byHand = isByHand(dispatch);
  const [only] = byHand && runs.length === 1 ? runs : [];
  const instead = only && (await insteadIn(deps, dispatch, only));
  const whole = dispatchOutcome(dispatch).replace(/^\S+(?= .*, \d+ failed$)/, "⚠");
  return {
    id,
    at,
    outcome: `${instead ?? (own ? runOutcomeText(own) : whole)}${dryRun && outcome !== "dry_run" ? " (dry run)" : ""}`,
    isFailure: own ? hasFailed(own) : runs.some(hasFailed) || failedRun(dispatch) !== undefined,
    subject: subjectOf(dispatch, asked, target),
    // The payload of a test may name anyone, and a chat that does not exist.
    ...(byHand ? NOBODY : await whoseIt(deps, dispatch)),
    note: byHand ? "fired by hand" : undefined,
  };
}

/** The hook that decided; otherwise the point, or, for a list of one point, the number of hooks that ran. */
function subjectOf(dispatch: DispatchRecord, asked: string, target: Target | undefined): string {
  const { point, phase, runs } = dispatch;
  const deciding = target?.kind === "hook" ? undefined : decider(dispatch, asked === "failed");
  if (deciding !== undefined) return code(deciding);
  if (target?.kind !== "point") return code(phase ? `${point} ${phase}` : point);
  const ran = runs.filter((run) => run.outcome !== "skipped").length;
  return `${phase ? `${phase}: ` : ""}${ran === 0 ? "no hook" : count(ran, "hook")}`;
}

const DECIDING: ReadonlySet<string> = new Set(["claimed", "cancelled", "blocked", "deferred"]);

/**
 * The hook that failed, in a list of failures or when the failure decided; otherwise the hook that decided, changed something, or ran
 * alone.
 */
function decider({ runs, outcome }: DispatchRecord, isFailed: boolean): string | undefined {
  const ran = runs.filter((run) => run.outcome !== "skipped");
  const failed = ran.find(hasFailed) ?? failedRun({ runs, outcome });
  const decided = ran.find((run) => DECIDING.has(run.outcome));
  const isEnd = isFailed || outcome === "failed" || outcome === "timed_out";
  const one =
    (isEnd ? failed : undefined) ??
    decided ??
    failed ??
    ran.find((run) => run.outcome !== "passed" && run.outcome !== "backgrounded") ??
    // The result of a single background run is in that run, and not known here.
    (ran.length === 1 ? ran.find((run) => run.outcome !== "backgrounded") : undefined);
  return one?.hookId;
}
