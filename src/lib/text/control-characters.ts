/**
 * Characters that a terminal obeys: a stranger's text could delete lines, write the clipboard or set the title of the one who reads it, or show
 * the rest of a line backwards.
 */

/** C0 except line breaks and tabs, DEL, C1, and characters that change the direction of those after them. */
const CONTROL = /(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

/** Writes each control character as JSON does, `\u001b`: a text stays readable, and JSON keeps its value. */
export function withoutControls(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(CONTROL, mark);
}

/** For a line of JSON whose values a program prints as they are: the marks are left in the values themselves. */
export function withoutControlValues(json: string): string {
  return json
    .replace(/\\(?:u[\da-f]{4}|[^u])/gi, (escaped) =>
      /^\\(?:u(?:00(?:[01][\da-f]|7f|[89][\da-f])|202[a-e]|206[6-9])|[bfr])/i.test(escaped) ? `\\${escaped}` : escaped,
    )
    .replace(CONTROL, (character) => `\\${mark(character)}`);
}

const mark = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** For names and titles: removes the characters, except those that scripts and emoji need (direction marks for one character, joiners). */
export const withoutTurns = (text: string): string => text.replace(CONTROL, "");

const TURNS = /[\u202a-\u202e\u2066-\u2069]/g;
const LINES = /[^\n\r\u2029]+/g;
const POP = "\u202c";
const POP_ISOLATE = "\u2069";

/** For texts: each line ends the changes of direction that it started, so that none of them turns the text after it. */
export function withClosedTurns(text: string): string {
  return text.search(TURNS) < 0 ? text : text.replace(LINES, (line) => line + closersOf(line));
}

function closersOf(line: string): string {
  const open: string[] = [];
  for (const [turn] of line.matchAll(TURNS)) {
    if (turn === POP) {
      if (open.at(-1) === POP) open.pop();
    } else if (turn === POP_ISOLATE) {
      // The end of an isolate also ends the turns that started inside it.
      const at = open.lastIndexOf(POP_ISOLATE);
      if (at >= 0) open.length = at;
    } else open.push(turn < POP_ISOLATE && turn > "\u2065" ? POP_ISOLATE : POP);
  }
  return open.reverse().join("");
}
