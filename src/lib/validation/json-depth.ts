/** JSON texts that are nested deeper than anything honest is: `JSON.stringify` and walks over their values would overflow the stack. */

export const MAX_JSON_DEPTH = 100;
/** Values that a body or a payload may hold: more than a plan of 500 tasks has. */
const MAX_JSON_VALUES = 20_000;

/** The value of a JSON text that a program or a server wrote. Undefined when it is not JSON, or nested too deep. */
export function readJson(text: string): unknown {
  if (isTooDeep(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Why JSON texts that came from outside together are not read, as the end of a sentence about them; undefined when they may be. */
export function jsonExcess(...texts: readonly string[]): string | undefined {
  let left = MAX_JSON_VALUES;
  for (const json of texts) {
    if (isTooDeep(json)) return `is nested deeper than ${MAX_JSON_DEPTH} levels`;
    left -= countValues(json, left);
    if (left < 0) return `has more than ${MAX_JSON_VALUES} values`;
  }
  return undefined;
}

export function isTooDeep(json: string, max = MAX_JSON_DEPTH): boolean {
  let depth = 0;
  let isInString = false;
  for (let i = 0; i < json.length; i++) {
    const code = json.charCodeAt(i);
    if (isInString) {
      if (code === 92 /* backslash */) i++;
      else if (code === 34) isInString = false;
    } else if (code === 34 /* quote */) isInString = true;
    else if (code === 91 /* [ */ || code === 123 /* { */) {
      if (++depth > max) return true;
    } else if (code === 93 /* ] */ || code === 125 /* } */) depth--;
  }
  return false;
}

/** How many values a JSON text holds, up to one more than `max`: each costs many times as much as its characters. */
function countValues(json: string, max: number): number {
  let values = 1;
  let isInString = false;
  for (let i = 0; i < json.length; i++) {
    const code = json.charCodeAt(i);
    if (isInString) {
      if (code === 92 /* backslash */) i++;
      else if (code === 34) isInString = false;
    } else if (code === 34 /* quote */) isInString = true;
    else if (code === 44 /* , */ || code === 91 /* [ */ || code === 123 /* { */) {
      if (++values > max) break;
    }
  }
  return values;
}

/**
 * The first whole number of a JSON text that is read as another one, as the end of a sentence about it: `has the whole number …`.
 * `value`: the value as which the text was read.
 */
export function changedNumber(json: string, value: unknown): string | undefined {
  const path = pathOfUnsafe(value);
  if (path === undefined) return undefined;
  // `1e20` is written as the number that it is read as: one without its last digits.
  const numbers = json.replace(/"(?:[^"\\]|\\.)*"/g, '""').match(/-?\d[\d.eE+-]*/g) ?? [];
  if (!numbers.some((one) => /^-?\d+$/.test(one) && !Number.isSafeInteger(Number(one)))) return undefined;
  const where = path.length === 0 ? "" : ` in "${path.join(".")}"`;
  return `has a whole number above 2^53${where}, and its last digits would be lost: send it as text`;
}

function pathOfUnsafe(value: unknown): (string | number)[] | undefined {
  if (typeof value === "number") return Number.isInteger(value) && !Number.isSafeInteger(value) ? [] : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, one] of Object.entries(value)) {
    const path = pathOfUnsafe(one);
    if (path !== undefined) return [key, ...path];
  }
  return undefined;
}
