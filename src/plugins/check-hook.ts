/** What a plugin's registration may not be: refused in the plugin's own line, before anything of the version is in place. */
import { resolveAlias } from "../hooks/aliases.js";
import { closingOf, invalid, makeEntry } from "../hooks/entry.js";
import { neverCarried, platformProblems } from "../hooks/matcher.js";
import { failureStopsNothing, type HookPoint, type LifecyclePhase } from "../hooks/point.js";
import type { RegisterOptions } from "../hooks/registration.js";
import { checkModel, phaseFor } from "../hooks/roster.js";
import type { StagedHook } from "./slots.js";

/** Throws what the registry would throw later, and for a hook that could never do anything. */
export function checkHook(point: HookPoint, staged: Omit<StagedHook, "attach">): void {
  const { id, model, handler } = staged;
  if (model !== "any") checkModel(point, model, "register");
  const given = model === "any" && staged.phase !== "" ? staged.phase : undefined;
  const phase = phaseFor(id, point, given ?? resolveAlias(staged.hook).phase, given);
  const options = model === "any" ? withoutPhase(staged.options) : staged.options;
  makeEntry({ id, seq: 0, point, phase, handler, options });
  if (point.isSync && phase === "before" && staged.isAsync)
    throw invalid(id, `${point.name} is synchronous and does not start an async handler: remove \`async\``);
  checkCounts(id, point, phase, options);
  const field = options.match && neverCarried(options.match, point.payload);
  if (field !== undefined)
    throw invalid(id, `match.${field}: the payload of ${point.name} never has it, so the hook would never run`);
  const [wrong] = platformProblems(options.match ?? {}, point.name);
  if (wrong !== undefined) throw invalid(id, `match.${wrong.path[0]}: ${wrong.message}`);
}

/** Refuses a hook whose decision or failure nothing waits for. */
function checkCounts(
  id: string,
  point: HookPoint,
  phase: LifecyclePhase | undefined,
  { execution, failurePolicy }: RegisterOptions,
): void {
  const { model, name } = point;
  const isOpen = closingOf(failurePolicy ?? "fail-open") === "open";
  if (execution !== "background" && execution !== "fire_and_record") {
    if (isOpen || !failureStopsNothing(point, phase)) return;
    const place = phase === undefined ? name : `${name} (${phase})`;
    throw invalid(id, `failurePolicy: a failure at ${place} stops nothing, so it can only be fail-open`);
  }
  const decides = model === "claiming" || model === "modifying" || phase === "before";
  if (decides) {
    const what = model === "claiming" ? "claim" : "change or cancel anything";
    const instead = phase === "before" ? 'phase "after"' : "a void point such as message_received or message_sent";
    throw invalid(
      id,
      `execution: nothing waits for a ${execution} hook, so it cannot ${what} at ${name}: remove \`execution\`, or register at ${instead}`,
    );
  }
  if (!isOpen) throw invalid(id, `failurePolicy: nothing waits for a ${execution} hook, so it can only be fail-open`);
}

function withoutPhase(given: RegisterOptions & { phase?: unknown }): RegisterOptions {
  const { phase: _, ...options } = given;
  return options;
}
