/** Answers: the message, the data behind it, and the buttons for what one does next. */
import type { Button, OutboundMessage } from "../src/domain/message.js";
import type { CommandAnswer } from "../src/gateway/commands.js";
import { HookgateError } from "../src/lib/errors.js";
import { nearest } from "../src/lib/nearest.js";
import { clip } from "./text.js";

export interface AnswerParts {
  /** Paragraphs; empty ones are left out. */
  text: readonly (string | undefined | false)[];
  data: unknown;
  buttons?: readonly (readonly Button[])[];
  card?: OutboundMessage["card"];
  attachments?: OutboundMessage["attachments"];
  outcome?: CommandAnswer["outcome"];
}

export function answer({ text, data, buttons, card, attachments, outcome }: AnswerParts): CommandAnswer {
  const rows = (buttons ?? []).filter((row) => row.length > 0).map((row) => [...row]);
  return {
    message: {
      text: text.filter((part) => part !== undefined && part !== false && part !== "").join("\n\n"),
      ...(rows.length > 0 ? { buttons: rows } : {}),
      ...(card ? { card } : {}),
      ...(attachments && attachments.length > 0 ? { attachments } : {}),
    },
    data,
    ...(outcome && outcome !== "done" ? { outcome } : {}),
  };
}

/** A press that runs a command line as whoever presses. */
export function commandButton(label: string, line: string, style: Button["style"] = "secondary"): Button {
  return { label, style, action: { kind: "command", line } };
}

/** One word of a command line, quoted when it has to be. */
export function word(text: string): string {
  return /^[^\s"'\\=]+$/.test(text) ? text : `"${text.replace(/["\\]/g, "\\$&")}"`;
}

/** What somebody named is not there; the nearest that is gets suggested. */
export function notFound(what: string, name: string, known: Iterable<string>, hint: string): HookgateError {
  const near = nearest(name, known);
  return new HookgateError({
    code: "NOT_FOUND",
    message: `There is no ${what} "${clip(name, 80)}"${near ? `. Did you mean "${near}"?` : "."}`,
    hint,
  });
}

export function badUsage(message: string, hint?: string): HookgateError {
  return new HookgateError({ code: "BAD_USAGE", message, ...(hint ? { hint } : {}) });
}
