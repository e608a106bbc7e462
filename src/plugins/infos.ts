/** Information about plugins: which are loaded, and what is lost at the next start. */
import type { Route } from "../gateway/routes.js";
import type { Problem } from "../hooks/registry.js";
import type { Holder } from "./holder.js";
import { lostAtStart } from "./lost-points.js";
import { HOOK_UNFIT } from "./slots.js";

/** `loaded` with a `reason`: the last reload failed and the version before it is at work, or it would not load at the next start. */
export interface PluginInfo {
  module: string;
  file?: string;
  id?: string;
  state: "loaded" | "broken" | "off";
  reason?: string;
  /** The plugin's entry or one of its hooks is critical. Undefined: the entry is not, and setup did not end, so its hooks are not known. */
  critical: boolean | undefined;
  /** Ids of its hooks. */
  hooks: string[];
  /** Matchers of its hooks that no payload fits, with the place of the registration. */
  warnings: readonly string[];
  /** Names of the hook points that it declares. */
  points: string[];
  /** The plugin called `api.route`. */
  hasRoute: boolean;
  /** When the version at work was put in place (ms since the epoch). */
  loadedAt?: number;
  /** The plugin is no longer in the configured list. It stays loaded because these modules of the list cannot be loaded. */
  staysFor?: readonly string[];
}

/** In the order of the configuration; then those that it does not list any more. */
export function infosOf(holders: readonly Holder[], routes: ReadonlyMap<string, Route>): PluginInfo[] {
  const lost = lostOf(holders);
  const listedFirst = [...holders].sort((one, other) => Number(one.isGone) - Number(other.isGone));
  return listedFirst.map((holder) => {
    const staysFor = holder.isGone ? missingOf(holders) : undefined;
    const reason = staysFor
      ? `${holder.live?.id} stays loaded, because ${staysFor.join(", ")} cannot be loaded; a restart leaves it out`
      : holder.reason;
    const [unfit] = holder.live?.unfit ?? [];
    const lostNow = unfit && `${unfit.message}. The next start cannot load this plugin: change one of both.`;
    const reasons = [reason, lostNow ?? (holder.live && lost.get(holder.live)?.why)].filter((one) => one !== undefined);
    return { ...infoOf(holder, reasons.length === 0 ? undefined : reasons.join(" "), routes), staysFor };
  });
}

function infoOf(
  { entry, live, file, loadedAt, isCritical, isGone }: Holder,
  reason: string | undefined,
  routes: ReadonlyMap<string, Route>,
): PluginInfo {
  return {
    module: entry.module,
    file,
    id: live?.id,
    state: entry.enabled ? (live ? "loaded" : "broken") : "off",
    reason,
    // A plugin that stays is at work, and nothing is lost with the list as it is.
    critical: !isGone && (entry.critical || isCritical),
    hooks: live?.hooks ?? [],
    warnings: live?.warnings ?? [],
    points: live?.points ?? [],
    hasRoute: live !== undefined && routes.has(live.id),
    loadedAt,
  };
}

/** Modules of the list that should be loaded and are not. */
export function missingOf(holders: readonly Holder[]): string[] {
  return holders.flatMap(({ entry, live, isGone }) => (entry.enabled && !live && !isGone ? entry.module : []));
}

/** Why versions at work would not load again; at the next start it would be too late to find out. */
const lostOf = (holders: readonly Holder[]) => lostAtStart(holders.flatMap(({ live }) => live ?? []));

export function lostCriticalOf(holders: readonly Holder[]): Problem[] {
  const lost = lostOf(holders);
  return holders.flatMap((holder) => {
    const found = holder.live && lost.get(holder.live);
    if (found === undefined || holder.isGone || !(holder.entry.critical || holder.isCritical)) return [];
    const message = `the critical plugin ${holder.entry.module} would be lost: ${found.why}`;
    return { code: HOOK_UNFIT, message, ids: [found.hookId] };
  });
}
