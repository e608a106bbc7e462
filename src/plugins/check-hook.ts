/** Refuses invalid registrations in the plugin's own line, before anything of the version is in place. */

import { hookDue } from "../hooks/catalogue/automation.js";
import { orchestratorShutdown } from "../hooks/catalogue/orchestration.js";
import { impossibleMatches } from "../hooks/conditions/impossible-match.js";
import { failureStopsNothing, type HookPoint, type LifecyclePhase } from "../hooks/point.js";
import { resolveAlias } from "../hooks/registration/aliases.js";
import { closingOf, invalid, makeEntry } from "../hooks/registration/entry.js";
import { type Matcher, neverCarried, platformProblems } from "../hooks/registration/matcher.js";
import type { RegisterOptions } from "../hooks/registration/registration.js";
import { checkModel, phaseFor } from "../hooks/registration/roster.js";
import { errorMessage } from "../lib/errors.js";
import type { StagedHook } from "./slots.js";

/** Throws the errors of the registry early, and for a hook that could never do anything. Returns the vain conditions of its matcher. */
export function checkHook(point: HookPoint, staged: Omit<StagedHook, "attach" | "fit" | "check">): string[] {
  const { id, model, handler } = staged;
  // Dispatches of this point name the one configured hook that they are for.
  if (point.name === hookDue.name)
    throw invalid(
      id,
      `${point.name} calls only the configured hook whose time has come, so this would never run: use hook_run_completed, which fires when a run of a configured hook ends, or api.clock for what the plugin does at a time of its own`,
    );
  if (model !== "any") checkModel(point, model, "register");
  const given = model === "any" && staged.phase !== "" ? staged.phase : undefined;
  const phase = phaseFor(id, point, given ?? resolveAlias(staged.hook).phase, given);
  const options = model === "any" ? withoutPhase(staged.options) : staged.options;
  try {
    makeEntry({ id, seq: 0, registeredAt: 0, point, phase, handler, options });
  } catch (error) {
    throw clearer(error, id, options.match, point);
  }
  if (point.isSync && phase === "before" && staged.isAsync)
    throw invalid(id, `${point.name} is synchronous and does not start an async handler: remove \`async\``);
  checkCounts(id, point, phase, options);
  const field = options.match && neverCarried(options.match, point.payload);
  if (field !== undefined)
    throw invalid(id, `match.${field}: the payload of ${point.name} never has it, so the hook would never run`);
  const [wrong] = platformProblems(options.match ?? {}, point.name);
  if (wrong !== undefined) throw invalid(id, `match.${wrong.path[0]}: ${wrong.message}`);
  return options.match === undefined ? [] : inVain(options.match, point);
}

/** The message of the check where it has one: it names the intended field. */
function clearer(error: unknown, id: string, match: RegisterOptions["match"], point: HookPoint): unknown {
  const isOfCondition = typeof match?.when === "string" && errorMessage(error).includes("match.when: ");
  const [problem] = isOfCondition ? inVain({ when: match.when, access: "any" }, point) : [];
  return problem === undefined ? error : invalid(id, problem);
}

/** A hook in code also gets denied messages, unless its matcher excludes them. */
function inVain(match: Matcher, point: HookPoint): string[] {
  return impossibleMatches({ access: "any", ...match }, point).map(
    ({ path, message }) => `${path.slice(0, 2).join(".")}: ${message}`,
  );
}

/** Refuses a hook when nothing waits for its decision or failure. */
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
  if (name === orchestratorShutdown.name)
    throw invalid(
      id,
      `execution: the gateway ends after ${name}, so a ${execution} hook would be cut off or run at the next start: remove \`execution\``,
    );
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
