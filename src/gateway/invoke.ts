/** Runs a command for the HTTP API and the CLI: the same role check, audit and hook as in chat; the answer goes back to the caller. */
import { formatAddress } from "../domain/chat/address.js";
import { newId } from "../lib/id.js";
import { shortCopy } from "../lib/text/short-copy.js";
import { nearest } from "../lib/validation/nearest.js";
import type { CommandAnswer } from "./commands.js";
import type { Invocation } from "./contract.js";
import type { Deps } from "./deps.js";
import { type CommandTable, checkOptions, parseOptions } from "./inbound/parse-command.js";
import { failure, runCommand } from "./inbound/run-command.js";

export async function invoke(invocation: Invocation, commands: CommandTable, deps: Deps): Promise<CommandAnswer> {
  const { line, options = {}, operator, at, givenBy, once } = invocation;
  const text = line === undefined ? undefined : line.trim().replace(/^\/?/, "/");
  const call = text === undefined ? undefined : commands.read(text);
  const command = call?.command ?? commands.find(invocation.name ?? "");
  if (!command) {
    const name = (text?.slice(1).split(/\s/)[0] ?? invocation.name) || "";
    const near = nearest(
      name,
      commands.all.map((one) => one.name),
    );
    const hint = near
      ? `Did you mean \`/${near}\`?`
      : operator.role
        ? "`/help` lists them."
        : "You have no role here: `/whoami` shows what to ask for.";
    return failure({ code: "BAD_USAGE", message: `There is no command \`/${shortCopy(name)}\`.`, hint });
  }
  return runCommand(
    {
      command,
      commands,
      parsed: call ? parseOptions(command, call.rest) : checkOptions(command, options),
      operator,
      source: invocation.source ?? "api",
      at,
      givenBy,
      causeId: once,
      progress() {
        // The caller waits for the whole answer.
      },
      fire: {
        cause: givenBy ?? { kind: "api", id: newId("i"), depth: 0 },
        conversation: at && formatAddress(at),
        access: operator.role ? "allowed" : "denied",
      },
    },
    deps,
  );
}
