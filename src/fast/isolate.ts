/**
 * Keeps a payload from being changed by handlers that only read it.
 *
 * The choice: one deep copy per dispatch, frozen, made when the first handler is about to run and shared by all of them. A copy, because
 * freezing the caller's own objects would stop the caller (a live task, say); one and frozen, because a copy per handler costs as much as
 * the handler. No read-only proxies: `structuredClone(payload.message)`, the natural way for a plugin to get something it may change, fails
 * on them, and each read costs 30 ns. A caller that builds an object and never changes it (the gateway its message) declares this with
 * `immutable`: it is frozen in place once and no dispatch copies it again.
 *
 * Benchmark: bench/fast.ts, bench/dispatch.ts.
 */

class Given {
  constructor(value: object) {
    // biome-ignore lint/correctness/noConstructorReturn: so that the field of the class below is put on what was given.
    return value;
  }
}

/**
 * Marks a value that `immutable` froze all the way down, by a private field of its own, which is invisible and which no copy has. A
 * WeakSet would cost three times as much: it grows with every message, and every collection looks through it.
 */
class Whole extends Given {
  #isWhole = true;

  static is(value: object): boolean {
    return #isWhole in value;
  }

  /** Must come before the freezing of the value: an object that takes no more fields may take no private one. */
  static mark(value: object): void {
    if (Object.isExtensible(value)) new Whole(value);
  }
}

/** Notes that a value holds something that cannot be frozen (a Map, a Buffer): each handler then needs its own copy. */
export interface IsolationNote {
  unfreezable: boolean;
}

/** Freezes a value in place, all the way down, and gives it back. Dispatches pass it on as it is. */
export function immutable<T>(value: T): T {
  if (typeof value !== "object" || value === null || Whole.is(value)) return value;
  const note = { unfreezable: false };
  const isFreezable = freezeInside(value, note, 0, undefined);
  if (!note.unfreezable) Whole.mark(value);
  if (isFreezable) Object.freeze(value);
  return value;
}

function freezeDeep(value: object, note: IsolationNote, depth: number, seen: Seen | undefined): void {
  const known = depth < TRACKED_DEPTH ? undefined : (seen ?? new Map<object, object>());
  if (known?.has(value) || Whole.is(value)) return;
  known?.set(value, value);
  if (freezeInside(value, note, depth, known)) Object.freeze(value);
}

/** False when it is something that cannot be frozen. */
function freezeInside(value: object, note: IsolationNote, depth: number, known: Seen | undefined): boolean {
  if (Array.isArray(value)) freezeItems(value, note, depth, known);
  else if (isPlain(value)) freezeFields(value as Record<string, unknown>, note, depth, known);
  else {
    note.unfreezable = true;
    return false;
  }
  return true;
}

/** Apart from lists: where lists come by, too, each field is looked up by its name, which costs more than to freeze them. */
function freezeFields(value: Record<string, unknown>, note: IsolationNote, depth: number, known: Seen | undefined) {
  for (const key in value) {
    const part = value[key];
    if (typeof part === "object" && part !== null) freezeDeep(part, note, depth + 1, known);
  }
}

function freezeItems(list: readonly unknown[], note: IsolationNote, depth: number, known: Seen | undefined) {
  // Not by index: a list may have fields of its own (the match of a regular expression).
  for (const key in list) {
    const part = list[key];
    if (typeof part === "object" && part !== null) freezeDeep(part, note, depth + 1, known);
  }
}

/** A frozen copy, equal to the value; the value itself when it is `immutable`. */
export function isolate<T>(value: T, note?: IsolationNote): T {
  if (typeof value !== "object" || value === null) return value;
  return clone(value, true, note, 0, undefined) as T;
}

/** Like `isolate`, for a value that no other code holds: frozen in place, at a third of the cost of a copy, unless a part cannot be. */
export function isolateOwned<T>(value: T, note: IsolationNote): T {
  if (typeof value !== "object" || value === null) return value;
  if (!note.unfreezable) freezeDeep(value, note, 0, undefined);
  return note.unfreezable ? isolate(value, note) : value;
}

/** A copy that may be changed. */
export function copyOf<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  return clone(value, false, undefined, 0, undefined) as T;
}

/** A copy of an object as plain fields: for an instance of a class, its own fields. */
export function fieldsOf(value: object): Record<string, unknown> {
  const copy = clone(value, false, undefined, 0, undefined);
  return copy !== value && isPlain(copy) ? (copy as Record<string, unknown>) : { ...copy };
}

/** From this depth on, visited objects are remembered, so that a payload with cycles ends; above it, that cost is saved. */
const TRACKED_DEPTH = 3;
type Seen = Map<object, object>;

const NO_ITEMS: readonly unknown[] = Object.freeze([]);

function clone(
  value: object,
  freeze: boolean,
  note: IsolationNote | undefined,
  depth: number,
  seen: Seen | undefined,
): object {
  if (freeze && Whole.is(value)) return value;
  const known = depth < TRACKED_DEPTH ? undefined : (seen ?? new Map<object, object>());
  const before = known?.get(value);
  if (before !== undefined) return before;
  if (Array.isArray(value)) return cloneList(value, freeze, note, depth, known);
  if (!isPlain(value)) return cloneExotic(value, note);
  const source = value as Record<string, unknown>;
  // Naming the prototype of a literal that has it anyway makes the freeze below several times cheaper (V8 11).
  const copy: Record<string, unknown> = { __proto__: Object.prototype };
  known?.set(value, copy);
  for (const key in source) {
    const part = source[key];
    const kept = typeof part === "object" && part !== null ? clone(part, freeze, note, depth + 1, known) : part;
    if (key === "__proto__") defineOwn(copy, key, kept);
    else copy[key] = kept;
  }
  return freeze ? Object.freeze(copy) : copy;
}

function cloneList(
  value: readonly unknown[],
  freeze: boolean,
  note: IsolationNote | undefined,
  depth: number,
  known: Seen | undefined,
): readonly unknown[] {
  if (freeze && value.length === 0) return NO_ITEMS;
  const copy = value.slice();
  known?.set(value, copy);
  for (let i = 0; i < copy.length; i++) {
    const part = copy[i];
    if (typeof part === "object" && part !== null) copy[i] = clone(part, freeze, note, depth + 1, known);
  }
  return freeze ? Object.freeze(copy) : copy;
}

/** An own key of the name `__proto__` (out of JSON) would otherwise be taken for the prototype. */
function defineOwn(copy: object, key: string, value: unknown): void {
  Object.defineProperty(copy, key, { value, enumerable: true, configurable: true, writable: true });
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Dates, Maps, Buffers, errors and instances of classes: copied as well as can be; each handler gets its own. */
function cloneExotic(value: object, note: IsolationNote | undefined): object {
  if (note !== undefined) note.unfreezable = true;
  if (value instanceof Promise || value instanceof WeakMap || value instanceof AbortSignal) return value;
  try {
    if (isBuiltIn(value)) return structuredClone(value);
  } catch {
    return value; // holds a part that cannot be cloned (a function, a handle): passed on as it is
  }
  return Object.create(Object.getPrototypeOf(value), Object.getOwnPropertyDescriptors(value));
}

function isBuiltIn(value: object): boolean {
  return (
    value instanceof Date ||
    value instanceof Map ||
    value instanceof Set ||
    value instanceof Error ||
    value instanceof RegExp ||
    ArrayBuffer.isView(value) ||
    value instanceof ArrayBuffer
  );
}
