/** Problems of the action of a button, found before a person presses it. */

import { isBlank } from "../../lib/markdown/clean.js";
import { isWebAddress } from "../../lib/web-address.js";
import type { Button, Form, OutboundMessage } from "./message.js";

export interface ButtonProblem {
  path: readonly (string | number)[];
  message: string;
}

/** Discord opens no form that breaks these limits. https://discord.com/developers/docs/components/reference#text-input */
const MAX_WORDS = 45;
const MAX_ID = 100;

/** `isOpen`: the text is a template, which cannot be judged yet. */
export function pressProblems(
  { url, action }: Pick<Button, "url" | "action">,
  isOpen: (text: string) => boolean = () => false,
): ButtonProblem[] {
  const problems: ButtonProblem[] = [];
  const add = (message: string, ...path: (string | number)[]) => problems.push({ path, message });
  if (url === undefined && action === undefined) add("a press of this button does nothing: add a `url` or an `action`");
  if (url !== undefined && action !== undefined) add("a button has a `url` or an `action`, not both");
  if (url !== undefined && !isOpen(url) && !isWebAddress(url))
    add(`expected an address that starts with https: or http:, got "${url}"`, "url");
  if (action?.kind === "command" && !action.line.startsWith("/") && !isOpen(action.line))
    add(`expected a command line that starts with "/", such as /status, got "${action.line}"`, "action", "line");
  if (action?.kind === "say" && isBlank(action.text))
    add("the text is empty: a press would send nothing", "action", "text");
  if (action?.kind === "command" && action.form)
    for (const { path, message } of formProblems(action.form, isOpen)) add(message, "action", "form", ...path);
  return problems;
}

function formProblems({ title, fields }: Form, isOpen: (text: string) => boolean): ButtonProblem[] {
  const problems: ButtonProblem[] = [];
  const check = (text: string, max: number, ...path: (string | number)[]) => {
    if (isOpen(text)) return;
    if (isBlank(text)) problems.push({ path, message: "the text is empty" });
    else if (text.length > max)
      problems.push({ path, message: `expected at most ${max} characters, got ${text.length}` });
  };
  check(title, MAX_WORDS, "title");
  const ids = new Set<string>();
  for (const [index, { id, label }] of fields.entries()) {
    check(id, MAX_ID, "fields", index, "id");
    check(label, MAX_WORDS, "fields", index, "label");
    if (ids.has(id))
      problems.push({ path: ["fields", index, "id"], message: `another field of this form has the id "${id}"` });
    ids.add(id);
  }
  return problems;
}

/** The problems of all buttons of a message, with their places in it: `buttons.0.1.url`. */
export function buttonProblems({ buttons = [] }: Pick<OutboundMessage, "buttons">): ButtonProblem[] {
  return buttons.flatMap((row, at) =>
    row.flatMap((button, index) =>
      pressProblems(button).map(({ path, message }) => ({
        path: ["buttons", String(at), String(index), ...path],
        message,
      })),
    ),
  );
}
