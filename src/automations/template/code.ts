/**
 * Values in code spans and code blocks of a chat message. An escape would be shown there, so none is written while the values stay in
 * their code: that is so when the text reads as it does with plain letters in their place. Else they are escaped as everywhere.
 */
import type { Root, RootContent } from "../../lib/markdown/nodes.js";
import { parseMarkdown } from "../../lib/markdown/parse.js";

// Characters that no text should have: Unicode keeps them for use within a program.
const BEGIN = "\uFDD0";
const ESCAPED = "\uFDD1";
const END = "\uFDD2";
const BACKQUOTE = "\uFDD3";

const MARKS = new RegExp(`[${BEGIN}${ESCAPED}${END}${BACKQUOTE}]`, "g");
const VALUE = new RegExp(`${BEGIN}([^${ESCAPED}]*)${ESCAPED}([^${END}]*)${END}`, "g");
/** Code around a value with backquotes. */
const SPAN = new RegExp(`(?<!\`)(\`+)([^\`${BACKQUOTE}]*${BACKQUOTE}[^\`]*)\\1(?!\`)`, "g");
const RUNS = new RegExp(`${BACKQUOTE}+`, "g");

/** No value has marks of its own: their later removal would join the text on both sides of them. */
export const withoutMarks = (value: string) => value.replace(MARKS, "");

/** A value without marks in both forms, until `settleCode` decides. */
export const inBothForms = (value: string, escaped: string) =>
  `${BEGIN}${value.replaceAll("`", BACKQUOTE)}${ESCAPED}${escaped}${END}`;

export function settleCode(text: string): string {
  if (!text.includes(BEGIN)) return text;
  const escaped = text.replace(VALUE, "$2");
  const asWritten = text.replace(VALUE, "$1").replace(SPAN, withLongerMarks).replaceAll(BACKQUOTE, "`");
  if (asWritten === escaped) return escaped;
  const asLetters = text.replace(VALUE, (_, value: string) => value.replace(/\S/g, "x"));
  return shapeOf(asWritten) === shapeOf(asLetters) ? asWritten : escaped;
}

/** Code ends at as many backquotes as it starts with. */
function withLongerMarks(_: string, mark: string, code: string): string {
  const longest = (code.match(RUNS) ?? []).reduce((most, { length }) => Math.max(most, length), 0);
  const longer = "`".repeat(Math.max(mark.length, longest + 1));
  const space = code.startsWith(BACKQUOTE) || code.endsWith(BACKQUOTE) ? " " : "";
  return `${longer}${space}${code}${space}${longer}`;
}

/** The content and form of a text, but for its code. */
function shapeOf(text: string): string {
  return JSON.stringify(parseMarkdown(text), (key, node: Root | RootContent | null) => {
    if (key === "position") return undefined;
    return node?.type === "code" || node?.type === "inlineCode" ? node.type : node;
  });
}
