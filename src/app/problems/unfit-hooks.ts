/** Which configured hooks a changed point of a plugin would put out of force. */
import type { Automations } from "../../automations/automations.js";
import type { Definition } from "../../automations/definition/definition.js";
import type { LoadedHooks } from "../../automations/definition/load.js";
import type { Problem } from "../../hooks/registry.js";
import type { Plugins } from "../../plugins/plugins.js";
import { HOOK_UNFIT, unfit } from "../../plugins/slots.js";

/**
 * Hooks in force at points of plugins that, as they are written, do not fit the present declarations of these points, or are critical and
 * lost their point.
 */
export function unfitHooks(
  automations: Pick<Automations, "get" | "list">,
  written: () => LoadedHooks | undefined,
  plugins: Pick<Plugins, "points">,
): Problem[] {
  if (!automations.list().some(({ point }) => isOfPlugin(point))) return [];
  const { broken = [], definitions = [] } = written() ?? {};
  const unfitting = broken.flatMap(({ id, problems }) => {
    const point = automations.get(id)?.point;
    if (point === undefined || !isOfPlugin(point)) return [];
    return unfit(id, point, problems.map(({ message }) => message).join(", "));
  });
  // The point of a version that was replaced is there until hooks have left it.
  return [...unfitting, ...lostCritical(definitions, plugins)];
}

/** Critical hooks at points that no plugin declares: a start refuses them. */
export function lostCritical(definitions: readonly Definition[], plugins: Pick<Plugins, "points">): Problem[] {
  return definitions.flatMap(({ id, point, critical }) => {
    if (!critical || !isOfPlugin(point) || plugins.points().includes(point)) return [];
    return {
      code: HOOK_UNFIT,
      message: `no plugin declares ${point}, where the critical hook "${id}" is registered`,
      ids: [id],
    };
  });
}

const isOfPlugin = (point: string | undefined) => point?.startsWith("plugin:") === true;
