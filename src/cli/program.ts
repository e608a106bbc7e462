/** The command line as a table of commander commands. Each action resolves with its exit code; nothing here does the work. */
import { Command, CommanderError, InvalidArgumentError } from "commander";
import { EXIT, type ExitCode, exitCodeOf } from "./exit.js";
import type { LiveCall } from "./live.js";
import { untilStopped } from "./stop-signal.js";
import { printError, type Terminal } from "./terminal.js";

interface JsonFlag {
  json?: boolean;
}

/** Runs one command line (without node and the script) and resolves with the exit code. Modules are loaded when needed. */
export async function runCli(args: readonly string[], terminal: Terminal, version: string): Promise<ExitCode> {
  let code: ExitCode = EXIT.done;
  const program = buildProgram(version, terminal, (result) => {
    code = result;
  });
  try {
    await program.parseAsync([...args], { from: "user" });
    return code;
  } catch (error) {
    // Commander has printed what is wrong, and the usage.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    printError(terminal, error);
    return exitCodeOf(error);
  }
}

function buildProgram(version: string, terminal: Terminal, done: (code: ExitCode) => void): Command {
  const program = new Command("hookgate")
    .description("Self-hosted chat gateway for Discord, Telegram and the web. Customise every step with hooks.")
    .version(version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text.trimEnd()),
      writeErr: (text) => terminal.error(text.trimEnd()),
    })
    .showHelpAfterError("(hookgate --help shows the commands)")
    .showSuggestionAfterError(true)
    .addHelpText("after", "\nExit codes: 0 done, 1 failed, 2 bad usage or configuration, 3 refused.");
  addLocal(program, terminal, done);
  addToken(program, terminal, done);
  addLive(program, terminal, done);
  return program;
}

function addLocal(program: Command, terminal: Terminal, done: (code: ExitCode) => void): void {
  program
    .command("start")
    .description("start the gateway")
    .option("-c, --config <file>", "the configuration file")
    .option("--new-database", "start with an empty database although the history of another one is there")
    .action(async ({ config, newDatabase }: { config?: string; newDatabase?: boolean }) => {
      const stopSignal = untilStopped(terminal);
      const { start } = await import("./start.js");
      const options = { path: config || undefined, newDatabase: newDatabase === true };
      done(await start(options, stopSignal, terminal));
    });
  program
    .command("backup")
    .description("copy the database to a new file, also while the gateway runs, and check the copy")
    .argument("<file>", "the file to create")
    .action(async (file: string) => done(await (await import("./backup.js")).backup(file, terminal)));
  program
    .command("restore")
    .description("replace the database by a backup; the gateway must be stopped")
    .argument("<file>", "the backup")
    .option("--hold", "hold everything that was unfinished, so that nothing is sent again by itself")
    .action(async (file: string, { hold }: { hold?: boolean }) =>
      done(await (await import("./restore.js")).restore(file, { hold: hold === true }, terminal)),
    );
  program
    .command("check")
    .description("check the configuration: every problem at once")
    .option("-c, --config <file>", "the configuration file")
    .option("--json", "print JSON")
    .action(async ({ config, json }: { config?: string } & JsonFlag) =>
      done(await (await import("./check.js")).check({ path: config || undefined, json: json === true }, terminal)),
    );
  program
    .command("points")
    .description("the hook points of the product")
    .argument("[filter]", "part of a name")
    .option("--json", "print JSON, with the schemas")
    .action(async (filter: string | undefined, { json }: JsonFlag) =>
      done(await (await import("./points.js")).points({ filter: filter ?? "", json: json === true }, terminal)),
    );
  program
    .command("doctor")
    .description("tokens, reachability, clock, disk, database, hooks that never fired")
    .option("-c, --config <file>", "the configuration file")
    .option("--json", "print JSON")
    .action(async ({ config, json }: { config?: string } & JsonFlag) =>
      done(await (await import("./doctor.js")).doctor({ path: config || undefined, json: json === true }, terminal)),
    );
}

function addToken(program: Command, terminal: Terminal, done: (code: ExitCode) => void): void {
  program
    .command("token")
    .description("the login token of the web chat, with a one-click link")
    .option("--reset", "replace the token; the gateway applies it at its next start")
    .option("--json", "print JSON")
    .action(async ({ reset, json }: { reset?: boolean } & JsonFlag) =>
      done(await (await import("./token.js")).token({ reset: reset === true, json: json === true }, terminal)),
    );
}

/** Those that ask the live gateway: the same commands as in chat. */
function addLive(program: Command, terminal: Terminal, done: (code: ExitCode) => void): void {
  const live = async (call: LiveCall, flags: JsonFlag) =>
    done(await (await import("./live.js")).runLive(call, flags.json === true, terminal));
  const json = (command: Command) => command.option("--json", "print JSON");

  const hooks = program
    .command("hooks")
    .description("list the hooks, look at one, switch it")
    .enablePositionalOptions();
  json(
    hooks
      .command("list", { isDefault: true })
      .description("all hooks, or those that match")
      .argument("[filter]", "part of an id or point; on, off, failing, never"),
  ).action((filter: string | undefined, flags: JsonFlag) =>
    live({ name: "hooks", options: { action: "list", id: filter || undefined }, view: "hooks" }, flags),
  );
  for (const [action, summary] of [
    ["show", "one hook, whole"],
    ["enable", "switch a hook on, durably"],
    ["disable", "switch a hook off, durably"],
  ] as const)
    json(hooks.command(action).description(summary).argument("<id>", "the hook")).action(
      (id: string, flags: JsonFlag) => live({ name: "hooks", options: { action, id } }, flags),
    );
  json(
    hooks
      .command("why")
      .description("why a hook ran or did not, or what happened to a message")
      .argument("[id]", "the hook, a hook point or a message; the last message when left out")
      .argument("[message]", "a message id or a dispatch"),
  ).action((id: string | undefined, message: string | undefined, flags: JsonFlag) =>
    live({ name: "hooks", options: { action: "why", id: id || undefined, message: message || undefined } }, flags),
  );
  json(
    hooks
      .command("next")
      .description("what fires when")
      .argument("[filter]", "part of an id")
      .option("--page <number>", "which page", integer),
  ).action((filter: string | undefined, { page, ...flags }: { page?: number } & JsonFlag) =>
    live({ name: "hooks", options: { action: "next", id: filter || undefined, page: page || undefined } }, flags),
  );
  json(
    hooks
      .command("test")
      .description("a dry run of a configured hook, with every step's output")
      .argument("<id>", "the hook")
      .option("-p, --payload <json>", "JSON, @file, @- (standard input), example or last", "example"),
  ).action(async (id: string, flags: { payload: string } & JsonFlag) => {
    const payload = (await import("./payload-file.js")).readPayload(flags.payload);
    return live({ name: "hooks", options: { action: "test", id, payload } }, flags);
  });
  for (const [action, summary] of [
    ["broken", "configured hooks that are not in force, and why"],
    ["pause", "pause all configured hooks"],
    ["resume", "let configured hooks run again"],
    ["add", "how a hook is added"],
  ] as const)
    json(hooks.command(action).description(summary)).action((flags: JsonFlag) =>
      live({ name: "hooks", options: { action } }, flags),
    );
  json(
    hooks.command("order").description("who runs at a point, in what order").argument("<point>", "the hook point"),
  ).action((id: string, flags: JsonFlag) => live({ name: "hooks", options: { action: "order", id } }, flags));

  json(
    program
      .command("fire")
      .description("fire one hook, or all hooks of a point")
      .argument("<id>", "a hook or a hook point")
      .option("-p, --payload <json>", "JSON, @file, @- (standard input), example or last", "example")
      .option("-n, --dry-run", "send nothing, write no state")
      .option("--phase <phase>", "before or after, of a point that has both", phase),
  ).action(async (id: string, flags: { payload: string; dryRun?: boolean; phase?: string } & JsonFlag) => {
    const payload = (await import("./payload-file.js")).readPayload(flags.payload);
    return live(
      {
        name: "fire-hook",
        options: {
          id,
          payload,
          "dry-run": flags.dryRun,
          phase: flags.phase || undefined,
        },
      },
      flags,
    );
  });
  json(
    program
      .command("runs")
      .description("what fired lately")
      .argument("[filter]", "a hook, a point, failed, last, configured, or a status such as running")
      .option("--page <number>", "which page", integer),
  ).action((filter: string | undefined, flags: { page?: number } & JsonFlag) =>
    live(
      {
        name: "runs",
        options: { filter: filter || undefined, page: flags.page || undefined },
        view: filter === "last" ? undefined : ("runs" as const),
      },
      flags,
    ),
  );
  json(
    program
      .command("run")
      .description("one dispatch: who ran, what each changed")
      .argument("<id>", "a dispatch or a run")
      .option("--reveal", "show what people wrote; recorded"),
  ).action((id: string, flags: { reveal?: boolean } & JsonFlag) =>
    live({ name: "run", options: { id, reveal: flags.reveal } }, flags),
  );
  json(
    program
      .command("replay")
      .description("fire a past dispatch again, dry")
      .argument("<id>", "a dispatch or a run")
      .option("--live", "let hooks send and write"),
  ).action((id: string, flags: { live?: boolean } & JsonFlag) =>
    live({ name: "replay", options: { id, live: flags.live } }, flags),
  );
  json(
    program
      .command("do")
      .description("any operator command, as in chat: `npx hookgate do task list`; `npx hookgate do help` lists them")
      .argument("<command...>", "its name and what follows it"),
  ).action(async (words: string[], flags: JsonFlag) =>
    live({ line: (await import("./command-line.js")).commandLine(words) }, flags),
  );
  addOutbox(program, json, live);
  json(program.command("status").description("platforms, queues, store and hooks at a glance")).action(
    (flags: JsonFlag) => live({ name: "status", options: {} }, flags),
  );
  json(
    program
      .command("claim")
      .description("a one-time code for `/claim`, with which a person becomes an owner from chat"),
  ).action((flags: JsonFlag) => live({ name: "claim", options: {} }, flags));
  json(program.command("whoami").description("who the token makes you")).action((flags: JsonFlag) =>
    live({ name: "whoami", options: {} }, flags),
  );
}

function addOutbox(
  program: Command,
  json: (command: Command) => Command,
  live: (call: LiveCall, flags: JsonFlag) => Promise<void>,
): void {
  const outbox = program
    .command("outbox")
    .description("dead letters and held messages, newest first; `npx hookgate outbox --page 2` shows the next page");
  json(
    outbox
      .command("list", { isDefault: true })
      .description("what waits for an operator, or has a status")
      .argument("[status]", "held, dead, inbox, sent, …")
      .option("--page <number>", "which page", integer),
  ).action((status: string | undefined, flags: { page?: number } & JsonFlag) =>
    live(
      {
        name: "outbox",
        options: { action: "list", id: status || undefined, page: flags.page || undefined },
        view: "letters",
      },
      flags,
    ),
  );
  json(
    outbox
      .command("show")
      .description("one message: its state and why")
      .argument("<id>")
      .option("--reveal", "show what it says; recorded"),
  ).action((id: string, flags: { reveal?: boolean } & JsonFlag) =>
    live({ name: "outbox", options: { action: "show", id, reveal: flags.reveal } }, flags),
  );
  json(
    outbox
      .command("retry")
      .description("send a dead letter again")
      .argument("<id>", "a delivery, m12 for an inbox message, or all")
      .option("--no-confirmed", "after a restore: it was not handled since the backup, so handle it again"),
  ).action((id: string, { confirmed, ...flags }: { confirmed: boolean } & JsonFlag) =>
    live({ name: "outbox", options: { action: "retry", id, confirmed: confirmed ? undefined : false } }, flags),
  );
  json(
    outbox
      .command("release")
      .description("decide on a held message")
      .argument("<id>")
      .option("--confirmed", "it did arrive: count it as sent")
      .option("--no-confirmed", "it did not arrive: send it again"),
  ).action((id: string, flags: { confirmed?: boolean } & JsonFlag) =>
    live(
      {
        name: "outbox",
        options: { action: "release", id, confirmed: flags.confirmed },
      },
      flags,
    ),
  );
  json(
    outbox
      .command("purge")
      .description("delete what will not be sent")
      .argument("<id>", "a delivery or a status")
      .option("--yes", "delete without asking"),
  ).action((id: string, { yes = false, ...flags }: { yes?: boolean } & JsonFlag) =>
    live({ name: "outbox", options: { action: "purge", id, yes } }, flags),
  );
}

function integer(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError("expected a whole number from 1.");
  return Number(text);
}

function phase(text: string): string {
  if (text !== "before" && text !== "after") throw new InvalidArgumentError("expected before or after.");
  return text;
}
