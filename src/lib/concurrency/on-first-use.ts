/** Makes or loads a value when it is needed first, because many starts never need it. */
import { createRequire } from "node:module";

const load = createRequire(import.meta.url);

export function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** A package (`T` is its `typeof import("…")`), at once, for users that cannot wait. The bundle leaves it out. */
export function packageOnFirstUse<T>(name: string): () => T {
  return once(() => load(name) as T);
}
