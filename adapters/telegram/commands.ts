/** The command menu, registered only when it differs from what Telegram has. A failure is reported, and tried again. */
import type { AdapterContext, AdapterState } from "../../src/domain/chat/adapter.js";
import type { CommandSpec } from "../../src/domain/chat/command.js";
import type { Logger } from "../../src/lib/logger.js";
import { backoffMs } from "../../src/lib/time/backoff.js";
import { wait } from "../../src/lib/time/clock.js";
import type { Caller } from "./caller.js";
import { describeFailure, isPassing, readFailure, retryAfterOf } from "./errors.js";

/** After so many passing failures it is reported, and tried as seldom as after a refusal. */
const QUICK_ATTEMPTS = 6;
const QUICK_PAUSE = { firstMs: 2_000, maxMs: 60_000 };
const REFUSED_PAUSE_MS = 3_600_000;

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
export async function keepRegistered(
  { gateway, clock, logger, caller, signal }: Context,
  report: (trouble: MenuTrouble | undefined) => void,
): Promise<void> {
  for (let attempt = 1; !signal.aborted; attempt++) {
    try {
      await registerCommands(caller, gateway.commands(), logger, signal);
      if (attempt > 1) report(undefined);
      return;
    } catch (thrown) {
      if (signal.aborted) return;
      const failure = readFailure(thrown);
      const error = describeFailure(failure);
      let pauseMs = retryAfterOf(failure) ?? backoffMs(QUICK_PAUSE, attempt);
      if (!isPassing(failure) || attempt >= QUICK_ATTEMPTS) {
        pauseMs = Math.max(pauseMs, REFUSED_PAUSE_MS);
        report({ reason: `Telegram refuses the command menu: ${error}`, hint: HINT });
      }
      logger.warn({ attempt, error }, "the command menu could not be registered; it is tried again");
      await wait(clock, pauseMs, signal).catch(() => {}); // the loop's condition sees the end of the connection
    }
  }
}

const HINT =
  "All commands work when they are typed. If a plugin adds commands, correct their names and summaries. Hookgate tries again every hour. The menu that was registered before stays.";

/** Resolves with whether it was registered anew. */
async function registerCommands(
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
