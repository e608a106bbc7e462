/**
 * The login token that this installation created for itself. It is in a file of its own that only the gateway's user can read, and
 * never in the database: a copy of the database lets no one log in.
 */
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { HookgateError } from "../lib/errors.js";
import { makePrivateFolder, PRIVATE_FILE } from "../lib/files/private-files.js";
import { newToken } from "../lib/id.js";
import { whyWeakToken } from "../lib/signing/secret.js";
import { type DatabaseFiles, isFolder, specialKind } from "./database-file/files.js";
import { openedAt } from "./database-file/owner.js";
import { errorCode, storeError } from "./errors.js";

const TOKEN_BYTES = 32;

/** A shorter text is the rest of a file that a full or failed disk, or an editor, left. */
const MIN_CHARACTERS = 24;

/**
 * Creates the token when there is none. A removed file is replaced by a new token at the next start, and so is a token that could be
 * guessed: `replaced` is called with the event and the next step.
 */
export function keepConsoleToken(file: string, replaced: (message: string) => void): string {
  const token = readConsoleToken(file);
  if (token === undefined) return resetConsoleToken(file);
  const why = whyUnsafe(token);
  if (why === undefined) return token;
  const fresh = resetConsoleToken(file);
  replaced(
    `The login token in ${file} was replaced by a new one, because ${why}: the file was cut short, damaged or edited. \`npx hookgate token\` shows the new token. Log in again with it.`,
  );
  return fresh;
}

function whyUnsafe(token: string): string | undefined {
  // Only such characters can be sent in an HTTP header, and pasted from a terminal.
  if (/[^!-~]/.test(token)) return "it contains spaces or other characters that no login token has";
  return token.length < MIN_CHARACTERS ? `it has fewer than ${MIN_CHARACTERS} characters` : whyWeakToken(token);
}

/** Replaces the token; the gateway reads it at its next start. */
export function resetConsoleToken(file: string): string {
  makePrivateFolder(dirname(file));
  return writeConsoleToken(file, newToken(TOKEN_BYTES));
}

/** The first start creates the token a moment after it opened the database. */
const CREATED_WITHIN_MS = 10_000;

/** Whether the token differs from the one that the last start read, as far as the files show. */
export function isResetSinceStart({ token, database }: DatabaseFiles): boolean {
  const startedAt = openedAt(database);
  const writtenAt = statSync(token, { throwIfNoEntry: false })?.mtimeMs;
  return startedAt !== undefined && writtenAt !== undefined && writtenAt > startedAt + CREATED_WITHIN_MS;
}

/** Undefined when there is no token yet. Throws TOKEN_UNREADABLE when this user may not read it, and when it is no file. */
export function readConsoleToken(file: string): string | undefined {
  const kind = specialKind(file) ?? (isFolder(file) ? "a folder" : undefined);
  // Reading a pipe waits for its writer, without an end.
  if (kind !== undefined)
    throw new HookgateError({
      code: "TOKEN_UNREADABLE",
      message: `${file} is ${kind}, but the gateway keeps its login token in a regular file of this name`,
      hint: "Delete it, then start again: the gateway creates a new token. Or set HOOKGATE_TOKEN.",
    });
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

/** Writes the token whole or not at all, also when the machine stops in between. */
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
