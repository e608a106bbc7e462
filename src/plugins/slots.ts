/**
 * A plugin's registrations: collected while its `setup` runs (nothing is live yet), then put in place at once. A hook that the old
 * version had too, with the same options, keeps its registration and gets the new handler: its place in the order stays, and a
 * dispatch that is under way never finds it missing.
 */

import type { RegisterOptions } from "../hooks/registration.js";
import type { HookRegistry, Unregister } from "../hooks/registry.js";
import { HookgateError } from "../lib/errors.js";

/** Any handler; what it takes and gives was checked where it was registered. */
export type Handler = (first: never, second: never) => unknown;

/** Where a live registration finds its handler. */
export interface Relay {
  handler: Handler;
}

export interface StagedHook {
  id: string;
  hook: string;
  phase: string;
  options: RegisterOptions;
  handler: Handler;
  attach(relay: Relay, options: RegisterOptions): Unregister;
}

interface Slot {
  staged: StagedHook;
  relay: Relay;
  signature: string;
  unregister: Unregister;
}

export class Slots {
  readonly #pluginId: string;
  readonly #registry: HookRegistry;
  #live = new Map<string, Slot>();

  constructor(pluginId: string, registry: HookRegistry) {
    this.#pluginId = pluginId;
    this.#registry = registry;
  }

  get ids(): string[] {
    return [...this.#live.keys()];
  }

  /**
   * Puts a new set in place of the live one, in one go; returns how to undo it (in the same turn of the event loop). Throws, with
   * everything as it was, when the registry refuses one of them.
   */
  swap(staged: readonly StagedHook[]): () => void {
    const before = this.#live;
    const handlers = new Map([...before].map(([id, slot]) => [id, slot.relay.handler]));
    const takeBack = this.#registry.mark();
    const undo = () => {
      takeBack();
      this.#live = before;
      for (const [id, slot] of before) slot.relay.handler = handlers.get(id) as Handler;
    };
    const next = new Map<string, Slot>();
    const own = new Set(staged.map((hook) => hook.id));
    const wanted = staged.map((hook) => ({ hook, signature: signatureOf(hook) }));
    this.#live = next;
    for (const { hook, signature } of wanted) {
      const old = before.get(hook.id);
      if (old && old.signature === signature) next.set(hook.id, old);
    }
    for (const [id, slot] of before) if (next.get(id) !== slot) slot.unregister();
    try {
      for (const { hook, signature } of wanted) {
        const kept = next.get(hook.id);
        if (kept) kept.relay.handler = hook.handler;
        else next.set(hook.id, this.#open(withOwnNames(hook, this.#pluginId, own), signature, before.get(hook.id)));
      }
    } catch (error) {
      undo();
      throw error;
    }
    return undo;
  }

  /** Registers one more hook of a plugin that is live. */
  add(staged: StagedHook): Unregister {
    if (this.#live.has(staged.id)) throw takenId(staged.id);
    const slot = this.#open(
      withOwnNames(staged, this.#pluginId, new Set(this.#live.keys())),
      signatureOf(staged),
      undefined,
    );
    this.#live.set(staged.id, slot);
    return () => this.remove(staged.id);
  }

  remove(id: string): void {
    this.#live.get(id)?.unregister();
    this.#live.delete(id);
  }

  clear(): void {
    for (const id of this.ids) this.remove(id);
  }

  #open(staged: StagedHook, signature: string, old: Slot | undefined): Slot {
    const wasSwitchedOff = old !== undefined && this.#wasSwitchedOff(old);
    const relay = { handler: staged.handler };
    const slot = { staged, relay, signature, unregister: this.#attach(staged, relay) };
    if (wasSwitchedOff) this.#registry.setEnabled(staged.id, false);
    return slot;
  }

  #switchedOff = new Set<string>();
  /** An operator disabled it: that outlives a new version. */
  #wasSwitchedOff(old: Slot): boolean {
    return this.#switchedOff.has(old.staged.id);
  }

  #attach(staged: StagedHook, relay: Relay): Unregister {
    const detach = staged.attach(relay, { ...staged.options, id: staged.id, pluginId: this.#pluginId });
    return () => {
      const isOff = this.#registry.get(staged.id)?.enabled === false && staged.options.enabled !== false;
      if (isOff) this.#switchedOff.add(staged.id);
      else this.#switchedOff.delete(staged.id);
      detach();
    };
  }
}

export function takenId(id: string): HookgateError {
  return new HookgateError({ code: "HOOK_ID_TAKEN", message: `The plugin registers two hooks with the id "${id}".` });
}

/** `after: ["guard"]` names the plugin's own hook `<plugin>.guard` when it has one. */
function withOwnNames(hook: StagedHook, pluginId: string, own: ReadonlySet<string>): StagedHook {
  const resolve = (ids: readonly string[]) =>
    ids.map((id) => (own.has(`${pluginId}.${id}`) ? `${pluginId}.${id}` : id));
  const { after, before } = hook.options;
  if (!after && !before) return hook;
  return {
    ...hook,
    options: {
      ...hook.options,
      ...(after ? { after: resolve(after) } : {}),
      ...(before ? { before: resolve(before) } : {}),
    },
  };
}

function signatureOf({ hook, phase, options }: StagedHook): string {
  return JSON.stringify([hook, phase, options]);
}
