/** Copies without undefined fields, for objects that are read by their keys or spread over defaults. */

/** A copy without the fields that are undefined. */
export function withoutUndefined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as T;
}

/** Like `withoutUndefined`, for maps of one type of value: labels, headers, variables of a program. */
export const definedOf = <V>(values: Readonly<Record<string, V | undefined>>): Record<string, V> =>
  withoutUndefined(values) as Record<string, V>;
