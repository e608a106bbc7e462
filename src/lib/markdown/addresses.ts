/** Links whose address the reader must see: those that pretend to lead elsewhere, and in the words of strangers all. */
import { toString as textOf } from "mdast-util-to-string";
import type { PhrasingContent, Root, RootContent } from "./nodes.js";

/** Characters that no reader sees. They are removed, so that they cannot split a name in two. */
const UNSEEN = /\p{Cf}/gu;
const DOTS = /[\u3002\uff61]/g;
/** `bank.com`, `10.0.0.1`; not `1.2.3` or `etc.` */
const HOST = /\.(xn--[a-z0-9-]+|\p{L}{2,})$|^\d+(\.\d+){3}$/u;

/** Writes the address after the text of a link: for every link, or only for those whose text names a host to which they do not lead. */
export function writeAddresses(root: Root, ofAll: boolean): void {
  const waiting: (Root | RootContent)[] = [root];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (!("children" in node)) continue;
    const children = node.children as RootContent[];
    if (children.some(isLink))
      (node as { children: RootContent[] }).children = children.flatMap((child) => shown(child, ofAll));
    for (const child of node.children) waiting.push(child);
  }
}

type Link = Extract<RootContent, { type: "link" | "image" }>;

const isLink = (node: RootContent): node is Link => node.type === "link" || node.type === "image";

function shown(node: RootContent, ofAll: boolean): RootContent | PhrasingContent[] {
  if (!isLink(node) || node.url === "") return node;
  const label = node.type === "link" ? textOf(node) : (node.alt ?? "");
  const isBare = ["", node.url, node.url.replace(/^(mailto:|http:\/\/)/, "")].includes(label);
  if (isBare || !(ofAll || hidesAddress(node.url, label))) return node;
  const address = { type: "text" as const, value: node.url.replace(/^mailto:/, "") };
  return [
    ...(node.type === "link" ? node.children : [{ type: "text" as const, value: label }]),
    { type: "text", value: " (" },
    { type: "link", url: node.url, children: [address] },
    { type: "text", value: ")" },
  ];
}

function hidesAddress(url: string, text: string): boolean {
  const named = hostsIn(text);
  if (named.length === 0) return false;
  const host = hostOf(url);
  return named.some((one) => one !== host && !host.endsWith(`.${one}`));
}

function hostsIn(text: string): string[] {
  if (!/[.\u2024\u3002\ufe52\uff0e\uff61]/.test(text)) return [];
  const shown = text.replace(UNSEEN, "").normalize("NFKC").replace(DOTS, ".").toLowerCase();
  const words = shown.split(/[^\p{L}\p{N}.-]+/u).map((word) => word.replace(/(?<![.-])[.-]+$/, ""));
  return words.filter((word) => HOST.test(word));
}

function hostOf(url: string): string {
  if (!URL.canParse(url)) return "";
  const { protocol, hostname, pathname } = new URL(url);
  return protocol === "mailto:" ? pathname.slice(pathname.lastIndexOf("@") + 1).toLowerCase() : hostname;
}
