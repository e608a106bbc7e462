/** Patterns that match no text at all, or not the text that is meant: a `$` with letters after it, a `^` with letters before it, `/ping/i`. */

/** A sentence; undefined for a pattern that may match. Only plain cases are reported. */
export function patternProblem(pattern: string): string | undefined {
  const [, meant, flags = ""] = /^\/((?:[^/\\]|\\.)+)\/(g|i|gi|ig)$/.exec(pattern) ?? [];
  if (meant !== undefined)
    return `the pattern "${pattern}" has the slashes of JavaScript, which a text would have to contain: write "${flags.includes("i") ? "(?i)" : ""}${meant}"`;
  // With (?m) a text has many beginnings and ends; another alternative may match.
  if (/\(\?[a-z]*m|\|/.test(pattern)) return undefined;
  const plain = plainPattern(pattern);
  if (/\$[A-Za-z0-9 _-](?![?*]|\{0)/.test(plain))
    return `the pattern "${pattern}" matches nothing: $ is the end of the text, and more has to follow it`;
  if (/[A-Za-z0-9 _-]\^/.test(plain))
    return `the pattern "${pattern}" matches nothing: ^ is the start of the text, and more has to come before it`;
  return undefined;
}

/** After the name of a command: its end, a blank, or a pattern that also fits the end. */
const AFTER_NAME =
  /^(?:$|\$|\\b|\\z| (?![?*{])|\\s(?![?*{])|\\s\*\$|\.\*|\((?:\$|\\b|\\s|\s)[^()|]*(?:\|(?:\$|\\b|\\s|\s)[^()|]*)*\)(?:\?(?:$|\$)|(?![?*{])))/;

/** `^/(a|b)\b` needs a text that starts with /a or /b as a whole word. Empty where that is not plain to see. */
export function startsOf(pattern: string): string[] {
  const plain = pattern
    .replace(/^(\^?)\(\?[is]+\)/, "$1")
    .replaceAll("(?:", "(")
    .replaceAll("\\/", "/");
  const starts = (plain.match(/(?:\([^()]*\)|[^|])+/g) ?? []).flatMap((one) => {
    const [, before, group, after = ""] = /^\^(\/?)\(([^()]*)\)(?![?*+{])(.*)$/s.exec(one) ?? [];
    return group === undefined ? [one] : group.split("|").map((name) => `^${before}${name}${after}`);
  });
  const names = starts.map((one) => {
    const [start, name] = /^\^(\/[A-Za-z0-9_-]+)/.exec(one) ?? [];
    return start !== undefined && AFTER_NAME.test(one.slice(start.length)) ? name : undefined;
  });
  return names.includes(undefined) ? [] : names.flatMap((name) => name ?? []);
}

/** Puts one digit in place of each escape and each class, so that their content is read as it is meant. */
function plainPattern(pattern: string): string {
  return pattern
    .replace(/\\(?:x(?:\{[^}]*\}|[0-9A-Fa-f]{2})|[pP](?:\{[^}]*\}|[A-Z])|.)/g, escapeOf)
    .replace(/\[\^?\]?[^\]]*\]/g, "0");
}

/** Without the parts that represent no letter of the text; empty when its case does not count. */
export function lettersOf(pattern: string): string {
  return /\(\?[a-zA-Z]*i/.test(pattern) ? "" : plainPattern(pattern).replace(/\(\?(?:P?<[^>]*>|[a-zA-Z-]*)/g, "");
}

/** `\b`, `\A` and `\z` take no character; a quoted `\$` is one. */
function escapeOf(text: string): string {
  return /^\\[bBAzZQE]/.test(text) ? "" : "0";
}
