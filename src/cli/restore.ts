/** `hookgate restore FILE`: a backup becomes the database of the stopped gateway. */
import { resolve } from "node:path";
import { systemClock } from "../lib/time/clock.js";
import type { Unfinished } from "../store/database-file/backup.js";
import { restoreDatabase } from "../store/database-file/restore.js";
import { EXIT, type ExitCode } from "./exit.js";
import { ownFiles } from "./own-files.js";
import type { Terminal } from "./terminal.js";

export async function restore(source: string, { hold }: { hold: boolean }, terminal: Terminal): Promise<ExitCode> {
  const files = ownFiles();
  const backup = resolve(source);
  const restored = await restoreDatabase(files, backup, { hold, clock: systemClock });
  const { madeAt, replaced } = restored;
  terminal.out(`Restored ${files.database} from ${backup}${madeAt ? `, made at ${madeAt}` : ""}.`);
  if (replaced) terminal.out(`The earlier database is now ${replaced}.`);
  if (restored.isBareCopy)
    terminal.out(
      "The file is not a backup: it is a copy of the database of a gateway that had not stopped. The newest changes were in the log beside it (-wal). If that log was not copied with it, they are missing, and messages may be handled or sent again.",
    );
  terminal.out(unfinishedText(restored, { hold, backup }));
  return EXIT.done;
}

function unfinishedText(
  { messages, deliveries, runs, forOperator }: Unfinished,
  { hold, backup }: { hold: boolean; backup: string },
): string {
  if (messages + deliveries + runs + forOperator === 0) return "Nothing was unfinished in the backup.";
  const counts = `Unfinished in the backup: messages to handle ${messages}, deliveries to send ${deliveries}, hook runs to finish ${runs}, messages that wait for an operator ${forOperator}.`;
  if (hold)
    return `${counts} All messages and deliveries are held for an operator, because they may have been handled or sent since, and the hook runs are ended. After the start, \`npx hookgate outbox\` lists what is held; release, retry or purge it there.`;
  const again =
    messages + deliveries + runs === 0
      ? ""
      : " The next start sends, handles and finishes them, also those that were sent since.";
  const waiting =
    forOperator === 0
      ? ""
      : " Messages that waited for an operator wait again, also those that were released or retried since: look in the chat before you repeat one.";
  return `${counts}${again}${waiting} To send nothing without a question, restore again before the start: npx hookgate restore --hold ${backup}`;
}
