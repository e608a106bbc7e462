/**
 * The places in the command line of a button where a template may be. The value becomes one quoted option value, so that the text of a
 * stranger cannot add an option, replace one, or choose the command.
 */
import type { Template } from "liquidjs";
import { closingQuote } from "../../domain/chat/command.js";
import { liquid } from "./engine.js";

const VALUE = "\0";
const EXAMPLE = "such as `/task add me text={{ event.message.text }}`";

/** Why the values of these templates cannot be quoted; undefined when they can. */
export function commandLineProblem(template: readonly Template[]): string | undefined {
  const { HTML, Output } = liquid().TokenKind;
  const parts: string[] = [];
  for (const { token } of template) {
    if (token.kind === Output) parts.push(VALUE);
    else if (token.kind === HTML && "getContent" in token) parts.push((token as { getContent(): string }).getContent());
    else return `a command line has no tags: give values with {{ … }}, ${EXAMPLE}`;
  }
  const line = parts.join("");
  if (!/^\/[a-z0-9_-]{1,32}\s[^\0]*\0/i.test(line))
    return `the command itself is no template: only its options are, ${EXAMPLE}`;
  if (/[{[]/.test(line)) return "a command line with templates has no JSON: its values could not be quoted";
  return valueProblem(line);
}

/** Each value must start where an option value starts, and end where one ends, outside of quotes. */
function valueProblem(line: string): string | undefined {
  for (let i = 0; i < line.length; i++) {
    const isStart = /[\s=]/.test(line[i - 1] ?? "");
    if (line[i] === VALUE && !(isStart && /^\s?$/.test(line[i + 1] ?? "")))
      return `a template is one whole option value, without quotes or text around it: ${EXAMPLE}`;
    const closing = isStart ? closingQuote(line[i] as string) : undefined;
    if (closing === undefined) continue;
    const end = line.indexOf(closing, i + 1);
    if ((end < 0 ? line.slice(i) : line.slice(i, end)).includes(VALUE))
      return `a template in quotes cannot be quoted again: remove the quotes, ${EXAMPLE}`;
    if (end > i) i = end;
  }
  return undefined;
}
