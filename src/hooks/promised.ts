/** Results of points without handlers: the same objects and promises each time, so that they cost nothing. */
export const NOTHING_SET: object = Object.freeze({});
export const UNCLAIMED: object = Object.freeze({ handled: false });
const NOTHING_WAS_SET = Promise.resolve(NOTHING_SET);
const NOBODY_CLAIMED = Promise.resolve(UNCLAIMED);

/** For callers of functions that may answer at once. */
export function promised<T>(result: T | Promise<T>): Promise<T> {
  if (result instanceof Promise) return result;
  if (result === NOTHING_SET) return NOTHING_WAS_SET as Promise<T>;
  return result === UNCLAIMED ? (NOBODY_CLAIMED as Promise<T>) : Promise.resolve(result);
}
