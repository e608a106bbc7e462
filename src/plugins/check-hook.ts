/** What a plugin's registration may not be: refused in the plugin's own line, before anything of the version is in place. */
import { resolveAlias } from "../hooks/aliases.js";
import { invalid, makeEntry } from "../hooks/entry.js";
import { neverCarried } from "../hooks/matcher.js";
import type { HookPoint } from "../hooks/point.js";
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
  if (point.model === "claiming" && options.execution === "background")
    throw invalid(id, `execution: a background hook runs later and cannot claim at ${point.name}`);
  const field = options.match && neverCarried(options.match, point.payload);
  if (field !== undefined)
    throw invalid(id, `match.${field}: the payload of ${point.name} never has it, so the hook would never run`);
}

function withoutPhase(given: RegisterOptions & { phase?: unknown }): RegisterOptions {
  const { phase: _, ...options } = given;
  return options;
}
