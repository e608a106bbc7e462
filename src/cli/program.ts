/** The command line as a table of commander commands. Each action resolves with its exit code; nothing here does the work. */
import { Command, CommanderError, Help, type HelpConfiguration } from "commander";
import { EXIT, type ExitCode, exitCodeOf } from "./exit.js";
import type { RunLive } from "./operator-commands.js";
import { untilStopped } from "./stop-signal.js";
import { printError, type Terminal } from "./terminal.js";

interface JsonFlag {
  json?: boolean;
}

/** Runs one command line (without node and the script) and resolves with the exit code. Modules are loaded when needed. */
export async function runCli(args: readonly string[], terminal: Terminal, version: string): Promise<ExitCode> {
  let code: ExitCode = EXIT.done;
  const program = buildProgram(version, terminal);
  const done = (result: ExitCode) => {
    code = result;
  };
  addLocal(program, terminal, done);
  addToken(program, terminal, done);
  try {
    const isLocal = program.commands.some((one) => one.name() === args[0]);
    const words = isLocal ? args : await addLive(program, args, terminal, done);
    program.configureHelp(WHOLE_LIST);
    await program.parseAsync([...words], { from: "user" });
    return code;
  } catch (error) {
    // Commander has printed the error and the usage.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    printError(terminal, error);
    return exitCodeOf(error);
  }
}

function buildProgram(version: string, terminal: Terminal): Command {
  return new Command("hookgate")
    .description("Self-hosted chat gateway for Discord, Telegram and the web. Customise every step with hooks.")
    .version(version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text.trimEnd()),
      writeErr: (text) => terminal.error(text.trimEnd()),
    })
    .showHelpAfterError("(hookgate --help lists the commands; `hookgate do NAME` runs those of plugins)")
    .showSuggestionAfterError(true)
    .addHelpText("after", "\nExit codes: 0 done, 1 failed, 2 bad usage or configuration, 3 refused.")
    .commandsGroup("Gateway:");
}

function addLocal(program: Command, terminal: Terminal, done: (code: ExitCode) => void): void {
  program
    .command("start")
    .description("Start the gateway")
    .option("-c, --config <file>", "The configuration file")
    .option("--new-database", "Start with an empty database although the history of another one is there")
    .action(async ({ config, newDatabase }: { config?: string; newDatabase?: boolean }) => {
      const stopSignal = untilStopped(terminal);
      const { start } = await import("./start.js");
      const options = { path: config || undefined, newDatabase: newDatabase === true };
      done(await start(options, stopSignal, terminal));
    });
  program
    .command("backup")
    .description("Copy the database to a new file, also while the gateway runs, and check the copy")
    .argument("<file>", "The file to create")
    .action(async (file: string) => done(await (await import("./backup.js")).backup(file, terminal)));
  program
    .command("restore")
    .description("Replace the database by a backup; the gateway must be stopped")
    .argument("<file>", "The backup")
    .option("--hold", "Hold everything that was unfinished, so that nothing is sent again by itself")
    .action(async (file: string, { hold }: { hold?: boolean }) =>
      done(await (await import("./restore.js")).restore(file, { hold: hold === true }, terminal)),
    );
  program
    .command("check")
    .description("Check the configuration: every problem at once")
    .option("-c, --config <file>", "The configuration file")
    .option("--json", "Print JSON")
    .action(async ({ config, json }: { config?: string } & JsonFlag) =>
      done(await (await import("./check.js")).check({ path: config || undefined, json: json === true }, terminal)),
    );
  program
    .command("points")
    .description("The hook points of the product")
    .argument("[filter]", "Part of a name")
    .option("--json", "Print JSON, with the schemas")
    .action(async (filter: string | undefined, { json }: JsonFlag) =>
      done(await (await import("./points.js")).points({ filter: filter ?? "", json: json === true }, terminal)),
    );
  program
    .command("doctor")
    .description("Tokens, reachability, clock, disk, database, hooks that never fired")
    .option("-c, --config <file>", "The configuration file")
    .option("--json", "Print JSON")
    .action(async ({ config, json }: { config?: string } & JsonFlag) =>
      done(await (await import("./doctor.js")).doctor({ path: config || undefined, json: json === true }, terminal)),
    );
}

function addToken(program: Command, terminal: Terminal, done: (code: ExitCode) => void): void {
  program
    .command("token")
    .description("The login token of the web chat, with a one-click link")
    .option("--reset", "Replace the token; the gateway applies it at its next start")
    .option("--json", "Print JSON")
    .action(async ({ reset, json }: { reset?: boolean } & JsonFlag) =>
      done(await (await import("./token.js")).token({ reset: reset === true, json: json === true }, terminal)),
    );
}

/** Adds the commands that ask the live gateway, the same as in chat. Resolves with words that name options as in chat made flags. */
async function addLive(
  program: Command,
  args: readonly string[],
  terminal: Terminal,
  done: (code: ExitCode) => void,
): Promise<string[]> {
  const live: RunLive = async (call, flags) =>
    done(await (await import("./live.js")).runLive(call, flags.json === true, terminal));
  const { addOperatorCommands, withFlags } = await import("./operator-commands.js");
  addOperatorCommands(program, live);
  program
    .commandsGroup("More:")
    .command("do")
    .description("Any line as in chat, commands of plugins too: `npx hookgate do task list`")
    .argument("<command...>", "Its name and what follows it")
    .option("--json", "Print JSON")
    .action(async (words: string[], flags: JsonFlag) =>
      live({ line: (await import("./command-line.js")).commandLine(words) }, flags),
    );
  return withFlags(args);
}

/** `hookgate --help` lists every command with its actions. Set when all commands are there, so that none of them inherits it. */
const WHOLE_LIST: HelpConfiguration = {
  visibleCommands: (shown) =>
    new Help()
      .visibleCommands(shown)
      .flatMap((one) => [one, ...one.commands.map((action) => action.helpGroup(one.helpGroup()))]),
  subcommandTerm: (shown) =>
    shown.parent?.parent ? `  ${shown.parent.name()} ${shown.name()}` : [shown.name(), ...shown.aliases()].join(", "),
};
