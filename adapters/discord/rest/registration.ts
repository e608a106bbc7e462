/** Registers the slash commands beside the traffic. A failure leaves the old table in place, is reported, and is tried again. */

import type { AdapterContext, AdapterState } from "../../../src/domain/chat/adapter.js";
import type { CommandSpec } from "../../../src/domain/chat/command.js";
import { untilRegistered } from "../../../src/lib/time/until-registered.js";
import type { Caller } from "../caller.js";
import { FORBIDDEN } from "../codes.js";
import { inviteUrl } from "../invite.js";
import { registerCommands } from "./commands.js";
import { Limited, Refusal } from "./errors.js";
import { describeFailure, isDiscordsOwn, isTokenRefused } from "./outcome.js";
import { InvalidRequestPause } from "./refusals.js";

/** https://discord.com/developers/docs/interactions/application-commands#registering-a-command */
const DAILY_LIMIT = 30034;

export type RegistrationTrouble = Required<Pick<AdapterState, "reason" | "hint">>;

interface Context extends Pick<AdapterContext, "gateway" | "clock" | "logger"> {
  caller: Caller;
  applicationId: string;
  signal: AbortSignal;
}

/** Until the table is registered or the run ends. `report` gets why it is not, and undefined once it is. */
export function keepRegistered(
  { caller, applicationId, gateway, clock, logger, signal }: Context,
  report: (trouble: RegistrationTrouble | undefined) => void,
): Promise<void> {
  let commands: readonly CommandSpec[] = [];
  return untilRegistered<RegistrationTrouble>({
    async register() {
      commands = gateway.commands();
      const isChanged = await registerCommands(caller, applicationId, commands);
      if (isChanged) logger.info({}, "registered the slash commands with Discord");
    },
    read: (error) => ({ isRefused: isRefused(error), askedMs: askedMs(error) }),
    troubleOf: (error) => troubleOf(error, commands, applicationId),
    report,
    failed(error, attempt, trouble) {
      const hint = trouble?.hint ?? TRIED_AGAIN;
      logger.warn(
        { attempt, error: describeFailure(error), hint },
        "could not register the slash commands with Discord",
      );
    },
    clock,
    signal,
  });
}

const TRIED_AGAIN =
  "Hookgate tries again within a minute, or after the time that a limit names. The commands that were registered before stay.";

function askedMs(error: unknown): number | undefined {
  return error instanceof Limited || error instanceof InvalidRequestPause ? error.afterMs : undefined;
}

/** Discord's own word on the table, which the next minute does not change. A limit is none: it names its time. */
function isRefused(error: unknown): boolean {
  if (!(error instanceof Refusal) || !isDiscordsOwn(error) || isTokenRefused(error)) return false;
  return error.status >= 400 && error.status < 500 && (error.status !== 429 || error.code === DAILY_LIMIT);
}

function troubleOf(error: unknown, commands: readonly CommandSpec[], applicationId: string): RegistrationTrouble {
  const again = "Hookgate tries again every hour. The commands that were registered before stay.";
  if (!(error instanceof Refusal) || !isRefused(error))
    return { reason: `the slash commands are not registered: ${describeFailure(error)}`, hint: again };
  const { code } = error;
  if (FORBIDDEN.has(code))
    return {
      reason: `Discord refuses the slash commands: missing access (${code})`,
      hint: `Add the bot to its server again by this link, which has the scope applications.commands: ${inviteUrl(applicationId)} ${again}`,
    };
  if (code === DAILY_LIMIT)
    return {
      reason: `Discord refuses the slash commands: the daily limit of 200 new commands is reached (${code})`,
      hint: `${again} A restart does not help.`,
    };
  const names = refusedCommands(error, commands);
  const which = names.length === 0 ? "the slash commands" : `the slash command ${names.join(", ")}`;
  return {
    reason: `Discord refuses ${which} (${code})`,
    hint: `Correct the name, the texts or the options of the command; the log has Discord's reason. ${again}`,
  };
}

/** A form error (50035) names commands by their place in the table. */
function refusedCommands({ rawError }: Refusal, commands: readonly CommandSpec[]): string[] {
  if (!("errors" in rawError) || typeof rawError.errors !== "object" || rawError.errors === null) return [];
  return Object.keys(rawError.errors).flatMap((place) => {
    const command = commands[Number(place)];
    return command ? [`/${command.name}`] : [];
  });
}
