/**
 * Cuts rich text into pieces that fit, losing nothing: at a paragraph, else a line, else a word, else between characters.
 * White space at a cut is the separator and is dropped (inside code only the line break is), and so is a piece in which nothing can be
 * seen; everything else is in some piece, once, in order.
 */
import { isBlank } from "./clean.js";
import { boundaryBefore } from "./graphemes.js";
import { clip, type RichText, type Span } from "./rich.js";

export interface Fit {
  /** The largest size of a piece. */
  limit: number;
  /** The size of a piece as the platform counts it; at least the length of its text. Default: that length. */
  measure?: (piece: RichText) => number;
  /** The limit of the first piece, when it differs. */
  firstLimit?: number;
}

export function splitRich(rich: RichText, { limit, measure = lengthOf, firstLimit = limit }: Fit): RichText[] {
  const { text } = rich;
  if (text.length <= firstLimit && measure(rich) <= firstLimit) return isBlank(text) ? [] : [rich];
  const pieces: RichText[] = [];
  const cursor = new Cursor(rich);
  let at = 0;
  while (at < text.length) {
    const room = pieces.length === 0 ? firstLimit : limit;
    const { piece, end } = nextPiece(cursor, at, room, measure);
    if (!isBlank(piece.text)) pieces.push(piece);
    at = end;
    cursor.advance(at);
  }
  return pieces;
}

function lengthOf(piece: RichText): number {
  return piece.text.length;
}

/** The longest well-cut piece from `start` that fits, and where the next one starts. */
function nextPiece(
  cursor: Cursor,
  start: number,
  limit: number,
  measure: (piece: RichText) => number,
): { piece: RichText; end: number } {
  let reach = Math.min(cursor.text.length, start + limit);
  for (let tries = 0; ; tries++) {
    const cut = findCut(cursor, start, reach);
    const piece = cursor.piece(start, cut.end);
    const size = measure(piece);
    if (size <= limit) return { piece, end: cut.next };
    const length = cut.end - start;
    // Sizes grow about evenly with the text; after a few guesses halve, so that the number of tries stays bounded.
    const guess = tries < 4 ? Math.floor((length * limit) / size) : length >> 1;
    const shorter = Math.min(guess, length - 1);
    // Even one character does not fit with its styles (a link with an endless address): the text goes without them.
    if (shorter < 1) return { piece: { text: piece.text, spans: [] }, end: cut.next };
    reach = start + shorter;
  }
}

interface Cut {
  end: number;
  next: number;
}

function findCut(cursor: Cursor, start: number, reach: number): Cut {
  const { text } = cursor;
  if (reach >= text.length) return { end: text.length, next: text.length };
  const length = reach - start;
  const block = cursor.preAt(reach);
  const outside = block && block.start > start ? block.start : reach;
  if (!block || outside < reach) {
    const paragraph = lastWithin(text, "\n\n", start, outside);
    if (paragraph > start + length * 0.5 && !cursor.preAt(paragraph)) return around(text, start, paragraph);
    if (outside < reach && outside > start + length * 0.3) return around(text, start, outside);
  }
  const line = lastWithin(text, "\n", start, reach);
  if (line > start + length * 0.3)
    return cursor.preAt(line) ? { end: line, next: line + 1 } : around(text, start, line);
  const space = lastSpace(text, start + Math.floor(length * 0.1), reach);
  if (space > start) return cursor.codeAt(space) ? { end: space, next: space } : around(text, start, space);
  if (line > start && !cursor.preAt(line)) return around(text, start, line);
  const end = boundaryBefore(text, start, reach);
  return { end, next: end };
}

const isSpace = (code: number) => code === 32 || code === 10 || code === 9;

/** Drops the white space around a cut, but keeps the indentation of the line that follows. */
function around(text: string, start: number, at: number): Cut {
  let end = at;
  while (end > start && isSpace(text.charCodeAt(end - 1))) end--;
  let next = at;
  while (next < text.length && isSpace(text.charCodeAt(next))) next++;
  const newline = lastWithin(text, "\n", end, next - 1);
  if (next < text.length && newline >= at) next = newline + 1;
  return { end: end > start ? end : at, next: Math.max(next, at) };
}

/** Where `needle` last starts in [from, to]; -1 when nowhere. Never looks further back, so that a text costs its length once. */
function lastWithin(text: string, needle: string, from: number, to: number): number {
  const at = text.slice(from, to + needle.length).lastIndexOf(needle);
  return at < 0 ? -1 : from + at;
}

/** The last white space in (from, to]. */
function lastSpace(text: string, from: number, to: number): number {
  for (let i = to; i > from; i--) if (isSpace(text.charCodeAt(i))) return i;
  return -1;
}

/** The spans in reach of the cut: those open at the position and those to come. */
class Cursor {
  readonly text: string;
  readonly #spans: readonly Span[];
  #open: Span[] = [];
  #next = 0;

  constructor(rich: RichText) {
    this.text = rich.text;
    this.#spans = rich.spans;
  }

  advance(at: number): void {
    while (this.#next < this.#spans.length && (this.#spans[this.#next] as Span).start < at)
      this.#open.push(this.#spans[this.#next++] as Span);
    this.#open = this.#open.filter((span) => span.end > at);
  }

  piece(start: number, end: number): RichText {
    return { text: this.text.slice(start, end), spans: clip(this.#within(end), start, end) };
  }

  preAt(at: number): Span | undefined {
    return this.#find(at, (span) => span.style.kind === "pre");
  }

  codeAt(at: number): Span | undefined {
    return this.#find(at, ({ style }) => style.kind === "pre" || style.kind === "code");
  }

  /** The span that holds both sides of `at`. */
  #find(at: number, wanted: (span: Span) => boolean): Span | undefined {
    for (const span of this.#within(at)) if (span.start < at && span.end > at && wanted(span)) return span;
    return undefined;
  }

  *#within(end: number): Generator<Span> {
    yield* this.#open;
    for (let i = this.#next; i < this.#spans.length; i++) {
      const span = this.#spans[i] as Span;
      if (span.start >= end) return;
      yield span;
    }
  }
}
