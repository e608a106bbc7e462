/** Whether a JSON text is nested deeper than anything honest is: `JSON.stringify` and walks over it would overflow the stack. */

export const MAX_JSON_DEPTH = 100;

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
