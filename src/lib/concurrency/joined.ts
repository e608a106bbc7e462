/** Work that serves all callers that ask for it before it starts: a caller that asks while it is under way waits for the next. */
export function joined<T>(work: () => Promise<T>): () => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | undefined;
  return () => {
    next ??= last.then(() => {
      next = undefined;
      const now = work();
      last = now.catch(() => {
        // Who asked has the rejection.
      });
      return now;
    });
    return next;
  };
}
