/** Tree → rich text: the blocks one below the other as a chat shows them. */
import type { List, ListItem, TableCell } from "mdast";
import { toString as textOf } from "mdast-util-to-string";
import type { PhrasingContent, Root, RootContent } from "./nodes.js";
import type { RichText, Span, Style } from "./rich.js";
import { tableText } from "./table.js";
import { hasToken, type ShowToken, type Token, type TokenText, tokensOf, writeMoment } from "./tokens.js";

export interface FlattenOptions {
  /** Whether the platform can put this address behind this text. Where it cannot, the address is written out after the text. */
  canLink(url: string, text: string): boolean;
  /** How moments and persons are shown; else in words. */
  show?: ShowToken;
}

/** Deeper trees are written without further structure. */
const DEPTH_MAX = 100;

export function flatten(root: Root, options: FlattenOptions): RichText {
  const writer = new Writer(options);
  writer.blocks(root.children, "\n\n", 0);
  return writer.finish();
}

class Writer {
  readonly #options: FlattenOptions;
  readonly #chunks: string[] = [];
  readonly #spans: Span[] = [];
  readonly #open = new Set<Style["kind"]>();
  #length = 0;
  #indent = "";

  constructor(options: FlattenOptions) {
    this.#options = options;
  }

  finish(): RichText {
    return { text: this.#chunks.join(""), spans: this.#spans.filter((span) => span.end > span.start) };
  }

  blocks(nodes: readonly RootContent[], gap: "\n" | "\n\n", depth: number): void {
    let isFirst = true;
    for (const node of nodes) {
      if (!isFirst) this.#gap(gap);
      isFirst = false;
      this.#block(node, depth);
    }
  }

  #block(node: RootContent, depth: number): void {
    if (depth > DEPTH_MAX) {
      this.#text(textOf(node));
      return;
    }
    switch (node.type) {
      case "paragraph":
        this.#phrases(node.children, depth);
        break;
      case "heading":
        if (node.children.length === 0) this.#text("#".repeat(node.depth));
        else this.#styled({ kind: "heading", level: node.depth }, () => this.#phrases(node.children, depth));
        break;
      case "blockquote":
        this.#styled({ kind: "quote" }, () => this.blocks(node.children, "\n\n", depth + 1));
        break;
      case "list":
        this.#list(node, depth);
        break;
      case "code":
        this.#pre(node.value, node.lang ?? undefined);
        break;
      case "table":
        this.#pre(tableText(node, cellText));
        break;
      case "thematicBreak":
        this.#write("──────────");
        break;
      case "footnoteDefinition":
        this.#write(`[${node.label ?? node.identifier}] `);
        this.blocks(node.children, "\n", depth + 1);
        break;
      case "section":
        this.blocks(node.children, "\n", depth + 1);
        break;
      case "html":
        this.#text(node.value);
        break;
      case "yaml":
      case "definition":
      case "tableRow":
      case "tableCell":
      case "listItem":
        this.#text(textOf(node));
        break; // not found here in a tree that the parser made
      default:
        this.#phrase(node, depth);
        break;
    }
  }

  #list(list: List, depth: number): void {
    let number = list.start ?? 1;
    let isFirst = true;
    for (const item of list.children) {
      if (!isFirst) this.#gap(list.spread ? "\n\n" : "\n");
      isFirst = false;
      this.#item(item, list.ordered ? `${number++}.` : undefined, depth);
    }
  }

  #item(item: ListItem, number: string | undefined, depth: number): void {
    const marker = number ?? (typeof item.checked === "boolean" ? (item.checked ? "☑" : "☐") : "•");
    this.#styled({ kind: "bullet" }, () => this.#write(marker));
    this.#write(" ");
    const outer = this.#indent;
    this.#indent += number === undefined ? "  " : "   ";
    this.blocks(item.children, item.spread ? "\n\n" : "\n", depth + 1);
    this.#indent = outer;
  }

  #phrases(nodes: readonly PhrasingContent[], depth: number): void {
    for (const node of nodes) this.#phrase(node, depth);
  }

  #phrase(node: PhrasingContent, depth: number): void {
    if (depth > DEPTH_MAX) {
      this.#text(textOf(node));
      return;
    }
    const inside = (style: Style, children: readonly PhrasingContent[]) =>
      this.#styled(style, () => this.#phrases(children, depth + 1));
    switch (node.type) {
      case "text":
        if (hasToken(node.value)) this.#tokens(node.value);
        else this.#text(node.value);
        break;
      case "strong":
        inside({ kind: "bold" }, node.children);
        break;
      case "emphasis":
        inside({ kind: "italic" }, node.children);
        break;
      case "delete":
        inside({ kind: "strike" }, node.children);
        break;
      case "underline":
        inside({ kind: "underline" }, node.children);
        break;
      case "spoiler":
        inside({ kind: "spoiler" }, node.children);
        break;
      case "inlineCode":
        this.#styled({ kind: "code" }, () => this.#write(node.value));
        break;
      case "break":
        this.#newline();
        break;
      case "link":
        this.#link(node.url, textOf(node), () => this.#phrases(node.children, depth + 1));
        break;
      case "image": {
        const label = node.alt || node.url;
        this.#link(node.url, label, () => this.#text(label));
        break;
      }
      case "html":
        this.#text(node.value);
        break;
      case "spoilerMark":
        this.#write("||");
        break;
      case "footnoteReference":
        this.#write(`[${node.label ?? node.identifier}]`);
        break;
      case "linkReference":
        this.#phrases(node.children, depth + 1);
        break;
      case "imageReference":
        this.#text(node.alt ?? node.label ?? node.identifier);
        break;
      default:
        unknownNode(node);
        break;
    }
  }

  #tokens(value: string): void {
    for (const { text, token } of tokensOf(value)) {
      const shown = token && (this.#options.show?.(token, text) ?? inWords(token));
      if (shown?.url === undefined) this.#text(shown?.text ?? text);
      else this.#styled({ kind: "link", url: shown.url, bare: false }, () => this.#text(shown.text));
    }
  }

  #link(url: string, label: string, write: () => void): void {
    const bare = label === url || `http://${label}` === url || `mailto:${label}` === url;
    if (bare || label === "") this.#styled({ kind: "link", url, bare: true }, () => this.#write(label || url));
    else if (url !== "" && this.#options.canLink(url, label)) this.#styled({ kind: "link", url, bare: false }, write);
    else {
      write();
      if (url === "") return;
      this.#write(" (");
      this.#styled({ kind: "link", url, bare: true }, () => this.#write(url.replace(/^mailto:/, "")));
      this.#write(")");
    }
  }

  #pre(value: string, language?: string): void {
    this.#styled(language === undefined ? { kind: "pre" } : { kind: "pre", language }, () => this.#write(value));
  }

  /** A style inside the same style changes nothing: it stays one span, so that depth is bounded by the number of kinds. */
  #styled(style: Style, write: () => void): void {
    if (this.#open.has(style.kind)) {
      write();
      return;
    }
    const span: Span = { start: this.#length, end: this.#length, style };
    this.#open.add(style.kind);
    this.#spans.push(span);
    write();
    span.end = this.#length;
    this.#open.delete(style.kind);
  }

  #gap(gap: "\n" | "\n\n"): void {
    if (gap === "\n\n") this.#write("\n");
    this.#newline();
  }

  #newline(): void {
    this.#write(`\n${this.#indent}`);
  }

  #text(value: string): void {
    this.#write(this.#indent === "" ? value : value.replaceAll("\n", `\n${this.#indent}`));
  }

  #write(text: string): void {
    this.#chunks.push(text);
    this.#length += text.length;
  }
}

/** Code holds no links. */
function cellText({ children }: TableCell): string {
  return flatten({ type: "root", children: [{ type: "paragraph", children }] }, { canLink: () => false }).text;
}

/** Undefined: as it was written. */
function inWords(token: Token): TokenText | undefined {
  if (token.kind === "moment") return { text: writeMoment(token) };
  return token.name === undefined ? undefined : { text: `@${token.name}` };
}

function unknownNode(node: never): void {
  throw new Error(`a node of an unknown kind: ${JSON.stringify(node)}`);
}
