/** `/hooks why POINT t_…` where nothing of the point is on record for the task: a point without an enabled hook is not recorded. */
import type { CommandAnswer } from "../../src/gateway/commands.js";
import type { LifecyclePhase } from "../../src/hooks/point.js";
import type { HookInfo } from "../../src/hooks/registration/registration.js";
import { answer, commandButton, word } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { isFiringAt } from "../journey/background.js";
import { crashedAt, crashText } from "../journey/cut-off-points.js";
import type { Journey } from "../journey/find.js";
import { familyOf } from "../resolve.js";
import { code } from "../show/text.js";

/** Undefined for an id of no task, and where the point is on record for the task. */
export async function explainUnrecorded(
  deps: CommandDeps,
  point: string,
  asked: string | undefined,
  journey: Journey | undefined,
  phase?: LifecyclePhase,
): Promise<CommandAnswer | undefined> {
  const [id] = /^t_[^:/]+/.exec(asked ?? "") ?? [];
  if (id === undefined) return undefined;
  const isRunning = journey?.running.some(isFiringAt(point)) === true;
  if (isRunning || journey?.dispatches.some((one) => one.point === point) === true) return undefined;
  if (journey === undefined && (await deps.tasks?.store.get(id)) === undefined) return undefined;
  const isOfMessages = ["inbound", "outbound"].includes(familyOf(point));
  const crashed = (await crashedAt(point, deps, { ids: [id], phase })).at(-1);
  const reason = isOfMessages
    ? `${code(point)} fires for messages, and ${code(id)} is a task.`
    : crashed === undefined
      ? whyNotRecorded(deps, point)
      : crashText(crashed, deps);
  return answer({
    text: [
      isOfMessages
        ? `${code(point)} did **not** fire for ${code(id)}.`
        : crashed === undefined
          ? `Whether ${code(point)} fired for ${code(id)} is **not recorded**.`
          : `${code(point)} fired for ${code(id)}, and did not end.`,
      reason,
    ],
    data: { point, message: asked, found: true, fired: isOfMessages ? false : crashed && true, reason, dispatches: [] },
    buttons: [
      [commandButton("The task", `/task show ${word(id)}`), commandButton("Order", `/hooks order ${word(point)}`)],
    ],
  });
}

/** The answer for a hook whose point crashed the gateway for the task, when nothing of the task is on record. */
export async function explainCrashed(
  deps: CommandDeps,
  { hook: point, phase }: HookInfo,
  asked = "",
): Promise<CommandAnswer | undefined> {
  const crashed = await crashedAt(point, deps, { ids: [asked], phase });
  return crashed.length === 0 ? undefined : explainUnrecorded(deps, point, asked, undefined, phase);
}

function whyNotRecorded({ registry }: CommandDeps, point: string): string {
  const hooks = registry.order(point);
  if (hooks.length === 0)
    return `A point is recorded only when it has an enabled hook, and no hook is registered at ${code(point)}.`;
  const enabled = hooks.filter((hook) => hook.enabled);
  if (enabled.length === 0)
    return `A point is recorded only when it has an enabled hook, and all hooks at ${code(point)} are disabled: ${hooks.map(({ id }) => code(id)).join(", ")}.`;
  return `It did not fire, or no hook was enabled there then, or the record was deleted after the retention. Hooks enabled there now: ${enabled.map(({ id }) => code(id)).join(", ")}.`;
}
