/** Tree → HTML. Only the tags written here come out; all text is escaped; links lead to http, https or mailto only. */
import { toString as textOf } from "mdast-util-to-string";
import type { PhrasingContent, Root, RootContent } from "../../src/lib/markdown/nodes.js";
import { hasToken, type Token, tokensOf, writeMoment } from "../../src/lib/markdown/tokens.js";

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const DEPTH_MAX = 100;

/** Without the marks that embed or override a direction: with them, a text is shown in another order than it has. */
export function escapeHtml(text: string): string {
  return /[&<>"'\u202a-\u202e]/.test(text)
    ? text.replace(/[&<>"'\u202a-\u202e]/g, (character) => ESCAPES[character] ?? "")
    : text;
}

export function isSafeUrl(url: string): boolean {
  return /^(https?:\/\/|mailto:)[^\s\\]+$/i.test(url);
}

export function toHtml(root: Root): string {
  return root.children.map((node) => block(node, 0)).join("");
}

type AnyNode = RootContent;

function block(node: AnyNode, depth: number): string {
  if (depth > DEPTH_MAX) return escapeHtml(textOf(node));
  switch (node.type) {
    case "paragraph":
      return `<p>${phrases(node.children, depth)}</p>`;
    case "heading":
      return `<h${node.depth}>${phrases(node.children, depth)}</h${node.depth}>`;
    case "blockquote":
      return `<blockquote>${blocks(node.children, depth)}</blockquote>`;
    case "section":
      return blocks(node.children, depth);
    case "list": {
      const tag = node.ordered ? "ol" : "ul";
      const start = node.ordered && typeof node.start === "number" && node.start !== 1 ? ` start="${node.start}"` : "";
      return `<${tag}${start}>${blocks(node.children, depth)}</${tag}>`;
    }
    case "listItem": {
      const box = typeof node.checked === "boolean" ? (node.checked ? "☑ " : "☐ ") : "";
      const isTight = !node.spread;
      const inner = node.children.map((child) =>
        isTight && child.type === "paragraph" ? phrases(child.children, depth) : block(child, depth + 1),
      );
      return `<li>${box}${inner.join("")}</li>`;
    }
    case "code": {
      const language = /^[\w+#.-]+$/.test(node.lang ?? "") ? ` class="language-${node.lang}"` : "";
      return `<pre><code${language}>${escapeHtml(node.value)}</code></pre>`;
    }
    case "table": {
      const [head, ...rows] = node.children;
      const cells = (row: typeof head, tag: "th" | "td") =>
        `<tr>${row?.children.map((cell) => `<${tag}>${phrases(cell.children, depth)}</${tag}>`).join("") ?? ""}</tr>`;
      return `<table><thead>${cells(head, "th")}</thead><tbody>${rows.map((row) => cells(row, "td")).join("")}</tbody></table>`;
    }
    case "thematicBreak":
      return "<hr>";
    case "footnoteDefinition":
      return `<div>[${escapeHtml(node.label ?? node.identifier)}] ${blocks(node.children, depth)}</div>`;
    case "definition":
    case "yaml":
    case "tableRow":
    case "tableCell":
      return "";
    case "html":
      return `<p>${escapeHtml(node.value)}</p>`;
    default:
      return phrase(node, depth);
  }
}

function blocks(nodes: readonly RootContent[], depth: number): string {
  return nodes.map((node) => block(node, depth + 1)).join("");
}

function phrases(nodes: readonly PhrasingContent[], depth: number): string {
  return nodes.map((node) => phrase(node, depth + 1)).join("");
}

function phrase(node: PhrasingContent, depth: number): string {
  if (depth > DEPTH_MAX) return escapeHtml(textOf(node));
  switch (node.type) {
    case "text":
      return text(node.value);
    case "strong":
      return `<strong>${phrases(node.children, depth)}</strong>`;
    case "emphasis":
      return `<em>${phrases(node.children, depth)}</em>`;
    case "delete":
      return `<del>${phrases(node.children, depth)}</del>`;
    case "underline":
      return `<u>${phrases(node.children, depth)}</u>`;
    case "spoiler":
      return `<span class="spoiler">${phrases(node.children, depth)}</span>`;
    case "inlineCode":
      return `<code>${escapeHtml(node.value)}</code>`;
    case "break":
      return "<br>";
    case "link":
      return link(node.url, node.children.length > 0 ? phrases(node.children, depth) : escapeHtml(node.url));
    case "image":
      return link(node.url, escapeHtml(node.alt || node.url));
    case "html":
      return escapeHtml(node.value);
    case "spoilerMark":
      return "||";
    case "footnoteReference":
      return `<sup>[${escapeHtml(node.label ?? node.identifier)}]</sup>`;
    case "linkReference":
      return phrases(node.children, depth);
    case "imageReference":
      return escapeHtml(node.alt ?? node.label ?? node.identifier);
    default:
      return unknownNode(node);
  }
}

/** A line break in the text is one on the page; moments are marked, so that the page can show its reader's time. */
function text(value: string): string {
  if (!hasToken(value)) return plain(value);
  return [...tokensOf(value)]
    .map(({ text: written, token }) => (token ? marked(token, written) : plain(written)))
    .join("");
}

const plain = (value: string) => escapeHtml(value).replaceAll("\n", "<br>");

function marked(token: Token, written: string): string {
  if (token.kind === "person") return plain(token.name === undefined ? written : `@${token.name}`);
  const words = escapeHtml(writeMoment(token));
  const isOnCalendar = Math.abs(token.atMs) <= 8.64e15;
  return isOnCalendar ? `<time datetime="${new Date(token.atMs).toISOString()}">${words}</time>` : words;
}

function link(url: string, inner: string): string {
  if (isSafeUrl(url))
    return `<a href="${escapeHtml(url)}" target="_blank" rel="noopener noreferrer nofollow">${inner}</a>`;
  return url === "" || inner === escapeHtml(url) ? inner : `${inner} (${escapeHtml(url)})`;
}

function unknownNode(node: never): string {
  throw new Error(`a node of an unknown kind: ${JSON.stringify(node)}`);
}
