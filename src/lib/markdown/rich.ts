/**
 * Rich text: the text that a person reads, as one string, and the styles over it. The middle form between the tree and a chat
 * platform: cutting it anywhere keeps the text whole, and every piece carries the styles that reach into it.
 */

export type Style =
  | { kind: "bold" | "italic" | "strike" | "underline" | "spoiler" | "code" | "quote" }
  /** A list marker, so that a platform may write its own. */
  | { kind: "bullet" }
  | { kind: "pre"; language?: string }
  | { kind: "heading"; level: number }
  /** `bare`: the text is the address itself, and platforms see it without help. */
  | { kind: "link"; url: string; bare: boolean };

/** Offsets in UTF-16 units. */
export interface Span {
  start: number;
  end: number;
  style: Style;
}

export interface RichText {
  text: string;
  /** Sorted by start, outer before inner, properly nested, none empty, no kind inside itself. */
  spans: readonly Span[];
}

export function plainRich(text: string): RichText {
  return { text, spans: [] };
}

/** The spans within [start, end), moved to start at 0. `spans` may be any that are sorted; those outside are left out. */
export function clip(spans: Iterable<Span>, start: number, end: number): Span[] {
  const clipped: Span[] = [];
  for (const span of spans) {
    const from = Math.max(span.start, start);
    const to = Math.min(span.end, end);
    if (from < to) clipped.push({ start: from - start, end: to - start, style: span.style });
  }
  return clipped;
}
