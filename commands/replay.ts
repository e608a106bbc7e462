/** `/replay ID`: fires a journalled dispatch again, with its former payload. Dry unless the operator asks for live. */
import { DUE_POINT } from "../src/domain/automation.js";
import type { DispatchRecord, RunRecord } from "../src/domain/journal.js";
import type { CommandContext } from "../src/gateway/commands.js";
import { HookgateError } from "../src/lib/errors.js";
import { valueProblem } from "../src/lib/validation/value-problem.js";
import { answer, commandButton, word } from "./answer.js";
import { effectsIn, effectTexts } from "./automations/effect.js";
import { mayFireLive, readableDispatch } from "./automations/owner-only.js";
import { replayConfigured } from "./automations/replay.js";
import { defineCommand } from "./define.js";
import type { CommandDeps } from "./deps.js";
import { fire } from "./fire.js";
import { findAutomationRun, findDispatch } from "./run.js";
import { seenRow } from "./runs/seen-runs.js";
import { dispatchData, dispatchLine, hasFailed, outcomeText, runDetails, runTable } from "./runs/show-dispatch.js";
import { needToReplayLive } from "./show/reveal.js";
import { code } from "./show/text.js";

/** Dispatches that an answer names. */
const MAX_NAMED = 10;

/** A message or a delivery led to several dispatches: the answer names them. */
async function refuseMessage({ store }: CommandDeps, given: unknown): Promise<void> {
  const id = typeof given === "string" ? given.trim() : "";
  if (!/^(m\d+|d_[^:/]+)$/.test(id)) return;
  const found = (await store.journal.list({ of: id, limit: MAX_NAMED })).reverse();
  if (found.length === 0) return;
  throw new HookgateError({
    code: "BAD_USAGE",
    message: `${id} is a ${id.startsWith("m") ? "message" : "delivery"}, and not a dispatch.`,
    hint: `Name one of its dispatches: ${found.map((one) => code(one.id)).join(", ")}.`,
  });
}

export const replay = defineCommand({
  name: "replay",
  group: "hooks",
  summary: "Fire a past dispatch again with its own payload; dry unless live",
  role: "viewer",
  isSlow: true,
  options: [
    {
      name: "id",
      summary: "A row of /runs by its number; the id of a dispatch, or of a run (then that hook only)",
      type: "string",
      required: true,
      complete: "runs",
    },
    { name: "live", summary: "Let hooks send and write; what they decide is only shown (operators)", type: "boolean" },
  ],
  async run(deps, context) {
    const isLive = context.options.live === true;
    if (isLive) context.need("operator");
    const given = (await seenRow(deps, context, context.options.id))?.id ?? String(context.options.id);
    const own = await findAutomationRun(deps, given);
    if (own) return replayConfigured(deps, context, own, isLive);
    await refuseMessage(deps, given);
    const past = await findDispatch(deps, context, given);
    if (isLive) await needToReplayLive(deps, context, past);
    const pastRun = past.runs.find(({ id }) => id === given) ?? backgroundRun(past);
    const fired = await fireAgain(deps, context, past, pastRun, !isLive);
    const record = await readableDispatch(deps, context, fired);
    const { changes, uncalled } = differences(pastRun ? [pastRun] : past.runs, record.runs);
    const effects = await effectsIn(deps, context, record);
    const id = word(given);
    return answer({
      text: [
        `**${isLive ? "Replayed live" : "Dry run"}**: ${code(past.id)}.`,
        `Then: ${dispatchLine(past, deps.clock.now())}\nNow: ${dispatchLine(record, deps.clock.now())}`,
        record.runs.length > 0 ? runTable(record.runs, context, effects) : "No hook ran.",
        ...effectTexts(record, effects),
        changes.length > 0
          ? `**Different from then**\n${changes.join("\n")}`
          : uncalled.length < record.runs.length &&
            `${uncalled.length > 0 ? "Every hook that was called" : "Every hook"} came to the same outcome as then.`,
        uncalled.length > 0 && `Not compared, because a dry run does not call it: ${uncalled.join(", ")}.`,
        ...runDetails(record, false),
        isLive
          ? "⚠ This was no dry run: what the hooks sent, if anything, is in the outbox."
          : `Nothing was sent and no state was written. ${code("live=true")} replays it for real.`,
      ],
      data: { ...dispatchData(record, false, effects), replayOf: past.id, changes },
      outcome: hasFailed(record) || record.runs.some(hasFailed) ? "failed" : "done",
      buttons: [
        [
          ...(!isLive &&
          mayFireLive(
            deps,
            context,
            record.runs.map(({ hookId }) => hookId),
          )
            ? [commandButton("Replay live", `/replay ${id} live=true`, "danger")]
            : []),
          commandButton("Then", `/run ${word(past.id)}`),
          commandButton("Now", `/run ${word(record.id)}`),
        ],
      ],
    });
  },
});

/** A background run is journalled as a dispatch of its own, for one hook of the point: only that one is fired again. */
function backgroundRun({ id, cause, runs }: DispatchRecord): RunRecord | undefined {
  const [only] = runs;
  return only && runs.length === 1 && cause?.kind === "hook" && id.startsWith(`${cause.id}/`) ? only : undefined;
}

function fireAgain(
  deps: CommandDeps,
  context: CommandContext,
  past: DispatchRecord,
  run: RunRecord | undefined,
  dryRun: boolean,
) {
  const point = deps.registry.point(past.point);
  const parsed = point.payload.safeParse(past.payload);
  if (!parsed.success)
    throw new HookgateError({
      code: "NOT_REPLAYABLE",
      message: `The payload of ${past.id} is no payload of ${point.name} any more: ${valueProblem(point.payload, past.payload)}.`,
      hint: "It was shortened for the journal, or the point has changed since.",
    });
  if (run && !deps.registry.get(run.hookId))
    throw new HookgateError({
      code: "NOT_FOUND",
      message: `The hook ${run.hookId} is not installed any more.`,
      hint: past.point === DUE_POINT ? "/hooks lists the hooks." : `/replay ${past.id} fires the whole point.`,
    });
  return fire(deps, context, {
    point,
    payload: parsed.data,
    dryRun,
    phase: past.phase === "before" || past.phase === "after" ? past.phase : undefined,
    hookId: run?.hookId,
  });
}

/** Hooks that a dry run did not call are not compared, and neither are hooks behind them that had no turn then. */
function differences(then: readonly RunRecord[], now: readonly RunRecord[]): { changes: string[]; uncalled: string[] } {
  const changes: string[] = [];
  const uncalled: string[] = [];
  const isUncompared = ({ outcome }: RunRecord) => outcome === "dry_run";
  for (const [index, run] of now.entries()) {
    const before = then.find(({ hookId }) => hookId === run.hookId);
    if (isUncompared(run)) uncalled.push(code(run.hookId));
    else if (before && before.outcome !== run.outcome)
      changes.push(`~ ${code(run.hookId)} ${outcomeText(before.outcome)} → ${outcomeText(run.outcome)}`);
    else if (!before && now.slice(0, index).some((one) => isUncompared(one) && endedThen(one, then)))
      uncalled.push(`${code(run.hookId)}, which had no turn then`);
    else if (!before) changes.push(`+ ${code(run.hookId)} ${outcomeText(run.outcome)}; it did not run then`);
  }
  for (const run of then)
    if (!now.some(({ hookId }) => hookId === run.hookId))
      changes.push(`- ${code(run.hookId)} ${outcomeText(run.outcome)} then; it did not run now`);
  return { changes, uncalled };
}

/** The hook was the last one that had its turn: it claimed, or it failed closed. */
const endedThen = ({ hookId }: RunRecord, then: readonly RunRecord[]) => then.at(-1)?.hookId === hookId;
