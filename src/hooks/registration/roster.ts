/** Registrations: hook points by name, hooks by id, and the checks that refuse one. */
import { ticksOf } from "../../fast/deadline-wheel.js";
import { HookgateError } from "../../lib/errors.js";
import type { Clock } from "../../lib/time/clock.js";
import { UnknownHookError } from "../errors.js";
import type { HookPoint, LifecyclePhase, Model } from "../point.js";
import { ALIASES, resolveAlias } from "./aliases.js";
import { checkPolicy, checkTimeout, closingOf, type Entry, invalid, makeEntry, refresh, restoreOwn } from "./entry.js";
import { PointHandlers } from "./handlers.js";
import type { FormerChats } from "./matcher.js";
import type { FailurePolicy, RegisterOptions } from "./registration.js";

/** The operator's setting of one hook; stronger than that of the hook itself. */
export interface Override {
  timeoutMs?: number;
  enabled?: boolean;
  failurePolicy?: FailurePolicy;
}

/** A registration as it comes in. */
export interface Applicant {
  hook: string;
  handler: unknown;
  options: RegisterOptions;
  /** The model that the call requires of the point; undefined when any will do. */
  model?: Model;
  phase?: LifecyclePhase | undefined;
}

/** A hook that comes back within this time was replaced, not away: a reload takes a hook out and registers it again. */
const REPLACED_WITHIN_MS = 1_000;
/** Earlier stays that are remembered: per hook, and for how many hooks. */
const MAX_STAYS = 20;
const MAX_LEFT = 1_000;

/** A hook was registered at a point, and was taken out. Milliseconds since the epoch. */
interface Stay {
  readonly point: string;
  readonly phase: LifecyclePhase | undefined;
  readonly from: number;
  readonly until: number;
  readonly enabledAt: number | undefined;
}

export class Roster {
  /** By canonical name. */
  readonly points = new Map<string, PointHandlers>();
  readonly entries = new Map<string, Entry>();
  readonly #overrides: Readonly<Record<string, Override>>;
  readonly #clock: Clock;
  readonly #formerChats: FormerChats | undefined;
  /** By the id of a hook that was taken out, the last one last. */
  readonly #left = new Map<string, Stay[]>();
  /** How many ids were derived from a name. */
  readonly #counts = new Map<string, number>();
  #seq = 0;

  constructor(overrides: Readonly<Record<string, Override>>, clock: Clock, formerChats: FormerChats | undefined) {
    this.#overrides = overrides;
    this.#clock = clock;
    this.#formerChats = formerChats;
  }

  /** A point of the same name is replaced; not by one of another model while a hook is registered there. */
  declare(point: HookPoint): void {
    const known = this.points.get(point.name);
    if (known === undefined) this.points.set(point.name, new PointHandlers(point));
    else if (known.point !== point) {
      if (known.all.size > 0 && known.point.model !== point.model)
        throw new HookgateError({
          code: "HOOK_POINT_TAKEN",
          message: `There is a hook point "${point.name}" of the ${known.point.model} model already, with hooks registered`,
        });
      known.point = point;
    }
  }

  /** Removes the point. Throws while a hook is registered there. */
  withdraw(name: string): void {
    const [held] = this.points.get(name)?.all ?? [];
    if (held !== undefined)
      throw new HookgateError({
        code: "HOOK_POINT_IN_USE",
        message: `There is no ${name} any more, and "${held.id}" listens to ${name}`,
      });
    this.points.delete(name);
  }

  /** By name or alias; throws `UnknownHookError`. */
  at(name: string): PointHandlers {
    const handlers = this.points.get(name) ?? this.points.get(resolveAlias(name).hook);
    if (handlers !== undefined) return handlers;
    const aliases = Object.entries(ALIASES).filter(([, { hook }]) => this.points.has(hook));
    throw new UnknownHookError(name, [...this.points.keys(), ...aliases.map(([alias]) => alias)]);
  }

  /** The same, of a model; throws `HOOK_WRONG_MODEL`. */
  firing(name: string, model: Model): PointHandlers {
    const handlers = this.points.get(name) ?? this.at(name);
    checkModel(handlers.point, model, "fire");
    return handlers;
  }

  add({ hook, handler, options, model, phase }: Applicant): Entry {
    const handlers = this.at(hook);
    const { point } = handlers;
    if (model !== undefined) checkModel(point, model, "register");
    const id = options.id ?? this.#freeId(point, options.name);
    const now = this.#clock.now();
    const holder = this.entries.get(id);
    if (holder !== undefined) checkReplaceable(holder, options);
    const entry = makeEntry({
      id,
      seq: this.#seq++,
      registeredAt: now,
      point,
      phase: phaseFor(id, point, phase ?? resolveAlias(hook).phase, phase),
      handler,
      options,
      formerChats: this.#formerChats,
    });
    this.#override(entry);
    if (holder !== undefined) this.remove(holder);
    const replaced = this.#replacedBy(entry);
    entry.registeredAt = replaced?.from ?? entry.registeredAt;
    if (entry.enabled) entry.enabledAt = replaced?.enabledAt ?? now;
    this.entries.set(id, entry);
    handlers.all.add(entry);
    handlers.changed();
    return entry;
  }

  remove(entry: Entry): void {
    if (entry.removed) return;
    entry.removed = true;
    refresh(entry);
    this.#takeOut(entry);
  }

  /** For dispatches to come; those under way still call it. */
  retire(entry: Entry): void {
    if (!entry.removed) this.#takeOut(entry);
  }

  #takeOut(entry: Entry): void {
    if (this.entries.get(entry.id) !== entry) return;
    this.entries.delete(entry.id);
    this.#remember(entry);
    const handlers = this.points.get(entry.point.name);
    handlers?.all.delete(entry);
    handlers?.changed();
  }

  #remember({ id, point, phase, registeredAt: from, enabledAt }: Entry): void {
    const stays = this.#left.get(id) ?? [];
    stays.push({ point: point.name, phase, from, until: this.#clock.now(), enabledAt });
    if (stays.length > MAX_STAYS) stays.shift();
    this.#left.delete(id);
    this.#left.set(id, stays);
    const [oldest] = this.#left.keys();
    if (this.#left.size > MAX_LEFT && oldest !== undefined) this.#left.delete(oldest);
  }

  /** The stay that this registration goes on with; it is forgotten as one of its own. */
  #replacedBy({ id, point, phase }: Entry): Stay | undefined {
    const stays = this.#left.get(id) ?? [];
    const last = stays.at(-1);
    if (last === undefined || last.point !== point.name || last.phase !== phase) return undefined;
    return Math.abs(this.#clock.now() - last.until) < REPLACED_WITHIN_MS ? stays.pop() : undefined;
  }

  /** The earlier stays of this hook where it is now. */
  stays({ id, point, phase }: Entry): readonly Stay[] {
    return (this.#left.get(id) ?? []).filter((one) => one.point === point.name && one.phase === phase);
  }

  switch(entry: Entry, enabled: boolean): void {
    entry.enabled = enabled;
    this.#noteEnabled(entry);
    refresh(entry);
    this.points.get(entry.point.name)?.changed();
  }

  /** Among equals of priority these run in this order: `last` after, `first` before those that were never arranged. */
  arrange(ids: readonly string[], where: "first" | "last"): void {
    const lowest = where === "last" ? 1 : -ids.length;
    for (const [index, id] of ids.entries()) {
      const entry = this.entries.get(id);
      if (entry === undefined || entry.rank === lowest + index) continue;
      entry.rank = lowest + index;
      this.points.get(entry.point.name)?.changed();
    }
  }

  /** Applies the overrides of a hook after they changed. */
  reconsider(id: string): void {
    const entry = this.entries.get(id);
    if (entry === undefined) return;
    restoreOwn(entry);
    this.#override(entry);
    this.#noteEnabled(entry);
    this.points.get(entry.point.name)?.changed();
  }

  /**
   * Gives a function that puts everything back as it is now: points, registrations, their places and switches. For changes that are
   * made in one turn and are kept whole or not at all; no dispatch may start in between.
   */
  mark(): () => void {
    const points = [...this.points].map(([name, handlers]) => ({
      name,
      handlers,
      point: handlers.point,
      all: [...handlers.all],
    }));
    const entries = new Map(this.entries);
    const states = [...entries.values()].map((entry) => ({ entry, state: stateOf(entry) }));
    return () => {
      for (const entry of [...this.entries.values()]) if (entries.get(entry.id) !== entry) this.remove(entry);
      this.points.clear();
      for (const { name, handlers, point, all } of points) {
        this.points.set(name, handlers);
        handlers.point = point;
        handlers.all.clear();
        for (const entry of all) handlers.all.add(entry);
        handlers.changed();
      }
      this.entries.clear();
      for (const [id, entry] of entries) this.entries.set(id, entry);
      for (const { entry, state } of states) {
        Object.assign(entry, state);
        refresh(entry);
      }
    };
  }

  /** Notes since when the hook is enabled. It may have been switched. */
  #noteEnabled(entry: Entry): void {
    entry.enabledAt = entry.enabled ? (entry.enabledAt ?? this.#clock.now()) : undefined;
  }

  #freeId(point: HookPoint, name: string | undefined): string {
    if (name !== undefined && !this.entries.has(name)) return name;
    const base = name ?? point.name;
    // Counted, not searched for: the thousandth of a name is as quick as the second.
    let count = this.#counts.get(base) ?? (name === undefined ? 0 : 1);
    let candidate: string;
    do candidate = `${base}-${++count}`;
    while (this.entries.has(candidate));
    this.#counts.set(base, count);
    return candidate;
  }

  #override(entry: Entry): void {
    const override = Object.hasOwn(this.#overrides, entry.id) ? this.#overrides[entry.id] : undefined;
    if (override === undefined) return;
    const { timeoutMs, enabled, failurePolicy } = override;
    if (timeoutMs !== undefined) {
      checkTimeout(entry.id, timeoutMs);
      entry.timeoutMs = timeoutMs;
      entry.timeoutTicks = ticksOf(timeoutMs);
    }
    if (enabled !== undefined) entry.enabled = enabled;
    refresh(entry);
    if (failurePolicy === undefined) return;
    checkPolicy(entry.id, failurePolicy, entry.point);
    entry.failurePolicy = failurePolicy;
    entry.closing = closingOf(failurePolicy);
  }
}

function stateOf({ enabled, enabledAt, removed, rank, timeoutMs, timeoutTicks, failurePolicy, closing, place }: Entry) {
  return { enabled, enabledAt, removed, rank, timeoutMs, timeoutTicks, failurePolicy, closing, place };
}

/** An id is taken once. A plugin that registers it again replaces its own hook: a plugin that is loaded twice is there once. */
function checkReplaceable(holder: Entry, { pluginId }: RegisterOptions): void {
  if (pluginId !== undefined && holder.pluginId === pluginId) return;
  throw new HookgateError({
    code: "HOOK_ID_TAKEN",
    message: `There is a hook "${holder.id}" already, at ${holder.point.name}`,
    hint: "Give one of them another id.",
  });
}

const CALLS: Record<Model, { register: string; fire: string }> = {
  void: { register: "registerVoid", fire: "fireVoid" },
  modifying: { register: "registerModifying", fire: "fireModifying" },
  claiming: { register: "registerClaiming", fire: "fireClaiming" },
  lifecycle: { register: "register with a phase", fire: "runBefore or runAfter" },
  turn: { register: "registerTurn", fire: "runPhase" },
};

/** Throws HOOK_WRONG_MODEL. */
export function checkModel(point: HookPoint, model: Model, verb: "register" | "fire"): void {
  if (point.model === model) return;
  throw new HookgateError({
    code: "HOOK_WRONG_MODEL",
    message: `"${point.name}" is a ${point.model} point, not a ${model} one: use ${CALLS[point.model][verb]}${verb === "register" && point.model === "lifecycle" ? ` (${point.phases.join(" or ")})` : ""}`,
  });
}

/** `given` holds the values of the registration itself, as opposed to those that its alias implies. */
export function phaseFor(
  id: string,
  point: HookPoint,
  phase: string | undefined,
  given: string | undefined,
): LifecyclePhase | undefined {
  if (point.model !== "lifecycle") {
    if (given !== undefined) throw invalid(id, `phase: ${point.name} is a ${point.model} point and has no phases`);
    return undefined;
  }
  if (phase === "beforeSync")
    throw invalid(
      id,
      'phase: "beforeSync" is no phase of a registration',
      'Register with phase "before" and a function that is not async: it also runs where the point fires synchronously.',
    );
  if (phase !== "before" && phase !== "after")
    throw invalid(id, `phase: expected before or after, got ${String(phase)}`);
  if (!point.phases.includes(phase)) throw invalid(id, `phase: ${point.name} fires ${point.phases.join(" and ")} only`);
  return phase;
}
