/** Answers: the message, the data behind it, and the buttons for the next actions. */
import type { Button, OutboundMessage } from "../src/domain/chat/message.js";
import { type CommandAnswer, UnclearOption } from "../src/gateway/commands.js";
import { HookgateError } from "../src/lib/errors.js";
import { nearest } from "../src/lib/validation/nearest.js";
import { clip } from "./show/text.js";

export { word } from "../src/domain/chat/command.js";
export { commandButton } from "../src/domain/chat/command-button.js";

export interface AnswerParts {
  /** Paragraphs; empty ones are left out. */
  text: readonly (string | undefined | false)[];
  data: unknown;
  buttons?: readonly (readonly Button[])[];
  card?: OutboundMessage["card"];
  attachments?: OutboundMessage["attachments"];
  outcome?: CommandAnswer["outcome"];
  isQuestion?: boolean;
  audited?: CommandAnswer["audited"];
}

export function answer(parts: AnswerParts): CommandAnswer {
  const { text, data, buttons, card, attachments, outcome, isQuestion, audited } = parts;
  const rows = (buttons ?? []).filter((row) => row.length > 0).map((row) => [...row]);
  return {
    message: {
      text: text.filter((part) => part !== undefined && part !== false && part !== "").join("\n\n"),
      buttons: rows.length > 0 ? rows : undefined,
      card,
      attachments: attachments && attachments.length > 0 ? attachments : undefined,
    },
    data,
    audited,
    ...(isQuestion ? { outcome: "refused", isQuestion } : outcome && outcome !== "done" ? { outcome } : {}),
  };
}

/** The error for a name in an option that does not exist. It suggests the nearest known name, and the person can choose one that exists. */
export function notFound(
  what: string,
  name: string,
  known: Iterable<string>,
  hint: string,
  option: string,
): UnclearOption {
  const near = nearest(name, known);
  const facts = {
    code: "NOT_FOUND",
    message: `There is no ${what} "${clip(name, 80)}"${near ? `. Did you mean "${near}"?` : "."}`,
    hint,
    meant: near,
  };
  return new UnclearOption(facts, option, name);
}

/** The error for a missing option that the action needs: the person can choose an existing value. */
export function missing(what: string, hint: string, option: string): UnclearOption {
  return new UnclearOption({ code: "BAD_USAGE", message: `Missing: ${what}.`, hint }, option);
}

/** The error for a name that fits several. */
export function ambiguous(what: string, name: string, option: string): UnclearOption {
  return new UnclearOption(
    { code: "BAD_USAGE", message: `More than one ${what} fits "${clip(name, 80)}".` },
    option,
    name,
  );
}

const UNKNOWN_NAMES: ReadonlySet<string> = new Set(["NOT_FOUND", "PLAN_NOT_FOUND", "TASK_ASSIGNEE"]);

/** When the work behind a command, and not the command itself, finds the name in an option unknown, the person gets a choice, too. */
export async function choosing<T>(option: string, typed: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof HookgateError && UNKNOWN_NAMES.has(error.code)) throw new UnclearOption(error, option, typed);
    throw error;
  }
}

export function badUsage(message: string, hint?: string): HookgateError {
  return new HookgateError({ code: "BAD_USAGE", message, hint: hint || undefined });
}
