/**
 * What a test opened is closed after it, the newest first. A helper registers here how to close what it opens: helpers are loaded
 * once for all files that share a worker, so that an `afterEach` of their own would run for the first of these files only.
 */
type Close = () => unknown;

const closers: Close[] = [];

export function afterTest(close: Close): void {
  closers.push(close);
}

export async function cleanUp(): Promise<void> {
  for (const close of closers.splice(0).reverse()) await close();
}
