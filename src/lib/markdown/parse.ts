/**
 * Markdown text → tree. Linear in the size of the text: text that would make the parser slow (a paragraph of nothing but
 * delimiters, a line nested twenty deep) is kept as literal text, and long texts are read block by block.
 */
import type { Code, Image, Link, List } from "mdast";
import { fromMarkdown, type Options } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { gfm } from "micromark-extension-gfm";
import { clean } from "./clean.js";
import { literal, type PhrasingContent, type Root, type RootContent } from "./nodes.js";

/** Longer texts are not read as Markdown: it would block the event loop for too long. */
const MARKDOWN_MAX = 65_536;
/** Texts up to this are parsed whole; longer ones in groups of blocks (references do not reach over groups). */
const GROUP_MAX = 16_384;
/** Delimiters in one block; the parser's time grows with their square. */
const DELIMITERS_MAX = 600;
/**
 * The highest cost of one text: a line or a character that may start markup costs 1, other marks as measured. The text after that is
 * literal, so that no message stops the event loop for long.
 */
const COST_MAX = 4_000;
/** A mark of a list, quote or heading. */
const LINE_MARK_COST = 5;
/** A bare address. */
const ADDRESS_COST = 7;
/** The end of a link's text, `](`. */
const LINK_COST = 4;
/** A line that ends a paragraph, or that ends in a hard break. */
const BREAK_COST = 3;
/** A line of a table, besides one for each column of its head. */
const TABLE_LINE_COST = 4;
/** Two columns can be one more level of a list, and every line of a list is checked against each level above it. */
const COLUMNS_PER_LEVEL = 2;
/** In an address the parser reads a run of punctuation again for each of its characters; 100 of these steps cost 1. */
const STEPS_PER_COST = 100;
/** Before each word that may be an address the parser searches the paragraph for a `[` that is not closed; this many steps cost 1. */
const WORDS_PER_COST = 4_000;
const DEEP = /^(?:[ \t]*(?:>|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t]))){20}/m;

type SyntaxExtension = NonNullable<Options["extensions"]>[number];
type TreeExtension = Exclude<NonNullable<Options["mdastExtensions"]>[number], readonly unknown[]>;

const VERTICAL_BAR = 124;

/** Reads `||` in running text. Escapes and code spans win over it, because the parser sees them first. */
const spoilerSyntax: SyntaxExtension = {
  text: {
    [VERTICAL_BAR]: {
      name: "spoilerMark",
      tokenize(effects, ok, nok) {
        return (code) => {
          effects.enter("spoilerMark");
          effects.consume(code);
          return (second) => {
            if (second !== VERTICAL_BAR) return nok(second);
            effects.consume(second);
            effects.exit("spoilerMark");
            return ok;
          };
        };
      },
    },
  },
};
declare module "micromark-util-types" {
  interface TokenTypeMap {
    spoilerMark: "spoilerMark";
  }
}
const spoilerTree: TreeExtension = {
  enter: {
    spoilerMark(token) {
      this.enter({ type: "spoilerMark" }, token);
    },
  },
  exit: {
    spoilerMark(token) {
      this.exit(token);
    },
  },
};

/**
 * `&#65;` is what it says, as on the platforms: decoded, it would show what no hook has read. So is `[10:30]: see you`, which Markdown
 * takes for the address of a link and hides.
 */
const asWritten: SyntaxExtension = { disable: { null: ["characterReference", "definition"] } };

const options: Options = {
  extensions: [gfm(), spoilerSyntax, asWritten],
  mdastExtensions: [gfmFromMarkdown(), spoilerTree],
};

/** Characters that may be markup anywhere; and those with which a line or a plain text must not start or end. */
const MARKUP = /[\\`*_~<[\]&|\t\r\0]|\p{Surrogate}|(?:^|\n)(?:[ \-+=#>\n]|\d{1,9}[.)])| \n|[ \n]$|^\p{Cf}*$/u;

/** True when reading the text as Markdown would give just the text. */
export function isPlainText(text: string): boolean {
  return !MARKUP.test(text);
}

export function parseMarkdown(source: string): Root {
  const text = clean(source);
  if (text.length > MARKDOWN_MAX) return { type: "root", children: asSigns(text) };
  const children = groups(text).flatMap((group) => (group.literal ? asSigns(group.text) : parseGroup(group.text)));
  return { type: "root", children };
}

const FENCED = /^(`{3,}|~{3,})([^`\n]*)\n(.*?)(?:^\1[`~]*[ \t]*$|(?!.))/gms;
const ESCAPE = /\\([!-/:-@[-`{-~\n])/g;

/** Without markup but for code: the signs of the author, without the backslashes that protect them. */
function asSigns(text: string): RootContent[] {
  const found: RootContent[] = [];
  let end = 0;
  const add = (words: string) => {
    if (words.trim() !== "") found.push(literal(words.replace(/^\n+|\n+$/g, "").replace(ESCAPE, "$1")));
  };
  for (const { 0: fenced, 2: info = "", 3: code = "", index } of text.matchAll(FENCED)) {
    add(text.slice(end, index));
    found.push(codeOf(info, code.replace(/\n$/, "")));
    end = index + fenced.length;
  }
  add(text.slice(end));
  return found;
}

function parseGroup(text: string): RootContent[] {
  const root = fromMarkdown(text, options);
  keepWords(root, text);
  if (text.includes("||")) pairSpoilers(root);
  return root.children;
}

interface Group {
  text: string;
  literal: boolean;
}

/** Blocks (between blank lines, fences whole) joined up to the group size; blocks that would be slow are literal. */
function groups(text: string): Group[] {
  if (text.length <= GROUP_MAX && costOf(text) <= COST_MAX && !isSlow(text)) return [{ text, literal: false }];
  const found: Group[] = [];
  let spent = 0;
  for (const block of blocks(text)) {
    const cost = costOf(block);
    const slow = isSlow(block) || spent + cost > COST_MAX;
    if (!slow) spent += cost;
    const last = found.at(-1);
    if (last?.literal === slow && (slow || last.text.length + block.length <= GROUP_MAX)) last.text += block;
    else found.push({ text: block, literal: slow });
  }
  return found.filter((group) => group.text.trim() !== "");
}

function costOf(text: string): number {
  let cost = 0;
  let isLineStart = true;
  let columns = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    const isSpace = code === 32 || code === 9;
    const isMark: boolean = isLineStart && LINE_MARKS.has(code);
    if (isLineStart && isSpace) columns += code === 9 ? 4 : 1;
    else if (isLineStart) cost += columns / COLUMNS_PER_LEVEL;
    if (isMark) cost += LINE_MARK_COST;
    else if (code === 10) cost += text.charCodeAt(i - 1) === 10 || text.charCodeAt(i - 1) === 32 ? BREAK_COST : 1;
    else if (code === 40 /* ( */ && text.charCodeAt(i - 1) === 93 /* ] */) cost += LINK_COST;
    else if (INLINE_MARKS.has(code)) cost++;
    if (isEscape(text, i)) i++;
    // Marks may follow each other, `- > - a`; the rest of a rule, `-----`, counts nothing.
    const isNested: boolean =
      isMark && (code === 62 /* > */ || text.charCodeAt(i + 1) === 32 || text.charCodeAt(i + 1) === 9);
    isLineStart = code === 10 || (isLineStart && (isNested || isSpace || (code >= 48 && code <= 57)));
    if (code === 10) columns = 0;
  }
  return cost + addressCost(text) + tableCost(text) + bracketCost(text);
}

const PARAGRAPH_END = /\n[ \t>]*\n/;
const WORDS = /[\w+.-]+/g;

function bracketCost(text: string): number {
  if (!text.includes("[")) return 0;
  let cost = 0;
  for (const paragraph of text.split(PARAGRAPH_END))
    if (paragraph.includes("[")) cost += (paragraph.match(WORDS)?.length ?? 0) ** 2 / WORDS_PER_COST;
  return cost;
}

/** `-|:-`, also in lists and quotes: the line before it may be the head of a table, and each line up to the next blank one a row. */
const DELIMITER_ROW = /^[ \t>+*.)\d|:-]*$/;
const BLANK = /^[ \t>]*$/;

function tableCost(text: string): number {
  if (!/[|:]/.test(text)) return 0;
  let cost = 0;
  let columns = 0;
  for (const line of text.split("\n")) {
    if (BLANK.test(line)) columns = 0;
    else if (/[|:]/.test(line) && DELIMITER_ROW.test(line)) columns = Math.max(columns, line.match(/-+/g)?.length ?? 0);
    if (columns > 0) cost += TABLE_LINE_COST + columns;
  }
  return cost;
}

const ADDRESSES = /:\/\/|www\.|@/gi;
const TRAILS = /(?:[!"')*,.:;?_~\]]|&[a-z]*;?){20,}/gi;

function addressCost(text: string): number {
  const addresses = text.match(ADDRESSES)?.length ?? 0;
  if (addresses === 0) return 0;
  const trails = text.match(TRAILS) ?? [];
  const steps = trails.reduce((sum, { length }) => sum + length ** 2, 0);
  return addresses * ADDRESS_COST + steps / STEPS_PER_COST;
}

const codes = (characters: string) => new Set([...characters].map((character) => character.charCodeAt(0)));
const LINE_MARKS = codes("#>-+*.)=");
const INLINE_MARKS = codes("\\`*_~<[]&|:@!");

/** The parser reads a backslash and its sign as one, and pairs the sign with no other. */
const isEscape = (text: string, at: number) => text.charCodeAt(at) === 92 && text.charCodeAt(at + 1) !== 10;

function isSlow(block: string): boolean {
  let delimiters = 0;
  for (let i = 0; i < block.length; i++) {
    const code = block.charCodeAt(i);
    if (isEscape(block, i)) i++;
    else if (code === 42 || code === 95 || code === 126 || code === 91 || code === 93) delimiters++;
  }
  return delimiters > DELIMITERS_MAX || DEEP.test(block);
}

/** Each with the blank lines after it. A block that is too long for a group is cut at a line, or a space, or anywhere. */
function* blocks(text: string): Generator<string> {
  let start = 0;
  let at = 0;
  let fence: string | undefined;
  let afterBlank = false;
  while (at < text.length) {
    const end = text.indexOf("\n", at);
    const lineEnd = end < 0 ? text.length : end + 1;
    const line = text.slice(at, lineEnd);
    const marker = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence === undefined && afterBlank && /^\S/.test(line)) {
      yield* pieces(text.slice(start, at));
      start = at;
    }
    if (marker && fence === undefined) fence = marker;
    else if (marker && fence !== undefined && marker.startsWith(fence) && line.trim() === marker) fence = undefined;
    afterBlank = line.trim() === "";
    at = lineEnd;
  }
  yield* pieces(text.slice(start));
}

function* pieces(block: string): Generator<string> {
  if (block.length <= GROUP_MAX || /^ {0,3}(`{3,}|~{3,})/.test(block)) {
    yield block;
    return;
  }
  for (let at = 0; at < block.length; ) {
    let end = Math.min(block.length, at + GROUP_MAX);
    if (end < block.length) {
      const newline = block.lastIndexOf("\n", end);
      const space = block.lastIndexOf(" ", end);
      if (newline > at) end = newline + 1;
      else if (space > at) end = space + 1;
      else if (/[\uDC00-\uDFFF]/.test(block[end] as string)) end--;
    }
    yield block.slice(at, end);
    at = end;
  }
}

/** Makes text of the parts that Markdown reads and does not show: no word that a person wrote is lost. */
function keepWords(root: Root, source: string): void {
  visit(root, (node) => {
    if (node.type === "code") keepInfo(node, source);
    else if ((node.type === "link" || node.type === "image") && node.title) keepTitle(node, node.title);
    else if (node.type === "tableCell")
      node.children = node.children.map((child) => (isLineBreak(child) ? { type: "break" } : child));
    else if ("children" in node && node.children.some(isNumbered))
      (node as { children: RootContent[] }).children = (node.children as RootContent[]).map((child) =>
        isNumbered(child) ? keepNumbers(child, source) : child,
      );
  });
}

/** https://docs.discord.com/developers/reference#message-formatting: one word that ends its line, before code. */
const LANGUAGE = /^[\w+\-.#]+$/;

/** The words behind the fence are a language only where Discord takes them for one; otherwise they are the first line of the block. */
function keepInfo(node: Code, source: string): void {
  const from = node.position?.start.offset ?? 0;
  const [, info = ""] = /^(?:`{3,}|~{3,})([^\n]*)/.exec(source.slice(from, node.position?.end.offset)) ?? [];
  Object.assign(node, codeOf(info, node.value));
}

function codeOf(info: string, value: string): Code {
  const words = info.trim();
  if (words === "" || (LANGUAGE.test(words) && value !== "")) return { type: "code", lang: words || null, value };
  return { type: "code", lang: null, value: value === "" ? words : `${words}\n${value}` };
}

/** The only way to break a line within a table; elsewhere a tag is shown as it was written. */
const isLineBreak = (node: PhrasingContent) => node.type === "html" && /^<br\s*\/?>$/i.test(node.value);

function keepTitle(node: Link | Image, title: string): void {
  if (node.type === "link") node.children.push({ type: "text", value: ` "${title}"` });
  else node.alt = `${node.alt ?? ""} "${title}"`;
}

const isNumbered = (node: { type: string; ordered?: unknown }): node is List => node.type === "list" && !!node.ordered;

/** `24. Dezember`, `26. Dezember`: numbers that do not count on are lines as they were written. The same number again and again counts. */
function keepNumbers(list: List, source: string): RootContent {
  const written = list.children.map(({ position }) => /^\d*/.exec(source.slice(position?.start.offset))?.[0] ?? "");
  const counts = written.every((number, i) => number === String((list.start ?? 1) + i));
  if (counts || (written.length > 1 && new Set(written).size === 1)) return list;
  const lines = list.children.map(({ children: [first, ...more] }, i): RootContent[] => {
    const number = { type: "text" as const, value: `${written[i]}. ` };
    return first?.type === "paragraph"
      ? [{ ...first, children: [number, ...first.children] }, ...more]
      : [literal(number.value), ...(first ? [first] : []), ...more];
  });
  return { type: "section", children: lines.flat() };
}

function pairSpoilers(root: Root): void {
  visit(root, (node) => {
    if (!("children" in node) || !node.children.some((child) => child.type === "spoilerMark")) return;
    const paired: PhrasingContent[] = [];
    let opened = -1;
    for (const child of node.children as PhrasingContent[]) {
      if (child.type !== "spoilerMark") paired.push(child);
      else if (opened >= 0 && opened < paired.length) {
        paired.push({ type: "spoiler", children: paired.splice(opened) });
        opened = -1;
      } else {
        if (opened >= 0) paired.push({ type: "text", value: "||" });
        opened = paired.length;
      }
    }
    if (opened >= 0) paired.splice(opened, 0, { type: "text", value: "||" });
    (node as { children: PhrasingContent[] }).children = paired;
  });
}

/** Every node, parents first; without recursion, because depth is the sender's choice. */
function visit(root: Root, onNode: (node: Root | RootContent) => void): void {
  const waiting: (Root | RootContent)[] = [root];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    onNode(node);
    if ("children" in node) for (const child of node.children) waiting.push(child);
  }
}
