/** Which messages an `/outbox` command is about when it is about many: `chat=`, `older=` and `reason=`. */
import { formatAddress, parseAddress } from "../../src/domain/chat/address.js";
import type { Button } from "../../src/domain/chat/message.js";
import type { LetterFilter } from "../../src/domain/deliveries/letters.js";
import type { CommandContext } from "../../src/gateway/commands.js";
import { formatDuration, parseDuration } from "../../src/lib/time/duration.js";
import { badUsage, commandButton, word } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { selectionOf } from "../selection.js";
import { plain } from "../show/text.js";
import { conversationText } from "../who.js";

/** In the reason of every message that may crash the gateway. */
export const CRASH = "crash";

export interface Chosen extends LetterFilter {
  /** The options as they are written in a command line, with a space before each. */
  line: string;
  /** For people: ` in …, older than …`; empty when nothing was chosen. */
  words: string;
  /** Its reason names the crash: messages that may crash the gateway are meant, too. */
  namesCrash: boolean;
  /** The options that select those messages, within the choice of the command. */
  crashLine: string;
}

export function chosenBy({ options }: CommandContext, deps: CommandDeps): Chosen {
  const { clock } = deps;
  const chat = textOf(options.chat);
  const reason = textOf(options.reason);
  const older = textOf(options.older);
  const at = chat === undefined ? undefined : parseAddress(chat);
  if (chat !== undefined && at === undefined)
    throw badUsage(`"${chat}" is no chat.`, "Write it as /whoami shows it there, such as web:web:general.");
  const olderMs = older === undefined ? undefined : parseDuration(older);
  if (older !== undefined && olderMs === undefined)
    throw badUsage(`"${older}" is no length of time.`, "Write 30m, 2h or 3d, such as older=2h.");
  const within = [
    chat === undefined ? "" : ` chat=${word(chat)}`,
    older === undefined ? "" : ` older=${word(older)}`,
  ].join("");
  const line = `${within}${reason === undefined ? "" : ` reason=${word(reason)}`}`;
  const words = [
    chat === undefined ? "" : ` in ${conversationText(deps, chat)}`,
    olderMs === undefined ? "" : ` older than ${formatDuration(olderMs)}`,
    reason === undefined ? "" : ` with "${plain(reason, 80)}" as a reason`,
  ].join("");
  const namesCrash = reason?.toLowerCase().includes(CRASH) === true;
  const crashLine = namesCrash ? line : `${within} reason=${CRASH}`;
  const olderThan = olderMs === undefined ? undefined : clock.now() - olderMs;
  const chats = at && (deps.addressesOf?.(at) ?? [at]).map(formatAddress);
  return { chats, reason, olderThan, line, words, namesCrash, crashLine };
}

/** Leads to the question about messages that may crash the gateway; in the question, to the messages that it asks for. */
export function riskyButton(
  verb: string,
  ids: readonly string[],
  line: string,
  { namesCrash, crashLine }: Chosen,
): Button {
  const label = `${verb} ${ids.length === 1 ? "it" : `these ${ids.length.toLocaleString("en-US")}`}`;
  return namesCrash
    ? commandButton(label, `${line}${crashLine} yes=true selection=${selectionOf(ids)}`, "danger")
    : commandButton(label, `${line}${crashLine}`);
}

/** The question whose button was pressed: whether to take the risk of a crash, or the fate of the messages in doubt. */
export function answeredQuestion({ options }: CommandContext): "risk" | "doubt" | undefined {
  if (options.selection === undefined) return undefined;
  return options.confirmed === undefined ? "risk" : "doubt";
}

/** An id names one message, whatever the options would select. */
export function needNoSelection(chosen: Chosen, id: string): void {
  if (isNarrowed(chosen))
    throw badUsage(
      `${id} is one message, and \`chat\`, \`older\` and \`reason\` select among many.`,
      "Leave them out, or write `all` instead of the id.",
    );
}

export const isNarrowed = ({ line }: Chosen) => line !== "";

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}
