/** Plugins at work that the next start cannot load: a point where one of their hooks is registered is not there when their `setup` runs. */
import type { LivePlugin } from "./reload.js";
import type { StagedHook } from "./slots.js";

type Lost = ReadonlyMap<LivePlugin, { readonly hookId: string; readonly why: string }>;

/**
 * A start sets a plugin up again when another has declared a point that it lacked: the order of plugins does not count, that of the lines
 * in a setup does.
 */
export function lostAtStart(plugins: readonly LivePlugin[]): Lost {
  const declared = declaredAtStart(plugins);
  const lost = new Map<LivePlugin, { hookId: string; why: string }>();
  let count: number;
  do {
    count = lost.size;
    const loaded = new Set(plugins.filter((one) => !lost.has(one)).flatMap(({ points }) => points));
    for (const one of plugins) {
      const hook = lost.has(one)
        ? undefined
        : one.staged.find(lacks((point) => declared.has(point) && loaded.has(point)));
      if (hook === undefined) continue;
      const why = plugins.some(({ points }) => points.includes(hook.hook))
        ? "which a start declares too late: the next start cannot load this plugin. In `setup`, declare points before hooks are registered."
        : "which no plugin declares any more: it never fires, and the next start cannot load this plugin. Declare the point again, or remove the hook.";
      lost.set(one, { hookId: hook.id, why: `"${hook.id}" is registered at ${hook.hook}, ${why}` });
    }
  } while (lost.size > count);
  return lost;
}

/** Points of a setup count up to the line that fails, because another plugin never declares its point before. */
function declaredAtStart(plugins: readonly LivePlugin[]): ReadonlySet<string> {
  const declared = new Set<string>();
  let count: number;
  do {
    count = declared.size;
    for (const { points, staged } of plugins) {
      const failing = staged.find(lacks((point) => declared.has(point)));
      for (const point of points.slice(0, failing?.pointsBefore)) declared.add(point);
    }
  } while (declared.size > count);
  return declared;
}

const lacks =
  (has: (point: string) => boolean) =>
  ({ hook }: StagedHook): boolean =>
    hook.startsWith("plugin:") && !has(hook);
