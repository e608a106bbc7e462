/**
 * What Discord's client shows of a message: an independent reading of its dialect (the rules and their order are those of its
 * published simple-markdown grammar), so that tests compare what is seen, not how it is written.
 */

export interface Seen {
  text: string;
  /** `bold:`, `italic:` … and what stands under it. */
  marks: string[];
}

const RULES: { kind: string; at: RegExp; lineStart?: true }[] = [
  { kind: "heading", at: /^(?:#{1,3}|-#)[ \t]+([^\n]+)/, lineStart: true },
  { kind: "fence", at: /^```(?:[a-z0-9_+\-.#]+?\n)?\n*([^\n][\s\S]*?)\n*```/i },
  { kind: "quote", at: /^(?: *>(?:>>)? [^\n]*(?:\n|$))+/, lineStart: true },
  { kind: "bullet", at: /^([ \t]*)(?:[-*]|(\d+\.))(?=[ \t])/, lineStart: true },
  { kind: "escape", at: /^\\([^0-9A-Za-z\s])/ },
  { kind: "mention", at: /^<(?:@[!&]?|#)\d+>/ },
  { kind: "angle", at: /^<(https?:\/\/[^\s>]+)>/ },
  { kind: "link", at: /^\[((?:\[[^\]]*\]|[^[\]]|\](?=[^[]*\]))*)\]\(\s*<?((?:\([^)]*\)|[^\s\\()]|\\.)*?)>?\s*\)/ },
  { kind: "url", at: /^https?:\/\/[^\s<]+[^<.,:;"'\]\s]/ },
  { kind: "bold", at: /^\*\*((?:\\[\s\S]|[^\\])+?)\*\*(?!\*)/ },
  { kind: "underline", at: /^__((?:\\[\s\S]|[^\\])+?)__(?!_)/ },
  { kind: "italic", at: /^\*(?=\S)((?:\\[\s\S]|\*\*|\s+(?:\\[\s\S]|[^*\s\\]|\*\*)|[^\s*\\])+?)\*(?!\*)/ },
  { kind: "italic", at: /^_((?:__|\\[\s\S]|[^\\_])+?)_\b/ },
  { kind: "code", at: /^(`+)([\s\S]*?[^`])\1(?!`)/ },
  { kind: "strike", at: /^~~(?=\S)((?:\\[\s\S]|~(?!~)|[^\s~\\]|\s(?!~~))+?)~~/ },
  { kind: "spoiler", at: /^\|\|([\s\S]+?)\|\|/ },
];

export function seenOnDiscord(source: string): Seen {
  const marks: string[] = [];
  return { text: see(source, true, marks), marks };
}

function see(source: string, startsLine: boolean, marks: string[]): string {
  let shown = "";
  let lineStart = startsLine;
  for (let at = 0; at < source.length; ) {
    const rest = source.slice(at);
    const rule = RULES.find(({ at: pattern, lineStart: needed }) => (!needed || lineStart) && pattern.test(rest));
    if (!rule) {
      shown += rest[0];
      lineStart = rest[0] === "\n" || (lineStart && rest[0] === " ");
      at++;
      continue;
    }
    const found = rule.at.exec(rest) as RegExpExecArray;
    at += found[0].length;
    const inner = show(rule.kind, found, marks);
    shown += inner;
    lineStart = rule.kind === "quote" || inner.endsWith("\n");
  }
  return shown;
}

function show(kind: string, found: RegExpExecArray, marks: string[]): string {
  const [whole, first = "", second = ""] = found;
  const marked = (text: string) => {
    marks.push(`${kind}:${text}`);
    return text;
  };
  switch (kind) {
    case "escape":
      return first;
    case "bullet":
      return `${first}${second || "•"}`;
    case "quote":
      return marked(see(whole.replace(/^ *>(?:>>)? /gm, ""), true, marks));
    case "fence":
      return marked(first);
    case "code":
      return marked(second.replace(/^ (?=`)|(?<=`) $/g, ""));
    case "url":
      return whole;
    case "angle":
      return first;
    case "mention":
      return marked("@");
    default:
      return marked(see(first, false, marks));
  }
}
