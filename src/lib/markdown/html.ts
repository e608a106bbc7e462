/**
 * A small, safe subset of HTML → the same tree: b strong i em u s del code pre a br p div blockquote ul ol li h1–h6 hr and
 * tg-spoiler. Other tags are left out and their content stays; comments are removed. Linear in the size of the text.
 */
import { clean } from "./clean.js";
import type { PhrasingContent, Root, RootContent } from "./nodes.js";

const NAMED: Record<string, string> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00A0",
  hellip: "…",
  mdash: "—",
  ndash: "–",
};
const TOKEN = /<!--[\s\S]*?(?:-->|$)|<(\/?)([a-zA-Z][a-zA-Z0-9-]*)((?:[\s/](?:[^<>"']|"[^"]*"|'[^']*')*)?)>|([^<]+|<)/g;
const DEPTH_MAX = 60;

type Inline = "strong" | "emphasis" | "underline" | "delete" | "spoiler" | "inlineCode" | "link";
const INLINE: Record<string, Inline> = {
  b: "strong",
  strong: "strong",
  i: "emphasis",
  em: "emphasis",
  u: "underline",
  ins: "underline",
  s: "delete",
  strike: "delete",
  del: "delete",
  "tg-spoiler": "spoiler",
  code: "inlineCode",
  a: "link",
};
type Block = "paragraph" | "blockquote" | "list" | "listItem" | "heading" | "code";
const BLOCK: Record<string, Block> = {
  p: "paragraph",
  div: "paragraph",
  tr: "paragraph",
  blockquote: "blockquote",
  ul: "list",
  ol: "list",
  li: "listItem",
  pre: "code",
  ...Object.fromEntries([1, 2, 3, 4, 5, 6].map((level) => [`h${level}`, "heading" as const])),
};

/** An element that is still open: phrases gathered for its current paragraph, and finished blocks. */
interface Open {
  tag: string;
  kind: Inline | Block | "root";
  url?: string;
  language?: string;
  phrases: PhrasingContent[];
  blocks: RootContent[];
}

export function parseHtml(source: string): Root {
  const stack: Open[] = [{ tag: "", kind: "root", phrases: [], blocks: [] }];
  for (const [, slash, name, attributes, text] of clean(source).matchAll(TOKEN)) {
    if (text !== undefined) write(stack, decode(text));
    else if (name !== undefined) {
      const tag = name.toLowerCase();
      if (slash) close(stack, tag);
      else open(stack, tag, attributes ?? "");
    }
  }
  while (stack.length > 1) closeTop(stack);
  const root = stack[0] as Open;
  endParagraph(root);
  return { type: "root", children: root.blocks };
}

function write(stack: Open[], text: string): void {
  const top = stack.at(-1) as Open;
  const isPre = stack.some((one) => one.kind === "code");
  const value = isPre ? text : text.replace(/[ \t\n]+/g, " ");
  if (value.trim() === "" && top.phrases.length === 0 && !(top.kind in INLINE_KINDS) && !isPre) return;
  top.phrases.push({ type: "text", value });
}
const INLINE_KINDS: Partial<Record<Open["kind"], true>> = {
  strong: true,
  emphasis: true,
  underline: true,
  delete: true,
  spoiler: true,
  inlineCode: true,
  link: true,
};

function open(stack: Open[], tag: string, attributes: string): void {
  const top = stack.at(-1) as Open;
  if (tag === "br")
    return void top.phrases.push(
      stack.some((one) => one.kind === "code") ? { type: "text", value: "\n" } : { type: "break" },
    );
  if (tag === "hr") {
    closeInline(stack);
    const holder = stack.at(-1) as Open;
    endParagraph(holder);
    return void holder.blocks.push({ type: "thematicBreak" });
  }
  const isSpoiler = tag === "span" && /tg-spoiler/.test(attributes);
  const kind = isSpoiler ? "spoiler" : (BLOCK[tag] ?? INLINE[tag]);
  if (kind === "inlineCode" && stack.some((one) => one.kind === "code")) {
    const language = /language-([^\s"']+)/.exec(attributes)?.[1];
    const pre = stack.findLast((one) => one.kind === "code");
    if (pre && language) pre.language = language;
    return;
  }
  if (kind === undefined || stack.length > DEPTH_MAX) return;
  if (tag in BLOCK) {
    closeInline(stack);
    const holder = stack.at(-1) as Open;
    if (holder.kind === "paragraph" || holder.kind === "heading") closeTop(stack);
    else if (kind === "listItem" && holder.kind === "listItem") closeTop(stack);
    endParagraph(stack.at(-1) as Open);
  }
  const url =
    kind === "link"
      ? decode(/href\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)/i.exec(attributes)?.[1]?.replace(/^["']|["']$/g, "") ?? "")
      : undefined;
  stack.push({ tag, kind, phrases: [], blocks: [], url });
}

/** Closes up to the element of that tag; a stray end tag closes nothing. */
function close(stack: Open[], tag: string): void {
  const at = stack.findLastIndex((one) => one.tag === tag);
  if (at < 1) return;
  while (stack.length > at) closeTop(stack);
}

function closeInline(stack: Open[]): void {
  while (stack.length > 1 && (stack.at(-1) as Open).kind in INLINE_KINDS) closeTop(stack);
}

function closeTop(stack: Open[]): void {
  const done = stack.pop() as Open;
  const holder = stack.at(-1) as Open;
  if (done.kind in INLINE_KINDS) {
    const phrase = inlineNode(done);
    if (phrase) holder.phrases.push(phrase);
    return;
  }
  const block = blockNode(done);
  if (block) holder.blocks.push(block);
}

function inlineNode(done: Open): PhrasingContent | undefined {
  const children = done.phrases;
  if (done.kind === "link") return { type: "link", url: done.url ?? "", children };
  if (children.length === 0) return undefined;
  if (done.kind === "inlineCode") return { type: "inlineCode", value: children.map(plain).join("") };
  return { type: done.kind, children } as PhrasingContent;
}

function blockNode(done: Open): RootContent | undefined {
  if (done.kind === "code") {
    const value = done.phrases
      .map(plain)
      .join("")
      .replace(/^\n|\n$/g, "");
    return { type: "code", value, lang: done.language || undefined };
  }
  if (done.kind === "heading") {
    const depth = Number(done.tag[1]) as 1 | 2 | 3 | 4 | 5 | 6;
    return done.phrases.length ? { type: "heading", depth, children: trimmed(done.phrases) } : undefined;
  }
  endParagraph(done);
  const children = done.blocks;
  if (children.length === 0) return undefined;
  if (done.kind === "blockquote") return { type: "blockquote", children } as RootContent;
  if (done.kind === "listItem") return { type: "listItem", spread: false, children } as RootContent;
  if (done.kind === "list") {
    const items = children.map((child) =>
      child.type === "listItem" ? child : { type: "listItem", children: [child] },
    );
    return { type: "list", ordered: done.tag === "ol", spread: false, children: items } as RootContent;
  }
  return children.length === 1 ? children[0] : { type: "section", children };
}

function endParagraph(holder: Open): void {
  const children = trimmed(holder.phrases);
  holder.phrases = [];
  if (children.length) holder.blocks.push({ type: "paragraph", children });
}

/** Without the white space that only separates tags. */
function trimmed(phrases: PhrasingContent[]): PhrasingContent[] {
  const kept = [...phrases];
  const first = kept[0];
  if (first?.type === "text") kept[0] = { ...first, value: first.value.trimStart() };
  const last = kept.at(-1);
  if (last?.type === "text") kept[kept.length - 1] = { ...last, value: last.value.trimEnd() };
  return kept.filter((node) => node.type !== "text" || node.value !== "");
}

function plain(node: PhrasingContent): string {
  if ("value" in node) return node.value;
  if (node.type === "break") return "\n";
  return "children" in node ? node.children.map(plain).join("") : "";
}

function decode(text: string): string {
  return text.replace(/&(#x[0-9a-f]{1,6}|#\d{1,7}|[a-z]+);/gi, (whole, name: string) => {
    if (name.startsWith("#")) {
      const code = name[1]?.toLowerCase() === "x" ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
      return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff)
        ? String.fromCodePoint(code)
        : "\uFFFD";
    }
    return NAMED[name.toLowerCase()] ?? whole;
  });
}
