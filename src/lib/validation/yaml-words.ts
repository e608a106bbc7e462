/** Problems of a YAML text, in the words of its writer: the commonest slips, with the right text. */

export interface YamlFault {
  code: string;
  message: string;
  /** Where it starts and ends in the text. */
  pos: readonly [number, number];
}

/** Undefined for a fault that has no words here: then those of the parser are shown. */
export function wordsFor({ code, message, pos: [at] }: YamlFault, text: string): string | undefined {
  const line = lineAt(text, at);
  const column = at - text.lastIndexOf("\n", at - 1) - 1;
  switch (code) {
    case "TAB_AS_INDENT":
      return "this line is indented with a tab, and YAML takes spaces only: write two spaces for each level";
    case "DUPLICATE_KEY":
      return duplicateKey(line, text.slice(at));
    case "BAD_SCALAR_START":
      return line.length - partsOf(line).value.length === column
        ? inQuotes(line)
        : `a text that starts with ${text[at]} must be in quotes as a whole`;
    case "MULTILINE_IMPLICIT_KEY":
      return missingSpace(line);
    case "BLOCK_AS_IMPLICIT_KEY":
      if (COLON_INSIDE.test(line)) return `a text with ": " in it must be in quotes${example(line)}`;
      return indentOf(lineAt(text, text.indexOf("\n", at) + 1)) > indentOf(line)
        ? "the line after this one is indented further, and this one has a value: settings of one level start in the same column"
        : undefined;
    case "UNEXPECTED_TOKEN":
      return goesOn(line, column);
    case "MISSING_CHAR":
      return message.startsWith("Missing closing")
        ? `a text in quotes has no end: write the closing ${message.includes('"') ? '"' : "'"}`
        : message.startsWith("Sequence item without")
          ? "this line starts left of the entry that it belongs to: settings of one entry start in the same column"
          : undefined;
    case "BAD_INDENT": {
      const [, close] = /end with a ([}\]])/.exec(message) ?? [];
      return (
        close &&
        `${close} is missing before this place: add it, or write a text that starts with ${close === "}" ? "{" : "["} in quotes`
      );
    }
    default:
      return undefined;
  }
}

/** `key: value`, both as they are; `lead` is the text before them. */
const LINE = /^(\s*(?:-\s+)*)(?:([A-Za-z_][\w.-]*):\s+)?(.*)$/;
const COLON_INSIDE = /^\s*(?:-\s+)*[A-Za-z_][\w.-]*:\s+[^\s{["'].*:(\s|$)/;
const NO_SPACE = /^\s*(?:-\s+)*([A-Za-z_][\w.-]*):([^\s:/].*)$/;
/** The start of a list, a map, a block or a quoted text, where there is none. */
const STARTS_A_FORM = /^[{[}\]|>"']/;

function lineAt(text: string, at: number): string {
  const start = text.lastIndexOf("\n", at - 1) + 1;
  const end = text.indexOf("\n", at);
  return text.slice(start, end < 0 ? undefined : end).trimEnd();
}

function partsOf(line: string): { key: string | undefined; value: string } {
  const [, , key, value = ""] = LINE.exec(line) ?? [];
  return { key, value };
}

/** A token that is not expected at this column of the line: mostly the rest of a text that starts as a list or a map does. */
function goesOn(line: string, column: number): string | undefined {
  const { value } = partsOf(line);
  const before = line.slice(line.length - value.length, column);
  const isInside = (before.match(/[{[]/g) ?? []).length > (before.match(/[}\]]/g) ?? []).length;
  if (STARTS_A_FORM.test(value) && !isInside) return inQuotes(line);
  return line.includes("{{") ? 'a text with {{ … }} must be in quotes as a whole, as in "{{ … }}"' : undefined;
}

/** The column of the key. */
const indentOf = (line: string) => LINE.exec(line)?.[1]?.length ?? 0;

function inQuotes(line: string): string {
  const { key, value } = partsOf(line);
  const [, quote, inner] = /^(["'])(.*)\1$/.exec(value) ?? [];
  if (quote !== undefined && inner !== undefined)
    return `a quote inside a text in quotes ends it: write ${key === undefined ? "" : `${key}: `}${quoted(inner)}`;
  return `a text that starts with ${value[0]} must be in quotes as a whole${example(line)}`;
}

function example(line: string): string {
  const { key, value } = partsOf(line);
  return `: write ${key === undefined ? "" : `${key}: `}${quoted(value)}`;
}

/** In single quotes a backslash and a double quote have no special meaning. */
const quoted = (text: string) => (/["\\]/.test(text) ? `'${text.replaceAll("'", "''")}'` : `"${text}"`);

function missingSpace(line: string): string | undefined {
  const [, key, value] = NO_SPACE.exec(line) ?? [];
  return key && `there is no space after the colon: write ${key}: ${value}`;
}

function duplicateKey(line: string, rest: string): string {
  const [, key = ""] = /^["']?([^:"'\n]*)/.exec(rest) ?? [];
  if (/^\s*-[^\s-]/.test(line)) return `there is no space after the dash: write - ${line.trim().slice(1)}`;
  return `"${key.trim()}" is written twice in these settings: remove one, or put - before each entry of a list`;
}
