/** `hookgate backup FILE`: a checked copy of the database in one file, also beside a running gateway. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { HookgateError } from "../lib/errors.js";
import { systemClock } from "../lib/time/clock.js";
import { backupDatabase } from "../store/database-file/backup.js";
import { EXIT, type ExitCode } from "./exit.js";
import { ownFiles } from "./own-files.js";
import type { Terminal } from "./terminal.js";

export async function backup(target: string, terminal: Terminal): Promise<ExitCode> {
  const { database } = ownFiles();
  if (!existsSync(database))
    throw new HookgateError({
      code: "STORE_MISSING",
      message: `there is no database ${database}`,
      hint: "Run this in the gateway's folder, or set DATABASE_URL as the gateway has it.",
    });
  const file = resolve(target);
  const { sizeBytes, messages, deliveries, runs, forOperator } = await backupDatabase(
    database,
    file,
    systemClock.now(),
  );
  terminal.out(`Backed up ${database} to ${file} (${(sizeBytes / 1e6).toFixed(1)} MB) and checked the copy.`);
  terminal.out(
    `Unfinished in it: messages to handle ${messages}, deliveries to send ${deliveries}, hook runs to finish ${runs}, messages that wait for an operator ${forOperator}.`,
  );
  terminal.out("Not in it: uploaded files, the history of hooks, hookgate.yaml and the environment.");
  return EXIT.done;
}
