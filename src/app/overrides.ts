/**
 * The operator's word on single hooks: `overrides:` of the configuration, and what was switched in chat where that says nothing. At
 * a reload only what the configuration says anew counts: an emergency switch in chat is not undone by a change elsewhere.
 */
import { isDeepStrictEqual } from "node:util";
import type { Config } from "../config/schema.js";
import type { Store } from "../domain/store.js";
import type { Override } from "../hooks/registry.js";

type Configured = Config["overrides"];

export interface Overrides {
  /** What the registry reads. */
  readonly byHook: Readonly<Record<string, Override>>;
  configured(hookId: string): boolean | undefined;
  /** Switched in chat, for registrations to come. */
  keep(hookId: string, enabled: boolean): void;
  /** Takes over what a new configuration says; gives the hooks that it concerns. */
  take(next: Configured): string[];
  /** Gives what puts everything back as it is now. */
  mark(): () => void;
}

export async function createOverrides(configured: Configured, store: Pick<Store, "hookState">): Promise<Overrides> {
  const byHook: Record<string, Override> = {};
  let switched = new Map((await store.hookState.list()).map(({ hookId, enabled }) => [hookId, enabled]));
  let config: Configured = {};

  function take(next: Configured): string[] {
    const ids = [...new Set([...Object.keys(config), ...Object.keys(next)])];
    const changed = ids.filter((id) => !isDeepStrictEqual(own(config, id), own(next, id)));
    for (const id of changed) put(id, own(next, id), own(config, id));
    config = next;
    return changed;
  }

  function put(id: string, now: Configured[string] | undefined, before: Configured[string] | undefined): void {
    const isSaidAnew = now?.enabled !== before?.enabled;
    const enabled = isSaidAnew ? (now?.enabled ?? switched.get(id)) : byHook[id]?.enabled;
    const override: Override = {
      enabled,
      timeoutMs: now?.timeout,
      failurePolicy: now?.failure_policy,
    };
    if (Object.keys(override).length === 0) delete byHook[id];
    else byHook[id] = override;
  }

  for (const [id, enabled] of switched) byHook[id] = { enabled };
  take(configured);
  return {
    byHook,
    configured: (hookId) => own(config, hookId)?.enabled,
    keep(hookId, enabled) {
      switched.set(hookId, enabled);
      byHook[hookId] = { ...byHook[hookId], enabled };
    },
    take,
    mark() {
      const before = { byHook: { ...byHook }, switched: new Map(switched), config };
      return () => {
        for (const id of Object.keys(byHook)) delete byHook[id];
        Object.assign(byHook, before.byHook);
        ({ switched, config } = before);
      };
    },
  };
}

/** Ids come from a file: `constructor` is an id like any other. */
function own(overrides: Configured, id: string): Configured[string] | undefined {
  return Object.hasOwn(overrides, id) ? overrides[id] : undefined;
}
