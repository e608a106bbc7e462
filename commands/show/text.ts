/** Pieces of Markdown that every command's answer is made of. Text from people and hooks goes in escaped, never raw. */
import type { CommandContext } from "../../src/gateway/commands.js";
import { clip, plainLine as plain } from "../../src/lib/markdown/escape.js";
import { formatDuration } from "../../src/lib/time/duration.js";

export { clip, plain };

/** Inline code; a text that holds back-ticks gets a longer fence. */
export function code(text: string): string {
  const oneLine = text.replace(/\s+/g, " ");
  if (!oneLine.includes("`")) return `\`${oneLine}\``;
  const longest = Math.max(...[...oneLine.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence} ${oneLine} ${fence}`;
}

/** A code block whose fence its content cannot end. */
export function block(text: string, language = ""): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

/** A line of a code block in a chat is never longer. */
export const CHAT_WIDTH = 48;

export interface Column {
  title: string;
  right?: boolean;
  /** Longer cells of a table are cut with an ellipsis. */
  maxCharacters?: number;
  /** Its cells are clear only with the title, as numbers are: a list names them. */
  named?: boolean;
}

type Rows = readonly (readonly string[])[];

/** Aligned columns in a code block; in a chat, a list where a row would be too long for a phone. */
export function table(columns: readonly Column[], rows: Rows, { at }: Pick<CommandContext, "at">): string {
  const aligned = align(columns, rows);
  const fits = at === undefined || aligned.split("\n").every((line) => length(line) <= CHAT_WIDTH);
  return fits ? block(aligned) : list(columns, rows);
}

/** `2. ✎ modified · shout · took 2 ms` */
function list(columns: readonly Column[], rows: Rows): string {
  return rows
    .map((row) => {
      const [first, ...cells] = columns.flatMap((column, index) => listed(column, row[index] ?? ""));
      return columns[0]?.title === "#" ? `${first}. ${cells.join(" · ")}` : `- ${[first, ...cells].join(" · ")}`;
    })
    .join("\n");
}

function listed({ title, right, named = right }: Column, text: string): string[] {
  if (text.trim() === "") return [];
  return [named && title !== "#" ? `${title} ${plain(text)}` : plain(text, MAX_LISTED)];
}

const MAX_LISTED = 120;

/** Aligned columns; columns that are empty in every row are left out. */
export function align(columns: readonly Column[], rows: Rows): string {
  const shown = columns
    .map((column, index) => ({ ...column, cells: rows.map((row) => cell(row[index] ?? "", column.maxCharacters)) }))
    .filter(({ cells }) => cells.some((text) => text !== ""));
  const padded = shown.map(({ title, right, cells }) => {
    const width = Math.max(length(title), ...cells.map(length));
    const pad = (text: string) =>
      right ? " ".repeat(width - length(text)) + text : text + " ".repeat(width - length(text));
    return [title, ...cells].map(pad);
  });
  const lines = Array.from({ length: rows.length + 1 }, (_, line) =>
    padded
      .map((column) => column[line])
      .join("  ")
      .trimEnd(),
  );
  return lines.join("\n");
}

function cell(text: string, maxCharacters = 40): string {
  return clip(text.replace(/\s+/g, " ").trim(), maxCharacters);
}

const length = (text: string) => [...text].length;

/** `3 min ago`; `just now` under a second. */
export function ago(atMs: number, nowMs: number): string {
  const ms = nowMs - atMs;
  return ms < 1000 ? "just now" : `${formatDuration(ms)} ago`;
}

/** The time of day in UTC, with the date when it is not today: `14:03:12` or `2026-01-31 14:03`. */
export function clockTime(atMs: number, nowMs: number): string {
  const iso = new Date(atMs).toISOString();
  return iso.slice(0, 10) === new Date(nowMs).toISOString().slice(0, 10)
    ? iso.slice(11, 19)
    : iso.slice(0, 16).replace("T", " ");
}

/** The largest unit only, for narrow columns: `47 s`, `14 min`, `3 h`, `2 d`. */
export function shortDuration(ms: number): string {
  return formatDuration(ms).replace(/^(\S+ \S+) .*$/, "$1");
}

/** `1 hook`, `2 hooks`. */
export function count(amount: number, singular: string, plural = `${singular}s`): string {
  return `${amount.toLocaleString("en-US")} ${amount === 1 ? singular : plural}`;
}

/** JSON as inline code, cut at about a line. */
export function inOneLine(value: unknown): string {
  return code(clip(JSON.stringify(value) ?? "undefined", 120));
}

/** JSON in a code block, cut at a length that still reads in a chat. */
export function jsonBlock(value: unknown, maxCharacters = 1500): string {
  const text = JSON.stringify(value, null, 2) ?? "undefined";
  return block(clip(text, maxCharacters), "json");
}
