/**
 * One object per key (a conversation, a lane), made when it is first asked for. An idle object stays, because the next message is
 * mostly of the same conversation: nothing is deleted and set again with every message. When there are many objects, the idle ones
 * are left behind all at once, with the map; so callers may not hold on to an idle one.
 */
const FEW = 1_000;

export class PerKey<V extends object> {
  readonly #make: (key: string) => V;
  readonly #isIdle: (value: V) => boolean;
  #all = new Map<string, V>();
  readonly #few: number;
  /** At this number of objects the idle ones are looked for. */
  #many: number;

  constructor(make: (key: string) => V, isIdle: (value: V) => boolean, few = FEW) {
    this.#make = make;
    this.#isIdle = isIdle;
    this.#few = few;
    this.#many = few;
  }

  of(key: string): V {
    return this.#all.get(key) ?? this.#add(key);
  }

  values(): Iterable<V> {
    return this.#all.values();
  }

  #add(key: string): V {
    if (this.#all.size >= this.#many) {
      this.#all = new Map([...this.#all].filter(([, value]) => !this.#isIdle(value)));
      this.#many = 2 * this.#all.size + this.#few;
    }
    const value = this.#make(key);
    this.#all.set(key, value);
    return value;
  }
}
