/** A name as Markdown that shows nothing but the name. */
export function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_[\]<>|~@]/g, "\\$&");
}

/** Cut so that a table fits a phone and a paragraph stays a paragraph. */
export function clip(text: string, maxCharacters: number): string {
  const characters = [...text];
  return characters.length <= maxCharacters ? text : `${characters.slice(0, maxCharacters - 1).join("")}…`;
}

/** Text of unknown origin on one line, with nothing in it that Markdown or a chat would act on. */
export function plainLine(text: string, maxCharacters = 300): string {
  return clip(text.replace(/\s+/g, " ").trim(), maxCharacters).replace(/[\\`*_~[\]<>|#@]/g, "\\$&");
}

/** The same with its lines kept, each in a quote: none of them passes for a line of ours. */
export function quotedLines(text: string, maxCharacters: number): string {
  const lines = clip(text.trim(), maxCharacters).split(LINE_BREAK);
  return lines.map((line) => `> ${withoutListMark(plainLine(line, maxCharacters))}`.trimEnd()).join("\n");
}

/** What stands behind `Ann: `: one line as it is, several in a quote. */
export function saidText(text: string, maxCharacters: number): string {
  return LINE_BREAK.test(text.trim()) ? `\n${quotedLines(text, maxCharacters)}` : plainLine(text, maxCharacters);
}

const LINE_BREAK = /\r\n|[\n\r\u2028\u2029]/;

const withoutListMark = (line: string) => line.replace(/^[-+=]/, "\\$&").replace(/^(\d+)([.)])/, "$1\\$2");
