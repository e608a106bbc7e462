/** Runs one operator command: role, options, run, audit, command_invoked. For chat, HTTP and the CLI alike. */

import type { Address } from "../../domain/chat/address.js";
import { mayUse, type OptionValue, usageOf } from "../../domain/chat/command.js";
import { hasRole, type Operator, type Role } from "../../domain/chat/identity.js";
import type { OutboundMessage } from "../../domain/chat/message.js";
import type { Cause } from "../../domain/journal.js";
import type { AuditEntry } from "../../domain/store.js";
import type { DispatchOptions } from "../../hooks/options.js";
import { errorPlace } from "../../lib/error-place.js";
import { errorMessage, HookgateError, SEE_LOG } from "../../lib/errors.js";
import { mapTexts } from "../../lib/files/relative-paths.js";
import { withShortCopies } from "../../lib/text/short-copy.js";
import { withoutUndefined } from "../../lib/without-undefined.js";
import { offerChoices, type Unclear } from "../choices/offer-choices.js";
import { type Command, type CommandAnswer, type CommandContext, UnclearOption } from "../commands.js";
import { withDeadline } from "../deadline.js";
import type { Deps } from "../deps.js";
import type { CommandTable, ParsedOptions } from "./parse-command.js";

export interface Call {
  command: Command;
  /** All there are. */
  commands: CommandTable;
  parsed: ParsedOptions;
  operator: Operator;
  source: string;
  at?: Address;
  from?: CommandContext["from"];
  causeId?: string;
  givenBy?: Cause;
  replyToId?: string;
  progress(message: OutboundMessage): void;
  /** Options of the command_invoked dispatch. */
  fire: DispatchOptions;
}

/** Never rejects: every error becomes an answer. */
export async function runCommand(call: Call, deps: Deps): Promise<CommandAnswer> {
  const progress: Call["progress"] = (message) => call.progress(mapTexts(message, deps.shown));
  const answer = mapTexts(await run({ ...call, progress }, deps), deps.shown);
  const outcome = answer.outcome ?? "done";
  const options = call.parsed.kind === "options" ? call.parsed.options : {};
  await audit(call, { options, ...answer.audited }, answer.isQuestion ? "asked" : outcome, deps);
  const payload = {
    command: call.command.name,
    options,
    operator: call.operator,
    outcome,
    at: call.at,
  };
  deps.background.run("command_invoked", deps.registry.fireVoid("command_invoked", payload, undefined, call.fire));
  return answer;
}

async function run(call: Call, deps: Deps): Promise<CommandAnswer> {
  const { command, parsed, operator } = call;
  const { logger, clock, config } = deps;
  if (!mayUse(operator.role, command)) return refusal(command, command.role, operator);
  if (parsed.kind === "problem") {
    const error = { code: "BAD_USAGE", message: `${parsed.message}.`, hint: `Usage: \`${usageOf(command)}\`` };
    const { missing: option, options = {} } = parsed;
    return (option !== undefined && (await choices(call, { error, option }, options, deps))) || failure(error);
  }
  try {
    return await withDeadline(clock, config.command_timeout, `\`/${command.name}\``, (signal) =>
      command.run({
        operator,
        source: call.source,
        options: parsed.options,
        at: call.at,
        from: call.from,
        causeId: call.causeId,
        attempt: call.fire.attempt,
        givenBy: call.givenBy,
        replyToId: call.replyToId,
        progress: call.progress,
        need(role, why) {
          if (!hasRole(operator.role, role)) throw new Refused(role, why);
        },
        logger: logger.child({ command: command.name }),
        signal,
      }),
    );
  } catch (error) {
    if (error instanceof Refused) return refusal(command, error.role, operator, error.why);
    if (error instanceof UnclearOption) {
      const { option, typed, among } = error;
      const offered = await choices(call, { error, option, typed, among }, parsed.options, deps);
      if (offered) return offered;
    }
    const isExpected = error instanceof HookgateError;
    const shown = isExpected ? error : { code: "INTERNAL", message: messageWithPlace(error) };
    if (!isExpected) {
      const stack = error instanceof Error ? error.stack : undefined;
      logger.error({ command: command.name, error: shown.message, stack }, `/${command.name} failed: ${shown.message}`);
    }
    const isOurs = shown.code === "INTERNAL" || shown.code.startsWith("STORE_");
    return failure(isOurs && !hasRole(operator.role, "operator") ? WITHOUT_DETAILS : briefly(shown, parsed.options));
  }
}

function briefly(
  { code, message, hint }: Pick<HookgateError, "code" | "message" | "hint">,
  options: Readonly<Record<string, OptionValue>>,
) {
  const short = (text: string) => withShortCopies(text, Object.values(options));
  return { code, message: short(message), hint: hint === undefined ? undefined : short(hint) };
}

/** `boom (dice.mjs:7:11)`: the place in a plugin, where it is known. */
function messageWithPlace(error: unknown): string {
  const place = errorPlace(error);
  return `${errorMessage(error)}${place === undefined ? "" : ` (${place})`}`;
}

/** Offers the values that could be meant, by the same lists as completion. The value that is missing was then named, or is not there. */
async function choices(
  { command, commands, operator }: Call,
  unclear: Unclear,
  given: Readonly<Record<string, OptionValue>>,
  deps: Deps,
): Promise<CommandAnswer | undefined> {
  try {
    return await offerChoices(command, unclear, { operator, given }, commands, deps);
  } catch (error) {
    deps.logger.warn({ command: command.name, error: errorMessage(error) }, "no choices could be offered");
    return undefined;
  }
}

/** Errors of ours name files of this machine: those are for operators. */
const WITHOUT_DETAILS = {
  code: "INTERNAL",
  message: "The command failed inside Hookgate.",
  hint: SEE_LOG,
};

class Refused extends Error {
  readonly role: Role;
  readonly why: string | undefined;
  constructor(role: Role, why: string | undefined) {
    super(`needs the role ${role}`);
    this.role = role;
    this.why = why;
  }
}

/** Refuses, privately and in few words. */
function refusal({ name }: Command, needed: Role | "anyone", { role }: Operator, why?: string): CommandAnswer {
  const text = role
    ? why !== undefined
      ? `${why} Your role is ${role}.`
      : `That needs the role ${needed}; yours is ${role}.`
    : "You have no role here, so you may not do that. `/whoami` shows what to ask for.";
  const has = role ? `has the role ${role}` : "has no role";
  return { message: { text }, outcome: "refused", refusal: `/${name} needs the role ${needed}, and the sender ${has}` };
}

/** The code is for programs: by it, the command line distinguishes bad usage from a failure. */
export function failure({ code, message, hint }: Pick<HookgateError, "code" | "message" | "hint">): CommandAnswer {
  const error = { code, message, hint: hint || undefined };
  return { message: { text: `✗ ${message}${hint ? `\n${hint}` : ""}` }, data: { error }, outcome: "failed" };
}

async function audit(
  { command, operator, at }: Call,
  details: Readonly<Record<string, unknown>>,
  outcome: AuditEntry["outcome"],
  { store, clock, logger }: Deps,
): Promise<void> {
  try {
    await store.audit.record({
      at: clock.now(),
      operator,
      action: "command",
      target: command.name,
      details: { ...details, ...withoutUndefined({ at }) },
      outcome,
    });
  } catch (error) {
    // The command has run; running it again would be worse than a gap that the log fills.
    logger.error(
      { command: command.name, operator, outcome, error: errorMessage(error) },
      "an invocation could not be audited",
    );
  }
}
