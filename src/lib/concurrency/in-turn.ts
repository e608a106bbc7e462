/** One after the other: each piece of work starts when the one before it ended, well or badly. */
export function inTurn(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work);
    last = result.catch(() => {
      // The caller of that work has the rejection.
    });
    return result;
  };
}
