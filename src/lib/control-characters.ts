/** Characters that a terminal obeys: a stranger's text could delete lines, write the clipboard or set the title of the one who reads it. */

/** C0 except line breaks and tabs, DEL, and C1. */
const CONTROL = /(?![\n\t])\p{Cc}/gu;

/** Each as JSON writes it, `\u001b`: a text stays readable, and JSON keeps its value. */
export function withoutControls(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(CONTROL, mark);
}

/** For a line of JSON whose values a program prints as they are: the marks are left in the values themselves. */
export function withoutControlValues(json: string): string {
  return json
    .replace(/\\(?:u[\da-f]{4}|[^u])/gi, (escaped) =>
      /^\\(?:u00(?:[01][\da-f]|7f|[89][\da-f])|[bfr])/i.test(escaped) ? `\\${escaped}` : escaped,
    )
    .replace(CONTROL, (character) => `\\${mark(character)}`);
}

const mark = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
