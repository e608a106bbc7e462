/** `hookgate restore FILE`: a backup becomes the database of the stopped gateway. */
import { resolve } from "node:path";
import { systemClock } from "../lib/clock.js";
import { restoreDatabase } from "../store/restore.js";
import { EXIT, type ExitCode } from "./exit.js";
import { ownFiles } from "./own-files.js";
import type { Terminal } from "./terminal.js";

export async function restore(source: string, { hold }: { hold: boolean }, terminal: Terminal): Promise<ExitCode> {
  const files = ownFiles();
  const backup = resolve(source);
  const restored = await restoreDatabase(files, backup, { hold, clock: systemClock });
  const { madeAt, replaced, messages, deliveries } = restored;
  terminal.out(`Restored ${files.database} from ${backup}${madeAt ? `, made at ${madeAt}` : ""}.`);
  if (replaced) terminal.out(`The earlier database is now ${replaced}.`);
  const unfinished = `messages to handle ${messages}, deliveries to send ${deliveries}`;
  terminal.out(
    hold
      ? `Unfinished in the backup, and held for you: ${unfinished}. See them with \`npx hookgate outbox\` after the start.`
      : `Unfinished in the backup: ${unfinished}. The next start handles and sends them, also those that were sent since; restore with --hold prevents that.`,
  );
  return EXIT.done;
}
