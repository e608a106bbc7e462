/** A memory of the last few: only a hint, so whoever does not find a thing here looks it up. */
const MAX_KNOWN = 2_000;

export interface BoundedMap<T> {
  set(key: string, value: T): void;
  /** Gives it, and forgets it. */
  take(key: string): T | undefined;
}

export function boundedMap<T>(max = MAX_KNOWN): BoundedMap<T> {
  const known = new Map<string, T>();
  return {
    set(key, value) {
      known.set(key, value);
      if (known.size <= max) return;
      for (const oldest of known.keys()) {
        known.delete(oldest);
        break;
      }
    },
    take(key) {
      const value = known.get(key);
      if (value !== undefined) known.delete(key);
      return value;
    },
  };
}
