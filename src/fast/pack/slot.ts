/**
 * The memory of a pack's writer for one place in the records: the payload of a point, the `message` in it, the `text` in that.
 * Records of a point look alike. So the keys of an object are compared with the last keys at this place, one by one in their
 * order, which needs no look into the table of texts, and are written in the pack once, as a shape; and a text that is the same
 * again need not be looked up.
 *
 * Benchmark: bench/fast.ts (pack).
 */

/** An object that has more, or at one place so many that differ, is a table of something: its keys are written with it. */
const MAX_KEYS = 48;
const MAX_BRANCHES = 16;

export class Slot {
  /** The last text at this place, and how it was written. */
  text: string | undefined = undefined;
  written = 0;
  /** The shape of objects whose last key this is; -1 when there was none. */
  shape = -1;
  /** Objects here are tables of something. */
  isTable = false;
  readonly key: string;
  /** The place of the key in the table of texts. */
  readonly place: number;
  readonly #before: Slot | undefined;
  readonly #nth: number;
  /** The key that came after this one last, and all that did, if there are more. */
  #next: Slot | undefined = undefined;
  #branches: Map<string, Slot> | undefined = undefined;
  #inside: Slot | undefined = undefined;

  constructor(key = "", place = -1, before?: Slot) {
    this.key = key;
    this.place = place;
    this.#before = before;
    this.#nth = before === undefined ? 0 : before.#nth + 1;
  }

  /** The start of the objects at this place. */
  get inside(): Slot {
    this.#inside ??= new Slot();
    return this.#inside;
  }

  /** The next key of the same object; undefined when it was never the next. */
  after(key: string): Slot | undefined {
    const next = this.#next;
    if (next === undefined || next.key === key) return next;
    const other = this.#branches?.get(key);
    if (other !== undefined) this.#next = other;
    return other;
  }

  /** Adds a next key that was not known; undefined when this is no shape any more. */
  branch(key: string, place: number): Slot | undefined {
    if (this.#nth >= MAX_KEYS || (this.#branches?.size ?? 0) >= MAX_BRANCHES) return undefined;
    const next = new Slot(key, place, this);
    if (this.#next !== undefined) {
      this.#branches ??= new Map([[this.#next.key, this.#next]]);
      this.#branches.set(key, next);
    }
    this.#next = next;
    return next;
  }

  /** Places of the keys up to this one. */
  keys(): number[] {
    const keys: number[] = [];
    for (let slot: Slot = this; slot.#before !== undefined; slot = slot.#before) keys.push(slot.place);
    return keys.reverse();
  }
}
