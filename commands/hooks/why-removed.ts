/** `/hooks why HOOK` of a hook that is not there any more: when it last ran, and when it was skipped since, as far as the journal goes. */
import type { DispatchRecord, RunRecord } from "../../src/domain/journal.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { answer, commandButton, word } from "../answer.js";
import { readableDispatch } from "../automations/owner-only.js";
import { catchUp } from "../catch-up.js";
import type { CommandDeps } from "../deps.js";
import { ago, code, plain } from "../text.js";

/** Dispatches in which its last run is looked for. */
const LAST_DISPATCHES = 100;

/** Undefined when the journal has no run of it. */
export async function explainRemoved(
  deps: CommandDeps,
  context: CommandContext,
  hookId: string,
): Promise<CommandAnswer | undefined> {
  await catchUp(deps);
  const recorded = (await deps.store.journal.list({ hookId, limit: LAST_DISPATCHES })).filter(({ dryRun }) => !dryRun);
  const [newest] = recorded;
  if (newest === undefined) return undefined;
  const now = deps.clock.now();
  const ran = recorded.find((one) => one.runs.some((run) => run.hookId === hookId && hasRun(run)));
  const skipped = recorded.find((one) => skipOf(hookId, one) !== undefined);
  // The counts of the journal go back further than its records; they leave out skips, as this does.
  const lastRunAt = ran?.at ?? (await deps.store.journal.stats()).get(hookId)?.lastFiredAt;
  const point = ran === undefined ? "" : `, at ${code(ran.point)}`;
  const reason = skipped && skipOf(hookId, readableDispatch(deps, context, skipped))?.reason;
  return answer({
    text: [
      `${code(hookId)} is **no longer registered**. ${
        lastRunAt === undefined ? "The journal has **no run** of it." : `It last ran ${ago(lastRunAt, now)}${point}.`
      }`,
      skipped !== undefined &&
        skipped.at > (lastRunAt ?? 0) &&
        `It was last skipped ${ago(skipped.at, now)}, at ${code(skipped.point)}${reason ? `: ${plain(reason)}` : ""}.`,
      `${code(`/hooks why ${hookId} m5`)} answers for one message.`,
    ],
    data: { id: hookId, registered: false, lastRunAt, lastDispatchId: (ran ?? newest).id },
    buttons: [[commandButton("The dispatch", `/run ${word((ran ?? newest).id)}`)]],
  });
}

/** The attempts of a background run are dispatches of their own. */
const hasRun = ({ outcome }: RunRecord): boolean => outcome !== "skipped" && outcome !== "backgrounded";

const skipOf = (id: string, { runs }: DispatchRecord): RunRecord | undefined =>
  runs.find(({ hookId, outcome }) => hookId === id && outcome === "skipped");
