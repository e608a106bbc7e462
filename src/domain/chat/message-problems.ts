/** Problems of the links of a message and of the actions of its buttons, found before a person presses them. */

import { isBlank } from "../../lib/markdown/clean.js";
import { isWebAddress } from "../../lib/web-address.js";
import type { Button, Form, OutboundMessage } from "./message.js";

export interface MessageProblem {
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
): MessageProblem[] {
  const problems: MessageProblem[] = [];
  const add = (message: string, ...path: (string | number)[]) => problems.push({ path, message });
  if (url === undefined && action === undefined) add("a press of this button does nothing: add a `url` or an `action`");
  if (url !== undefined && action !== undefined) add("a button has a `url` or an `action`, not both");
  if (url !== undefined && !isOpen(url) && !isWebAddress(url)) add(notWeb(url), "url");
  if (action?.kind === "command" && !action.line.startsWith("/") && !isOpen(action.line))
    add(`expected a command line that starts with "/", such as /status, got "${action.line}"`, "action", "line");
  if (action?.kind === "say" && isBlank(action.text))
    add("the text is empty: a press would send nothing", "action", "text");
  if (action?.kind === "command" && action.form)
    for (const { path, message } of formProblems(action.form, isOpen)) add(message, "action", "form", ...path);
  return problems;
}

function formProblems({ title, fields }: Form, isOpen: (text: string) => boolean): MessageProblem[] {
  const problems: MessageProblem[] = [];
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

/** The problems of a card's link and of all buttons of a message, with their places in it: `card.url`, `buttons.0.1.url`. */
export function messageProblems({ card, buttons = [] }: Pick<OutboundMessage, "card" | "buttons">): MessageProblem[] {
  const url = card?.url;
  const ofCard = url === undefined || isWebAddress(url) ? [] : [{ path: ["card", "url"], message: notWeb(url) }];
  const ofButtons = buttons.flatMap((row, at) =>
    row.flatMap((button, index) =>
      pressProblems(button).map(({ path, message }) => ({
        path: ["buttons", String(at), String(index), ...path],
        message,
      })),
    ),
  );
  return [...ofCard, ...ofButtons];
}

const notWeb = (url: string) => `expected an address that starts with https: or http:, got "${url}"`;
