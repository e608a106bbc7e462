/** Events of the configuration that have problems: why each is not in force. */
import type { BrokenHook, LoadedHooks } from "../../automations/definition/load.js";
import { eventName } from "../../automations/triggers/event-point.js";
import { brokenEvent, type LoadedConfig } from "../../config/load.js";

export function brokenEventsOf(problems: LoadedConfig["problems"]): ReadonlyMap<string, string> {
  const names = new Set(problems.flatMap(({ event }) => event ?? []));
  return new Map([...names].map((name) => [name, brokenEvent(name, problems) ?? ""]));
}

/** Events that are not in force are listed among the broken hooks: for queries, and so that no reload breaks one. */
export function withBrokenEvents(hooks: LoadedHooks, { problems }: LoadedConfig): LoadedHooks {
  const events = [...brokenEventsOf(problems).keys()].map((name): BrokenHook => {
    const own = problems.filter(({ event }) => event === name);
    const place = { file: own[0]?.file ?? "", line: own[0]?.line };
    return { id: eventName(name), place, critical: false, problems: own };
  });
  return { ...hooks, broken: [...hooks.broken, ...events] };
}
