/**
 * A program as a definition names it: `command: [git, log]` or `sh: "git log | head"`. The event reaches it by environment and standard
 * input only; a template may fill in one whole argument, which no shell ever reads.
 */
import { execFile } from "node:child_process";
import { accessSync, constants, existsSync, type Stats, statSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { z } from "zod";
import { HookgateError } from "../lib/errors.js";
import { FLOOD_BYTES, type ProgramEnd } from "../lib/process/process.js";
import { checkProgramFields, programCommand, programSecrets } from "../lib/process/program-fields.js";
import { secretMask } from "../lib/signing/secret.js";
import { formatDuration } from "../lib/time/duration.js";
import type { Machine } from "./handler.js";
import { checkJsonText } from "./outgoing/fields.js";
import { argumentProblems } from "./program/arguments.js";
import { programVariables } from "./program/variables.js";
import type { RunContext } from "./run-context.js";
import type { NoValueOf } from "./step.js";
import { isTemplate } from "./template/is-template.js";

export const programFields = {
  command: programCommand().describe(
    "The program and its arguments, passed literally (no shell). Templates are allowed; each fills in one argument.",
  ),
  sh: z
    .string()
    .min(1)
    .optional()
    .describe(
      'A command line for /bin/sh, without templates: what happened is in variables, such as "$HOOKGATE_EVENT".',
    ),
  cwd: z.string().min(1).optional().describe("Where it runs; relative to the folder of the definition."),
  env: z.record(z.string(), z.string()).default({}).describe("Variables, with templates."),
  secrets: programSecrets(),
  stdin: z
    .string()
    .superRefine(checkJsonText())
    .optional()
    .describe("Standard input, with templates. Default: the payload as JSON."),
};

/** Options that are no templates. */
export const PROGRAM_VERBATIM = ["sh", "cwd", "secrets"] as const;

const programOptions = z.object(programFields);
export type ProgramOptions = z.output<typeof programOptions>;

/** The rules over several fields, for `superRefine`. */
export function checkProgram(
  program: Omit<ProgramOptions, "stdin">,
  context: { addIssue(issue: { code: "custom"; message: string; path: (string | number)[] }): void },
): void {
  const refuse = (message: string, ...path: (string | number)[]) => context.addIssue({ code: "custom", message, path });
  checkProgramFields(program, refuse);
  const { command, sh, cwd } = program;
  if (sh !== undefined && isTemplate(sh))
    refuse(
      'templates never reach a shell: give the value by `env: { NAME: "{{ … }}" }` and write "$NAME"; the payload is on standard input',
      "sh",
    );
  if (cwd !== undefined && isTemplate(cwd)) refuse("a working directory is no template", "cwd");
  for (const { index, message } of argumentProblems(command ?? [])) refuse(message, "command", index);
}

/** Why the program cannot be started, as far as the file system shows. A program that a template names is not judged. */
export function missingProgram(
  { command, cwd }: Pick<ProgramOptions, "command" | "cwd">,
  { folder, searchPath }: Pick<Machine, "folder" | "searchPath">,
): string[] {
  const place = resolve(folder, cwd ?? ".");
  const found = statOf(place);
  if (found === undefined) return [`there is no folder ${place}`];
  if (!found.isDirectory()) return [`cwd: ${place} is a file, and no program runs in one: name a folder`];
  const [program] = command ?? [];
  if (program === undefined || isTemplate(program)) return [];
  if (program.includes("/")) return fileProblems(resolve(place, program));
  if (process.platform === "win32") return []; // extensions and the registry decide there
  const isFound = searchPath.split(delimiter).some((one) => one !== "" && isProgram(join(one, program)));
  return isFound ? [] : [`there is no program "${program}" on the PATH`];
}

/**
 * The error of /bin/sh for a command line that it cannot read. A run of it would end with 2, which means block: a typo would veto every
 * message. Commands that do not exist are found only by running them.
 */
export async function scriptFaults(sh: string | undefined): Promise<string[]> {
  if (sh === undefined || process.platform === "win32") return [];
  return new Promise((done) => {
    execFile("/bin/sh", ["-n", "-c", sh], { timeout: 5_000 }, (error, _, stderr) => {
      const words = stderr.trim();
      done(error?.code === 2 ? [`/bin/sh cannot read \`sh\`: ${words.split("\n")[0]?.slice(0, 300) ?? ""}`] : []);
    });
  });
}

/** The last command of the program's `sh` runs in the background, so that the program ends before it. */
export function endsBefore(options: unknown): boolean {
  const sh = typeof options === "object" && options !== null && "sh" in options ? options.sh : undefined;
  return typeof sh === "string" && /(?<![&\\|>])&\s*$/.test(sh);
}

function fileProblems(path: string): string[] {
  if (isProgram(path)) return [];
  if (!existsSync(path)) return [`there is no program ${path}`];
  if (!statSync(path).isFile()) return [`${path} is a folder, and a program is needed`];
  return [
    `the program ${path} may not be executed: run \`chmod +x ${path}\`, or start it by its interpreter, such as [sh, ${path}]`,
  ];
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Runs the program. Throws a HookgateError when it did not end by itself (PROGRAM_TIMED_OUT, …) or could not be started. */
export async function runProgram(
  options: ProgramOptions,
  context: RunContext,
  limits: { timeoutMs: number; maxBytes: number; signal: AbortSignal },
): Promise<ProgramEnd & { commandLine: string }> {
  const [command, ...args] = options.command ?? ["/bin/sh", "-c", options.sh as string];
  const secrets = options.secrets.map((name) => [name, secretOf(name, context)] as const);
  const payload = JSON.stringify(context.event) ?? "{}";
  const printed = await context.reach.processes.run({
    command: command as string,
    args,
    cwd: resolve(context.folder, options.cwd ?? "."),
    env: withoutNul({ ...options.env, ...Object.fromEntries(secrets), ...programVariables(context, payload) }),
    stdin: options.stdin ?? payload,
    ...limits,
  });
  const end = withoutSecrets(
    printed,
    secrets.map(([, value]) => value),
  );
  if (end.leftRunning.length > 0) context.leftRunning?.(end.leftRunning);
  if (end.how === "aborted" && !limits.signal.aborted) context.cutOff?.();
  if (end.how !== "exited") throw cutShort(end, limits.timeoutMs);
  return { ...end, commandLine: commandLine(options) };
}

/** Masks the program's secrets in its output, which may be posted in a chat, kept in the history, shown to a model. */
function withoutSecrets(end: ProgramEnd, secrets: readonly string[]): ProgramEnd {
  if (secrets.length === 0) return end;
  const mask = secretMask(secrets);
  return { ...end, stdout: mask(end.stdout), stderr: mask(end.stderr) };
}

/** For people to read. */
export const commandLine = ({ command, sh }: Pick<ProgramOptions, "command" | "sh">) =>
  sh ?? (command ?? []).map((one) => (/^[\w@%+=:,./-]+$/.test(one) ? one : JSON.stringify(one))).join(" ");

function secretOf(name: string, { reach }: RunContext): string {
  const value = reach.secret(name);
  if (value !== undefined) return value;
  throw new HookgateError({ code: "SECRET_MISSING", message: `the variable ${name} is not set` });
}

function cutShort(end: ProgramEnd, timeoutMs: number): HookgateError {
  const last = (end.stderr.trim() || end.stdout.trim()).split("\n").slice(-3).join("\n").slice(-500);
  const words = last === "" ? "" : `; its last output: ${last}`;
  switch (end.how) {
    case "timed_out":
      return new HookgateError({
        code: "PROGRAM_TIMED_OUT",
        message: `the program did not end within ${formatDuration(timeoutMs)}${words}`,
      });
    case "flooded":
      return new HookgateError({
        code: "PROGRAM_FLOODED",
        message: `the program printed more than ${FLOOD_BYTES / 1024 ** 2} MB and was ended: print less, or write to a file`,
      });
    default:
      return new HookgateError({
        code: "PROGRAM_ABORTED",
        message: `the program was ended before it was done${words}`,
      });
  }
}

/** The system ends a variable's value there, and refuses the program. */
function withoutNul(env: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, value.replaceAll("\0", "")]));
}

/** Whether a thrown value means that the time was over. */
export const isTimeout = (error: unknown) => error instanceof HookgateError && error.code === "PROGRAM_TIMED_OUT";

/** A program that a signal ended has no exit code, which is neither 0 nor above it. */
export function noExitCode(end: ProgramEnd): NoValueOf | undefined {
  return end.exitCode === null ? { fields: ["exitCode"], why: `the program ${endingOf(end)}` } : undefined;
}

/** How a program ended, for people: `exited with 3`, `was ended by SIGSEGV`. */
export function endingOf(end: ProgramEnd): string {
  return end.signal === null ? `exited with ${end.exitCode}` : `was ended by ${end.signal}`;
}

/** Undefined also for a link that leads in a circle. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}
