/** Rich text → Discord's Markdown dialect: every mark closed on its line, everything else escaped so that it shows as meant. */
import type { RichText, Span, Style } from "../../src/lib/markdown/rich.js";

/** Who a `<@id>` in a text may name; any other shows as written. */
export interface AllowedMentions {
  users?: readonly string[] | undefined;
  roles?: readonly string[] | undefined;
}

/** Characters that need an escape somewhere in a line, or at its start. Plain chat text has none of them and is taken as it is. */
const SPECIAL = /[\\*_~`|[<]|(?:^|\n)[ \t]*(?:[#>-]|\d+\.)/;
const TOKENS = /https?:\/\/[^\s<]+|<(@[!&]?)(\d+)>|[\\*_~`|[]|(?<=\])\(|<(?=@|https?:)/g;
const LINE_START = /^([ \t]*)(#{1,3}(?=\s)|-#(?=\s)|>{1,3}(?=\s)|-(?=\s)|(\d+)\.(?=\s))/;

const ADDRESS = /https?:\/\/[^\s<]+/g;
const ADDRESS_AT_END = /https?:\/\/[^\s<]+$/;

const MARKS = { bold: "**", italic: "*", underline: "__", strike: "~~", spoiler: "||" } as const;

/** The longest address that fits behind a text; longer ones are written out, where they can be cut. */
const URL_MAX = 1000;

/** Discord shows `[text](url)` for web addresses only, and not when the text itself looks like an address. */
export function canLink(url: string, text: string): boolean {
  return /^https?:\/\/[^\s]+$/i.test(url) && url.length <= URL_MAX && !/[[\]\n]|https?:\/\//i.test(text);
}

export function renderDiscord(rich: RichText, mentions: AllowedMentions = {}): string {
  if (rich.spans.length === 0 && !SPECIAL.test(rich.text)) return rich.text;
  const renderer = new Renderer(
    mentions,
    rich.spans.some(({ style }) => style.kind === "link" && !style.bare),
  );
  const { text, spans } = rich;
  const edges = [...new Set([0, text.length, ...spans.flatMap(({ start, end }) => [start, end])])].sort(
    (a, b) => a - b,
  );
  let open: Span[] = [];
  let next = 0;
  for (let i = 0; i + 1 < edges.length; i++) {
    const [from, to] = [edges[i] as number, edges[i + 1] as number];
    open = open.filter((span) => span.end > from);
    while (next < spans.length && (spans[next] as Span).start <= from) open.push(spans[next++] as Span);
    renderer.run(text.slice(from, to), open);
  }
  return renderer.finish();
}

class Renderer {
  readonly #mentions: AllowedMentions;
  #out = "";
  /** At the start of a line: its prefix (quote, heading) is not written yet. */
  #lineStart = true;
  #marks: Span[] = [];
  #heading = 0;

  readonly #hasLinks: boolean;

  constructor(mentions: AllowedMentions, hasLinks: boolean) {
    this.#mentions = mentions;
    this.#hasLinks = hasLinks;
  }

  finish(): string {
    this.#close(0);
    return this.#out;
  }

  /** A stretch of text under the same styles, outer first. */
  run(text: string, styles: readonly Span[]): void {
    const pre = styles.find((span) => span.style.kind === "pre");
    if (pre) {
      this.#fence(text, pre, styles);
      return;
    }
    const lines = text.split("\n");
    for (const [i, line] of lines.entries()) {
      if (i > 0) this.#newline();
      if (line !== "") this.#line(line, styles);
    }
  }

  #newline(): void {
    this.#close(0);
    this.#out += "\n";
    this.#lineStart = true;
    this.#heading = 0;
    this.#endsInAddress = false;
  }

  #line(line: string, styles: readonly Span[]): void {
    const isStart = this.#lineStart;
    const body = line.trimStart();
    if (isStart && body === "") {
      // An indentation; before a sign that must be first in its line it goes.
      if (!styles.some(({ style }) => style.kind === "heading" || style.kind === "quote")) this.#out += line;
      return;
    }
    if (isStart) this.#prefix(styles);
    const wanted = this.#wanted(line, styles);
    let kept = 0;
    while (kept < this.#marks.length && this.#marks[kept] === wanted[kept]) kept++;
    this.#close(kept);
    this.#out += line.slice(0, line.length - body.length);
    if (body === "") return;
    for (const span of wanted.slice(kept)) this.#open(span);
    const endsInAddress = wanted.length <= kept && this.#endsInAddress && body.length === line.length;
    this.#endsInAddress = false;
    if (wanted.some(({ style }) => style.kind === "code")) this.#code(hidden(body, wanted));
    else if (styles.some(({ style }) => style.kind === "bullet")) this.#out += body === "•" ? "-" : body;
    else {
      // An address goes on to the next white space: a backslash right behind it would be shown.
      const tail = endsInAddress ? (/^[^\s<]+/.exec(body)?.[0] ?? "") : "";
      const isBare = wanted.some(({ style }) => style.kind === "link" && style.bare);
      this.#out += isBare ? hidden(body, wanted) : tail + this.#escape(body.slice(tail.length), isStart);
      this.#endsInAddress = isBare || ADDRESS_AT_END.test(body) || (tail !== "" && tail === body);
    }
    this.#lineStart = false;
  }

  /** The styles that get marks here. */
  #wanted(line: string, styles: readonly Span[]): Span[] {
    // A heading that Discord has no sign for is bold; bold inside of it would end it.
    const asBold = this.#heading === 0 && styles.some(({ style }) => style.kind === "heading");
    const raw = unescaped(line, styles);
    return styles.filter(({ style }) => {
      if (style.kind === "heading") return asBold && !raw.includes("**");
      if (!isInline(style) || (asBold && style.kind === "bold")) return false;
      const isKept = style.kind === "link" || style.kind === "code" || style.kind === "spoiler";
      return isKept || !raw.includes(openingMark(style));
    });
  }

  #prefix(styles: readonly Span[]): void {
    if (styles.some(({ style }) => style.kind === "quote")) this.#out += "> ";
    const heading = styles.find(({ style }) => style.kind === "heading");
    if (heading?.style.kind === "heading" && heading.style.level <= 3) {
      this.#heading = heading.style.level;
      this.#out += `${"#".repeat(this.#heading)} `;
    }
  }

  #open(span: Span): void {
    const mark = openingMark(span.style);
    // `**a**` and `*b*` side by side would read as one run of stars.
    if (mark !== "" && this.#lastWasMark && this.#out.endsWith(mark[0] as string)) this.#out += "\u200B";
    // `***a** b*`: Discord would take the bold for the outer one.
    const outer = this.#marks.at(-1);
    if (mark === "**" && outer?.style.kind === "italic" && this.#out.endsWith("*") && outer.end !== span.end)
      this.#out += "\u200B";
    if (mark !== "" && this.#endsInAddress) this.#out += " ";
    this.#endsInAddress = false;
    this.#out += mark;
    this.#marks.push(span);
    this.#lastWasMark = false;
  }
  #lastWasMark = false;
  /** The text just written ends in an address, which to Discord reaches to the next white space. */
  #endsInAddress = false;

  /** Closes down to `keep` marks, with white space moved outside of them. */
  #close(keep: number): void {
    if (this.#marks.length <= keep) return;
    const body = this.#out.trimEnd();
    const space = this.#out.slice(body.length);
    this.#out = body;
    while (this.#marks.length > keep) {
      const mark = closingMark((this.#marks.pop() as Span).style);
      if (mark === "||" && this.#out.endsWith("|")) this.#out += "\u200B"; // not even an escaped bar may be before it
      this.#out += mark;
      if (mark !== "") this.#lastWasMark = true;
    }
    this.#out += space;
    if (space !== "") this.#lastWasMark = false;
    this.#endsInAddress = false;
  }

  #code(body: string): void {
    // Three backticks would start a block, so longer runs are kept apart; and no `](` may follow a link.
    const apart = body.replace(/`(?=`)/g, "`\u200B").replace(/\](?=\()/g, this.#hasLinks ? "]\u200B" : "]");
    const fence = apart.includes("`") ? "``" : "`";
    if (this.#out.endsWith("`")) this.#out += "\u200B";
    const padded = apart.startsWith("`") || apart.endsWith("`") ? ` ${apart} ` : apart;
    this.#out += fence + padded + fence;
  }

  #fence(text: string, pre: Span, styles: readonly Span[]): void {
    this.#close(0);
    const quoted = styles.some(({ style }) => style.kind === "quote") ? "> " : "";
    const language =
      pre.style.kind === "pre" && /^[\w+\-.#]+$/.test(pre.style.language ?? "") ? pre.style.language : "";
    // Discord knows no longer fence, so three backticks inside are kept apart by a character without width.
    const body = text.replace(/``(?=`)/g, "``\u200B").replaceAll("\n", `\n${quoted}`);
    this.#out += `${this.#lineStart ? quoted : ""}\`\`\`${language}\n${quoted}${body}\n${quoted}\`\`\``;
    this.#lineStart = false;
    this.#lastWasMark = false;
  }

  #escape(text: string, isLineStart: boolean): string {
    this.#lastWasMark = false;
    const escaped = text.replace(TOKENS, (token, sigil: string | undefined, id: string | undefined, at: number) => {
      if (token.startsWith("http"))
        return /^<(?:@|https?:)/.test(text.slice(at + token.length, at + token.length + 8)) ? `${token} ` : token;
      if (id !== undefined && this.#isAllowed(sigil as string, id)) return token;
      return `\\${token}`;
    });
    return isLineStart
      ? escaped.replace(LINE_START, (_, space: string, mark: string, number?: string) =>
          number === undefined ? `${space}\\${mark}` : `${space}${number}\\.`,
        )
      : escaped;
  }

  #isAllowed(sigil: string, id: string): boolean {
    return (sigil === "@&" ? this.#mentions.roles : this.#mentions.users)?.includes(id) ?? false;
  }
}

/** A spoiler ends at the next two bars, code or not; hidden text stays hidden. */
function hidden(raw: string, styles: readonly Span[]): string {
  return styles.some(({ style }) => style.kind === "spoiler") ? raw.replace(/\|(?=\|)/g, "|\u200B") : raw;
}

/** The parts of a line that are not escaped (code, addresses): a style around them that uses the same signs would end there. */
function unescaped(line: string, styles: readonly Span[]): string {
  if (styles.some(({ style }) => style.kind === "code" || (style.kind === "link" && style.bare))) return line;
  return line.includes("://") ? (line.match(ADDRESS) ?? []).join("") : "";
}

function isInline(style: Style): boolean {
  return style.kind in MARKS || style.kind === "code" || style.kind === "link";
}

function openingMark(style: Style): string {
  if (style.kind === "heading") return "**";
  if (style.kind === "link") return style.bare ? "" : "[";
  return style.kind in MARKS ? MARKS[style.kind as keyof typeof MARKS] : "";
}

function closingMark(style: Style): string {
  if (style.kind === "link" && !style.bare) return `](${style.url.replace(/[()<>\\]/g, percentEncode)})`;
  return openingMark(style);
}

/** `encodeURIComponent` leaves parentheses alone. */
function percentEncode(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}
