/** The command menu, registered only when it differs from what Telegram has. */
import type { CommandSpec } from "../../src/domain/command.js";
import type { Logger } from "../../src/lib/logger.js";
import type { Caller } from "./caller.js";

/** https://core.telegram.org/bots/api#setmycommands and #botcommand */
const COMMANDS_MAX = 100;
const NAME = /^[a-z0-9_]{1,32}$/;
const DESCRIPTION_MAX = 256;

export interface MenuCommand {
  command: string;
  description: string;
}

/** Resolves with whether it was registered anew. */
export async function registerCommands(
  { call }: Caller,
  specs: readonly CommandSpec[],
  logger: Logger,
  signal: AbortSignal,
): Promise<boolean> {
  const wanted = menuOf(specs);
  const known = await call("getMyCommands", {}, signal);
  if (isSame(known, wanted)) return false;
  await call("setMyCommands", { commands: wanted }, signal);
  logger.info({ count: wanted.length }, "the command menu of Telegram is registered");
  return true;
}

/** Telegram allows no `-` in names; both spellings are understood when they come in. */
export function menuOf(specs: readonly CommandSpec[]): MenuCommand[] {
  return specs
    .map(({ name, summary }) => ({
      command: name.replaceAll("-", "_"),
      description: summary.slice(0, DESCRIPTION_MAX) || name,
    }))
    .filter(({ command }) => NAME.test(command))
    .slice(0, COMMANDS_MAX);
}

function isSame(known: readonly MenuCommand[], wanted: readonly MenuCommand[]): boolean {
  return (
    known.length === wanted.length &&
    wanted.every(
      ({ command, description }, i) => known[i]?.command === command && known[i]?.description === description,
    )
  );
}
