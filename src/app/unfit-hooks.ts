/** Which configured hooks a changed point of a plugin would put out of force. */
import type { Automations } from "../automations/automations.js";
import type { LoadedHooks } from "../automations/definition/load.js";
import type { Problem } from "../hooks/registry.js";
import { unfit } from "../plugins/slots.js";

/** Hooks in force at points of plugins that, as they are written, do not fit these points as they are declared now. */
export function unfitHooks(
  automations: Pick<Automations, "get" | "list">,
  written: () => LoadedHooks | undefined,
): Problem[] {
  const isOfPlugin = (point: string | undefined) => point?.startsWith("plugin:") === true;
  if (!automations.list().some(({ point }) => isOfPlugin(point))) return [];
  return (written()?.broken ?? []).flatMap(({ id, problems }) => {
    const point = automations.get(id)?.point;
    if (point === undefined || !isOfPlugin(point)) return [];
    return unfit(id, point, problems.map(({ message }) => message).join(", "));
  });
}
