/**
 * Where the CLI writes: results to standard output, everything else to standard error. Bold on a terminal only; other control characters
 * are shown as marks, because much of the printed text was written by strangers.
 */
import type { OutboundMessage } from "../domain/chat/message.js";
import { once } from "../lib/concurrency/on-first-use.js";
import { errorMessage, HookgateError } from "../lib/errors.js";
import { tokensInWords } from "../lib/markdown/tokens.js";
import { endProcess } from "../lib/process/refuse-exit.js";
import { secretMask } from "../lib/signing/secret.js";
import { withoutControls } from "../lib/text/control-characters.js";
import { localTimezone } from "../lib/time/timezone.js";

export interface Terminal {
  out(text: string): void;
  error(text: string): void;
  readonly isTty: boolean;
}

export const processTerminal: Terminal = {
  out: (text) => void process.stdout.write(`${printable(text)}\n`),
  error: (text) => void process.stderr.write(`${printable(text)}\n`),
  isTty: process.stdout.isTTY === true,
};

const BOLD = "\u001b[1m";
const NOT_BOLD = "\u001b[22m";

/** A stranger may write bold, too: that hides nothing. */
function printable(text: string): string {
  if (!process.stdout.isTTY) return withoutControls(text);
  const plain = (part: string) => part.split(NOT_BOLD).map(withoutControls).join(NOT_BOLD);
  return text.split(BOLD).map(plain).join(BOLD);
}

/** Bold where it is a terminal. */
export const boldOn = (isTty: boolean) => (text: string) => (isTty ? `${BOLD}${text}${NOT_BOLD}` : text);

/** A reader that stops early (`hookgate points | head`) has seen enough: that is no failure. Not for the gateway, which continues unread. */
export function endWithReader(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    endProcess();
  });
}

const maskTokens = secretMask([]);

export function printError(terminal: Terminal, error: unknown): void {
  terminal.error(maskTokens(`error: ${errorMessage(error)}`));
  if (error instanceof HookgateError && error.hint) terminal.error(maskTokens(`hint: ${error.hint}`));
}

export function printJson(terminal: Terminal, data: unknown): void {
  terminal.out(JSON.stringify(data ?? null, null, 2));
}

/** A chat message as a terminal shows it: no Markdown signs, bold where the terminal can. */
export function terminalText(message: OutboundMessage, isTty: boolean): string {
  const bold = boldOn(isTty);
  const parts = [message.text];
  const { card } = message;
  if (card) {
    if (card.title) parts.push(`**${card.title}**`);
    if (card.text) parts.push(card.text);
    const fields = card.fields ?? [];
    const width = Math.max(0, ...fields.map(({ name }) => name.length));
    const lines = fields.map(
      ({ name, value }) => `${name.padEnd(width)}  ${value.replaceAll("\n", `\n${" ".repeat(width + 2)}`)}`,
    );
    if (lines.length > 0) parts.push(lines.join("\n"));
    if (card.footer) parts.push(card.footer);
  }
  return plainLines(parts.filter((part) => part !== "").join("\n\n"), bold);
}

/** Moments are written in the zone of the terminal: that is where the reader is. Asked late, because asking loads the world's calendars. */
const zone = once(localTimezone);

/** Fenced blocks stay as they are, without their fences; elsewhere the signs go. */
function plainLines(markdown: string, bold: (text: string) => string): string {
  let fence: string | undefined;
  const lines: string[] = [];
  for (const line of markdown.split("\n")) {
    const [, ticks] = /^(`{3,})/.exec(line) ?? [];
    if (fence === undefined && ticks !== undefined) fence = ticks;
    else if (fence !== undefined && line === fence) fence = undefined;
    else lines.push(fence === undefined ? withoutSigns(tokensInWords(line, zone()), bold) : line);
  }
  return lines.join("\n");
}

function withoutSigns(line: string, bold: (text: string) => string): string {
  return line
    .replace(/(?<!\\)(`+) ?(.*?) ?\1|\*\*(.+?)\*\*/g, (_all, _ticks, code?: string, strong?: string) =>
      strong === undefined ? (code ?? "") : bold(strong.replace(/`/g, "")),
    )
    .replace(/\\([\\`*_~[\]<>|#@])/g, "$1");
}
