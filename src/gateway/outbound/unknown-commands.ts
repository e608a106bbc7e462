/** Buttons whose line calls no command: a press would do nothing, so the log reports it when the message goes out. */
import type { Delivery } from "../../domain/store.js";
import type { Logger } from "../../lib/logger.js";
import { nearest } from "../../lib/validation/nearest.js";
import type { CommandTable } from "../inbound/parse-command.js";

/** This many names are remembered; then each is logged again. */
const MAX_NAMES = 1_000;

/** Each name is logged once. */
export function lineCheck(
  commands: Pick<CommandTable, "read" | "all">,
  logger: Logger,
): (line: string, delivery: Pick<Delivery, "id" | "cause" | "conversation">) => void {
  const known = new Set<string>();
  return (line, { id, cause, conversation }) => {
    if (commands.read(line) !== undefined) return;
    const name = /^\/(\S{0,40})/.exec(line)?.[1] ?? "";
    if (known.has(name)) return;
    if (known.size >= MAX_NAMES) known.clear();
    known.add(name);
    const near = nearest(
      name,
      commands.all.map((command) => command.name),
    );
    const meant = near === undefined ? "" : ` Did you mean /${near}?`;
    logger.warn(
      { delivery: id, conversation, cause },
      `A button of a message calls /${name}, and there is no such command: a press does nothing.${meant}`,
    );
  };
}
