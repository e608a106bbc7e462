import { withClosedTurns, withoutTurns } from "../text/control-characters.js";

/** A name as Markdown that shows nothing but the name. */
export function escapeMarkdown(text: string): string {
  return withoutTurns(text).replace(/[\\`*_[\]<>|~@]/g, "\\$&");
}

/**
 * Plain text of any length as Markdown that shows it letter by letter. Words and addresses stay as they are where they can (`snake_case`), so that
 * who looks for them finds them.
 */
export function literalMarkdown(text: string): string {
  const marked = withClosedTurns(text).replace(MARKS, (sign, address: string | undefined, at: number) => {
    if (address !== undefined) return SAFE_ADDRESS.test(address) ? address : brokenUp(address);
    if (sign === "<" && TOKEN.test(text.slice(at, at + TOKEN_MAX))) return "\\<\u200B";
    const isInWord = sign.startsWith("_") && /^[\p{L}\p{N}]_+[\p{L}\p{N}]/u.test(text.slice(Math.max(0, at - 1)));
    return isInWord && at > 0 ? sign : escaped(sign);
  });
  return marked
    .replace(/^[ \t]/gm, "\u00A0")
    .replace(/^[-+=:#>]/gm, "\\$&")
    .replace(/^(\d{1,9})([.)])/gm, "$1\\$2");
}

const MARKS = /(?<![a-z])((?:https?:\/\/|www\.)\S+)|_+|[\\`*~[\]<|]/giu;
/** An address that the parser takes as a whole, marks included. */
const SAFE_ADDRESS = /^https?:\/\/[a-z0-9-]+(\.[a-z0-9-]+)*(:\d+)?([/?#][^\\`*~[\]<|]*)?$/i;

/**
 * A token that platforms show in their own way, escaped or not: a moment, a person, a channel, an emoji, a command. A character
 * without width keeps its parts apart.
 */
const TOKEN = /^<(?:t:-?\d|@[!&]?\d|#\d|id:\w|a?:\w+:\d|\/[\p{L}\p{N}_' -]+:\d)/u;
const TOKEN_MAX = 130;

const escaped = (text: string) => text.replace(/[\\`*~[\]<|_]/g, "\\$&");
/** In an address a backslash would be shown. The parser takes this text for no address, until it is read without the backslashes. */
const brokenUp = (address: string) => escaped(address).replace(/(https?|www)(?=[:.])/gi, "$1\\");

/** Cut so that a table fits a phone and a paragraph stays a paragraph. */
export function clip(text: string, maxCharacters: number): string {
  const characters = [...text];
  return characters.length <= maxCharacters ? text : `${characters.slice(0, maxCharacters - 1).join("")}…`;
}

/** Text of unknown origin on one line, with nothing in it that Markdown or a chat would act on. */
export function plainLine(text: string, maxCharacters = 300): string {
  return clip(withoutTurns(text.replace(/\s+/g, " ")).trim(), maxCharacters).replace(/[\\`*_~[\]<>|#@]/g, "\\$&");
}

/** Like `plainLine`, with the lines kept, each in a quote: none of them passes for a line of ours. */
export function quotedLines(text: string, maxCharacters: number): string {
  const lines = clip(text.trim(), maxCharacters).split(LINE_BREAK);
  return lines.map((line) => `> ${withoutListMark(plainLine(line, maxCharacters))}`.trimEnd()).join("\n");
}

/** The text behind `Ann: `: one line as it is, several lines in a quote. */
export function saidText(text: string, maxCharacters: number): string {
  return LINE_BREAK.test(text.trim()) ? `\n${quotedLines(text, maxCharacters)}` : plainLine(text, maxCharacters);
}

const LINE_BREAK = /\r\n|[\n\r\u2028\u2029]/;

const withoutListMark = (line: string) => line.replace(/^[-+=]/, "\\$&").replace(/^(\d+)([.)])/, "$1\\$2");
