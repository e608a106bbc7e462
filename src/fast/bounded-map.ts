/** A memory of the last few: only a hint, so a caller that does not find an entry here reads the database. Benchmark: bench/fast.ts. */
const MAX_KNOWN = 2_000;

export interface BoundedMap<T> {
  set(key: string, value: T): void;
  /** Gives it, and forgets it. */
  take(key: string): T | undefined;
}

/** The map itself holds numbers only, and nothing is deleted from it: see transient-map.ts. */
export function boundedMap<T>(max = MAX_KNOWN): BoundedMap<T> {
  /** How many came before it. */
  let numbers = new Map<string, number>();
  let next = 0;
  /** The last `max` values. */
  const ring: (T | undefined)[] = [];

  const forgetOld = (): void => {
    numbers = new Map([...numbers].filter(([, number]) => number >= next - max && ring[number % max] !== undefined));
  };

  return {
    set(key, value) {
      if (numbers.size >= 2 * max) forgetOld();
      numbers.set(key, next);
      ring[next++ % max] = value;
    },
    take(key) {
      const number = numbers.get(key);
      if (number === undefined || number < next - max) return undefined;
      const value = ring[number % max];
      ring[number % max] = undefined;
      return value;
    },
  };
}
