/** A switch in chat that differs from the written state of a hook: the person, the time, and the written state. */
import type { HookInfo } from "../../src/hooks/registration/registration.js";
import type { CommandDeps } from "../deps.js";
import { ago, code, plain } from "../show/text.js";
import { nameIn } from "../show/who-is.js";

type Deps = Pick<CommandDeps, "switches" | "registry" | "clock">;

/**
 * `disabled by Ada 3 min ago, and its file has enabled: true`; undefined while the hook has its written state. `form`: for quoted parts.
 */
export function outrankedText(
  { switches, registry, clock }: Deps,
  { id, pluginId }: Pick<HookInfo, "id" | "pluginId">,
  form: (text: string) => string = code,
): string | undefined {
  const made = switches?.inForce(id);
  const written = switches?.configured(id) ?? registry.declaredEnabled(id);
  if (made === undefined || written === undefined || written === made.enabled) return undefined;
  const source =
    switches?.configured(id) !== undefined ? form(`overrides.${id}`) : pluginId ? "its plugin" : "its file";
  const who = form === code ? plain(nameIn(made.by), 64) : nameIn(made.by);
  return `${made.enabled ? "enabled" : "disabled"} by ${who} ${ago(made.at, clock.now())}, and ${source} has ${form(`enabled: ${written}`)}`;
}

/** How the hook gets its written state again. */
export const followText = (id: string, isEnabled: boolean, form: (text: string) => string = code): string =>
  `${form(`/hooks ${isEnabled ? "disable" : "enable"} ${id}`)} ends that.`;

export function outrankedHooks(deps: Deps): { id: string; text: string }[] {
  return deps.registry.list().flatMap((hook) => {
    const text = outrankedText(deps, hook);
    return text === undefined ? [] : { id: hook.id, text };
  });
}

/** For the log and for admins, one line for each hook. */
export function outrankedLines(deps: Deps, ids?: readonly string[]): string[] {
  return deps.registry.list().flatMap((hook) => {
    const text = ids?.includes(hook.id) === false ? undefined : outrankedText(deps, hook, String);
    return text === undefined ? [] : `The hook "${hook.id}" was ${text}. ${followText(hook.id, hook.enabled, String)}`;
  });
}
