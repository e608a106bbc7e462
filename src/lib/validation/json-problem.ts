/** Finds the part of a value that would be lost or changed when it is stored as JSON. */

/**
 * `value.c: expected a JSON value, got a Map`, for the first part that JSON has no form for; undefined when it can be stored. A field
 * that is `undefined` is left out, as JSON does.
 */
export function jsonProblem(value: unknown, path: string, above: readonly object[] = []): string | undefined {
  if (value === null || typeof value === "string" || typeof value === "boolean") return undefined;
  if (typeof value === "number")
    return Number.isFinite(value) ? undefined : `${path}: expected a finite number, got ${value}`;
  if (typeof value !== "object") return `${path}: expected a JSON value, got ${NAMES[typeof value] ?? typeof value}`;
  if (above.includes(value)) return `${path}: it contains itself`;
  const inside = [...above, value];
  if (Array.isArray(value)) return first(value.keys(), (key) => jsonProblem(value[key], `${path}.${key}`, inside));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null)
    return `${path}: expected a plain object, got a ${value.constructor?.name || "class instance"}`;
  const fields = value as Record<string, unknown>;
  const known = Object.keys(fields).filter((key) => fields[key] !== undefined);
  return first(known, (key) => jsonProblem(fields[key], `${path}.${key}`, inside));
}

/** The path of the first BigInt in plain objects and lists: no history and no store can hold it. */
export function bigIntIn(value: unknown, path: string, above: readonly object[] = []): string | undefined {
  if (typeof value === "bigint") return path;
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value) || above.includes(value))
    return undefined;
  const inside = [...above, value];
  return first(Object.entries(value), ([key, part]) => bigIntIn(part, `${path}.${key}`, inside));
}

const NAMES: Partial<Record<string, string>> = { bigint: "a BigInt", function: "a function", symbol: "a symbol" };

function first<T>(all: Iterable<T>, problemOf: (one: T) => string | undefined): string | undefined {
  for (const one of all) {
    const problem = problemOf(one);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
