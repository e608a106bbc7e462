/** The command menu, registered only when it differs from Telegram's. A failure is reported, and tried again. */
import type { AdapterContext, AdapterState } from "../../src/domain/chat/adapter.js";
import type { CommandSpec } from "../../src/domain/chat/command.js";
import type { Logger } from "../../src/lib/logger.js";
import { untilRegistered } from "../../src/lib/time/until-registered.js";
import type { Caller } from "./caller.js";
import { describeFailure, isPassing, readFailure, retryAfterOf } from "./errors.js";

/** https://core.telegram.org/bots/api#setmycommands and #botcommand */
const COMMANDS_MAX = 100;
const NAME = /^[a-z0-9_]{1,32}$/;
const DESCRIPTION_MAX = 256;

export interface MenuCommand {
  command: string;
  description: string;
}

export type MenuTrouble = Required<Pick<AdapterState, "reason" | "hint">>;

interface Context extends Pick<AdapterContext, "gateway" | "clock" | "logger"> {
  caller: Caller;
  signal: AbortSignal;
}

/** Until the menu is registered or the connection ends. `report` gets why it is not, and undefined once it is. */
export function keepRegistered(
  { gateway, clock, logger, caller, signal }: Context,
  report: (trouble: MenuTrouble | undefined) => void,
): Promise<void> {
  return untilRegistered<MenuTrouble>({
    register: () => registerCommands(caller, gateway.commands(), logger, signal),
    read(thrown) {
      const failure = readFailure(thrown);
      return { isRefused: !isPassing(failure), askedMs: retryAfterOf(failure) };
    },
    troubleOf: (thrown) => ({ reason: `Telegram refuses the command menu: ${errorOf(thrown)}`, hint: HINT }),
    report,
    failed(thrown, attempt) {
      logger.warn({ attempt, error: errorOf(thrown) }, "the command menu could not be registered; it is tried again");
    },
    clock,
    signal,
  });
}

const errorOf = (thrown: unknown) => describeFailure(readFailure(thrown));

const HINT =
  "All commands work when they are typed. If a plugin adds commands, correct their names and summaries. Hookgate tries again every hour. The menu that was registered before stays.";

async function registerCommands(
  { call }: Caller,
  specs: readonly CommandSpec[],
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  const wanted = menuOf(specs);
  const known = await call("getMyCommands", {}, signal);
  if (isSame(known, wanted)) return;
  await call("setMyCommands", { commands: wanted }, signal);
  logger.info({ count: wanted.length }, "the command menu of Telegram is registered");
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
