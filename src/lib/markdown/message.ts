/** The content of a message, read once: its text in its format, and its card as blocks for platforms without cards. */
import { writeAddresses } from "./addresses.js";
import { clean, isBlank } from "./clean.js";
import { type FlattenOptions, flatten } from "./flatten.js";
import { parseHtml } from "./html.js";
import { literal, type Root, type RootContent } from "./nodes.js";
import { isPlainText, parseMarkdown } from "./parse.js";
import { plainRich, type RichText } from "./rich.js";

export type TextFormat = "markdown" | "html" | "plain";

/** Shown when a message has nothing to show at all: a platform refuses an empty one, and silence would hide the mistake. */
export const EMPTY_MESSAGE = "(empty message)";

/** The shape of a card; the product's `Card` fits. */
export interface CardContent {
  title?: string | undefined;
  text?: string | undefined;
  url?: string | undefined;
  tone?: "neutral" | "good" | "warning" | "bad" | undefined;
  fields?: readonly { name: string; value: string }[] | undefined;
  footer?: string | undefined;
}

const TONE_MARKS = { neutral: "", good: "✅ ", warning: "⚠️ ", bad: "❌ " };

/** Signs of an address, which the parser would make a link of. */
const ADDRESS = /:\/\/|www\.|@/;

/** `showAddresses`: of every link; otherwise only of those whose text is another address. */
export function readTree(text: string, format: TextFormat = "markdown", showAddresses = false): Root {
  const isLiteral = format === "plain" || (format === "markdown" && isPlainText(text) && !ADDRESS.test(text));
  if (isLiteral) return { type: "root", children: text === "" ? [] : [literal(clean(text))] };
  const root = format === "html" ? parseHtml(text) : parseMarkdown(text);
  if (format === "html" || text.includes("](")) writeAddresses(root, showAddresses);
  return root;
}

/** Text as rich text; `tree` is the text where it was read before. A text that shows nothing though something was written (`*`, an empty fence) is shown as it was written. */
export function readRich(
  text: string,
  format: TextFormat = "markdown",
  options: FlattenOptions & { showAddresses?: boolean | undefined },
  tree?: Root,
): RichText {
  if (format === "plain") return plainRich(clean(text));
  if (format === "markdown" && isPlainText(text)) return plainRich(text);
  const rich = flatten(tree ?? readTree(text, format, options.showAddresses), options);
  return isBlank(rich.text) ? plainRich(clean(text)) : rich;
}

/** A card as a titled block. */
export function cardTree(card: CardContent): Root {
  const children: RootContent[] = [];
  const title = clean(card.title ?? "");
  // A title that starts with a sign of its own needs no other.
  const mark = /^\p{Extended_Pictographic}/u.test(title) ? "" : TONE_MARKS[card.tone ?? "neutral"];
  if (title || card.url) {
    const label = title || (card.url as string);
    const text = { type: "text" as const, value: label };
    const linked = card.url ? [{ type: "link" as const, url: card.url, children: [text] }] : [text];
    children.push({
      type: "paragraph",
      children: [
        { type: "text", value: mark },
        { type: "strong", children: linked },
      ],
    });
  } else if (mark) children.push(literal(mark.trim()));
  if (card.text) children.push(...readTree(card.text).children);
  if (card.fields?.length) children.push(fieldList(card.fields));
  if (card.footer)
    children.push({
      type: "paragraph",
      children: [{ type: "emphasis", children: [{ type: "text", value: clean(card.footer) }] }],
    });
  return { type: "root", children };
}

/** Writes each field on one line; a value of several blocks goes below its name. */
function fieldList(fields: readonly { name: string; value: string }[]): RootContent {
  const lines = fields.map(({ name, value }): RootContent[] => {
    const blocks = readTree(value).children;
    const [first, ...more] = blocks;
    const label = { type: "strong" as const, children: [{ type: "text" as const, value: `${clean(name)}:` }] };
    if (first?.type === "paragraph")
      return [{ type: "paragraph", children: [label, { type: "text", value: " " }, ...first.children] }, ...more];
    return [{ type: "paragraph", children: [label] }, ...blocks];
  });
  return { type: "section", children: lines.flat() };
}

/** Joins parts one below the other, with an empty line between. */
export function joinRich(parts: readonly RichText[]): RichText {
  const [first, ...rest] = parts.filter((part) => !isBlank(part.text));
  if (!first) return plainRich("");
  let text = first.text;
  const spans = [...first.spans];
  for (const part of rest) {
    text += "\n\n";
    for (const { start, end, style } of part.spans)
      spans.push({ start: start + text.length, end: end + text.length, style });
    text += part.text;
  }
  return { text, spans };
}
