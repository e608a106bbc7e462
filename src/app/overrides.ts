/**
 * The operator's decision on single hooks: `overrides:` of the configuration, and switches in chat where that sets nothing. The newest
 * decision holds. A switch is stored while the files set the hook otherwise. The files can then change only to the state of the switch, and
 * that ends the switch, also when it is read at the next start. A reload that changes something else leaves the switch alone. At a start
 * `overrides:` is the newest decision: it ends a switch in chat.
 */
import { isDeepStrictEqual } from "node:util";
import type { Config } from "../config/schema.js";
import type { HookStateStore, HookSwitch } from "../domain/store.js";
import type { Override } from "../hooks/registry.js";
import type { Clock } from "../lib/time/clock.js";

type Configured = Config["overrides"];

interface Deps {
  store: Pick<HookStateStore, "set" | "remove">;
  /** The state in the hook's own file or plugin; undefined while there is no such hook. */
  declared(hookId: string): boolean | undefined;
  clock: Clock;
}

export interface Overrides {
  /** The overrides that the registry reads. */
  readonly byHook: Readonly<Record<string, Override>>;
  configured(hookId: string): boolean | undefined;
  /** Durable, and for registrations to come. Nothing is stored when the configuration or the hook itself sets the same state. */
  switchInChat(hookId: string, enabled: boolean, by: string): Promise<void>;
  /** The switch in chat that holds against the state that is written. */
  inForce(hookId: string): HookSwitch | undefined;
  /** Takes over the overrides of a new configuration; gives the hooks that it concerns. */
  take(next: Configured): string[];
  /** Hooks are registered as they are written now: ends switches whose state is also written, or that the written state replaced. */
  settle(): Promise<void>;
  /** Returns a function that puts everything back to its present state. */
  mark(): () => void;
}

/** `stored`: the switches in chat of earlier runs. */
export function createOverrides(
  configured: Configured,
  stored: readonly HookSwitch[],
  { store, declared, clock }: Deps,
): Overrides {
  const byHook: Record<string, Override> = {};
  let switched = new Map(stored.map((one) => [one.hookId, one]));
  /** Switches that a newer decision of `overrides:` replaced, and that are still stored. */
  let replaced: readonly HookSwitch[] = [];
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
    const former = switched.get(id);
    if (isSaidAnew && now?.enabled !== undefined && former !== undefined) {
      switched.delete(id);
      replaced = [...replaced, former];
    }
    const enabled = isSaidAnew ? (now?.enabled ?? former?.enabled) : byHook[id]?.enabled;
    const override: Override = {
      enabled,
      timeoutMs: now?.timeout,
      failurePolicy: now?.failure_policy,
    };
    if (Object.keys(override).length === 0) delete byHook[id];
    else byHook[id] = override;
  }

  const written = (hookId: string) => own(config, hookId)?.enabled ?? declared(hookId);

  /** Ends a switch: the hook has the state that is written. */
  function release(one: HookSwitch): void {
    switched.delete(one.hookId);
    byHook[one.hookId] = { ...byHook[one.hookId], enabled: own(config, one.hookId)?.enabled };
  }

  for (const [id, { enabled }] of switched) byHook[id] = { enabled };
  take(configured);
  return {
    byHook,
    configured: (hookId) => own(config, hookId)?.enabled,
    async switchInChat(hookId, enabled, by) {
      const former = switched.get(hookId);
      if (written(hookId) === enabled) {
        if (former === undefined) return;
        await store.remove(former);
        release(former);
        return;
      }
      const made = { hookId, enabled, by, at: clock.now() };
      await store.set(made);
      switched.set(hookId, made);
      byHook[hookId] = { ...byHook[hookId], enabled };
    },
    inForce: (hookId) => switched.get(hookId),
    take,
    async settle() {
      const ended = [...switched.values()].filter(({ hookId, enabled }) => written(hookId) === enabled);
      for (const one of ended) release(one);
      const gone = [...replaced, ...ended];
      replaced = [];
      for (const one of gone) await store.remove(one);
    },
    mark() {
      const before = { byHook: { ...byHook }, switched: new Map(switched), replaced, config };
      return () => {
        for (const id of Object.keys(byHook)) delete byHook[id];
        Object.assign(byHook, before.byHook);
        ({ switched, replaced, config } = before);
      };
    },
  };
}

/** Ids come from a file: `constructor` is an id like any other. */
function own(overrides: Configured, id: string): Configured[string] | undefined {
  return Object.hasOwn(overrides, id) ? overrides[id] : undefined;
}
