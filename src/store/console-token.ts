/**
 * The login token that this installation created for itself. It is in a file of its own that only the gateway's user can read, and
 * never in the database: a copy of the database lets no one log in.
 */
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { HookgateError } from "../lib/errors.js";
import { newToken } from "../lib/id.js";
import { makePrivateFolder, PRIVATE_FILE } from "../lib/private-files.js";
import { errorCode, storeError } from "./errors.js";

const TOKEN_BYTES = 32;

/** Creates the token when there is none. A removed file is replaced by a new token at the next start. */
export function keepConsoleToken(file: string): string {
  return readConsoleToken(file) ?? resetConsoleToken(file);
}

/** Replaces the token; the gateway reads it at its next start. */
export function resetConsoleToken(file: string): string {
  makePrivateFolder(dirname(file));
  return writeConsoleToken(file, newToken(TOKEN_BYTES));
}

/** Undefined when there is none yet. Throws TOKEN_UNREADABLE when this user may not read it. */
export function readConsoleToken(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trim() || undefined;
  } catch (thrown) {
    if (errorCode(thrown) === "ENOENT") return undefined;
    throw new HookgateError({
      code: "TOKEN_UNREADABLE",
      message: `the file ${file} with the login token cannot be read (${errorCode(thrown)})`,
      hint: "Run this as the user that runs the gateway, or set HOOKGATE_TOKEN.",
      cause: thrown,
    });
  }
}

/** Whole or not at all, also when the machine stops in between. */
function writeConsoleToken(file: string, token: string): string {
  const partial = `${file}.new`;
  try {
    const descriptor = openSync(partial, "w", PRIVATE_FILE);
    try {
      writeSync(descriptor, `${token}\n`);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(partial, file);
    return token;
  } catch (thrown) {
    throw storeError(thrown, file);
  }
}
