/** Runs a function on each item, all to their end: one that fails keeps no other from running. Resolves with the errors. */
export async function failuresOf<T>(
  items: readonly T[],
  run: (item: T) => Promise<unknown>,
  noteFailure: (item: T, error: unknown) => void,
): Promise<unknown[]> {
  const failures: unknown[] = [];
  await Promise.all(
    items.map((item) =>
      run(item).catch((error: unknown) => {
        failures.push(error);
        noteFailure(item, error);
      }),
    ),
  );
  return failures;
}
