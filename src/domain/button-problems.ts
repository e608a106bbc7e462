/** What is wrong with what a button does, before a person presses it. */

import { isBlank } from "../lib/markdown/clean.js";
import { isWebAddress } from "../lib/web-address.js";
import type { Button, OutboundMessage } from "./message.js";

export interface ButtonProblem {
  path: readonly string[];
  message: string;
}

/** `isOpen`: the text is a template, which cannot be judged yet. */
export function pressProblems(
  { url, action }: Pick<Button, "url" | "action">,
  isOpen: (text: string) => boolean = () => false,
): ButtonProblem[] {
  const problems: ButtonProblem[] = [];
  const add = (message: string, ...path: string[]) => problems.push({ path, message });
  if (url === undefined && action === undefined) add("a press of this button does nothing: add a `url` or an `action`");
  if (url !== undefined && action !== undefined) add("a button has a `url` or an `action`, not both");
  if (url !== undefined && !isOpen(url) && !isWebAddress(url))
    add(`expected an address that starts with https: or http:, got "${url}"`, "url");
  if (action?.kind === "command" && !action.line.startsWith("/") && !isOpen(action.line))
    add(`expected a command line that starts with "/", such as /status, got "${action.line}"`, "action", "line");
  if (action?.kind === "say" && isBlank(action.text)) add("the text is empty: a press says nothing", "action", "text");
  return problems;
}

/** Of all buttons of a message, with their places in it: `buttons.0.1.url`. */
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
