/** The buttons of a hook's message: what is wrong with one, before a person presses it. */
import { type ButtonProblem, pressProblems } from "../../../domain/button-problems.js";
import type { Button } from "../../../domain/message.js";
import { isBlank } from "../../../lib/markdown/clean.js";
import { nearest } from "../../../lib/nearest.js";
import { isTemplate } from "../../template/is-template.js";

type Wanted = Pick<Button, "label" | "url" | "action">;

/** What a reader cannot see, and what turns the direction of the text: a label could show other words than it has. */
const HIDDEN = /[\u061C\u200B\u200E\u200F\u202A-\u202E\u2060-\u2069\uFEFF]/u;
/** Joiners make one sign of two, in emoji and in scripts beyond Latin, Greek and Cyrillic. */
const LONE_JOINER = /(?<![\u0530-\u{10FFFF}])[\u200C\u200D]|[\u200C\u200D]$/u;

/** `isRendered`: what looks like a template is none any more. Before, templates are not judged. */
export function wantedProblems({ label, url, action }: Wanted, isRendered = false): ButtonProblem[] {
  const problems: ButtonProblem[] = [];
  const add = (message: string, ...path: string[]) => problems.push({ path, message });
  const isOpen = (text: string) => !isRendered && isTemplate(text);
  if (!isOpen(label) && cleanLabel(label) !== label)
    add("the label has characters that cannot be seen or that turn the text: remove them", "label");
  else if (isBlank(label)) add("the label shows nothing", "label");
  return [...problems, ...pressProblems({ url, action }, isOpen)];
}

/** Commands that buttons run and that do not exist. */
export function commandProblems(buttons: readonly (readonly Wanted[])[] = [], commands: readonly string[]): string[] {
  return buttons.flat().flatMap(({ label, action }) => {
    if (action?.kind !== "command") return [];
    const [, written] = /^\/([\w-]+)(?=\s|$)/.exec(action.line) ?? [];
    // Telegram shows `-` as `_`; both spellings are understood.
    const name = written?.toLowerCase().replaceAll("_", "-");
    if (name === undefined || commands.some((known) => known.replaceAll("_", "-") === name)) return [];
    const near = nearest(name, commands);
    return [
      `the button "${label}": there is no command /${written}${near === undefined ? "" : ` (did you mean /${near}?)`}`,
    ];
  });
}

export function cleanLabel(label: string): string {
  return label.replace(new RegExp(HIDDEN, "gu"), "").replace(new RegExp(LONE_JOINER, "gu"), "");
}
