/** The fields that all programs of a definition or of the configuration share: hooks, steps and runners. */
import { z } from "zod";
import { argumentList } from "./argument-list.js";

/** YAML reads `-5` as a number: an argument all the same. */
const argument = z.union([z.string(), z.number().transform(String)], "expected text; quote it");

export const programCommand = () => argumentList(argument, { hasSh: true }).optional();

export const variableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "expected the name of an environment variable, such as DEPLOY_TOKEN");

export const programSecrets = () =>
  z.array(variableName).default([]).describe("Variables of Hookgate's own environment that the program gets, too.");

interface Program {
  command?: string[] | undefined;
  sh?: string | undefined;
  env: Record<string, string>;
  secrets: string[];
}

export type RefuseSetting = (message: string, ...path: (string | number)[]) => void;

/** The rules over several fields. */
export function checkProgramFields({ command, sh, env, secrets }: Program, refuse: RefuseSetting): void {
  if ((command === undefined) === (sh === undefined))
    refuse("expected one of `command` (a list) and `sh` (a command line)");
  for (const name of Object.keys(env)) {
    if (!variableName.safeParse(name).success) refuse(`"${name}" is no name of a variable`, "env", name);
    if (/^HOOKGATE_/i.test(name)) refuse("HOOKGATE_… variables are set by Hookgate", "env", name);
    if (secrets.includes(name))
      refuse(`${name} is in \`secrets\`, too, and that value is used: remove one`, "env", name);
  }
  if (command?.[0]?.trim() === "") refuse("expected the name or the path of a program", "command", 0);
}
