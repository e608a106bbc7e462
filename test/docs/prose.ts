/** One comment or one string of a source file, with the line where it starts. */
export interface Prose {
  readonly kind: "comment" | "string";
  readonly line: number;
  readonly text: string;
}

/** After one of these a slash starts a regular expression; after anything else it divides. */
const BEFORE_REGEX = /(?:^|[(,=:[!&|?{};+\-*%~^<>]|\b(?:return|case|typeof|in|of))$/;

/** The comments and strings of JavaScript or TypeScript source, in order. A template is one string per piece between `${…}`. */
export function proseOf(source: string): Prose[] {
  const found: Prose[] = [];
  /** How many braces are open in each `${…}` that surrounds the position. */
  const open: number[] = [];
  let line = 1;
  let at = 0;
  let code = "";

  function take(kind: Prose["kind"] | undefined, end: number, from = at): void {
    const text = source.slice(from, end);
    if (kind) {
      found.push({ kind, line, text });
    }
    line += text.split("\n").length - 1;
    at = end;
  }
  function template(): void {
    let end = at + 1;
    while (end < source.length && source[end] !== "`" && !source.startsWith("${", end)) {
      end += source[end] === "\\" ? 2 : 1;
    }
    const inserts = source[end] === "$";
    take("string", end + (inserts ? 2 : 1));
    code = inserts ? "(" : "x";
    if (inserts) {
      open.push(0);
    }
  }

  while (at < source.length) {
    const rest = source.slice(at, at + 2);
    const char = rest[0];
    if (rest === "//") {
      take("comment", endOf(source, "\n", at));
    } else if (rest === "/*") {
      take("comment", endOf(source, "*/", at) + 2);
    } else if (char === '"' || char === "'") {
      take("string", closing(source, char, at));
      code = "x";
    } else if (char === "`") {
      template();
    } else if (char === "/" && BEFORE_REGEX.test(code)) {
      take(undefined, closing(source, "/", at));
      code = "x";
    } else if (char === "}" && open.at(-1) === 0) {
      open.pop();
      template();
    } else {
      if (open.length > 0 && (char === "{" || char === "}")) {
        open.push((open.pop() ?? 0) + (char === "{" ? 1 : -1));
      }
      if (char && !/\s/.test(char)) {
        code = `${code}${char}`.slice(-8);
      }
      take(undefined, at + 1);
    }
  }
  return found;
}

function endOf(source: string, mark: string, from: number): number {
  const end = source.indexOf(mark, from);
  return end === -1 ? source.length : end;
}

/** Behind the closing quote of a string or a regular expression; an escaped one and one in `[…]` of an expression do not close it. */
function closing(source: string, quote: string, from: number): number {
  let inClass = false;
  for (let at = from + 1; at < source.length; at++) {
    const char = source[at];
    if (char === "\\") {
      at++;
    } else if (quote === "/" && char === "[") {
      inClass = true;
    } else if (quote === "/" && char === "]") {
      inClass = false;
    } else if (char === quote && !inClass) {
      return at + 1;
    }
  }
  return source.length;
}
