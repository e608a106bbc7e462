/** A person fires a configured hook: its gates hold, and a running hook is not started twice. A dry run runs only its steps. */
import { type AutomationRun, DUE_POINT, isUnfinished } from "../domain/automation.js";
import type { HookRegistry } from "../hooks/registry.js";
import { joinSignals } from "../lib/concurrency/signals.js";
import { HookgateError } from "../lib/errors.js";
import { type Clock, wait } from "../lib/time/clock.js";
import { formatDuration } from "../lib/time/duration.js";
import { valueProblem } from "../lib/validation/value-problem.js";
import type { Definition } from "./definition/definition.js";
import type { HandFiring } from "./desk.js";
import { draftManual, manualPayload } from "./draft.js";
import type { Gates } from "./gates.js";
import type { Queue } from "./queue.js";
import type { RunDeps } from "./run/deps.js";
import type { Progress } from "./run/progress.js";
import { runAutomation } from "./run.js";

interface Deps {
  registry: HookRegistry;
  queue: Queue;
  gates: Gates;
  deps: RunDeps;
  clock: Clock;
}

const DRY_RUN_MS = 300_000;
const CHECK_AGAIN_MS = 250;

export async function fireByHand(definition: Definition, how: HandFiring, at: Deps): Promise<AutomationRun> {
  const row = draftManual(definition, { ...how, payload: payloadOf(definition, how, at) }, at.clock.now());
  if (how.dryRun) return fireDry(definition, row, how, at);
  const before = how.runId === undefined ? undefined : await at.deps.runs.get(how.runId);
  if (before) return untilEnded(before, how, at);
  if (at.registry.get(definition.id)?.enabled === false)
    throw new HookgateError({
      code: "HOOK_OFF",
      message: `"${definition.id}" is switched off`,
      hint: `/hooks enable ${definition.id}`,
    });
  if (at.gates.running(definition.id) >= definition.concurrency) throw await running(definition, at);
  await at.queue.runNow(row, progressOf(how));
  return (await at.deps.runs.get(row.id)) ?? row;
}

async function running({ id }: Definition, { deps, clock }: Deps): Promise<HookgateError> {
  const [run] = await deps.runs.list({ hookId: id, status: "running", limit: 1 });
  const which = run ? `: run ${run.id}, for ${formatDuration(clock.now() - (run.startedAt ?? run.createdAt))}` : "";
  return new HookgateError({
    code: "HOOK_RUNNING",
    message: `${id} is running already${which}.`,
    hint: "Try again when it has ended.",
    retryable: true,
  });
}

/** A crash cut this firing off. The queue completes or ends the rest of its run; it is not started a second time. */
async function untilEnded(row: AutomationRun, { signal }: HandFiring, { deps, clock }: Deps): Promise<AutomationRun> {
  let run = row;
  while (isUnfinished(run.status)) {
    await wait(clock, CHECK_AGAIN_MS, signal);
    run = (await deps.runs.get(run.id)) ?? run;
  }
  return run;
}

async function fireDry(definition: Definition, row: AutomationRun, how: HandFiring, at: Deps): Promise<AutomationRun> {
  const deadline = new AbortController();
  const limitMs = definition.timeoutMs ?? DRY_RUN_MS;
  const timer = at.clock.after(limitMs, () =>
    deadline.abort(new DOMException(`it did not end within ${limitMs} ms`, "TimeoutError")),
  );
  const joined = joinSignals(deadline.signal, how.signal, at.queue.stopping);
  let run = row;
  try {
    await runAutomation(
      {
        definition,
        point: at.registry.point(definition.point),
        id: row.id,
        trigger: "manual",
        reason: how.reason,
        payload: row.pendingPayload,
        dispatchId: row.id,
        attempt: 1,
        cause: how.cause,
        dryRun: true,
        signal: joined.signal,
        progress: {
          ...progressOf(how),
          recorded: (recorded) => {
            run = recorded;
          },
        },
      },
      at.deps,
    );
    return run;
  } finally {
    timer.cancel();
    joined.release();
  }
}

function payloadOf(definition: Definition, { payload, reason }: HandFiring, { registry, clock }: Deps): unknown {
  if (definition.point === DUE_POINT) return manualPayload(definition, reason, payload, clock.now());
  const point = registry.point(definition.point);
  const checked = point.payload.safeParse(payload);
  if (checked.success) return checked.data;
  throw new HookgateError({
    code: "HOOK_PAYLOAD_INVALID",
    message: `This is no payload of ${point.name}: ${valueProblem(point.payload, payload)}`,
  });
}

/** The part of a firing that the pipeline reports to. */
function progressOf({ signal, began, stepBegan, stepEnded, handlerBegan }: HandFiring): Progress {
  return {
    signal,
    began,
    stepBegan,
    stepEnded,
    handlerBegan,
  };
}
