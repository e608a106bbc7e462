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

/** Why a JSON text that came from outside is not read, as the end of a sentence about it; undefined when it may be. */
export function jsonExcess(json: string): string | undefined {
  if (isTooDeep(json)) return `is nested deeper than ${MAX_JSON_DEPTH} levels`;
  return hasTooMany(json) ? `has more than ${MAX_JSON_VALUES} values` : undefined;
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

/** True when a JSON text holds more values than that: each costs many times what its characters do. */
function hasTooMany(json: string, max = MAX_JSON_VALUES): boolean {
  let values = 1;
  let isInString = false;
  for (let i = 0; i < json.length; i++) {
    const code = json.charCodeAt(i);
    if (isInString) {
      if (code === 92 /* backslash */) i++;
      else if (code === 34) isInString = false;
    } else if (code === 34 /* quote */) isInString = true;
    else if (code === 44 /* , */ || code === 91 /* [ */ || code === 123 /* { */) {
      if (++values > max) return true;
    }
  }
  return false;
}
