/** Which messages an `/outbox` command is about when it is about many: `chat=`, `older=` and `reason=`. */
import { parseAddress } from "../../src/domain/address.js";
import type { LetterFilter } from "../../src/domain/letters.js";
import type { CommandContext } from "../../src/gateway/commands.js";
import { formatDuration, parseDuration } from "../../src/lib/duration.js";
import { badUsage, word } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { plain } from "../text.js";
import { conversationText } from "../who.js";

export interface Chosen extends LetterFilter {
  /** The options as they are written in a command line, with a space before each. */
  line: string;
  /** For people: ` in …, older than …`; empty when nothing was chosen. */
  words: string;
}

export function chosenBy({ options }: CommandContext, deps: CommandDeps): Chosen {
  const { clock } = deps;
  const chat = textOf(options.chat);
  const reason = textOf(options.reason);
  const older = textOf(options.older);
  if (chat !== undefined && parseAddress(chat) === undefined)
    throw badUsage(`"${chat}" is no chat.`, "Write it as /whoami shows it there, such as web:web:general.");
  const olderMs = older === undefined ? undefined : parseDuration(older);
  if (older !== undefined && olderMs === undefined)
    throw badUsage(`"${older}" is no length of time.`, "Write 30m, 2h or 3d, such as older=2h.");
  const line = [
    chat === undefined ? "" : ` chat=${word(chat)}`,
    older === undefined ? "" : ` older=${word(older)}`,
    reason === undefined ? "" : ` reason=${word(reason)}`,
  ].join("");
  const words = [
    chat === undefined ? "" : ` in ${conversationText(deps, chat)}`,
    olderMs === undefined ? "" : ` older than ${formatDuration(olderMs)}`,
    reason === undefined ? "" : ` with "${plain(reason, 80)}" as a reason`,
  ].join("");
  return { chat, reason, olderThan: olderMs === undefined ? undefined : clock.now() - olderMs, line, words };
}

export const isNarrowed = ({ line }: Chosen) => line !== "";

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}
