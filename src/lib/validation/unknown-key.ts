/** Finds the key of an object that no code reads: a misspelt option must not be dropped silently. */
import { suggestion } from "./schema-issues.js";

/** `unknown option "onec" (did you mean "once"?)`, for the first key that is none of `known`; undefined when all are known. */
export function unknownKey(what: string, given: object, known: readonly string[]): string | undefined {
  const key = Object.keys(given).find((one) => !known.includes(one));
  return key === undefined ? undefined : `unknown ${what} "${key}"${suggestion(key, known)}`;
}
