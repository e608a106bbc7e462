/**
 * A plugin's registrations: collected while its `setup` runs (nothing is live yet), then put in place at once. A hook that the old
 * version had too, with the same options, keeps its registration and gets the new handler: its place in the order stays, and a
 * dispatch that is under way never finds it missing.
 */

import type { HookPoint, Model } from "../hooks/point.js";
import type { RegisterOptions } from "../hooks/registration/registration.js";
import type { HookRegistry, Problem, Unregister } from "../hooks/registry.js";
import { errorMessage, HookgateError } from "../lib/errors.js";
import { guarded, type Handler, type HookBreaker } from "./breaker.js";

/** The current handler of a live registration. */
export interface Relay {
  handler: Handler;
}

export interface StagedHook {
  id: string;
  /** The register call of the hook: another call is another registration. */
  model: Model | "any";
  /** A synchronous point does not start an async handler, so the registration must show that. */
  isAsync: boolean;
  hook: string;
  phase: string;
  /** The place in the source of the call that registers it. */
  place: string | undefined;
  /** How many points the version had declared by then. */
  pointsBefore: number;
  /** The result of the last check. */
  fit: Fit;
  options: RegisterOptions;
  handler: Handler;
  attach(relay: Relay, options: RegisterOptions): Unregister;
  /** The conditions of its matcher that no payload of this point meets. Throws when the point refuses the hook. */
  check(point: HookPoint): readonly string[];
}

/** How a hook fits its point, which may be declared again. */
interface Fit {
  point: HookPoint;
  /** The conditions of its matcher that no payload meets. */
  warnings: readonly string[];
  /** Why the point would refuse the hook now. */
  refusal?: string;
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
  readonly #breaker: HookBreaker | undefined;
  #live = new Map<string, Slot>();

  constructor(pluginId: string, registry: HookRegistry, breaker: HookBreaker | undefined) {
    this.#pluginId = pluginId;
    this.#registry = registry;
    this.#breaker = breaker;
  }

  get ids(): string[] {
    return [...this.#live.keys()];
  }

  get warnings(): string[] {
    return [...this.#live.values()].flatMap(({ staged }) => warningsOf({ ...staged, fit: this.#fitNow(staged) }));
  }

  /** Hooks that their point, as it is declared now, would refuse. */
  get unfit(): Problem[] {
    return [...this.#live.values()].flatMap(({ staged }) => {
      const { refusal, point } = this.#fitNow(staged);
      return refusal === undefined ? [] : unfit(staged.id, point.name, refusal);
    });
  }

  #fitNow(staged: StagedHook): Fit {
    const point = this.#registry.point(staged.hook);
    if (staged.fit.point !== point) staged.fit = fitAt(point, staged);
    return staged.fit;
  }

  /**
   * Puts a new set in place of the live one, in one go; returns how to undo it (in the same turn of the event loop). Throws, with
   * everything as it was, when the registry refuses one of them. `declare` is called when the old hooks that do not stay are gone.
   */
  swap(staged: readonly StagedHook[], declare: () => void = () => {}): () => void {
    const before = this.#live;
    const handlers = new Map([...before].map(([id, slot]) => [id, slot.relay.handler]));
    const takeBack = this.#registry.mark();
    const undo = () => {
      takeBack();
      this.#live = before;
      for (const [id, slot] of before) slot.relay.handler = handlers.get(id) as Handler;
    };
    const kept = new Map<string, Slot>();
    // In the order of the new version, which is the order among equals of priority.
    const next = new Map<string, Slot>();
    const own = new Set(staged.map((hook) => hook.id));
    const wanted = staged.map((hook) => ({ hook, signature: signatureOf(hook) }));
    this.#live = next;
    for (const { hook, signature } of wanted) {
      const old = before.get(hook.id);
      if (old && old.signature === signature) kept.set(hook.id, { ...old, staged: hook });
    }
    for (const [id, slot] of before) if (!kept.has(id)) slot.unregister();
    try {
      declare();
      for (const { hook, signature } of wanted) {
        const slot = kept.get(hook.id);
        if (slot) {
          slot.relay.handler = this.#guarded(hook);
          this.#registry.setPlace(hook.id, hook.place);
          next.set(hook.id, slot);
        } else next.set(hook.id, this.#open(hook, own, signature, before.get(hook.id)));
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
    const slot = this.#open(staged, new Set(this.#live.keys()), signatureOf(staged), undefined);
    this.#live.set(staged.id, slot);
    return () => this.remove(staged);
  }

  has(id: string): boolean {
    return this.#live.has(id);
  }

  /** Does nothing when a registration of a newer version has its id by now. */
  remove(staged: StagedHook): void {
    const slot = this.#live.get(staged.id);
    if (slot?.staged !== staged) return;
    slot.unregister();
    this.#live.delete(staged.id);
  }

  #open(staged: StagedHook, own: ReadonlySet<string>, signature: string, old: Slot | undefined): Slot {
    const wasSwitchedOff = old !== undefined && this.#wasSwitchedOff(old);
    const relay = { handler: this.#guarded(staged) };
    const unregister = this.#attach(withOwnNames(staged, this.#pluginId, own), relay);
    const slot = { staged, relay, signature, unregister };
    this.#registry.setPlace(staged.id, staged.place);
    if (wasSwitchedOff) this.#registry.setEnabled(staged.id, false);
    return slot;
  }

  #guarded({ id, handler }: StagedHook): Handler {
    if (this.#breaker === undefined) return handler;
    // A new version gets its own chance.
    this.#breaker.close(id);
    return guarded(id, handler, this.#registry, this.#breaker);
  }

  #switchedOff = new Set<string>();
  /** An operator disabled the hook: a new version stays disabled. */
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

function fitAt(point: HookPoint, { id, place, check }: StagedHook): Fit {
  try {
    return { point, warnings: check(point) };
  } catch (error) {
    const what = errorMessage(error).replace(`Hook "${id}": `, "");
    return { point, warnings: [], refusal: place === undefined ? what : `${what} (${place})` };
  }
}

/** A hook that its point, as it is declared now, would refuse. */
export function unfit(id: string, point: string, refusal: string): Problem {
  const message = `the hook "${id}" does not fit ${point} as it is declared now: ${refusal}`;
  return { code: HOOK_UNFIT, message, ids: [id] };
}

export const HOOK_UNFIT = "HOOK_UNFIT";

/** `the hook "p.greet" (p.mjs:3:5): match.when: …`, one for each. */
export function warningsOf({ id, place, fit: { warnings } }: StagedHook): string[] {
  return warnings.map((what) => `the hook "${id}"${place === undefined ? "" : ` (${place})`}: ${what}`);
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
      after: after ? resolve(after) : hook.options.after,
      before: before ? resolve(before) : hook.options.before,
    },
  };
}

function signatureOf({ hook, phase, model, isAsync, options }: StagedHook): string {
  return JSON.stringify([hook, phase, model, isAsync, options]);
}
