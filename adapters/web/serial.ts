/** One task at a time per key, in order: for a message's read-then-write changes. */

export type Serial = <T>(key: number, task: () => Promise<T>) => Promise<T>;

export function createSerial(): Serial {
  const tails = new Map<number, Promise<unknown>>();
  return async (key, task) => {
    const before = tails.get(key) ?? Promise.resolve();
    const mine = before.then(task, task);
    tails.set(key, mine);
    try {
      return await mine;
    } finally {
      if (tails.get(key) === mine) tails.delete(key);
    }
  };
}
